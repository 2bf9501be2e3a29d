//! Calls reach the library with all their arguments, including the very first one.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_void};

use cust_raw as cu;

const FAKE: &str = r#"
use std::ffi::{c_int, c_uint, c_void};
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> c_int { 0 }
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(v: *mut c_int) -> c_int { unsafe { *v = 12080 }; 0 }
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDetach(
    a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64,
    r: f64, s: f64, t: f64, u: f64, v: f64, w: f64, x: f64, y: f64, z: f64,
) -> c_int {
    // The first call goes through code that clobbers registers, so each argument must be checked.
    let whole = [a, b, c, d, e, f, g, h, i, j].iter().fold(0, |s, x| s * 10 + x);
    let real = [r, s, t, u, v, w, x, y, z].iter().fold(0.0, |s, x| s * 10.0 + x);
    c_int::from(whole == 1234567890) + 2 * c_int::from(real == 987654321.0)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    f: *mut c_void, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint,
    stream: *mut c_void, params: *mut *mut c_void, extra: *mut *mut c_void,
) -> c_int {
    unsafe { **(params as *mut *mut [usize; 11]) =
        [f as usize, gx as usize, gy as usize, gz as usize, bx as usize, by as usize, bz as usize, shared as usize,
         stream as usize, params as usize, extra as usize] };
    0
}
"#;

// The same symbol as cust_raw's cuCtxDetach, with a signature that uses all argument registers and part of the stack.
unsafe extern "C" {
    #[link_name = "cuCtxDetach"]
    #[rustfmt::skip]
    fn probe(
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
        j: u64,
        r: f64,
        s: f64,
        t: f64,
        u: f64,
        v: f64,
        w: f64,
        x: f64,
        y: f64,
        z: f64,
    ) -> c_int;
}

#[test]
fn calls_reach_the_driver_with_their_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let library = common::shared_library(dir.path(), FAKE);
    common::use_library(&library);

    for call in 0..2 {
        // SAFETY: this is the signature of the fake driver's function.
        #[rustfmt::skip]
        let answer = unsafe {
            probe(1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0)
        };
        assert_eq!(
            answer, 3,
            "call {call}: 1 = whole numbers arrived, 2 = real numbers arrived"
        );
    }

    let mut seen = [0usize; 11];
    let mut params = [(&raw mut seen).cast::<c_void>()];
    let (function, stream, extra) = (
        std::ptr::without_provenance_mut(11),
        std::ptr::without_provenance_mut(99),
        77,
    );
    // SAFETY: the fake driver writes 11 words through the first parameter and touches nothing else.
    let code = unsafe {
        cu::cuLaunchKernel(
            function,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            stream,
            params.as_mut_ptr(),
            std::ptr::without_provenance_mut(extra),
        )
    };
    assert_eq!(code as u32, 0);
    assert_eq!(
        seen,
        [11, 2, 3, 4, 5, 6, 7, 8, 99, params.as_ptr() as usize, extra]
    );

    let driver = libcuda_lazy::load().unwrap();
    assert_eq!(driver.library(), library);
    assert_eq!(driver.version(), Some((12, 8)));
    assert!(!driver.missing().contains(&"cuInit"));
    assert_eq!(driver.missing().len(), libcuda_lazy::SYMBOLS.len() - 4);
    // SAFETY: the function does not exist in the fake driver, so no context is needed to call it.
    let code = unsafe { cu::cuCtxSynchronize() };
    assert_eq!(code as u32, 500);
}
