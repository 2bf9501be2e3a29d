//! `core`, `compiler_builtins` and `alloc` for the GPU, compiled once on a machine for each compiler and set of flags.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::TARGET;
use crate::error::{CudaBuilderError, at};
use crate::record::hex;
use crate::toolchain::{Toolchain, given, isolate};

const BUILTINS: &str = "compiler_builtins";
/// The file in the sysroot with the functions for remainders of floating-point numbers, as LLVM's bitcode.
pub const REMAINDERS: &str = "compiler_builtins.bc";

/// The environment variable that names the folder for the compiled `core`s.
pub const CACHE_VARIABLE: &str = "CUDA_BUILDER_CACHE";

/// The folder for the compiled `core`s of all workspaces of this user; `None` if there is none to which files can be written.
pub fn folder() -> Option<PathBuf> {
    let (variable, below) = match std::env::consts::OS {
        "windows" => ("LOCALAPPDATA", ""),
        "macos" => ("HOME", "Library/Caches"),
        _ => ("HOME", ".cache"),
    };
    let of_user = given("XDG_CACHE_HOME").or_else(|| Some(given(variable)?.join(below)));
    let folder = given(CACHE_VARIABLE).or_else(|| Some(of_user?.join("cuda-builder")))?;
    fs::create_dir_all(&folder).ok()?;
    let folder = folder.canonicalize().ok()?;
    // The folder may exist where nothing can be written.
    File::create(folder.join("writable")).ok().map(|_| folder)
}

/// Must be changed when this file's output changes in a way that the flags do not show.
const FORMAT: &str = "4";

/// Returns the folder for rustc's `--sysroot`, and creates it if it does not exist.
///
/// `flags` are the code generation flags that all crates of a build share. Processes that need the same sysroot at the same
/// time wait for the first one. An interrupted build leaves nothing that later builds would use.
pub fn sysroot(
    toolchain: &Toolchain,
    flags: &[String],
    cache: &Path,
) -> Result<PathBuf, CudaBuilderError> {
    let source = toolchain.library_source()?;
    let key = key(&[
        FORMAT,
        &toolchain.identity,
        &source.to_string_lossy(),
        &flags.join(" "),
    ]);
    let finished = cache.join(format!("sysroot-{key}"));
    if finished.is_dir() {
        return Ok(finished);
    }

    fs::create_dir_all(cache).map_err(at(cache))?;
    let lock_path = cache.join(format!("sysroot-{key}.lock"));
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    lock.lock().map_err(at(&lock_path))?;
    if finished.is_dir() {
        return Ok(finished);
    }
    let unfinished = cache.join(format!("sysroot-{key}.part"));
    if unfinished.exists() {
        // An interrupted build left this folder behind. No other process uses it, because this one holds the lock.
        fs::remove_dir_all(&unfinished).map_err(at(&unfinished))?;
    }
    compile(toolchain, flags, &source, &unfinished)?;
    fs::rename(&unfinished, &finished).map_err(at(&finished))?;
    Ok(finished)
}

/// A short name for a list of texts.
pub fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()[..8])
}

fn compile(
    toolchain: &Toolchain,
    flags: &[String],
    source: &Path,
    sysroot: &Path,
) -> Result<(), CudaBuilderError> {
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libraries).map_err(at(&libraries))?;

    // The cfgs that the build script of compiler_builtins would set for this target.
    let builtins: &[&str] = &[
        "--cfg=feature=\"compiler-builtins\"",
        "--cfg=feature=\"mem\"",
        "--cfg=feature=\"unstable-intrinsics\"",
        "--cfg=feature=\"unmangled-names\"",
        "--cfg=intrinsics_enabled",
        "--cfg=optimizations_enabled",
        "--cfg=f16_enabled",
    ];
    let crates: [(&'static str, PathBuf, &[&str]); 3] = [
        ("core", source.join("core/src"), &[]),
        (
            BUILTINS,
            source.join("compiler-builtins/compiler-builtins/src"),
            builtins,
        ),
        ("alloc", source.join("alloc/src"), &[]),
    ];
    // Paths in messages and line tables look as in the compiler's own libraries.
    let remap = format!("--remap-path-prefix={}=/rustc/library", source.display());
    for (name, folder, extra) in crates {
        let mut command = Command::new(&toolchain.rustc);
        isolate(&mut command);
        let output = command
            .env("RUSTC_BOOTSTRAP", "1")
            .args([
                "--crate-name",
                name,
                "--crate-type=rlib",
                "--edition=2024",
                "--target",
                TARGET,
            ])
            .arg(folder.join("lib.rs"))
            .arg("--sysroot")
            .arg(sysroot)
            .arg("--out-dir")
            .arg(&libraries)
            .arg(&remap)
            .args((name == BUILTINS).then(|| {
                let bitcode = sysroot.join(REMAINDERS);
                format!("--emit=link,metadata,llvm-bc={}", bitcode.display())
            }))
            .args([
                "-Copt-level=3",
                "-Ccodegen-units=1",
                "--cap-lints=allow",
                "-Zforce-unstable-if-unmarked",
            ])
            .args(flags)
            .args(extra)
            .output()
            .map_err(|source| CudaBuilderError::Tool {
                what: format!("cannot run {}", toolchain.rustc.display()),
                source,
            })?;
        if !output.status.success() {
            return Err(CudaBuilderError::LibraryFailed {
                name,
                source_path: source.to_owned(),
                diagnostics: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
    }
    Ok(())
}
