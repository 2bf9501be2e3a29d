//! The problem and the memory of a launch of block steps.

use core::sync::atomic::{AtomicU32, AtomicU64};

use super::Launch;
use super::chains;
#[cfg(doc)]
use super::levels::LEVELS;
use super::report::FOR_HOST;
#[cfg(doc)]
use super::report::{ENDED, REPORT};
use super::together::{self, Devices};
#[cfg(doc)]
use super::{star_width, width};
use crate::physics::hermite::step::{Accuracy, Limits, longest_at, lowest_step};
#[cfg(doc)]
use crate::physics::summation::partial_sums::SHORT_PARTIAL_SUMS;

/// The problem of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Steps {
    /// The partial sums, all of which this device computes; `count` is not used.
    pub force: Launch,
    /// Parameters of the time-step criterion.
    pub accuracy: Accuracy,
    /// The longest step, a power of two.
    pub longest: f64,
    /// The shortest step, or 0 for the shortest step that still advances the time.
    pub shortest: f64,
    /// Time of the last block.
    pub time: f64,
    /// Time after which no block is due.
    pub end: f64,
    /// Number of blocks after which to stop.
    pub most_blocks: u64,
    /// Number of pairs after which to stop.
    pub most_pairs: u64,
    /// Number of bodies.
    pub bodies: u32,
    /// Number of evaluations and corrections of each step.
    pub iterations: u32,
    /// Number of active bodies up to which each has a block of threads; 0 if there are more than [`SHORT_PARTIAL_SUMS`] partial sums.
    pub few: u32,
    /// Number of active bodies for which [`chains::MOST_REMAINING`] sums, or all partial sums, fit into `partial`.
    pub room: u32,
    /// Number of active bodies of all devices from which on the launch ends before the forces.
    pub many: u32,
    /// The block whose forces have been computed before the launch.
    pub begun: Begun,
    /// The devices of this launch.
    pub devices: Devices,
}

/// A block before its correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Begun {
    /// Number of active bodies of all devices; 0 if there is no such block.
    pub total: u32,
    /// Number of active bodies of this device, which are listed and whose forces are known.
    pub own: u32,
}

impl Steps {
    /// The limits of the steps that begin at `time`.
    #[inline(always)]
    pub(super) fn limits(&self, time: f64) -> Limits {
        Limits {
            longest: longest_at(self.longest, time),
            shortest: if self.shortest > 0.0 {
                self.shortest
            } else {
                lowest_step(self.longest, time)
            },
        }
    }
}

/// The addresses of all arrays. Those of `stars`, `moved` and `predicted` are aligned to 16 bytes.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Records of [`star_width`] numbers for sums · terms places.
    pub stars: *mut f64,
    /// The other values of a star, [`REST_WIDTH`] numbers for each body.
    pub rest: *mut f64,
    /// Corrected steps, [`moved_width`] numbers for each body; of several devices those of even block steps, then those of odd ones.
    pub moved: *mut f64,
    /// Records of [`width`] numbers for sums · terms places.
    pub predicted: *mut f64,
    /// Places of the active bodies; the list has room for all bodies.
    pub active: *mut u32,
    /// The forces on the active bodies, 3D numbers for each.
    pub forces: *mut f64,
    /// The partial sums, 3D · room numbers for each sum that remains.
    pub partial: *mut f64,
    /// Number of bodies with steps of each of [`LEVELS`] lengths, the longest first; of several devices then the changes of these numbers
    /// by even block steps and by odd ones, 0 before the launch.
    pub levels: *const AtomicU32,
    /// [`CONTROL`] numbers, 0 before the launch.
    pub control: *const AtomicU32,
    /// The report of the launch, [`REPORT`] numbers, 0 before the launch.
    pub report: *const AtomicU64,
    /// The arrays of all devices, see [`together::Arrays`]; not used by a single device.
    pub everywhere: *const u64,
}

impl State {
    /// The state for a thread block that may be a block step ahead of others on the same device: the corrected steps and the reason to stop of
    /// even and of odd block steps have memory of their own. That of the reason is a counter that only several devices use otherwise.
    #[inline(always)]
    pub(super) fn of_parity<const P: usize>(&self, job: &Steps, number: u64) -> Self {
        Self {
            moved: moved_by::<P, true>(job, self.moved, number),
            control: self.control.wrapping_add((number & 1) as usize),
            ..*self
        }
    }
}

/// Values of a star beyond its record: the next step, and the two highest derivatives of the interpolation.
pub const REST_WIDTH: usize = 7;

/// Values of a corrected step of order `p`: the next step, the events to count, and p + 2 vectors.
pub const fn moved_width(p: usize) -> usize {
    2 + 3 * (p + 2)
}

/// The events of a [`Verdict`](crate::physics::hermite::step::Verdict) that are counted.
pub(super) const IS_NOISY: f64 = 1.0;
pub(super) const IS_CLAMPED: f64 = 2.0;

/// Number of counters that threads share: that of the barrier, three counters of this device's active bodies that are used in turn, one
/// that says whether to stop, three counters of the active bodies of all devices (with Ahmad–Cohen, of bodies whose regular steps end),
/// the signals of each device, and what the blocks among which stars are divided announce.
pub const CONTROL: usize = ANNOUNCED + 4 * chains::MOST_REMAINING as usize;
pub(super) const COUNTS: usize = 1;
/// Index of the reason to stop, a value of [`ENDED`]; 0 to go on.
pub const STOPPED: usize = 4;
pub(super) const TOTALS: usize = 5;
/// Index of the signal of the first device.
pub const SIGNALS: usize = 8;
/// Index of what the first block announces, two `f64` for each; a multiple of 4, so that both can be read together.
pub(super) const ANNOUNCED: usize = (SIGNALS + together::MOST_DEVICES).next_multiple_of(4);

/// The block in progress.
pub(super) struct Block {
    /// Time of the previous block.
    pub before: f64,
    /// Time of this block.
    pub time: f64,
    /// Number of this block in the launch.
    pub number: u64,
}

/// The counter of a block's active bodies: of this device from `COUNTS` on, of all devices from `TOTALS` on.
///
/// # Safety
/// `at.control` must be valid.
#[inline(always)]
pub(super) unsafe fn counter(at: &State, first: usize, number: u64) -> &AtomicU32 {
    // SAFETY: the index is below CONTROL.
    unsafe { &*at.control.add(first + (number % 3) as usize) }
}

/// What [`STOPPED`] says if block step `number` must not be counted. With `MANY`, a device that is ahead may have stopped the next one.
#[inline(always)]
pub(super) fn stop_sign<const MANY: bool>(number: u64) -> u32 {
    let of = if MANY { (number as u32) << 8 } else { 0 };
    FOR_HOST as u32 | of
}

/// The corrected steps of block step `number`.
#[inline(always)]
pub(super) fn moved_by<const P: usize, const MANY: bool>(
    job: &Steps,
    moved: *mut f64,
    number: u64,
) -> *mut f64 {
    if MANY && number & 1 != 0 {
        moved.wrapping_add(job.bodies as usize * const { moved_width(P) })
    } else {
        moved
    }
}
