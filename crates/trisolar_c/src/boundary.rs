//! The boundary between C and Rust: converts pointers to references and failures to a status and a text, and stops panics.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use trisolar::divergence::EngineError;
use trisolar::io::IoError;

/// `trisolar_status`.
pub(crate) type Status = i32;

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    status: Status,
    message: String,
}

impl CallFailure {
    /// `TRISOLAR_BAD_INPUT`.
    pub(crate) fn input(message: String) -> Self {
        Self { status: 2, message }
    }

    /// `TRISOLAR_FAILED`.
    pub(crate) fn failed(message: String) -> Self {
        Self { status: 1, message }
    }
}

impl From<EngineError> for CallFailure {
    fn from(error: EngineError) -> Self {
        let status = match error {
            EngineError::Cancelled => 130,
            EngineError::Refused { .. } => 2,
            _ => 1,
        };
        Self {
            status,
            message: error.to_string(),
        }
    }
}

impl From<IoError> for CallFailure {
    fn from(error: IoError) -> Self {
        match error {
            IoError::UnknownFormat { .. } => Self::input(error.to_string()),
            error => Self::failed(error.to_string()),
        }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// The text of this thread's last failure.
pub(crate) fn last_error() -> *const c_char {
    // A thread that is ending has no such text any more.
    LAST_ERROR
        .try_with(|text| text.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Runs the body of a function of the interface, and catches panics.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), CallFailure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            CallFailure {
                status: 3,
                message: format!("internal error: {said}"),
            }
        }
    };
    let message = c_string(&failure.message);
    // If the thread is ending, the text cannot be stored, but the status is still returned.
    let _ = LAST_ERROR.try_with(|text| text.replace(message));
    failure.status
}

/// Text for C, which ends at the first NUL.
pub(crate) fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

fn null(name: &str) -> CallFailure {
    CallFailure::input(format!(
        "invalid value 'NULL' for '{name}': must point at something"
    ))
}

/// A text that the caller passes.
///
/// # Safety
/// `pointer` is NULL or points at a text that ends with NUL and does not change during `'a`.
pub(crate) unsafe fn input<'a>(
    pointer: *const c_char,
    name: &str,
) -> Result<&'a CStr, CallFailure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL; the caller guarantees the rest.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// The text as UTF-8.
pub(crate) fn text<'a>(text: &'a CStr, name: &str) -> Result<&'a str, CallFailure> {
    text.to_str().map_err(|e| {
        CallFailure::input(format!("invalid value for '{name}': it is not UTF-8: {e}"))
    })
}

/// An object of this library that the caller passes.
///
/// # Safety
/// `pointer` is NULL or points at a `T` that does not change during `'a`.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, CallFailure> {
    // SAFETY: the caller guarantees this.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// Memory for a value, which may be uninitialised.
///
/// # Safety
/// `pointer` is NULL or points at memory for a `T` that nothing else uses during `'a`.
pub(crate) unsafe fn place<'a, T>(
    pointer: *mut T,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>, CallFailure> {
    // SAFETY: the caller guarantees this; MaybeUninit has the layout of T and may have any contents.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| null(name))
}

/// Memory for a pointer to a new object, which is NULL until the object exists.
///
/// # Safety
/// The same as for [`place`].
pub(crate) unsafe fn output<'a, T>(
    pointer: *mut *mut T,
    name: &str,
) -> Result<&'a mut *mut T, CallFailure> {
    // SAFETY: the caller guarantees this.
    Ok(unsafe { place(pointer, name) }?.write(null_mut()))
}

/// Frees an object; does nothing for NULL.
///
/// # Safety
/// `pointer` is NULL, or comes from [`Box::into_raw`] and is not used any more.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: not NULL; the caller guarantees the rest.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> String {
        // SAFETY: the text is this thread's and no call is made before it is copied.
        unsafe { CStr::from_ptr(last_error()) }
            .to_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_panic_ends_at_the_boundary_with_its_message() {
        assert_eq!(guard(|| panic!("five {}", 5)), 3);
        assert_eq!(said(), "internal error: five 5");
    }

    #[test]
    fn each_thread_has_its_own_last_error() {
        assert_eq!(guard(|| Err(CallFailure::failed("here".into()))), 1);
        let there = std::thread::spawn(|| {
            let before = said();
            assert_eq!(guard(|| Err(CallFailure::input("there".into()))), 2);
            (before, said())
        });
        assert_eq!(there.join().unwrap(), (String::new(), "there".to_owned()));
        assert_eq!(said(), "here");
        assert_eq!(guard(|| Ok(())), 0);
        assert_eq!(said(), "here", "a call that succeeds leaves the text");
    }

    #[test]
    fn texts_end_at_a_nul() {
        assert_eq!(c_string("a\0b").as_c_str(), c"a");
    }
}
