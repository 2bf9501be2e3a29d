//! What goes wrong is said in words that help.

mod common;

use common::{BARE, builder, crate_of};
use cuda_builder::CudaBuilderError;

/// The error of a build, or `None`, said loudly, where there are no sources of `core`.
fn error_of(source: &str) -> Option<CudaBuilderError> {
    let krate = crate_of(source);
    match builder(krate.path()).build() {
        Err(error @ CudaBuilderError::NoRustSource { .. }) => {
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
fn the_compilers_words_are_passed_on() {
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
fn a_crate_without_kernels_is_refused() {
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
