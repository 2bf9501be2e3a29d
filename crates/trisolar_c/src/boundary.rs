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
    // A thread that is ending has none any more.
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
    // Without a place for its text (the thread is ending) a failure still has its status.
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

/// A text handed in.
///
/// # Safety
/// `pointer` is NULL or a text that ends with NUL and stays as it is for `'a`.
pub(crate) unsafe fn input<'a>(
    pointer: *const c_char,
    name: &str,
) -> Result<&'a CStr, CallFailure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not NULL; otherwise the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// The text as UTF-8.
pub(crate) fn text<'a>(text: &'a CStr, name: &str) -> Result<&'a str, CallFailure> {
    text.to_str().map_err(|e| {
        CallFailure::input(format!("invalid value for '{name}': it is not UTF-8: {e}"))
    })
}

/// An object of this library.
///
/// # Safety
/// `pointer` is NULL or points at a `T` that stays as it is for `'a`.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, CallFailure> {
    // SAFETY: the caller guarantees this.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// A place for a value; what is there may not be one yet.
///
/// # Safety
/// `pointer` is NULL or points at room for a `T` that nothing else uses for `'a`.
pub(crate) unsafe fn place<'a, T>(
    pointer: *mut T,
    name: &str,
) -> Result<&'a mut MaybeUninit<T>, CallFailure> {
    // SAFETY: the caller's promise; MaybeUninit has the layout of T and any contents.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| null(name))
}

/// A place for a pointer to a new object, NULL until there is one.
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

/// Ends an object. NULL is none.
///
/// # Safety
/// `pointer` is NULL or from [`Box::into_raw`], and not used any more.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: not NULL; otherwise the caller's promise.
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
