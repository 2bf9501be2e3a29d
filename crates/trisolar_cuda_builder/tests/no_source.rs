//! Without the sources of `core` or LLVM's programs, the message says what to install.

mod common;

use common::{BARE, builder, crate_of};
use cuda_builder::{CudaBuilderError, LLVM_TOOLS_VARIABLE, RUST_SRC_VARIABLE};

#[test]
fn what_is_missing_and_what_is_of_another_version_give_different_errors() {
    let krate = crate_of(BARE);
    let place = tempfile::tempdir().unwrap();
    let library = place.path().join("rustc-1.0.0/library");
    // SAFETY: this is the only test of the process and it has just started, so that no other thread reads the environment.
    unsafe { std::env::set_var(RUST_SRC_VARIABLE, &library) };

    let error = builder(krate.path()).build().unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::NoRustSource { .. }),
        "{error:?}"
    );
    let message = error.to_string();
    for words in [
        "rustup component add rust-src",
        "apt install rust-src",
        RUST_SRC_VARIABLE,
        "rustc-1.0.0",
    ] {
        assert!(message.contains(words), "{words} in {message}");
    }

    std::fs::create_dir_all(library.join("core/src")).unwrap();
    std::fs::write(library.join("core/src/lib.rs"), "").unwrap();
    let error = builder(krate.path()).build().unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::RustSourceMismatch { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("version 1.0.0"), "{error}");

    // SAFETY: as above.
    unsafe { std::env::set_var(LLVM_TOOLS_VARIABLE, place.path()) };
    let error = builder(krate.path()).build().unwrap_err();
    assert!(matches!(error, CudaBuilderError::NoLlvmTools { .. }));
    assert!(error.lacks_toolchain());
    let message = error.to_string();
    for words in [
        "rustup component add llvm-tools",
        LLVM_TOOLS_VARIABLE,
        place.path().to_str().unwrap(),
    ] {
        assert!(message.contains(words), "{words} in {message}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for name in ["opt", "llc", "llvm-link"] {
            let program = place.path().join(name);
            std::fs::write(&program, "#!/bin/sh\necho LLVM version 7.0.1\n").unwrap();
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
        }
        let error = builder(krate.path()).build().unwrap_err();
        assert!(matches!(error, CudaBuilderError::LlvmToolsMismatch { .. }));
        assert!(error.to_string().contains("version 7.0.1"), "{error}");
    }
}
