//! Barriers in shared memory that count threads and bytes: PTX's `mbarrier`, and the bulk copies that one thread starts for the block.
//!
//! A barrier goes through phases, 0 first. A phase ends when as many threads have arrived as [`init`] has said and all bytes that
//! [`expect`] and [`arrive_expect`] announced have come. A thread waits for a phase by its parity: 0 for the first phase, 1 for the second, 0 for
//! the third. In the emulator the bytes of a bulk copy move when a thread asks for the end of the phase. Needs compute capability 9.0, and
//! arriving and waiting without bytes 8.0.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{BulkCopy, Copy as Bytes, current};

/// The most threads that a phase counts.
pub const MAX_COUNT: u32 = (1 << 20) - 1;

/// The state of a barrier in the emulator: the bits of its word from the lowest.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
struct State {
    /// Threads that have not yet arrived in this phase: 20 bits.
    missing: u64,
    /// Threads of a phase: 20 bits.
    count: u64,
    /// Bytes that are announced and have not come; 22 bits and a sign.
    bytes: i64,
    /// Parity of the phase.
    parity: u64,
}

#[cfg(not(target_arch = "nvptx64"))]
impl State {
    fn read(word: u64) -> Self {
        Self {
            missing: word & 0xf_ffff,
            count: word >> 20 & 0xf_ffff,
            bytes: (word as i64) << 1 >> 41,
            parity: word >> 63,
        }
    }

    /// Ends the phase if it is complete.
    fn word(mut self) -> u64 {
        if self.missing == 0 && self.bytes == 0 {
            (self.missing, self.parity) = (self.count, 1 - self.parity);
        }
        self.missing
            | self.count << 20
            | ((self.bytes as u64) & 0x7f_ffff) << 40
            | self.parity << 63
    }

    /// # Safety
    /// The barrier is valid.
    unsafe fn change(barrier: *mut u64, change: impl FnOnce(&mut Self)) {
        // SAFETY: the caller guarantees this; the threads of a block run one after another.
        unsafe {
            let mut state = Self::read(*barrier);
            change(&mut state);
            *barrier = state.word();
        }
    }

    fn arrive(&mut self) {
        assert!(
            self.missing > 0,
            "more threads arrive at an mbarrier than its count of {}",
            self.count
        );
        self.missing -= 1;
    }
}

/// Assembly with the address of a barrier in the register `b`.
#[cfg(target_arch = "nvptx64")]
macro_rules! at {
    ($barrier:ident, $($line:literal)*; $($operand:tt)*) => {
        asm!(
            "{{",
            ".reg .b64 b;",
            "cvta.to.shared.u64 b, {barrier};",
            $($line,)*
            "}}",
            barrier = in(reg64) $barrier,
            $($operand)*
            options(nostack, preserves_flags)
        )
    };
}

/// Makes a barrier for `count` threads, and the first phase begins. One thread does this; the others see it after a barrier of the block.
///
/// # Safety
/// `barrier` is 8 bytes of shared memory that nothing else uses, and `count` is 1 to [`MAX_COUNT`].
#[inline(always)]
pub unsafe fn init(barrier: *mut u64, count: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        at!(barrier, "mbarrier.init.shared.b64 [b], {count};"; count = in(reg32) count,);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        assert!(
            (1..=MAX_COUNT).contains(&count),
            "an mbarrier is for 1 to {MAX_COUNT} threads, not {count}"
        );
        let (count, missing) = (u64::from(count), u64::from(count));
        // SAFETY: the caller guarantees this.
        unsafe {
            *barrier = State {
                missing,
                count,
                bytes: 0,
                parity: 0,
            }
            .word()
        };
    }
}

/// Makes new barriers visible to bulk copies. The thread that has called [`init`] calls this before it starts one.
#[inline(always)]
pub fn fence_init() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!(
            "fence.mbarrier_init.release.cluster;",
            "fence.proxy.async;",
            options(nostack, preserves_flags)
        );
    }
}

