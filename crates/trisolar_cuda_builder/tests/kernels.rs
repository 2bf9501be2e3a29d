//! Kernel crates written for rust-cuda compile unchanged and give the expected instructions.

mod common;

use std::sync::LazyLock;

use common::{builder, count, has, kernels, lacks, text_of};
use cuda_builder::{NvvmArch, ptx};

/// The PTX of `facilities`, which is compiled once, or `None` where kernels cannot be built.
fn facilities() -> Option<&'static str> {
    static TEXT: LazyLock<Option<String>> =
        LazyLock::new(|| text_of(builder(kernels("facilities"))));
    TEXT.as_deref()
}

/// The PTX of one kernel of `facilities`.
fn facility(name: &str) -> Option<&'static str> {
    Some(ptx::entry(facilities()?, name).unwrap())
}

/// The PTX of `facilities` for capability 9.0, with the kernels that only newer architectures have.
fn newer() -> Option<&'static str> {
    static TEXT: LazyLock<Option<String>> = LazyLock::new(|| for_newer(NvvmArch::Compute90));
    TEXT.as_deref()
}

/// The same for a newer architecture. Each of them needs a `core` of its own, which takes a minute.
fn for_newer(arch: NvvmArch) -> Option<String> {
    let features = match arch {
        NvvmArch::Compute90a => "--features=sm_80,sm_90,sm_90a",
        _ => "--features=sm_80,sm_90",
    };
    text_of(
        builder(kernels("facilities"))
            .arch(arch)
            .build_args(&[features]),
    )
}

#[test]
fn crates_of_every_style_compile_and_keep_their_variables_in_registers() {
    for (name, kernels_of) in [
        ("style_new", &["saxpy"][..]),
        ("style_no_std", &["sum", "histogram"]),
    ] {
        let Some(text) = text_of(builder(kernels(name))) else {
            return;
        };
        for kernel in kernels_of {
            lacks(ptx::entry(&text, kernel).expect(kernel), ".local");
        }
        common::assemble(&text, &common::ARCHITECTURES);
    }
}

#[test]
fn barriers_are_neither_copied_nor_lost() {
    let Some(text) = facilities() else {
        return;
    };
    let body = ptx::entry(text, "three_barriers").unwrap();
    assert_eq!(count(body, "bar.sync"), 3, "{body}");
    let body = ptx::entry(text, "barrier_between_conditions").unwrap();
    assert_eq!(count(body, "bar.sync"), 1, "{body}");
}

#[test]
fn what_a_reference_shows_is_read_through_the_cache_of_constant_data() {
    let Some(body) = facility("referenced") else {
        return;
    };
    assert_eq!(count(body, "ld.global.nc.b32"), 2, "{body}");
    assert_eq!(count(body, "ld.relaxed"), 1, "{body}");
}

#[test]
fn a_large_state_is_written_back_from_local_memory() {
    let Some(text) = facilities() else {
        return;
    };
    // llc drops moves between address spaces, which are functions therefore.
    has(
        ptx::entry(text, "kept").unwrap(),
        "call.uni cuda_builder_move",
    );
    let (_, moves) = text.rsplit_once(".func cuda_builder_move").unwrap();
    has(
        moves.split_once("\n}").unwrap().0,
        "ld.local.b64|st.b64|ld.local.b8|st.b8",
    );
}

#[test]
fn fences_within_a_thread_keep_stores_apart() {
    let Some(body) = facility("fences") else {
        return;
    };
    assert_eq!(count(body, "st.global.b32"), 5, "{body}");
    assert_eq!(count(body, "fence.") + count(body, "membar."), 0, "{body}");
}

#[test]
fn remainders_are_computed_exactly_and_written_out_formulas_do_not_change() {
    let Some(body) = facility("remainders") else {
        return;
    };
    assert_eq!(count(body, " fmod,"), 2, "{body}");
    assert_eq!(count(body, " fmodf,"), 1, "{body}");
    assert_eq!(count(body, "fma.rn.f64"), 1, "{body}");
}

#[test]
fn an_index_minus_a_condition_is_not_mistaken_for_one_minus_its_negation() {
    let Some(body) = facility("steps_back") else {
        return;
    };
    // Each of the two conditions is extended to a word once, and no load is from the wrong element.
    assert_eq!(count(body, "selp.b32"), 2, "{body}");
    lacks(body, "+80]|+176]");
}

#[test]
fn the_lower_byte_of_a_float_is_stored_unconverted() {
    let Some(body) = facility("odd_place") else {
        return;
    };
    assert_eq!(count(body, "st.global.b8"), 4, "{body}");
    assert_eq!(count(body, "], bits0;"), 1, "{body}");
}

