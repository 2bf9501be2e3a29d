//! The shipped PTX equals the result of a build.

use std::io::Read as _;
use std::path::Path;

use cuda_builder::{CudaBuilder, NvvmArch};

/// The PTX that the kernels compile to, or `None` where it cannot be determined.
fn built() -> Option<String> {
    if trisolar::machine::kernels() == "built" {
        return Some(include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")).to_owned());
    }
    // The build script used the shipped text, so the kernels have not been compiled yet.
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels-gpu");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let builder = CudaBuilder::new(kernels).arch(NvvmArch::Compute70);
    match builder.cache_dir(cache).build_recorded() {
        Ok((ptx, record)) => Some(record.header() + &std::fs::read_to_string(ptx).unwrap()),
        Err(missing) if missing.lacks_toolchain() => {
            assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "{missing}");
            eprintln!("skipped: {missing}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn shipped_ptx_is_what_these_kernels_compile_to() {
    let Some(built) = built() else {
        return;
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/kernels.ptx.lzma");
    let packed = std::fs::read(file).unwrap();
    let mut shipped = String::new();
    lzma_rust2::LzmaReader::new_mem_limit(&packed[..], u32::MAX, None)
        .and_then(|mut reader| reader.read_to_string(&mut shipped))
        .unwrap();
    let first = built.lines().zip(shipped.lines()).position(|(a, b)| a != b);
    assert!(
        built == shipped,
        "host/kernels.ptx.lzma is stale (first difference in line {:?}): TRISOLAR_REFRESH_PREBUILT=1 cargo build",
        first.map(|n| n + 1)
    );
}