/// Arrives: this thread is one of the phase's count.
///
/// # Safety
/// `barrier` was made by [`init`].
#[inline(always)]
pub unsafe fn arrive(barrier: *mut u64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        at!(barrier, ".reg .b64 s;" "mbarrier.arrive.shared.b64 s, [b];";);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as above.
    unsafe {
        State::change(barrier, State::arrive);
    }
}

/// Arrives, and announces `bytes` that have to come before the phase ends; at most 2²⁰ - 1 of a phase.
///
/// # Safety
/// `barrier` was made by [`init`].
#[inline(always)]
pub unsafe fn arrive_expect(barrier: *mut u64, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        at!(barrier, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], {bytes};"; bytes = in(reg32) bytes,);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as above.
    unsafe {
        State::change(barrier, |state| {
            state.bytes += i64::from(bytes);
            state.arrive();
        });
    }
}

/// Announces `bytes` that have to come before the phase ends.
///
/// # Safety
/// `barrier` was made by [`init`].
#[inline(always)]
pub unsafe fn expect(barrier: *mut u64, bytes: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        at!(barrier, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], {bytes};"; bytes = in(reg32) bytes,);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as above.
    unsafe {
        State::change(barrier, |state| state.bytes += i64::from(bytes));
    }
}

/// Whether the latest phase of this parity has ended. What came before its end is then visible.
///
/// # Safety
/// `barrier` was made by [`init`].
#[inline(always)]
#[must_use]
pub unsafe fn has_ended(barrier: *mut u64, parity: u32) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let ended: u32;
        // SAFETY: the caller guarantees this.
        unsafe {
            at!(barrier, ".reg .pred p;" "mbarrier.try_wait.parity.shared::cta.b64 p, [b], {parity};" "selp.u32 {ended}, 1, 0, p;";
                parity = in(reg32) parity, ended = out(reg32) ended,);
        }
        ended != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as above.
    unsafe {
        let bytes = BulkCopy::finish_all(&mut current().block().bulk.borrow_mut(), barrier);
        State::change(barrier, |state| state.bytes -= bytes as i64);
        State::read(*barrier).parity != u64::from(parity & 1)
    }
}

/// Waits for the end of the phase of this parity.
///
/// # Safety
/// `barrier` was made by [`init`].
#[inline(always)]
pub unsafe fn wait(barrier: *mut u64, parity: u32) {
    // SAFETY: the caller guarantees this.
    while !unsafe { has_ended(barrier, parity) } {
        #[cfg(not(target_arch = "nvptx64"))]
        crate::thread::nanosleep(0);
    }
}

/// Starts to copy `bytes` from global to shared memory. Their arrival counts at `barrier`, which must expect them. One thread
/// starts the copy for the whole block.
///
/// # Safety
/// Both places are valid for `bytes`, nothing changes them before the phase has ended, and `barrier` was made by [`init`]. Addresses and `bytes` are
/// multiples of 16.
#[inline(always)]
pub unsafe fn copy<T: Copy>(to: *mut T, from: *const T, bytes: u32, barrier: *mut u64) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        at!(barrier,
            ".reg .b64 s, g;"
            "cvta.to.shared.u64 s, {to};"
            "cvta.to.global.u64 g, {from};"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], {bytes}, [b];";
            to = in(reg64) to, from = in(reg64) from, bytes = in(reg32) bytes,);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        assert!(
            [to.addr(), from.addr(), bytes as usize]
                .iter()
                .all(|n| n.is_multiple_of(16)),
            "the places and the length ({bytes} bytes) of a bulk copy are multiples of 16"
        );
        let copy = Bytes {
            to: to.cast(),
            from: from.cast(),
            bytes: bytes as usize,
        };
        current()
            .block()
            .bulk
            .borrow_mut()
            .push(BulkCopy { barrier, copy });
    }
}
