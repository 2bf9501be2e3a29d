//! What a program without `std` has to bring along: the panic handler, what the compiler calls by name, and, in
//! [`mem`](crate::mem), the allocator.

/// Stops the kernel; the host sees an error at its next synchronisation. The message is not printed: formatting it
/// in every kernel that could panic would cost registers and code.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a trap has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}

/// C's `memcmp`, which the compiler calls to compare slices and strings.
///
/// The one of compiler_builtins takes no part in link-time optimisation, so it never reaches the PTX. (The NVPTX back
/// end writes out copies and fills itself.)
///
/// # Safety
/// As in C: `count` readable bytes at `a` and at `b`.
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

/// `bcmp`: like [`memcmp`], but only zero or not counts.
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, count) }
}
