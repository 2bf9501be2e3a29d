//! Without the sources of `core` or LLVM's programs, the message says what to install.

mod common;

use common::{BARE, builder, crate_of, has};
use cuda_builder::{CudaBuilderError, LLVM_TOOLS_VARIABLE, RUST_SRC_VARIABLE};

#[test]
fn what_is_missing_and_what_is_of_another_version_give_different_errors() {
    let krate = crate_of(BARE);
    let place = tempfile::tempdir().unwrap();
    let fails = |is_missing: bool, words: &str| {
        let error = builder(krate.path()).build().unwrap_err();
        assert_eq!(error.lacks_toolchain(), is_missing, "{error}");
        let mismatch = matches!(error, CudaBuilderError::Mismatch { .. });
        assert!(is_missing || mismatch, "{error}");
        has(&error.to_string(), words);
    };
    let library = place.path().join("rustc-1.0.0/library");
    // SAFETY: this is the only test of the process and it has just started, so that no other thread reads the environment.
    unsafe { std::env::set_var(RUST_SRC_VARIABLE, &library) };
    fails(
        true,
        "rustup component add rust-src|apt install rust-src|CUDA_BUILDER_RUST_SRC|rustc-1.0.0",
    );

    std::fs::create_dir_all(library.join("core/src")).unwrap();
    std::fs::write(library.join("core/src/lib.rs"), "").unwrap();
    fails(false, "version 1.0.0");

    // SAFETY: as above.
    unsafe { std::env::set_var(LLVM_TOOLS_VARIABLE, place.path()) };
    let folder = place.path().to_str().unwrap();
    fails(
        true,
        &format!("rustup component add llvm-tools|{LLVM_TOOLS_VARIABLE}|{folder}"),
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for name in ["opt", "llc", "llvm-link"] {
            let program = place.path().join(name);
            std::fs::write(&program, "#!/bin/sh\necho LLVM version 7.0.1\n").unwrap();
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
        }
        fails(false, "version 7.0.1");
    }
}
