//! Debugging, profiling and the clock.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Stops in the debugger. Does nothing in the emulator.
#[inline(always)]
pub fn breakpoint() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction only suspends the thread.
    unsafe {
        asm!("brkpt;", options(nostack, preserves_flags));
    }
}

/// Increments a counter that profilers read, once for each warp. Does nothing in the emulator.
///
/// # Panics
/// If `counter` is not 0 to 7.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "the profiler counter must be 0 to 7");
    #[cfg(target_arch = "nvptx64")]
    {
        // The instruction takes only an immediate operand.
        macro_rules! event {
            ($($number:literal)*) => {
                match counter {
                    $(
                        // SAFETY: the instruction only increments a counter.
                        $number => unsafe {
                            asm!(concat!("pmevent ", $number, ";"), options(nostack, preserves_flags));
                        },
                    )*
                    _ => {}
                }
            };
        }
        event!(0 1 2 3 4 5 6 7);
    }
}

/// The clock of the multiprocessor in cycles; only differences between readings on the same multiprocessor are meaningful. In
/// the emulator the unit is nanoseconds.
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let cycles: u64;
        // SAFETY: the instruction only reads a counter. It is not `nomem`, because it must not move across the memory accesses
        // that it times.
        unsafe {
            asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack, preserves_flags))
        };
        cycles
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        use std::sync::LazyLock;
        use std::time::Instant;
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    }
}
