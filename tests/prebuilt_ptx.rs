//! The PTX for machines that cannot build it is what a build gives.
#![cfg(feature = "gpu")]

const EMBEDDED: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

#[test]
fn prebuilt_ptx_is_what_these_kernels_compile_to() {
    // Where the PTX was not built, the build script has compared the record of the sources, and the texts are equal.
    let shipped = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/kernels-gpu/prebuilt.ptx"
    ))
    .expect("kernels-gpu/prebuilt.ptx");
    let first = EMBEDDED
        .lines()
        .zip(shipped.lines())
        .position(|(a, b)| a != b);
    assert!(
        EMBEDDED == shipped,
        "kernels-gpu/prebuilt.ptx is not fresh (first difference in line {:?}): TRISOLAR_REFRESH_PREBUILT=1 cargo build",
        first.map(|n| n + 1)
    );
}
