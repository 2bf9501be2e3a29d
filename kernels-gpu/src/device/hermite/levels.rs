//! The numbers of bodies with steps of each length, from which the time of the next block step follows.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::thread;
use cuda_std::warp::warp_vote_ballot;

use crate::physics::hermite::step::halved;

/// Number of step lengths, each half of the previous one.
pub const LEVELS: u32 = 64;

/// The number of bodies with steps of length number `level` before block step `number`.
///
/// # Safety
/// `levels` must be valid for the levels and, with several devices, their changes; `level` must be below [`LEVELS`].
#[inline(always)]
pub(super) unsafe fn number_of<const MANY: bool>(
    levels: *const AtomicU32,
    level: u32,
    number: u64,
) -> u32 {
    // SAFETY: the caller guarantees this.
    unsafe {
        let n = (*levels.add(level as usize)).load(Relaxed);
        if !MANY {
            return n;
        }
        let change = (*levels.add(changes_by(number + 1) + level as usize)).load(Relaxed);
        n.wrapping_add(change)
    }
}

/// Index in the levels of several devices of the changes by the block steps with numbers of this parity.
#[inline(always)]
pub(super) fn changes_by(number: u64) -> usize {
    (1 + (number & 1) as usize) * LEVELS as usize
}

/// Adds the changes of the last block step to the levels, in block step `number`.
///
/// # Safety
/// `levels` must be valid for the levels and, with several devices, their changes. All threads of the grid must call this, between two
/// barriers.
#[inline(always)]
pub(super) unsafe fn settle_levels(levels: *const AtomicU32, number: u64) {
    if thread::block_idx_x() != 0 {
        return;
    }
    let mut level = thread::thread_idx_x();
    while level < LEVELS {
        // SAFETY: the caller guarantees this.
        unsafe {
            let change = &*levels.add(changes_by(number + 1) + level as usize);
            (*levels.add(level as usize)).fetch_add(change.load(Relaxed), Relaxed);
            change.store(0, Relaxed);
        }
        level += thread::block_dim_x();
    }
}

/// The numbers of bodies at the two levels of this lane, where `number_of` is the number at a level.
#[inline(always)]
pub(super) fn of_lane(number_of: impl Fn(u32) -> u32) -> [u32; 2] {
    let lane = thread::thread_idx_x() % 32;
    [number_of(lane), number_of(lane + 32)]
}

/// The shortest step of all bodies, from [`of_lane`] of each lane. Every warp determines it independently.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
pub(super) unsafe fn shortest_step(longest: f64, [low, high]: [u32; 2]) -> f64 {
    // SAFETY: whole warps call it.
    let (low, high) = unsafe {
        (
            warp_vote_ballot(u32::MAX, low != 0),
            warp_vote_ballot(u32::MAX, high != 0),
        )
    };
    let level = if high != 0 {
        63 - high.leading_zeros()
    } else {
        31 - low.leading_zeros()
    };
    halved(longest, level)
}

/// Counts a body, whose step had the length number `old`, at length number `new`.
///
/// # Safety
/// `levels` must be valid for [`LEVELS`] numbers; both are below that.
#[inline(always)]
pub(super) unsafe fn change_level(levels: *const AtomicU32, old: u32, new: u32) {
    if old != new {
        // SAFETY: the caller guarantees this.
        unsafe {
            (*levels.add(old as usize)).fetch_sub(1, Relaxed);
            (*levels.add(new as usize)).fetch_add(1, Relaxed);
        }
    }
}
