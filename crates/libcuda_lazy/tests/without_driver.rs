//! A program that uses cust starts and returns errors where no driver is installed.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use cust::error::CudaError;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol};

#[test]
fn a_program_without_driver_starts_and_gets_errors() {
    common::use_library(Path::new("/nonexistent/libcuda.so.1"));

    assert_eq!(
        cust::init(cust::CudaFlags::empty()),
        Err(CudaError::NoDevice)
    );
    assert!(matches!(
        cust::device::Device::num_devices(),
        Err(CudaError::NoDevice)
    ));
    // Formatting an error asks the driver for its text.
    for error in [
        CudaError::NoDevice,
        CudaError::NotFound,
        CudaError::IllegalAddress,
    ] {
        assert!(error.to_string().len() > 10);
    }

    let error = libcuda_lazy::load().unwrap_err();
    assert!(error.to_string().contains("no NVIDIA driver"), "{error}");
    assert!(
        error.to_string().contains("/nonexistent/libcuda.so.1"),
        "{error}"
    );

    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let needed = needed_libraries(&program);
    assert!(
        needed.iter().any(|l| l.starts_with("libc.so")),
        "{needed:?}"
    );
    assert!(!needed.iter().any(|l| l.contains("cuda")), "{needed:?}");
    let file = object::File::parse(&*program).unwrap();
    let exported: Vec<_> = file
        .dynamic_symbols()
        .filter_map(|s| s.name().ok())
        .filter(|n| libcuda_lazy::SYMBOLS.contains(n))
        .collect();
    assert!(
        exported.is_empty(),
        "{exported:?} could be taken for the driver's by other libraries"
    );
}

/// The NEEDED entries of an ELF file.
fn needed_libraries(program: &[u8]) -> Vec<String> {
    let header = FileHeader64::<Endianness>::parse(program).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, program).unwrap();
    let (entries, strings) = sections
        .iter()
        .find_map(|s| s.dynamic(endian, program).unwrap())
        .expect("a dynamic section");
    let strings = sections.strings(endian, program, strings).unwrap();
    entries
        .iter()
        .filter(|e| e.tag(endian) == elf::DT_NEEDED)
        .map(|e| String::from_utf8(e.string(endian, strings).unwrap().to_vec()).unwrap())
        .collect()
}
