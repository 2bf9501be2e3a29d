//! The items that a program without `std` must provide: the panic handler, functions that the compiler calls by name and, in
//! [`mem`](crate::mem), the allocator.

/// Stops the kernel; the host sees an error at its next synchronisation. The message is not printed, because formatting it
/// would cost registers and code in every kernel that can panic.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a trap has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}

/// C's `memcmp`, which the compiler calls to compare slices and strings.
///
/// The version in compiler_builtins takes no part in link-time optimisation, so that it never reaches the PTX. (The NVPTX back
/// end expands copies and fills inline.)
///
/// # Safety
/// The same as in C: `count` bytes must be readable at `a` and at `b`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    let mut i = 0;
    while i < count {
        // SAFETY: i < count.
        let (x, y) = unsafe { (*a.add(i), *b.add(i)) };
        if x != y {
            return i32::from(x) - i32::from(y);
        }
        i += 1;
    }
    0
}

/// Like [`memcmp`], except that only whether the result is zero has a meaning.
///
/// # Safety
/// The same as for [`memcmp`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, count) }
}
