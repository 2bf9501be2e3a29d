//! Printing and assertions in kernels.
//!
//! [`print`](macro@print), [`println`](macro@println), [`assert_eq`](macro@assert_eq) and [`assert_ne`](macro@assert_ne) do on
//! the device and in the emulator what `std`'s macros do elsewhere. In Rust, a macro of the standard prelude and another macro
//! of the same name from a glob import are ambiguous. Therefore on the CPU `cuda_std::println!` and that of `cuda_std::prelude`
//! *are* `std`'s, whose output the emulator cannot capture; where that matters, import these macros by name: `use
//! cuda_std::io::println;`.
//!
//! On the device a line goes to a buffer of 1 MiB that the driver prints when the host synchronises; when the buffer is full,
//! the oldest text is lost. In the emulator a line goes to standard output, or to
//! [`Stats::output`](crate::emulator::Stats::output).

use alloc::string::String;
use core::fmt::Arguments;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// The driver's printf. `valist` points to the arguments, laid out like the fields of a C struct.
    pub fn vprintf(format: *const u8, valist: *const core::ffi::c_void) -> i32;
    /// The driver's assertion, which prints a message and makes the launch fail.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

#[cfg(target_arch = "nvptx64")]
fn terminated(text: Arguments<'_>) -> String {
    alloc::format!("{text}\0")
}

pub use crate::{
    __assert_eq as assert_eq, __assert_ne as assert_ne, __print as print, __println as println,
};

/// The function that `print!` calls.
#[doc(hidden)]
pub fn print_arguments(text: Arguments<'_>) {
    #[cfg(target_arch = "nvptx64")]
    {
        let text = terminated(text);
        let arguments = [text.as_ptr()];
        // SAFETY: both strings end with 0, and the format expects one string.
        unsafe {
            vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let text: String = alloc::format!("{text}");
        match crate::emulator::try_current().and_then(|thread| thread.block().output) {
            // SAFETY: the launch keeps its output buffer until its threads have ended.
            Some(output) => unsafe { &*output }
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push_str(&text),
            None => std::print!("{text}"),
        }
    }
}

/// The function that a failed assertion calls.
#[doc(hidden)]
#[cold]
#[inline(never)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn assertion_failed(message: Arguments<'_>, file: &'static str, line: u32) {
    #[cfg(target_arch = "nvptx64")]
    {
        let (message, file) = (terminated(message), terminated(format_args!("{file}")));
        // SAFETY: the strings end with 0.
        unsafe {
            __assertfail(
                message.as_ptr(),
                file.as_ptr(),
                line,
                c"".as_ptr().cast(),
                1,
            )
        };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (file, line);
        panic!("{message}");
    }
}

/// Prints from a kernel; see [`io`](mod@crate::io).
#[doc(hidden)]
#[macro_export]
macro_rules! __print {
    ($($argument:tt)*) => {
        $crate::io::print_arguments(::core::format_args!($($argument)*))
    };
}

/// Prints a line from a kernel; see [`io`](mod@crate::io). Lines of different threads do not mix.
#[doc(hidden)]
#[macro_export]
macro_rules! __println {
    () => { $crate::io::print_arguments(::core::format_args!("\n")) };
    ($($argument:tt)*) => {
        $crate::io::print_arguments(::core::format_args!("{}\n", ::core::format_args!($($argument)*)))
    };
}

/// Makes the launch fail unless two values are equal.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_eq {
    ($left:expr, $right:expr $(,)?) => { $crate::__assert!(==, $left, $right, "") };
    ($left:expr, $right:expr, $($message:tt)+) => { $crate::__assert!(==, $left, $right, $($message)+) };
}

/// Makes the launch fail if two values are equal.
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_ne {
    ($left:expr, $right:expr $(,)?) => { $crate::__assert!(!=, $left, $right, "") };
    ($left:expr, $right:expr, $($message:tt)+) => { $crate::__assert!(!=, $left, $right, $($message)+) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assert {
    ($operator:tt, $left:expr, $right:expr, $($message:tt)+) => {
        match (&$left, &$right) {
            (left, right) => {
                if !(*left $operator *right) {
                    $crate::io::assertion_failed(
                        ::core::format_args!(
                            "assertion failed: {} {} {}\n  left: {:?}\n right: {:?}\n{}",
                            ::core::stringify!($left), ::core::stringify!($operator), ::core::stringify!($right),
                            left, right, ::core::format_args!($($message)+)
                        ),
                        ::core::file!(),
                        ::core::line!(),
                    );
                }
            }
        }
    };
}