#[test]
fn atomics_in_a_threads_own_memory_become_plain_accesses() {
    let Some(text) = facilities() else {
        return;
    };
    let body = ptx::entry(text, "own_memory").unwrap();
    assert_eq!(count(body, "atom."), 0, "{body}");
    has(body, "setp.eq.b32|add.rn.f32");
    lacks(body, "isspacep");
    // A function that can be called with any address tests it at run time; a kernel whose address comes from the host need not.
    let (_, add) = text.split_once("10facilities3add(").unwrap();
    let (add, _) = add.split_once("ret;").unwrap();
    has(add, "isspacep.local \t%p|atom.add.u32|st.b32");
    let atomics = ptx::entry(text, "atomics").unwrap();
    has(
        atomics,
        "atom.relaxed.cta.max.s32|atom.acquire.gpu.cas.b32|atom.sys.cas.b32|\
         atom.acq_rel.cta.cas.b64",
    );
    assert!(!atomics.contains("isspacep"), "{atomics}");
}

#[test]
fn shared_memory_is_addressed_as_such() {
    let Some(body) = facility("wide_shared") else {
        return;
    };
    has(body, "ld.shared|st.shared");
    let Some(text) = text_of(builder(kernels("style_no_std"))) else {
        return;
    };
    let sum = ptx::entry(&text, "sum").unwrap();
    assert!(sum.contains("bar.sync") && sum.contains("atom"), "{sum}");
}

#[test]
fn newer_instructions_appear_when_compiled_for_their_architectures() {
    let Some(text) = newer() else {
        return;
    };
    has(ptx::entry(text, "reductions").unwrap(), "redux.sync");
}

#[test]
fn clusters_have_their_directives_and_reach_shared_memory_of_other_blocks() {
    let Some(text) = newer() else {
        return;
    };
    let body = ptx::entry(text, "clusters").unwrap();
    let directives = ".maxntid 64\n.explicitcluster\n.reqnctapercluster 2, 2, 1\n{";
    assert!(body.contains(directives), "{body}");
    for (instruction, times) in [
        ("barrier.cluster.arrive.release;", 2),
        ("barrier.cluster.wait.acquire;", 2),
        ("mapa.shared::cluster.u32", 3),
        ("ld.shared::cluster.b32", 1),
        ("st.shared::cluster.v4.b32", 1),
        ("%cluster_ctarank", 1),
        ("%cluster_nctarank", 1),
        ("%cluster_ctaid.x", 1),
    ] {
        assert_eq!(count(body, instruction), times, "{instruction}: {body}");
    }
}

#[test]
#[ignore = "takes minutes; .ci/run all has it"]
fn registers_move_between_groups_of_warps() {
    let Some(text) = for_newer(NvvmArch::Compute90a) else {
        return;
    };
    assert!(text.contains(".target sm_90a"), "{text}");
    let body = ptx::entry(&text, "moved_registers").unwrap();
    for instruction in [
        "setmaxnreg.dec.sync.aligned.u32 40;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
    ] {
        assert_eq!(count(body, instruction), 1, "{body}");
    }
}

#[test]
fn launch_bounds_are_directives_of_their_entries() {
    let Some(text) = facilities() else {
        return;
    };
    for (name, expected) in [
        ("bounded", ".maxntid 128\n.minnctapersm 4\n{"),
        ("few_registers_f32", ".maxntid 64\n.maxnreg 40\n{"),
        ("few_registers_f64", ".maxntid 64\n.maxnreg 40\n{"),
    ] {
        let entry = ptx::entry(text, name).unwrap();
        assert!(entry.contains(expected), "{name}: {entry}");
    }
    assert_eq!(count(text, ".maxntid"), 3);
    assert_eq!(count(text, "// cuda_std"), 0);
}

#[test]
fn functions_of_libdevice_are_the_instructions_of_their_rounding() {
    let Some(body) = facility("libdevice") else {
        return;
    };
    has(
        body,
        "add.rn.f64|div.rm.f64|mul.rp.f64|rcp.rz.f64|sqrt.rm.f64|fma.rp.f64|\
         cvt.rm.f64.s64|cvt.rp.f64.u64|add.rz.f32|sub.rm.f32|mul.rz.f32|div.rp.f32|\
         sqrt.rn.f32|fma.rn.f32|cvt.rz.f32.f64|cvt.rm.f32.s32|cvt.rp.f32.u32|\
         cvt.rz.f32.s64|cvt.rn.f32.u64|sin.approx.ftz.f32|ex2.approx.ftz.f32|\
         div.approx.ftz.f32|mul.hi.u64|popc.b64|brev.b32",
    );
}
