//! The compiled `core` is built once, and only a complete one is used.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{BARE, builder, crate_of, has, text_of};
use cuda_builder::{CACHE_VARIABLE, CudaBuilder};
use tempfile::TempDir;

/// A kernel that calls a function which is not inlined. The name of such a function in the PTX contains a hash of its crate.
const CALLED: &str = "
#[inline(never)]
fn twice(x: f32) -> f32 {
    x + x
}
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn calling(x: *mut f32) {
    unsafe { *x = twice(*x) }
}
";

#[test]
fn workspaces_share_one_core_and_an_interrupted_one_is_repeated() {
    let source = BARE.to_owned() + CALLED;
    let (first, second) = (crate_of(&source), crate_of(&source));
    let cache = tempfile::tempdir().unwrap();
    // SAFETY: this is the only test of the process and it has just started, so that no other thread reads the environment.
    unsafe {
        std::env::set_var(CACHE_VARIABLE, cache.path());
        std::env::remove_var("CARGO_TARGET_DIR");
    }
    // The PTX from a cache in another folder is the same, including the names of functions.
    let Some(text) = text_of(builder(first.path())) else {
        return;
    };
    has(&text, "_5small5twice");
    // Simulates a crash while `core` was being compiled. Its folder has the same name as in the cache of the other tests.
    let part = |sysroot: &Path| {
        cache
            .path()
            .join(sysroot.file_name().unwrap())
            .with_extension("part")
    };
    for sysroot in sysroots(&common::cache()) {
        let libraries = part(&sysroot).join("lib/rustlib/nvptx64-nvidia-cuda/lib");
        fs::create_dir_all(&libraries).unwrap();
        fs::write(libraries.join("libcore.rlib"), "half").unwrap();
        fs::write(part(&sysroot).join("left"), "half").unwrap();
    }

    let build = |krate: &TempDir| text_of(CudaBuilder::new(krate.path()));
    std::thread::scope(|scope| {
        let both = [&first, &second].map(|krate| scope.spawn(move || build(krate)));
        for built in both {
            assert_eq!(built.join().unwrap().as_ref(), Some(&text));
        }
    });
    let finished = sysroots(cache.path());
    assert_eq!(finished.len(), 1, "{finished:?}");
    assert!(!finished[0].join("left").exists());
    assert!(!part(&finished[0]).exists());
    assert_eq!(sysroots(&first.path().join("target/cuda-builder")).len(), 0);
}

/// The finished sysroots in the cache.
fn sysroots(cache: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(cache)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_finished = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("sysroot-") && path.is_dir() && path.extension().is_none()
    };
    paths.filter(is_finished).collect()
}
