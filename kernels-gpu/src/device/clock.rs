//! Time inside a kernel.

/// Nanoseconds since an arbitrary point in the past, from a GPU's global timer or, under emulation, the monotonic clock.
#[inline(always)]
pub fn timer_ns() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let t: u64;
        // SAFETY: the instruction only reads a special register.
        unsafe {
            core::arch::asm!("mov.u64 {0}, %globaltimer;", out(reg64) t, options(nomem, nostack))
        };
        t
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START
            .get_or_init(std::time::Instant::now)
            .elapsed()
            .as_nanos() as u64
    }
}
