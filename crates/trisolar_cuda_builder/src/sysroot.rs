//! `core`, `compiler_builtins` and `alloc` for the GPU, compiled once for each compiler and set of flags.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::TARGET;
use crate::error::{CudaBuilderError, at};
use crate::toolchain::{Toolchain, isolate};

/// Must be changed when this file's output changes in a way that the flags do not show.
const FORMAT: &str = "2";

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
    hash.finalize()[..8]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

fn compile(
    toolchain: &Toolchain,
    flags: &[String],
    source: &Path,
    sysroot: &Path,
) -> Result<(), CudaBuilderError> {
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libraries).map_err(at(&libraries))?;
    let changed = sysroot.join("library");
    let core = changed.join("core/src");
    copy_core(source, &core)?;

    // The cfgs that the build script of compiler_builtins would set for this target.
    let builtins: &[&str] = &[
        "--cfg=feature=\"compiler-builtins\"",
        "--cfg=feature=\"mem\"",
        "--cfg=feature=\"unstable-intrinsics\"",
        "--cfg=intrinsics_enabled",
        "--cfg=optimizations_enabled",
        "--cfg=f16_enabled",
    ];
    let crates: [(&'static str, PathBuf, &[&str]); 3] = [
        ("core", core, &[]),
        (
            "compiler_builtins",
            source.join("compiler-builtins/compiler-builtins/src"),
            builtins,
        ),
        ("alloc", source.join("alloc/src"), &[]),
    ];
    // Paths in messages and line tables look as in the compiler's own libraries.
    let remaps = [source, &changed]
        .map(|folder| format!("--remap-path-prefix={}=/rustc/library", folder.display()));
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
            .args(&remaps)
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
    fs::remove_dir_all(&changed).map_err(at(&changed))
}

/// The intrinsic for a fence within a thread, for which LLVM's NVPTX back end fails.
const FENCE: &str = "intrinsics::atomic_singlethreadfence::<";

/// Copies the sources of `core` and replaces fences within a thread (`compiler_fence`, which crates such as zeroize call) by
/// empty assembly that may access all memory. This keeps the compiler from moving accesses across it, which is all that such a
/// fence has to do.
fn copy_core(source: &Path, to: &Path) -> Result<(), CudaBuilderError> {
    copy_folder(&source.join("core/src"), to)?;
    // Files of other libraries are used in place.
    let others = format!("\"{}/", source.display()).replace('\\', "/");
    for entry in fs::read_dir(to).map_err(at(to))? {
        let path = entry.map_err(at(to))?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            edit(&path, |line| line.replace("\"../../", &others))?;
        }
    }
    edit(&to.join("sync/atomic.rs"), |line| {
        match (line.split_once("=> "), line.contains(FENCE)) {
            (Some((order, _)), true) => {
                format!("{order}=> crate::arch::asm!(\"\", options(nostack, preserves_flags)),")
            }
            _ => line.to_owned(),
        }
    })
}

/// Changes a file line by line.
fn edit(path: &Path, change: impl Fn(&str) -> String) -> Result<(), CudaBuilderError> {
    let text = fs::read_to_string(path).map_err(at(path))?;
    let changed: String = text.lines().map(|line| change(line) + "\n").collect();
    fs::write(path, changed).map_err(at(path))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), CudaBuilderError> {
    fs::create_dir_all(to).map_err(at(to))?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(at(&from))?.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            let bytes = fs::read(&from).map_err(at(&from))?;
            // fs::copy would also copy a read-only permission.
            fs::write(&to, bytes).map_err(at(&to))?;
        }
    }
    Ok(())
}
