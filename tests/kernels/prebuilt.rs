//! The shipped PTX equals the result of a build.

use std::path::Path;

use cuda_builder::{CudaBuilder, Modules, NvvmArch};

use super::{parts, unpacked};

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
    const STALE: &str = "host/kernels.modules is stale: TRISOLAR_REFRESH_PREBUILT=1 cargo build";
    let Some((record, modules)) = built() else {
        return;
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/kernels.modules");
    let shipped = std::fs::read(file).unwrap();
    let shipped = shipped.strip_prefix(record.as_bytes()).expect(STALE);
    let (table, packed) = parts(shipped);
    assert!(table == parts(&modules.encoded()).0, "{STALE}");
    let texts: Vec<String> = packed.into_iter().map(unpacked).collect();
    assert!(texts == modules.texts, "{STALE}");
}
