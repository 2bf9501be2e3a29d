//! The report of a launch of block steps: the numbers of what happened, and why it ended.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::levels::LEVELS;
#[cfg(doc)]
use super::together;

/// Length of the report: the values below, then the numbers of blocks by the binary logarithm of the number of active bodies, then the
/// numbers of steps by length, then those of the Ahmad–Cohen scheme, then the block that has begun.
pub const REPORT: usize = BEGUN + 2;
/// Index of the time of the last block, as bits.
pub const TIME: usize = 0;
/// Index of the number of block steps.
pub const BLOCKS: usize = 1;
/// Index of the number of steps of bodies.
pub const STEPS: usize = 2;
/// Index of the reason for the end: [`AT_END`], [`FOR_HOST`], [`FOR_FORCES`], [`together::ALONE`], or 0 after the largest number of
/// blocks or pairs.
pub const ENDED: usize = 3;
/// Index of the number of steps that were not shortened because the criterion followed rounding noise.
pub const NOISY: usize = 4;
/// Index of the number of steps that were lengthened to the shortest.
pub const CLAMPED: usize = 5;
/// Index of the cycles of the first block: prediction and the list of active bodies; forces; correction; forces of neighbours and the
/// correction for them.
pub const CYCLES: usize = 6;
/// Index of the first number of blocks.
pub const ACTIVE: usize = 10;
/// Index of the first number of steps.
pub const LENGTHS: usize = ACTIVE + 32;
/// Index of the number of regular steps.
pub const REGULAR: usize = LENGTHS + LEVELS as usize;
/// Index of the number of pairs of bodies and neighbours.
pub const PAIRS: usize = REGULAR + 1;
/// Index of the number of lists that did not fit.
pub const OVERFLOWS: usize = PAIRS + 1;
/// Index of the number of pairs in the current block step, which counts only if the host does not repeat it.
pub const OPEN_PAIRS: usize = OVERFLOWS + 1;
/// Index of the two numbers of `Begun`, if the launch ended [`FOR_FORCES`].
pub const BEGUN: usize = OPEN_PAIRS + 1;

/// Value of [`ENDED`] if no block is due up to the end time.
pub const AT_END: u64 = 1;
/// Value of [`ENDED`] if the host has to perform the next block.
pub const FOR_HOST: u64 = 2;
/// Value of [`ENDED`] if the forces of the next block have to be computed by their own kernel.
pub const FOR_FORCES: u64 = 4;

/// Adds `by` to a number of the report, modulo 2⁶⁴.
///
/// # Safety
/// `report` must be valid at index `what`.
#[inline(always)]
pub(super) unsafe fn count_up(report: *const AtomicU64, what: usize, by: u64) {
    // SAFETY: the caller guarantees this.
    unsafe { (*report.add(what)).fetch_add(by, Relaxed) };
}

/// Writes to the report which block has begun.
///
/// # Safety
/// `report` must be valid for [`REPORT`] numbers.
#[inline(always)]
pub(super) unsafe fn hand_over(report: *const AtomicU64, own: u32, total: u32) {
    // SAFETY: the indices are below REPORT.
    unsafe {
        (*report.add(BEGUN)).store(total as u64, Relaxed);
        (*report.add(BEGUN + 1)).store(own as u64, Relaxed);
    }
}

/// Writes the outcome of a launch to the report.
///
/// # Safety
/// `report` must be valid for [`REPORT`] numbers.
#[inline(always)]
pub(super) unsafe fn tell<const N: usize>(
    report: *const AtomicU64,
    time: f64,
    blocks: u64,
    steps: u64,
    ended: u64,
    cycles: &[u64; N],
) {
    const { assert!(N <= ACTIVE - CYCLES) };
    let tell = |what: usize, value: u64| {
        // SAFETY: `what` is below REPORT.
        unsafe { (*report.add(what)).store(value, Relaxed) };
    };
    tell(TIME, time.to_bits());
    tell(BLOCKS, blocks);
    tell(STEPS, steps);
    tell(ENDED, ended);
    let mut k = 0;
    while k < N {
        tell(CYCLES + k, cycles[k]);
        k += 1;
    }
}
