//! Calls reach a driver for Windows with all their arguments, including the very first one. The driver is `tests/machines/driver.c`, compiled,
//! whose name `TRISOLAR_LIBCUDA` gives.
#![cfg(windows)]

use std::ffi::c_int;

// Functions of the driver with signatures that use all argument registers and part of the stack.
unsafe extern "C" {
    #[link_name = "cuCtxDetach"]
    fn mixed(a: f64, b: u64, c: f64, d: u64, e: u64, f: f64) -> c_int;
    #[link_name = "cuCtxAttach"]
    fn mixed_otherwise(a: u64, b: f64, c: u64, d: f64, e: f64, f: u64) -> c_int;
    #[link_name = "cuCtxSynchronize"]
    fn missing() -> c_int;
}

#[test]
fn calls_reach_the_driver_with_their_arguments() {
    let given = std::env::var_os(libcuda_lazy::LIBRARY_VARIABLE).expect("the name of the driver");
    for _ in 0..2 {
        // SAFETY: these are the signatures of the driver's functions.
        let (first, second) = unsafe {
            (
                mixed(1.0, 2, 3.0, 4, 5, 6.0),
                mixed_otherwise(1, 2.0, 3, 4.0, 5.0, 6),
            )
        };
        assert_eq!(
            (first, second),
            (3, 3),
            "1 = whole numbers arrived, 2 = real numbers arrived"
        );
    }
    // SAFETY: what the driver does not have takes no arguments.
    assert_eq!(unsafe { missing() }, 500);
    let driver = libcuda_lazy::load().unwrap();
    assert_eq!(driver.library(), given);
    assert_eq!(driver.version(), Some((12, 8)));
    assert_eq!(driver.missing().len(), libcuda_lazy::SYMBOLS.len() - 5);
}
