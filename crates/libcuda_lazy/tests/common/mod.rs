//! Libraries to load instead of the driver's.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a Rust source text to a shared library in `dir`.
#[allow(dead_code, reason = "the tests without a library share this file")]
pub fn shared_library(dir: &Path, source: &str) -> PathBuf {
    let (input, output) = (dir.join("fake.rs"), dir.join("libcuda.so.1"));
    std::fs::write(&input, source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "-Cpanic=abort",
            "-o",
        ])
        .arg(&output)
        .arg(&input)
        .status()
        .unwrap();
    assert!(status.success(), "the fake driver does not compile");
    output
}

/// Makes `libcuda_lazy` load `library`. Must be called first, in a test that is alone in its file.
pub fn use_library(library: &Path) {
    // SAFETY: this is the only test of the process and it has just started, so that no other thread reads the environment.
    unsafe { std::env::set_var(libcuda_lazy::LIBRARY_VARIABLE, library) };
}
