//! Error messages explain what went wrong.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{BARE, builder, crate_of, has, refused};
use cuda_builder::CudaBuilderError;

#[test]
fn a_folder_without_a_crate_is_named() {
    let error = builder("/nonexistent/kernels").build().unwrap_err();
    assert!(matches!(error, CudaBuilderError::CratePathDoesntExist(_)));
    has(&error.to_string(), "/nonexistent/kernels");
}

#[test]
fn what_does_not_compile_is_explained() {
    type Is = fn(&CudaBuilderError) -> bool;
    let instead = |line: &str| BARE.replace("*x.add(3) = a * b + c;", line);
    let with_symbol = instead(
        "let word: u32; core::arch::asm!(\"ld.global.b32 {}, [{}];\", out(reg32) word, sym TABLE); *x.add(3) = word as f32;",
    );
    let with_symbol =
        with_symbol.replace("core_float_math", "core_float_math, asm_experimental_arch");
    let cases: [(String, Is, &str); 5] = [
        (
            instead("*x.add(3) = undefined_name;"),
            |e| matches!(e, CudaBuilderError::BuildFailed { diagnostics, .. } if diagnostics.contains("cannot find value `undefined_name`")),
            "does not compile",
        ),
        (
            BARE.replace("extern \"ptx-kernel\" ", ""),
            |e| matches!(e, CudaBuilderError::NoEntryPoint(_)),
            "#[kernel]",
        ),
        (
            instead("*x.add(3) = sinf(a);") + "unsafe extern \"C\" { fn sinf(x: f32) -> f32; }",
            |e| matches!(e, CudaBuilderError::Unresolved { symbols } if symbols == &["sinf"]),
            "no libdevice",
        ),
        (
            instead("*x.add(3) = a as u128 as f32;"),
            |e| matches!(e, CudaBuilderError::Llvm { .. }),
            "128-bit integer and a floating-point number",
        ),
        (
            with_symbol + "static TABLE: [u32; 2] = [1, 2];",
            |e| matches!(e, CudaBuilderError::Llvm { .. }),
            "an operand `sym`",
        ),
    ];
    for (source, is, words) in cases {
        let Some(error) = refused(builder(crate_of(&source).path())) else {
            return;
        };
        assert!(is(&error), "{error}");
        has(&error.to_string(), words);
    }
}

/// Kernels with trait objects of their own; with the feature also one that stores a trait object, and one that calls it.
const SHAPES: &str = r#"
#![feature(abi_ptx)]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
pub trait Shape: Sync { fn area(&self, x: f32) -> f32; }
struct Square;
struct Circle;
impl Shape for Square { #[inline(never)] fn area(&self, x: f32) -> f32 { x * x } }
impl Shape for Circle { #[inline(never)] fn area(&self, x: f32) -> f32 { 3.0 * x * x } }
struct Scene<'a> { out: *mut f32, shapes: [&'a dyn Shape; 2] }
#[inline(never)]
fn draw(scene: &Scene, i: usize) { unsafe { *scene.out = scene.shapes[i & 1].area(*scene.out) } }
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn first(out: *mut f32, i: usize) {
    draw(&Scene { out, shapes: [&Square, &Circle] }, i)
}
#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn second(out: *mut f32, i: usize) {
    draw(&Scene { out, shapes: [&Circle, &Square] }, i + 1)
}
#[cfg(feature = "extra")] #[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn leave(at: *mut &'static dyn Shape, i: usize) {
    unsafe { *at = if i == 0 { &Square } else { &Circle } }
}
#[cfg(feature = "extra")] #[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn follow(at: *const &'static dyn Shape, x: *mut f32) {
    unsafe { *x = (*at).area(*x) }
}
"#;

#[test]
fn a_trait_object_that_one_kernel_leaves_for_another_is_refused() {
    let krate = crate_of(SHAPES);
    match builder(krate.path()).build_modules() {
        Err(error) if error.lacks_toolchain() => return common::skip(&error.to_string()),
        built => assert_eq!(built.unwrap().0.texts.len(), 2),
    }
    let both = builder(krate.path()).build_args(&["--features=extra"]);
    let error = both.build_modules().unwrap_err();
    assert!(matches!(error, CudaBuilderError::ForeignFunction { .. }));
    has(
        &error.to_string(),
        "leave stores the address of |::area (or|follow calls by an address",
    );
}

#[test]
fn a_build_script_that_unwraps_shows_the_message() {
    let error = builder("/nonexistent/kernels").build().unwrap_err();
    let (shown, unwrapped) = (error.to_string(), format!("{error:?}"));
    assert_eq!(shown, unwrapped);
    let missing = CudaBuilderError::Missing {
        what: "its parts".into(),
        how: "With rustup: a command".into(),
        looked_in: vec!["/nonexistent".into()],
    };
    let refused = [missing].into_iter().map(Err::<(), _>);
    let unwrap = AssertUnwindSafe(|| refused.for_each(Result::unwrap));
    let panic = catch_unwind(unwrap).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    has(
        text,
        "need its parts, which are not installed.
With rustup: a command
Looked in: /nonexistent",
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
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let arguments = ["metadata", "--format-version=1", "--manifest-path"];
    let (found, said) = common::said(cargo.args(arguments).arg(krate.path().join("Cargo.toml")));
    assert!(found, "{said}");
}
