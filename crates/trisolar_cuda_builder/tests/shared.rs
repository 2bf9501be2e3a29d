//! Every static and every array in shared memory is a single variable, wherever and however it is used, or is rejected.

mod common;

use std::sync::LazyLock;

use common::{builder, count, has, kernels, lacks, refused, text_of};
use cuda_builder::{CudaBuilderError, ptx};

/// The PTX of the crate `shared`, which is compiled once, or `None` where kernels cannot be built.
fn shared() -> Option<&'static str> {
    static TEXT: LazyLock<Option<String>> = LazyLock::new(|| text_of(builder(kernels("shared"))));
    TEXT.as_deref()
}

/// The declarations whose names contain `part`.
fn declarations<'a>(ptx: &'a str, part: &str) -> Vec<&'a str> {
    let of_module = |line: &&str| line.contains(" .align ") && line.ends_with(';');
    let named = |line: &&str| line.split('=').next().unwrap_or_default().contains(part);
    // What one kernel uses may be declared within it.
    let lines = ptx.lines().map(str::trim);
    lines.filter(of_module).filter(named).collect()
}

#[test]
fn each_static_is_declared_once_in_shared_memory() {
    let Some(ptx) = shared() else { return };
    for (name, size) in [
        ("$SLOTS$", 128),
        ("$TABLE$", 256),
        ("$TICKETS$", 4),
        ("tiles$TILE$", 512),
        ("tiles$SUM$", 8),
        ("shared$TILE$", 2048),
    ] {
        let found = declarations(ptx, name);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].starts_with(".shared .align "), "{found:?}");
        assert!(found[0].ends_with(&format!("[{size}];")), "{found:?}");
    }
    // LLVM declares what is a single number by the number's type.
    for name in ["$FIRST$", "$FLAG$"] {
        let shared = |line: &&str| line.trim_start().starts_with(".shared .align ");
        let found = ptx
            .lines()
            .filter(shared)
            .filter(|line| line.contains(name));
        assert_eq!(found.count(), 1, "{name} in {ptx}");
    }
    assert!(!ptx.contains("UNUSED"), "{ptx}");
    assert_eq!(declarations(ptx, "GLOBAL").len(), 1);
    assert!(declarations(ptx, "GLOBAL")[0].starts_with(".global "));
}

#[test]
fn all_crates_that_inline_or_instantiate_a_function_share_its_array() {
    let Some(ptx) = shared() else { return };
    // The arrays are `words`, `array::<u64>`, `array::<f64>`, and the kernel's own.
    let arrays = declarations(ptx, "SharedArray");
    assert_eq!(arrays.len(), 4, "{arrays:?}");
    assert_eq!(arrays.iter().filter(|a| a.ends_with("[512];")).count(), 3);
    assert_eq!(count(ptx, "call.uni (retval0), _RINvNtCs"), 0, "{ptx}");
}

#[test]
fn accesses_are_marked_as_shared() {
    let Some(ptx) = shared() else { return };
    let broadcast = ptx::entry(ptx, "broadcast").unwrap();
    assert_eq!(count(broadcast, "st.shared.b32"), 1, "{broadcast}");
    assert_eq!(count(broadcast, "ld.shared.b32"), 1, "{broadcast}");
    // The address is taken in every way, in functions and another module: four stores, and five loads of three statics.
    let addresses = ptx::entry(ptx, "addresses").unwrap();
    assert_eq!(count(addresses, "st.shared.b32"), 4, "{addresses}");
    assert_eq!(count(addresses, "ld.shared.b32"), 5, "{addresses}");
    let own = ptx::entry(ptx, "own").unwrap();
    assert_eq!(count(own, "st.shared.b64"), 2, "{own}");
    assert!(count(own, "ld.shared.b64") >= 32, "{own}");
    for body in [broadcast, addresses, own] {
        lacks(body, "cvta.shared|ld.b|st.b");
    }
    let whole = ptx::entry(ptx, "whole").unwrap();
    has(whole, "atom.shared.add.u32|shared.cas.b32|st.shared.b8");
}

/// The tiled product of matrices accesses its tiles only as shared memory, whichever way declares them.
#[test]
fn a_tiled_matrix_product_has_only_shared_loads() {
    let Some(ptx) = text_of(builder(kernels("gemm"))) else {
        return;
    };
    for name in ["gemm_statics", "gemm_arrays", "gemm_dynamic"] {
        let body = ptx::entry(&ptx, name).unwrap();
        assert_eq!(count(body, "\tst.shared.b32"), 2, "{body}");
        // The inner loop is unrolled: one value of each tile for each of its steps.
        // (Dynamic memory is aligned to 16 bytes, so that some loads are of four values.)
        let vectors = count(body, "\tld.shared.v4.");
        assert_eq!(count(body, "\tld.shared.") + 3 * vectors, 32, "{body}");
        lacks(body, "cvta.shared|\tld.b|\tst.b|\tld.f|\tst.f");
    }
    let passed_on = ptx::entry(&ptx, "dynamic_passed_on").unwrap();
    assert_eq!(count(passed_on, "st.shared.b32"), 1, "{passed_on}");
    common::assemble(&ptx, &common::ARCHITECTURES);
}

#[test]
fn an_address_that_leaves_its_function_is_generic() {
    let Some(ptx) = shared() else { return };
    let escapes = ptx::entry(ptx, "escapes").unwrap();
    // The address goes into a choice between two memories, to memory, to a function, and into two numbers and a difference.
    assert!(count(escapes, "cvta.shared.u64") >= 1, "{escapes}");
    assert_eq!(count(escapes, "\tst.b32"), 1, "{escapes}");
    assert!(!escapes.contains("shared.b"), "{escapes}");
}

#[test]
fn the_dev_profile_uses_shared_memory_too() {
    let Some(ptx) = text_of(builder(kernels("shared")).release(false)) else {
        return;
    };
    assert_eq!(declarations(&ptx, "tiles$TILE$").len(), 1, "{ptx}");
    assert_eq!(declarations(&ptx, "SharedArray").len(), 4);
    assert!(!ptx.contains(".global .align 4 .b8 cuda_std"), "{ptx}");
}

#[test]
fn an_address_as_the_initial_value_of_a_static_is_rejected_by_name() {
    let with = builder(kernels("shared")).build_args(&["--features=address_in_static"]);
    let Some(error) = refused(with) else { return };
    assert!(matches!(error, CudaBuilderError::SharedStatic { .. }));
    has(
        &error.to_string(),
        "SLOTS of the crate shared|shared::refused::PLACE",
    );
}

#[test]
fn a_shared_static_that_cannot_change_does_not_compile() {
    let with = builder(kernels("shared")).build_args(&["--features=constant"]);
    match refused(with) {
        Some(CudaBuilderError::BuildFailed { diagnostics, .. }) => {
            has(&diagnostics, "declare it `static mut`")
        }
        other => assert!(other.is_none(), "{other:?}"),
    }
}
