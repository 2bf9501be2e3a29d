//! Constants that the host sets are in constant memory under their own names, and kernels load them from there.

mod common;

use common::{builder, crate_of, has, kernels, lacks, refused, text_of};
use cuda_builder::{CudaBuilderError, ptx};

#[test]
fn constants_are_declared_and_loaded_as_such() {
    let Some(text) = text_of(builder(kernels("constants"))) else {
        return;
    };
    for declared in [
        ".visible .const .align 4 .b8 WEIGHTS[128] = ",
        ".visible .const .align 4 .b8 LIMITS[8] = ",
        ".visible .const .align 4 .b8 offsets[32] = ",
        ".visible .const .align 4 .b8 COUNT[4] = {9};",
    ] {
        assert_eq!(text.matches(declared).count(), 1, "{declared} in {text}");
    }
    assert!(!text.contains("cuda_std_constant"), "{text}");
    let weighted = ptx::entry(&text, "weighted").unwrap();
    // Two elements, two limits; the slice goes to the function as a generic address.
    assert!(weighted.matches("ld.const").count() >= 3, "{weighted}");
    has(weighted, "cvta.const.u64");
    lacks(weighted, "1.5|0f3FC00000");
    let shifted = ptx::entry(&text, "shifted").unwrap();
    assert_eq!(shifted.matches("ld.const.b32").count(), 1, "{shifted}");
    // What cannot be set is computed with.
    assert!(!text.contains("FIXED"), "{text}");
    let either = ptx::entry(&text, "either").unwrap();
    has(either, "cvta.const.u64|	ld.b32");
}

#[test]
fn writing_to_a_constant_is_an_error_that_names_it() {
    let krate = crate_of(
        "#![feature(abi_ptx)]\n#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
         #[unsafe(export_name = \"cuda_std_constant$TABLE\")] pub static mut TABLE: [u32; 4] = [1; 4];\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn put(i: usize) { unsafe { TABLE[i & 3] = 7 } }",
    );
    let Some(error) = refused(builder(krate.path())) else {
        return;
    };
    assert!(matches!(error, CudaBuilderError::ConstantStatic { .. }));
    has(
        &error.to_string(),
        "TABLE is only for reading, but put has `store ",
    );
}
