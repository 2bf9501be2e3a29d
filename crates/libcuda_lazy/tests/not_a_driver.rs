//! A library that is not the driver's is rejected by name.
#![cfg(target_os = "linux")]

mod common;

#[test]
fn a_library_without_cuinit_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let library = common::shared_library(
        dir.path(),
        "#[unsafe(no_mangle)] pub extern \"C\" fn other() {}",
    );
    common::use_library(&library);
    let error = libcuda_lazy::load().unwrap_err();
    assert!(matches!(error, libcuda_lazy::LoadError::NotADriver { .. }));
    assert!(
        error
            .to_string()
            .contains("libcuda.so.1 is not NVIDIA's driver library"),
        "{error}"
    );
    assert!(cust::init(cust::CudaFlags::empty()).is_err());
}
