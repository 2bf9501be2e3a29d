//! Error messages explain what went wrong.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{BARE, builder, crate_of};
use cuda_builder::CudaBuilderError;

/// The error of a build, or `None` with a reported skip where the sources of `core` are missing.
fn error_of(source: &str) -> Option<CudaBuilderError> {
    let krate = crate_of(source);
    match builder(krate.path()).build() {
        Err(error) if error.lacks_toolchain() => {
            common::skip(&error.to_string());
            None
        }
        Err(error) => Some(error),
        Ok(path) => panic!("{} was built", path.display()),
    }
}

#[test]
fn a_folder_without_a_crate_is_named() {
    let error = builder("/nonexistent/kernels").build().unwrap_err();
    assert!(matches!(error, CudaBuilderError::CratePathDoesntExist(_)));
    assert!(
        error.to_string().contains("/nonexistent/kernels"),
        "{error}"
    );
}

#[test]
fn the_compilers_messages_are_passed_on() {
    let Some(error) =
        error_of(&BARE.replace("*x.add(3) = a * b + c;", "*x.add(3) = undefined_name;"))
    else {
        return;
    };
    let CudaBuilderError::BuildFailed { diagnostics, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        diagnostics.contains("cannot find value `undefined_name`"),
        "{diagnostics}"
    );
}

#[test]
fn a_crate_without_kernels_is_rejected() {
    let without = BARE.replace("extern \"ptx-kernel\" ", "");
    let Some(error) = error_of(&without) else {
        return;
    };
    assert!(
        matches!(error, CudaBuilderError::NoEntryPoint(_)),
        "{error}"
    );
    assert!(error.to_string().contains("#[kernel]"), "{error}");
}

#[test]
fn a_function_that_the_device_lacks_is_named() {
    let calling = BARE.replace("*x.add(3) = a * b + c;", "*x.add(3) = sinf(a);")
        + "unsafe extern \"C\" { fn sinf(x: f32) -> f32; }";
    let Some(error) = error_of(&calling) else {
        return;
    };
    let CudaBuilderError::Unresolved { symbols } = &error else {
        panic!("{error}")
    };
    assert_eq!(symbols, &["sinf"]);
}

#[test]
fn an_operation_that_the_device_lacks_is_explained() {
    let wide = BARE.replace("*x.add(3) = a * b + c;", "*x.add(3) = a as u128 as f32;");
    let Some(error) = error_of(&wide) else {
        return;
    };
    assert!(
        error
            .to_string()
            .contains("128-bit integer and a floating-point number"),
        "{error}"
    );
}

#[test]
fn a_symbol_in_assembly_is_explained() {
    let symbol = BARE
        .replace("core_float_math", "core_float_math, asm_experimental_arch")
        .replace(
            "*x.add(3) = a * b + c;",
            "let word: u32; core::arch::asm!(\"ld.global.b32 {}, [{}];\", out(reg32) word, sym TABLE); *x.add(3) = word as f32;",
        )
        + "static TABLE: [u32; 2] = [1, 2];";
    let Some(error) = error_of(&symbol) else {
        return;
    };
    assert!(error.to_string().contains("an operand `sym`"), "{error}");
}

#[test]
fn a_build_script_that_unwraps_shows_the_message() {
    let error = builder("/nonexistent/kernels").build().unwrap_err();
    let (shown, unwrapped) = (error.to_string(), format!("{error:?}"));
    assert_eq!(shown, unwrapped);
    let missing = CudaBuilderError::NoRustSource {
        version: "1.0.0".into(),
        looked_in: vec!["/nonexistent".into()],
    };
    let refused = [missing].into_iter().map(Err::<(), _>);
    let unwrap = AssertUnwindSafe(|| refused.for_each(Result::unwrap));
    let panic = catch_unwind(unwrap).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("\nWith rustup: rustup component add rust-src\n"),
        "{text}"
    );
}

/// rust-cuda's own projects enable these features; a `[patch]` does not apply if one is missing.
#[test]
fn features_of_rust_cudas_crates_exist() {
    let krate = crate_of(BARE);
    let path = |name: &str| format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    let manifest = format!(
        "[package]\nname = \"host\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         cuda_std = {{ path = {:?}, features = [\"nvvm-v7\", \"nvvm-v19\", \"vek\"] }}\n\
         cuda_builder = {{ path = {:?}, default-features = false, features = [\"codegen-backend\", \"rustc_codegen_nvvm\"] }}\n",
        path("cuda_std"),
        path("cuda_builder"),
    );
    std::fs::write(krate.path().join("Cargo.toml"), manifest).unwrap();
    let lock = path("../Cargo.lock");
    std::fs::copy(lock, krate.path().join("Cargo.lock")).unwrap();
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--manifest-path"])
        .arg(krate.path().join("Cargo.toml"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
