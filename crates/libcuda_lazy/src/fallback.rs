//! Replacements for the driver's entry points when the driver, or one of its functions, does not exist.

use std::ffi::{c_char, c_int};

const SUCCESS: c_int = 0;
const NO_DEVICE: c_int = 100;
const NOT_FOUND: c_int = 500;

// All functions of the driver return a code in the first return register and leave the stack to the caller, so that one
// function without parameters can replace any of them.
pub extern "C" fn no_device() -> c_int {
    NO_DEVICE
}

extern "C" fn not_found() -> c_int {
    NOT_FOUND
}

/// Replaces cuGetErrorString.
///
/// # Safety
/// `text` must be null or valid for a write.
pub unsafe extern "C" fn error_string(code: c_int, text: *mut *const c_char) -> c_int {
    let words = match code {
        SUCCESS => c"no error",
        NO_DEVICE => c"no NVIDIA driver or no GPU on this machine",
        NOT_FOUND => c"the NVIDIA driver does not have this function",
        _ => c"error code of the CUDA driver, which is not available to explain it",
    };
    // SAFETY: the caller guarantees `text`.
    unsafe { put(text, words) }
}

/// Replaces cuGetErrorName.
///
/// # Safety
/// `text` must be null or valid for a write.
pub unsafe extern "C" fn error_name(code: c_int, text: *mut *const c_char) -> c_int {
    let name = match code {
        SUCCESS => c"CUDA_SUCCESS",
        NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        _ => c"CUDA_ERROR",
    };
    // SAFETY: the caller guarantees `text`.
    unsafe { put(text, name) }
}

/// # Safety
/// `text` must be null or valid for a write.
unsafe fn put(text: *mut *const c_char, words: &'static std::ffi::CStr) -> c_int {
    if !text.is_null() {
        // SAFETY: `text` is not null, so the caller guarantees that it is valid.
        unsafe { text.write(words.as_ptr()) };
    }
    SUCCESS
}

fn explaining(symbol: &str, otherwise: extern "C" fn() -> c_int) -> *mut () {
    match symbol {
        "cuGetErrorString" => error_string as *mut (),
        "cuGetErrorName" => error_name as *mut (),
        _ => otherwise as *mut (),
    }
}

/// The replacement for `symbol` where no driver is installed.
pub fn without_driver(symbol: &str) -> *mut () {
    explaining(symbol, no_device)
}

/// The replacement for `symbol` where the driver does not have it.
pub fn not_in_driver(symbol: &str) -> *mut () {
    explaining(symbol, not_found)
}
