//! The entry points on systems for which there is no driver: they are what is otherwise called where the driver is not installed.

use std::ffi::{c_char, c_int};
use std::sync::atomic::AtomicPtr;

use crate::fallback;
use crate::symbols::with_symbols;

/// Whether entry points call the driver.
pub const BOUND: bool = false;

/// There is no table.
pub fn table() -> &'static [AtomicPtr<()>] {
    &[]
}

macro_rules! entry_point {
    (cuGetErrorString) => {
        // SAFETY: no other function of this program has the name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
            // SAFETY: the caller guarantees the same.
            unsafe { fallback::error_string(code, text) }
        }
    };
    (cuGetErrorName) => {
        // SAFETY: no other function of this program has the name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
            // SAFETY: the caller guarantees the same.
            unsafe { fallback::error_name(code, text) }
        }
    };
    ($name:ident) => {
        // SAFETY: no other function of this program has the name.
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            fallback::no_device()
        }
    };
}

macro_rules! entry_points {
    ($($name:ident)*) => { $(entry_point!($name);)* };
}
with_symbols!(entry_points);
