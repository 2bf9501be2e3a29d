//! Every option either has its documented effect or is rejected.

mod common;

use std::fs;

use common::{BARE, builder, built, crate_of, text_of};
use cuda_builder::{CudaBuilderError, DebugInfo, NvvmArch, ptx};

#[test]
fn arithmetic_is_exact_unless_an_option_changes_it() {
    let krate = crate_of(BARE);
    let Some(plain) = text_of(builder(krate.path())) else {
        return;
    };
    assert_eq!(ptx::entry_points(&plain), ["arithmetic"]);
    for expected in [
        "sqrt.rn.f32",
        "div.rn.f32",
        "mul.rn.f32",
        "add.rn.f32",
        "mul.rn.f64",
        "add.rn.f64",
        ".target sm_70",
    ] {
        assert!(plain.contains(expected), "{expected} in\n{plain}");
    }
    for unexpected in [
        "fma",
        "approx",
        ".loc",
        "42",
        krate.path().to_str().unwrap(),
    ] {
        assert!(!plain.contains(unexpected), "{unexpected} in\n{plain}");
    }
    common::assemble(&plain, &common::ARCHITECTURES);

    let fused = text_of(builder(krate.path()).fma_contraction(true)).unwrap();
    assert!(
        fused.contains("fma.rn.f32") && fused.contains("fma.rn.f64"),
        "{fused}"
    );
    let fast = text_of(builder(krate.path()).fast_math().ftz(false)).unwrap();
    for expected in ["sqrt.approx.f32", "div.approx.f32", "fma.rn.f64"] {
        assert!(fast.contains(expected), "{expected} in\n{fast}");
    }
    let with_feature = text_of(builder(krate.path()).build_args(&["--features=extra"])).unwrap();
    assert_ne!(with_feature, plain);
}

#[test]
fn line_info_adds_lines_without_changing_the_code() {
    let krate = crate_of(BARE);
    let Some(plain) = text_of(builder(krate.path())) else {
        return;
    };
    for with_lines in [
        builder(krate.path()).generate_line_info(true),
        builder(krate.path()).debug(DebugInfo::LineTables),
    ] {
        let with_lines = text_of(with_lines).unwrap();
        assert!(
            with_lines.contains("src/lib.rs") && with_lines.contains(".loc"),
            "{with_lines}"
        );
        assert!(!with_lines.contains(krate.path().to_str().unwrap()));
        let code = |text: &str| -> Vec<String> {
            let code = |l: &&str| {
                l.trim_start().split('.').next() != Some("") && !l.trim_start().starts_with("//")
            };
            text.lines()
                .filter(code)
                .map(|l| l.split("//").next().unwrap_or_default().trim().to_owned())
                .filter(|l| !l.is_empty() && !l.starts_with("$L"))
                .collect()
        };
        assert_eq!(code(&with_lines), code(&plain));
        common::assemble(&with_lines, &["sm_75", "sm_90"]);
    }
}

#[test]
fn other_outputs_go_to_the_given_paths() {
    let krate = crate_of(BARE);
    let (ptx, ll) = (krate.path().join("copy.ptx"), krate.path().join("final.ll"));
    let builder = builder(krate.path())
        .emit_llvm_bitcode(true)
        .final_module_path(&ll)
        .copy_to(&ptx);
    if text_of(builder.clone()).is_none() {
        return;
    }
    assert_eq!(built(builder.clone()).unwrap().0, ptx);
    assert!(
        fs::read_to_string(&ll)
            .unwrap()
            .contains("define ptx_kernel void @arithmetic")
    );
    let beside = built(builder.emit_llvm_ir(true)).unwrap();
    assert!(beside.0.is_file());

    let nowhere = common::builder(krate.path())
        .copy_to(krate.path().join("no/such/folder/k.ptx"))
        .build();
    assert!(
        matches!(nowhere, Err(CudaBuilderError::FailedToCopyPtxFile(_))),
        "{nowhere:?}"
    );
}

#[test]
fn the_dev_profile_checks_for_overflow() {
    let krate = crate_of(
        "#![feature(abi_ptx)]\n#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn sum(x: *mut u32) { unsafe { *x = *x + *x.add(1) } }",
    );
    let Some(release) = text_of(builder(krate.path())) else {
        return;
    };
    assert!(!release.contains("trap"), "{release}");
    let checked = text_of(builder(krate.path()).release(false).nvvm_opts(true)).unwrap();
    assert!(checked.contains("trap"), "{checked}");
    let unoptimised = text_of(builder(krate.path()).release(false)).unwrap();
    assert!(unoptimised.contains("trap"), "{unoptimised}");
    common::assemble(&unoptimised, &["sm_75", "sm_90"]);
}

#[test]
fn every_architecture_of_the_enum_is_one_of_the_compiler() {
    let output = std::process::Command::new("rustc")
        .args(["--print", "target-cpus", "--target", "nvptx64-nvidia-cuda"])
        .output()
        .unwrap();
    let known = String::from_utf8(output.stdout).unwrap();
    let known: Vec<&str> = known
        .lines()
        .filter_map(|l| l.split_whitespace().next())
        .collect();
    for arch in NvvmArch::ALL {
        let cpu = arch.target_cpu();
        assert!(known.contains(&cpu.as_str()), "{cpu}");
    }
}

#[test]
fn every_architecture_of_the_enum_is_one_of_cuda_std() {
    let known = include_str!("../../trisolar_cuda_std/src/cfg.rs");
    for arch in NvvmArch::ALL {
        // This is the form of the environment variable `CUDA_ARCH`.
        let number = format!("\"{}0\"", arch.capability_value());
        assert!(known.contains(&number), "{arch}");
    }
}

#[test]
fn kernels_see_the_architecture_they_are_compiled_for() {
    let source = BARE.replace("feature = \"extra\"", "target_feature = \"compute_90\"");
    let krate = crate_of(&source);
    let Some(old) = text_of(builder(krate.path()).arch(NvvmArch::Compute80)) else {
        return;
    };
    let new = text_of(builder(krate.path()).arch(NvvmArch::Compute90)).unwrap();
    let number =
        |text: &str| text.contains("0d4045000000000000") || text.contains("4631107791820423168");
    assert!(!number(&old) && number(&new), "{new}");
    assert!(old.contains(".target sm_80") && new.contains(".target sm_90"));
}

#[test]
fn unsupported_options_are_rejected_by_name() {
    let krate = crate_of(BARE);
    let refused = [
        (builder(krate.path()).ftz(true), "ftz"),
        (builder(krate.path()).optix(true), "optix"),
        (builder(krate.path()).override_libm(true), "override_libm"),
        (
            builder(krate.path()).use_constant_memory_space(true),
            "use_constant_memory_space",
        ),
        (builder(krate.path()).fast_math(), "ftz"),
    ];
    for (builder, name) in refused {
        let error = builder.build().unwrap_err();
        assert!(
            matches!(error, CudaBuilderError::UnsupportedOption { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
    }
}
