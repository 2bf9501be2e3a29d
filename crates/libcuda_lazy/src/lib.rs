//! The entry points of NVIDIA's driver, bound to `libcuda.so.1` (on Windows `nvcuda.dll`) when they are first used.
//!
//! `cust` must be linked against libcuda, which exists only where a driver is installed. This crate defines the symbols of
//! libcuda instead: each is a jump through a table, which the first call fills from the library. A program that uses `cust`
//! can therefore be built and started on any machine, and finds the driver where there is one.
//!
//! How to link it:
//! - `cust`'s build script searches `$CUDA_LIBRARY_PATH/lib64`: set `CUDA_LIBRARY_PATH` to the folder `link` of this crate (in
//!   the `[env]` section of `.cargo/config.toml`), where `libcuda.a` is an empty linker script.
//! - Call [`load`] before any function of `cust`. It returns whether there is a driver, and because the program refers to it,
//!   every linker includes the symbols.
//!
//! Without a driver, calls return `CUDA_ERROR_NO_DEVICE` (100); calls to a function that the installed driver does not have
//! return `CUDA_ERROR_NOT_FOUND` (500). There are two exceptions, because formatting an error in `cust` relies on them:
//! `cuGetErrorString` and `cuGetErrorName` always return a text.
//!
//! The variable `TRISOLAR_LIBCUDA` names another library to load.
//!
//! A static program (`x86_64-unknown-linux-musl`) cannot load a library, so that there everything is as without a driver, too.
//!
//! There are entry points for Linux on x86-64 and aarch64 and for Windows on x86-64. On other systems, such as macOS, for which there is no
//! driver, everything is as without a driver.

mod fallback;
#[cfg_attr(
    not(any(
        all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ),
        all(windows, target_arch = "x86_64")
    )),
    path = "no_shims.rs"
)]
mod shims;
mod symbols;

use std::ffi::{OsStr, OsString, c_int};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use libloading::Library;

pub use symbols::SYMBOLS;

/// The variable that names the library to load instead of the driver's.
pub const LIBRARY_VARIABLE: &str = "TRISOLAR_LIBCUDA";

const DEFAULT_LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// The reason why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The library is not installed, or the dynamic linker rejects it.
    #[error("no NVIDIA driver: {reason}")]
    NotLoaded {
        /// The requested library.
        library: OsString,
        /// The dynamic linker's message, which names the library.
        reason: String,
    },
    /// This system has no entry points.
    #[error("there is no NVIDIA driver for this system ({})", std::env::consts::OS)]
    NoneForThisSystem,
    /// This program is linked statically with musl, whose dynamic linker is not in such programs.
    #[error(
        "a static program cannot load NVIDIA's driver ({}); the program for {}-unknown-linux-gnu can",
        library.display(),
        std::env::consts::ARCH
    )]
    StaticProgram {
        /// The requested library.
        library: OsString,
    },
    /// The library loads, but has none of the driver's functions.
    #[error("{} is not NVIDIA's driver library: it has no cuInit", library.display())]
    NotADriver {
        /// The requested library.
        library: OsString,
    },
}

/// The driver library of this process.
#[derive(Debug)]
pub struct Driver {
    library: OsString,
    missing: Vec<&'static str>,
    get_version: Option<unsafe extern "C" fn(*mut c_int) -> c_int>,
    loaded: Library,
}

impl Driver {
    /// The address of a function that is not among [`SYMBOLS`]; `None` if the library does not have it.
    pub fn function(&self, name: &str) -> Option<*mut ()> {
        // SAFETY: the type is only a pointer here; who calls it knows its signature.
        let found = unsafe { self.loaded.get::<*mut ()>(name.as_bytes()) };
        found.ok().map(|s| *s).filter(|address| !address.is_null())
    }

    /// The name or path from which it was loaded.
    pub fn library(&self) -> &std::ffi::OsStr {
        &self.library
    }

    /// The functions of [`SYMBOLS`] that the library does not have, in their order. Calls to them return
    /// `CUDA_ERROR_NOT_FOUND`.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// The highest version of CUDA that it supports, major and minor; `None` if it does not report one.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut version: c_int = 0;
        // SAFETY: the symbol is cuDriverGetVersion, which takes a pointer to an int and needs no cuInit.
        let code = unsafe { self.get_version?(&mut version) };
        let version = u32::try_from(version)
            .ok()
            .filter(|v| code == 0 && *v > 0)?;
        Some((version / 1000, version % 1000 / 10))
    }
}

