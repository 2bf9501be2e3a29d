//! The errors that can occur between a kernel crate and its PTX.

use std::fmt;
use std::path::PathBuf;

/// The reason why there is no PTX. `Debug` prints the same text as `Display`, so that a build script that calls `unwrap` shows
/// a readable message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("there is no kernel crate at {}: no Cargo.toml in it", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// The file given to [`CudaBuilder::module`](crate::CudaBuilder::module) is no module, or its package lacks a dependency.
    #[error("the module {} cannot be compiled for the GPU: {why}", path.display())]
    BadModule {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The PTX was built but could not be copied to the path that [`copy_to`](crate::CudaBuilder::copy_to) set.
    #[error("cannot copy the PTX: {0}")]
    FailedToCopyPtxFile(std::io::Error),
    /// cargo or rustc refused the kernel crate.
    #[error("the kernel crate {} does not compile, see the compiler's messages{}", krate.display(), advice(diagnostics, *is_module))]
    BuildFailed {
        /// The folder of the kernel crate.
        krate: PathBuf,
        /// Whether the kernels are a module of a package.
        is_module: bool,
        /// The messages of cargo and rustc, which have already been written to stderr.
        diagnostics: String,
    },
    /// An option that rustc's NVPTX back end cannot support.
    #[error("option {option} is not supported: {reason}")]
    UnsupportedOption {
        /// The builder's method and value.
        option: &'static str,
        /// Why it is not supported.
        reason: &'static str,
    },
    /// An option's value is not allowed.
    #[error("{option} is {value}; allowed is {allowed}")]
    BadOption {
        /// The builder's method.
        option: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// ptxas refuses the PTX, or the options of [`CudaBuilder::ptxas_option`](crate::CudaBuilder::ptxas_option).
    #[error("ptxas fails with the options {options}, see its messages: {said}")]
    Ptxas {
        /// The options that were given.
        options: String,
        /// What ptxas wrote.
        said: String,
    },
    /// A part of the toolchain is not installed: the sources of `core`, or LLVM's programs.
    #[error(
        "GPU kernels need {what}, which are not installed.\n{how}\nLooked in: {}",
        list(looked_in)
    )]
    Missing {
        /// The part, with its version.
        what: String,
        /// How it is installed.
        how: String,
        /// The places that were searched.
        looked_in: Vec<PathBuf>,
    },
    /// A part of the toolchain belongs to a different compiler.
    #[error("{what} in {} are of version {found}, but the compiler needs {expected}", path.display())]
    Mismatch {
        /// The part.
        what: &'static str,
        /// Its folder.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The version that the compiler needs.
        expected: String,
    },
    /// A part of Rust's library does not compile for the GPU.
    #[error("cannot compile `{name}` from {} for the GPU:\n{diagnostics}", source_path.display())]
    LibraryFailed {
        /// `core`, `compiler_builtins` or `alloc`.
        name: &'static str,
        /// The folder with the sources.
        source_path: PathBuf,
        /// rustc's messages.
        diagnostics: String,
    },
    /// The kernel crate compiles, but has no kernel.
    #[error("the PTX of {} has no entry point: mark its kernels with #[kernel] and make them `pub`", .0.display())]
    NoEntryPoint(PathBuf),
    /// Kernels call functions that do not exist on the device.
    #[error(
        "the kernels call functions that do not exist on the device: {}. \
         (There is no libdevice: functions such as sin, exp and pow need a Rust implementation such as the crate libm. Functions that \
         other PTX defines are named by CudaBuilder::external_functions.)",
        symbols.join(", ")
    )]
    Unresolved {
        /// The functions' names.
        symbols: Vec<String>,
    },
    /// Kernels use a variable of shared memory in a way that PTX does not allow.
    #[error(
        "shared memory cannot be used in this way: {name} {place}. \
         (Take the address within the kernel, and pass or store it from there.)"
    )]
    SharedStatic {
        /// The static's or the array's name.
        name: String,
        /// The place where it is used.
        place: String,
    },
    /// Kernels use a variable of constant memory in a way that PTX does not allow.
    #[error("constant memory cannot be used in this way: {name} {place}")]
    ConstantStatic {
        /// The static's name.
        name: String,
        /// The place where it is used.
        place: String,
    },
    /// One kernel stores the address of a function for another one, which has a function of its own in its place.
    #[error(
        "{stores} stores the address of {function} (or of a table with it, as in a trait object) in memory that outlives the kernel, and \
         {calls} calls by an address from such memory. An address is only right in the kernel that has taken it. \
         (Store a number or an enum, and choose the function or the trait object by it in the kernel that calls it.)"
    )]
    ForeignFunction {
        /// The kernel that stores it.
        stores: String,
        /// The function.
        function: String,
        /// The kernel that calls by such an address.
        calls: String,
    },
    /// The compiler's intermediate code has a form that this crate does not know.
    #[error("the compiler writes {what} in a way that cuda_builder does not know: `{line}`")]
    UnknownIr {
        /// What it is about.
        what: String,
        /// The line.
        line: String,
    },
    /// LLVM cannot make PTX of the kernels.
    #[error("the kernels compile, but LLVM's {tool} fails: {said}{}", hint(said))]
    Llvm {
        /// `opt`, `llc` or `llvm-link`.
        tool: String,
        /// What it wrote.
        said: String,
    },
    /// A program could not be run or returned no usable output.
    #[error("{what}: {source}")]
    Tool {
        /// The command that was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl CudaBuilderError {
    /// Whether this machine lacks a part of the toolchain ([`Missing`](Self::Missing)), so that no kernels can be compiled here.
    pub fn lacks_toolchain(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Explains those messages of rustc that mislead for kernels.
fn advice(diagnostics: &str, is_module: bool) -> String {
    let mut text = String::new();
    let mut krates: Vec<&str> = diagnostics
        .split(" a crate named `")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
        .collect();
    krates.sort_unstable();
    krates.dedup();
    for krate in krates {
        text += &match krate {
            "std" => ".\nKernels have `core` and `alloc`, but no `std`".to_owned(),
            _ if is_module => format!(
                ".\nIf `{krate}` is a dependency of this package, name it in build.rs: `.dependencies(&[\"{krate}\"])`"
            ),
            _ => String::new(),
        };
    }
    let of_root = ["in the crate root", "unresolved import `crate::"];
    if is_module && of_root.iter().any(|words| diagnostics.contains(words)) {
        text += ".\nOn the GPU the kernels' module is a crate of its own: `crate::` finds this module and its own modules only";
    }
    text
}

/// Explains those messages of LLVM that do not name their cause.
fn hint(diagnostics: &str) -> &'static str {
    if diagnostics.contains("unsupported library call operation") {
        ". (The kernels convert between a 128-bit integer and a floating-point number, \
         for which a GPU has neither instructions nor a library. Convert the two 64-bit halves.)"
    } else if diagnostics.contains("invalid operand for inline asm constraint 's'") {
        ". (Inline assembly in the kernels has an operand `sym`, which LLVM does not support for GPUs. \
         Take the address of the static and pass it as `in(reg64)`.)"
    } else {
        ""
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|p| p.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Adds the file's name to an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> CudaBuilderError {
    let path = path.into();
    move |source| CudaBuilderError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn misleading_messages_of_rustc_are_explained() {
        let unlinked = |name: &str| {
            format!(
                "error[E0433]: cannot find module or crate `{name}` in this scope\n = help: you might be missing a crate named `{name}`"
            )
        };
        for (said, is_module, expected) in [
            (unlinked("libm"), true, ".dependencies(&[\"libm\"])"),
            (unlinked("std"), false, "no `std`"),
            (
                "error[E0425]: cannot find value `FACTOR` in the crate root".into(),
                true,
                "a crate of its own",
            ),
        ] {
            let text = advice(&said, is_module);
            assert!(text.contains(expected), "{text}");
        }
        assert_eq!(advice(&unlinked("libm"), false), "");
        assert_eq!(advice("error[E0308]: mismatched types", true), "");
    }
}
