//! What a program without `std` has to bring along: the panic handler and, in [`mem`](crate::mem), the allocator.

/// Stops the kernel; the host sees an error at its next synchronisation. The message is not printed: formatting it
/// in every kernel that could panic would cost registers and code.
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: a trap has no preconditions.
    unsafe { core::arch::nvptx::trap() }
}
