//! The shipped PTX equals the result of a build.

use std::path::Path;

use cuda_builder::{CudaBuilder, Modules, NvvmArch};
use lzma_rust2::LzmaReader;

/// The record and the modules that the kernels compile to, or `None` where they cannot be determined.
fn built() -> Option<(String, Modules)> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels-gpu");
    // Where the build script has compiled them, nothing is compiled again.
    let cache = match trisolar::machine::kernels() {
        "built" => Path::new(env!("OUT_DIR"))
            .ancestors()
            .nth(4)
            .unwrap()
            .join("cuda-builder"),
        _ => Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"),
    };
    let builder = CudaBuilder::new(kernels).arch(NvvmArch::Compute70);
    match builder.cache_dir(cache).build_modules() {
        Ok((modules, record)) => Some((record.header(), modules)),
        Err(missing) if missing.lacks_toolchain() => {
            assert!(std::env::var_os("TRISOLAR_NO_SKIP").is_none(), "{missing}");
            eprintln!("skipped: {missing}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn shipped_kernels_are_what_these_sources_compile_to() {
    const STALE: &str = "host/kernels.ptx.lzma is stale: TRISOLAR_REFRESH_PREBUILT=1 cargo build";
    let Some((record, modules)) = built() else {
        return;
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/kernels.ptx.lzma");
    let shipped = std::fs::read(file).unwrap();
    let shipped = shipped.strip_prefix(record.as_bytes()).expect(STALE);
    let table = modules.encoded_with(&[[0u8; 0]; 0]);
    let table = table.strip_suffix(b"\n").unwrap();
    let mut rest = shipped.strip_prefix(table).expect(STALE);
    let mut lengths = Vec::new();
    while let Some(line) = rest.strip_prefix(b"module ") {
        let end = line.iter().position(|&byte| byte == b'\n').unwrap();
        lengths.push(
            std::str::from_utf8(&line[..end])
                .unwrap()
                .parse::<usize>()
                .unwrap(),
        );
        rest = &line[end + 1..];
    }
    rest = rest.strip_prefix(b"\n").unwrap();
    assert_eq!(lengths.len(), modules.texts.len(), "{STALE}");
    for (length, text) in lengths.into_iter().zip(&modules.texts) {
        let (packed, others) = rest.split_at(length);
        rest = others;
        let reader = LzmaReader::new_mem_limit(packed, u32::MAX, None).unwrap();
        assert!(std::io::read_to_string(reader).unwrap() == *text, "{STALE}");
    }
}