/// Loads the driver library once for the process; later calls return the result of the first.
///
/// The driver is not initialised: the caller still has to call `cuInit`.
///
/// # Errors
/// [`LoadError`] if there is no driver library on this machine.
pub fn load() -> Result<&'static Driver, LoadError> {
    static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();
    DRIVER.get_or_init(bind).as_ref().map_err(Clone::clone)
}

/// Fills the table with the library's functions, or with replacements for missing ones.
fn bind() -> Result<Driver, LoadError> {
    if !shims::BOUND {
        return Err(LoadError::NoneForThisSystem);
    }
    let given = std::env::var_os(LIBRARY_VARIABLE).filter(|v| !v.is_empty());
    let library = open(given.as_deref()).inspect_err(|_| {
        for (slot, symbol) in shims::table().iter().zip(SYMBOLS) {
            slot.store(fallback::without_driver(symbol), Ordering::Release);
        }
    })?;

    let mut driver = Driver {
        library: given.unwrap_or_else(|| DEFAULT_LIBRARY.into()),
        missing: Vec::new(),
        get_version: None,
        // The table points into the library from now on: the driver is kept for the life of the process, and never unloads it.
        loaded: library,
    };
    for (slot, symbol) in shims::table().iter().zip(SYMBOLS) {
        // SAFETY: the type is only a pointer here; the callers of the entry point know its signature.
        let address = unsafe { driver.loaded.get::<*mut ()>(symbol.as_bytes()) }.map(|s| *s);
        match address {
            Ok(address) if !address.is_null() => {
                if *symbol == "cuDriverGetVersion" {
                    // SAFETY: this is the function's signature in the driver API.
                    driver.get_version = Some(unsafe {
                        std::mem::transmute::<*mut (), unsafe extern "C" fn(*mut c_int) -> c_int>(
                            address,
                        )
                    });
                }
                slot.store(address, Ordering::Release);
            }
            _ => {
                driver.missing.push(symbol);
                slot.store(fallback::not_in_driver(symbol), Ordering::Release);
            }
        }
    }
    Ok(driver)
}

fn open(given: Option<&OsStr>) -> Result<Library, LoadError> {
    let name = given.unwrap_or(OsStr::new(DEFAULT_LIBRARY));
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(LoadError::StaticProgram {
            library: name.to_owned(),
        });
    }
    // SAFETY: the program asks for the driver's library, so that running its initialisers is intended.
    let library = unsafe { load_library(name, given.is_none()) }.map_err(|e| {
        // libloading wraps the dynamic linker's message; the inner message is sufficient.
        let reason =
            std::error::Error::source(&e).map_or_else(|| e.to_string(), |inner| inner.to_string());
        let reason = match cfg!(windows) {
            true => format!("{}: {reason}", name.display()),
            false => reason,
        };
        LoadError::NotLoaded {
            library: name.to_owned(),
            reason,
        }
    })?;
    // SAFETY: the same as in `bind`.
    match unsafe { library.get::<*mut ()>(b"cuInit") } {
        Ok(_) => Ok(library),
        Err(_) => Err(LoadError::NotADriver {
            library: name.to_owned(),
        }),
    }
}

/// Loads a library, with all its symbols resolved at once.
///
/// # Safety
/// Its initialisers may be run.
#[cfg(not(windows))]
unsafe fn load_library(name: &OsStr, _: bool) -> Result<Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: the caller guarantees the same.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

/// Loads a library, from the system's folder if it `is_of_system`: a file of that name in the current folder is none of the driver's.
///
/// # Safety
/// Its initialisers may be run.
#[cfg(windows)]
unsafe fn load_library(name: &OsStr, is_of_system: bool) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library};
    let flags = if is_of_system {
        LOAD_LIBRARY_SEARCH_SYSTEM32
    } else {
        0
    };
    // SAFETY: the caller guarantees the same.
    unsafe { Library::load_with_flags(name, flags) }.map(Into::into)
}
