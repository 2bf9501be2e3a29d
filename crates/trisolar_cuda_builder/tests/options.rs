//! Every option either has its documented effect or is rejected.

mod common;

use std::fs;
use std::process::Command;

use common::{BARE, builder, built, crate_of, has, lacks, refused, said, text_of};
use cuda_builder::{CudaBuilderError, DebugInfo, NvvmArch, ptx};

#[test]
fn arithmetic_is_exact_unless_an_option_changes_it() {
    let krate = crate_of(BARE);
    let Some(plain) = text_of(builder(krate.path())) else {
        return;
    };
    assert_eq!(ptx::entry_points(&plain), ["arithmetic"]);
    has(
        &plain,
        "sqrt.rn.f32|div.rn.f32|mul.rn.f32|add.rn.f32|mul.rn.f64|add.rn.f64|.target sm_70",
    );
    lacks(&plain, "fma|approx|.loc|42");
    lacks(&plain, krate.path().to_str().unwrap());
    common::assemble(&plain, &common::ARCHITECTURES);

    let with = |builder| text_of(builder).unwrap();
    let fused = with(builder(krate.path()).fma_contraction(true));
    has(&fused, "fma.rn.f32|fma.rn.f64");
    let fast = with(builder(krate.path()).fast_math().ftz(false));
    has(&fast, "sqrt.approx.f32|div.approx.f32|fma.rn.f64");
    let fastest = with(builder(krate.path()).fast_math());
    has(
        &fastest,
        "sqrt.approx.ftz.f32|div.approx.ftz.f32|fma.rn.ftz.f32|fma.rn.f64",
    );
    common::assemble(&fastest, &common::ARCHITECTURES);
    let flushed = with(builder(krate.path()).ftz(true));
    let of_f32 = ["sqrt", "div", "mul", "add"];
    let expected = of_f32.iter().fold(plain.clone(), |text, name| {
        text.replace(&format!("{name}.rn.f32"), &format!("{name}.rn.ftz.f32"))
    });
    assert_eq!(flushed, expected);
    common::assemble(&flushed, &common::ARCHITECTURES);
    let with_feature = with(builder(krate.path()).build_args(&["--features=extra"]));
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
        has(&with_lines, "src/lib.rs|.loc");
        lacks(&with_lines, krate.path().to_str().unwrap());
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
    has(
        &fs::read_to_string(&ll).unwrap(),
        "define ptx_kernel void @arithmetic",
    );
    let beside = built(builder.emit_llvm_ir(true)).unwrap();
    assert!(beside.0.is_file());

    let nowhere = common::builder(krate.path())
        .copy_to(krate.path().join("no/such/folder/k.ptx"))
        .build();
    let is_named = matches!(nowhere, Err(CudaBuilderError::FailedToCopyPtxFile(_)));
    assert!(is_named, "{nowhere:?}");
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
fn every_architecture_of_the_enum_is_one_of_the_compiler_and_of_cuda_std() {
    let mut rustc = Command::new("rustc");
    let (_, known) =
        said(rustc.args(["--print", "target-cpus", "--target", "nvptx64-nvidia-cuda"]));
    let known: Vec<&str> = known
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let of_cuda_std = include_str!("../../trisolar_cuda_std/src/cfg.rs");
    for arch in NvvmArch::ALL {
        let cpu = arch.target_cpu();
        assert!(known.contains(&cpu.as_str()), "{cpu}");
        // This is the form of the environment variable `CUDA_ARCH`.
        has(of_cuda_std, &format!("\"{}0\"", arch.capability_value()));
    }
}

#[test]
fn kernels_see_the_architecture_they_are_compiled_for() {
    let source = BARE.replace("feature = \"extra\"", "target_feature = \"compute_90\"");
    let krate = crate_of(&source);
    let Some(old) = text_of(builder(krate.path()).arch(NvvmArch::Compute70)) else {
        return;
    };
    let new = text_of(builder(krate.path()).arch(NvvmArch::Compute90)).unwrap();
    let number =
        |text: &str| text.contains("0d4045000000000000") || text.contains("4631107791820423168");
    assert!(!number(&old) && number(&new), "{new}");
    assert!(old.contains(".target sm_70") && new.contains(".target sm_90"));
}

#[test]
fn unsupported_options_are_rejected_by_name() {
    let krate = crate_of(BARE);
    let plain = || builder(krate.path());
    for (builder, name) in [
        (plain().optix(true), "optix"),
        (plain().override_libm(true), "override_libm"),
        (
            plain().use_constant_memory_space(true),
            "use_constant_memory_space",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert!(
            matches!(error, CudaBuilderError::UnsupportedOption { .. }),
            "{error}"
        );
        has(&error.to_string(), name);
    }
}

#[test]
fn a_limit_of_registers_is_part_of_the_ptx() {
    let krate = crate_of(BARE);
    let Some(limited) = text_of(builder(krate.path()).max_registers(32)) else {
        return;
    };
    let entry = ptx::entry(&limited, "arithmetic").unwrap();
    assert!(entry.contains("\n.maxnreg 32\n{"), "{entry}");
    for most in [0, 15, 256] {
        let error = builder(krate.path()).max_registers(most).build();
        let said = error.unwrap_err().to_string();
        assert_eq!(
            said,
            format!("max_registers is {most}; allowed is 16 to 255")
        );
    }
}

/// Calls `shade`, which is defined elsewhere.
const CALLER: &str = r#"
#![feature(abi_ptx)]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
unsafe extern "C" { fn shade(x: f32, at: u64) -> f32; }
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn paint(x: *mut f32) { unsafe { *x = shade(*x, 3) } }
"#;

/// Defines `shade`, with a kernel of its own.
const DEFINER: &str = r#"
#![feature(abi_ptx)]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[unsafe(no_mangle)] pub extern "C" fn shade(x: f32, at: u64) -> f32 { x * at as f32 }
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn other(x: *mut f32) { unsafe { *x = 1.0 } }
"#;

#[test]
fn functions_of_other_files_are_called_where_an_option_names_them() {
    let krate = crate_of(CALLER);
    // It would not assemble, as `text_of` has it.
    let calling = match builder(krate.path()).external_functions(&["shade"]).build() {
        Err(error) if error.lacks_toolchain() => return common::skip(&error.to_string()),
        built => fs::read_to_string(built.unwrap()).unwrap(),
    };
    has(&calling, ".extern .func");
    let error = refused(builder(krate.path()).external_functions(&["shadow"])).unwrap();
    assert!(
        matches!(&error, CudaBuilderError::Unresolved { symbols } if symbols == &["shade"]),
        "{error}"
    );
    // Both sides agree on the parameters.
    let defining = text_of(builder(crate_of(DEFINER).path())).unwrap();
    let head = |text: &str| -> String {
        let (_, rest) = text
            .split_once(".func  (.param .b32 func_retval0) shade")
            .unwrap();
        let end = rest.find(['{', ';']).unwrap();
        rest[..end].split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(head(&calling), head(&defining));
    assert!(defining.contains(".visible .func"), "{defining}");
    // ptxas leaves the call to the linker.
    if let Some(ptxas) = std::env::var_os("TRISOLAR_PTXAS") {
        let file = krate.path().join("calling.ptx");
        fs::write(&file, &calling).unwrap();
        for arch in ["sm_75", "sm_90", "sm_120"] {
            let arguments = [
                "--compile-only",
                "-o",
                "/dev/null",
                &format!("-arch={arch}"),
            ];
            let (accepted, said) = said(Command::new(&ptxas).args(arguments).arg(&file));
            assert!(accepted, "{arch}: {said}");
        }
    }
}

#[test]
fn ptxas_checks_its_options() {
    let Some(ptxas) = std::env::var_os("TRISOLAR_PTXAS").filter(|path| !path.is_empty()) else {
        return common::skip("no ptxas: TRISOLAR_PTXAS can name one");
    };
    let krate = crate_of(BARE);
    if text_of(builder(krate.path())).is_none() {
        return;
    }
    // A process of its own, because environment variables belong to the process.
    let run = |option: &str, variable: &str| {
        let arguments = [
            "--exact",
            "ptxas_in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ];
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(arguments)
            .env("KERNELS", krate.path())
            .env("OPTION", option);
        said(command.env(cuda_builder::PTXAS_VARIABLE, variable))
    };
    let path = ptxas.to_str().unwrap();
    for (option, ptxas, accepted, words) in [
        ("--verbose", path, true, "registers"),
        (
            "--no-such-option",
            path,
            false,
            "ptxas fails with the options --no-such-option",
        ),
        (
            "--verbose",
            "/no/such/ptxas",
            false,
            "cannot run /no/such/ptxas",
        ),
    ] {
        let (success, said) = run(option, ptxas);
        assert_eq!(success, accepted, "{said}");
        has(&said, words);
    }
}

#[test]
#[ignore = "a part of ptxas_checks_its_options"]
fn ptxas_in_a_process_of_its_own() {
    let [krate, option] = ["KERNELS", "OPTION"].map(|name| std::env::var(name).unwrap());
    // An architecture of current assemblers, for which another test needs `core` as well.
    let builder = builder(krate).arch(NvvmArch::Compute90);
    if let Err(error) = builder.ptxas_option(option).build() {
        panic!("{error}");
    }
}
