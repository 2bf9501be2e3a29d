//! The shipped PTX equals the result of a build.

use std::path::Path;

use cuda_builder::{CudaBuilder, Modules, NvvmArch};

use super::{parts, unpacked};

#[test]
fn shipped_kernels_are_what_these_sources_compile_to() {
    const STALE: &str = "host/kernels.modules is stale: TRISOLAR_REFRESH_PREBUILT=1 cargo build";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = std::fs::read(root.join("host/kernels.modules")).unwrap();
    let title = Modules::TITLE.as_bytes();
    let start = (shipped.windows(title.len())).position(|part| part == title);
    let (record, shipped) = shipped.split_at(start.expect(STALE));
    let record = std::str::from_utf8(record).unwrap();

    let builder = CudaBuilder::new(root.join("kernels-gpu")).arch(NvvmArch::Compute70);
    // The library has the shipped kernels, or those that its build script has compiled, as it must with TRISOLAR_BUILD_KERNELS=1.
    let same = match trisolar::machine::kernels() {
        "built" => builder.check_same(record),
        _ => builder.check_prebuilt(record),
    };
    if let Err(differences) = same.unwrap() {
        panic!("{STALE}: {differences}");
    }
    let (table, packed) = parts(shipped);
    let embedded = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.modules"));
    let (table_of_library, packed_of_library) = parts(embedded);
    assert!(table == table_of_library, "{STALE}");
    let texts = |packed: Vec<&[u8]>| packed.into_iter().map(unpacked).collect::<Vec<_>>();
    assert!(texts(packed) == texts(packed_of_library), "{STALE}");
}
