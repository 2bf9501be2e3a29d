//! The compiled `core` is built once, and only a complete one is used.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{BARE, builder, crate_of, text_of};
use cuda_builder::CudaBuilder;

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
fn builds_at_the_same_time_share_one_core_and_an_interrupted_one_is_repeated() {
    let krate = crate_of(&(BARE.to_owned() + CALLED));
    let cache = tempfile::tempdir().unwrap();
    let build = || text_of(CudaBuilder::new(krate.path()).cache_dir(cache.path()));

    let texts: Vec<_> = std::thread::scope(|scope| {
        let both = [scope.spawn(build), scope.spawn(build)];
        both.into_iter().map(|b| b.join().unwrap()).collect()
    });
    let Some(first) = texts[0].clone() else {
        return;
    };
    assert_eq!(texts[1].as_ref(), Some(&first));
    assert!(first.contains("_5small5twice"), "{first}");
    // The PTX from a cache in another folder is the same, including the names of functions.
    assert_eq!(text_of(builder(krate.path())).as_ref(), Some(&first));
    let finished = sysroots(cache.path());
    assert_eq!(finished.len(), 1, "{finished:?}");

    // Simulates a crash while `core` was being compiled.
    let sysroot = &finished[0];
    fs::rename(sysroot, sysroot.with_extension("part")).unwrap();
    let libraries = sysroot
        .with_extension("part")
        .join("lib/rustlib/nvptx64-nvidia-cuda/lib");
    fs::write(libraries.join("libcore.rlib"), "half").unwrap();
    assert_eq!(build().as_ref(), Some(&first));
    assert_eq!(sysroots(cache.path()), finished);
}

/// The finished sysroots in the cache.
fn sysroots(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir() && p.extension().is_none())
        .filter(|p| {
            p.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("sysroot-")
        })
        .collect()
}
