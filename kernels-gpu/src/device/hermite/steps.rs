//! Whole block steps on the device, many in each launch: finding the particles that are due, prediction, forces, correction and the
//! choice of the next steps, with barriers for the whole grid between them and without copies.
//!
//! A launch ends at a given time, after a number of steps, or before a block that the host has to perform: one with a step that was
//! much too long, that is too short to advance the time, or whose result is not finite. Such a block changes nothing.
//!
//! A launch also ends before a block with many active bodies, after it has listed them and predicted all bodies. The kernel for forces,
//! which needs fewer registers and so runs more threads at a time, then computes the forces, and the next launch begins with the correction.
//!
//! Corrected steps are written to separate records. The first phase of the next block copies them to the stars, because only then do
//! all threads know whether the block is valid.
//!
//! Several devices that reach each other's memory perform the same block steps together ([`together`]): each holds and predicts all
//! particles, and computes the forces on its share of those that are due.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use cuda_std::misc::clock;
use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_ballot};

use super::chains::{self, Division};
use super::record::{aligned_vectors, put_predicted, two, vector};
use super::tiles::Capacity;
use super::together::{self, Devices};
use super::{Launch, Record, fold, lanes, put, put_all, star_width, vectors, width};
use crate::Vec3;
use crate::physics::hermite::correct::correct;
use crate::physics::hermite::predict::predict;
use crate::physics::hermite::step::{
    Accuracy, Limits, halved, halvings, judge, longest_at, lowest_step,
};
use crate::physics::hermite::{TERMS, Taylor};
#[cfg(doc)]
use crate::physics::summation::partial_sums::SHORT_PARTIAL_SUMS;
use cuda_std::GridBarrier;
use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_relaxed_u32_system, atomic_fetch_sub_relaxed_u32_system,
    atomic_store_relaxed_32_system,
};

/// Number of step lengths, each half of the previous one.
pub const LEVELS: u32 = 64;

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
    /// The blocks that run at a time.
    pub capacity: Capacity,
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

/// The addresses of all arrays.
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

/// Values of a star beyond its record: the next step, and the two highest derivatives of the interpolation.
pub const REST_WIDTH: usize = 7;

/// Values of a corrected step of order `p`: the next step, the events to count, and p + 2 vectors.
pub const fn moved_width(p: usize) -> usize {
    2 + 3 * (p + 2)
}

/// Number of counters that threads share: that of the barrier, three counters of this device's active bodies that are used in turn, one
/// that says whether to stop, three counters of the active bodies of all devices (with Ahmad–Cohen, of bodies whose regular steps end),
/// and the signals of each device.
pub const CONTROL: usize = SIGNALS + together::MOST_DEVICES;
pub(super) const COUNTS: usize = 1;
/// Index of the reason to stop, a value of [`ENDED`]; 0 to go on.
pub const STOPPED: usize = 4;
pub(super) const TOTALS: usize = 5;
/// Index of the signal of the first device.
pub const SIGNALS: usize = 8;

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
/// Index of the two numbers of [`Begun`], if the launch ended [`FOR_FORCES`].
pub const BEGUN: usize = OPEN_PAIRS + 1;

/// Value of [`ENDED`] if no block is due up to the end time.
pub const AT_END: u64 = 1;
/// Value of [`ENDED`] if the host has to perform the next block.
pub const FOR_HOST: u64 = 2;
/// Value of [`ENDED`] if the forces of the next block have to be computed by their own kernel.
pub const FOR_FORCES: u64 = 4;

/// The events of a [`Verdict`](crate::physics::hermite::step::Verdict) that are counted.
const IS_NOISY: f64 = 1.0;
pub(super) const IS_CLAMPED: f64 = 2.0;

/// The block in progress.
pub(super) struct Block {
    /// Time of the previous block.
    pub before: f64,
    /// Time of this block.
    pub time: f64,
    /// Number of this block in the launch.
    pub number: u64,
}

/// Takes block steps, with `MANY` together with other devices. All threads of the grid must call this.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and nothing else may use their memory. Blocks must have as many threads as
/// [`lanes::threads`] requires and shared memory for [`lanes`] and [`chains`]. All blocks of the grid must be resident at the same
/// time.
#[inline(always)]
pub unsafe fn steps<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
) {
    const { assert!(P == 2 * D, "order P has P / 2 forces") };
    let mut barrier = together::Barrier::new(at.control);
    let leader = thread::index_1d() == 0;
    let (mut time, mut number, mut taken, mut pairs, mut ended) = (job.time, 0, 0, 0, 0);
    let mut cycles = [0; 3];
    loop {
        let begin = clock();
        // The stars are read before the levels, so that the waits for memory overlap.
        // SAFETY: only this thread changes these stars.
        let held = unsafe { Held::<P>::two(job, at, thread::index_1d()) };
        // SAFETY: whole warps call it; all threads that changed levels have passed the barrier.
        let next = time
            + unsafe {
                shortest_step(job.longest, |level| {
                    number_of::<MANY>(at.levels, level, number)
                })
            };
        let block = Block {
            before: time,
            time: next,
            number,
        };
        if next > job.end {
            ended = AT_END;
        }
        let begun = number == 0 && job.begun.total > 0 && ended == 0;
        let last = ended == AT_END || number >= job.most_blocks || pairs >= job.most_pairs;
        if !begun {
            // SAFETY: each thread has places of its own.
            unsafe { settle::<P, D, MANY>(job, at, &block, held, last) };
        }
        if last && !MANY {
            break;
        }
        // SAFETY: all threads of the grid call it; the first block changes the levels, which no thread reads before the next barrier.
        unsafe {
            barrier.grid.wait();
            if MANY {
                settle_levels(at.levels, number);
            }
        }
        if last {
            break;
        }
        let listed = clock();
        let (count, total) = if begun {
            (job.begun.own, job.begun.total)
        } else {
            // SAFETY: no thread changes these counters before the next barrier.
            unsafe { counted::<MANY>(at, number) }
        };
        if total >= job.many && !begun {
            cycles[0] += listed - begin;
            if leader {
                // SAFETY: the report is valid.
                unsafe { hand_over(at.report, count, total) };
            }
            ended = FOR_FORCES;
            break;
        }
        if leader {
            // SAFETY: these are the next block's counters; the threads that used them before have passed two barriers.
            unsafe {
                counter(at, COUNTS, number + 1).store(0, Relaxed);
                counter(at, TOTALS, number + 1).store(0, Relaxed);
            }
        }
        // SAFETY: all threads of the grid call it; `count` places are listed.
        let correcting =
            unsafe { evaluate::<A, P, D, MANY>(job, at, &block, count, begun, &mut barrier) };
        // SAFETY: all threads of all grids call it.
        unsafe { barrier.wait_for_all::<MANY>(&job.devices, at.everywhere) };
        cycles[0] += listed - begin;
        cycles[1] += clock() - listed - correcting;
        cycles[2] += correcting;
        // SAFETY: no thread sets it before the next barrier.
        let stopped = unsafe { (*at.control.add(STOPPED)).load(Relaxed) };
        ended = reason_to_stop::<MANY>(stopped, number);
        if ended != 0 {
            break;
        }
        if leader {
            // SAFETY: the logarithm is below 32.
            unsafe { count_up(at.report, ACTIVE + total.ilog2() as usize, 1) };
        }
        time = next;
        number += 1;
        taken += total as u64;
        pairs += total as u64 * (job.bodies as u64 * job.iterations as u64);
    }
    if leader {
        // SAFETY: the report is valid.
        unsafe { tell(at.report, time, number, taken, ended, &cycles) };
    }
}

/// Writes to the report which block has begun.
///
/// # Safety
/// `report` must be valid for [`REPORT`] numbers.
#[inline(always)]
unsafe fn hand_over(report: *const AtomicU64, own: u32, total: u32) {
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

/// The counter of a block's active bodies: of this device from `COUNTS` on, of all devices from `TOTALS` on.
///
/// # Safety
/// `at.control` must be valid.
#[inline(always)]
pub(super) unsafe fn counter(at: &State, first: usize, number: u64) -> &AtomicU32 {
    // SAFETY: the index is below CONTROL.
    unsafe { &*at.control.add(first + (number % 3) as usize) }
}

/// The numbers of a block's active bodies: of this device, and of all devices.
///
/// # Safety
/// The same as for [`counter`].
#[inline(always)]
unsafe fn counted<const MANY: bool>(at: &State, number: u64) -> (u32, u32) {
    // SAFETY: the caller guarantees this.
    let count = unsafe { counter(at, COUNTS, number).load(Relaxed) };
    if !MANY {
        return (count, count);
    }
    // SAFETY: as above.
    (count, unsafe { counter(at, TOTALS, number).load(Relaxed) })
}

/// # Safety
/// `report` must be valid at index `what`.
#[inline(always)]
pub(super) unsafe fn count_up(report: *const AtomicU64, what: usize, by: u64) {
    // SAFETY: the caller guarantees this.
    unsafe { (*report.add(what)).fetch_add(by, Relaxed) };
}

/// Index in [`State::levels`] of the changes by the block steps with numbers of this parity.
#[inline(always)]
fn changes_by(number: u64) -> usize {
    (1 + (number & 1) as usize) * LEVELS as usize
}

/// The number of bodies with steps of length number `level` before block step `number`.
///
/// # Safety
/// `levels` must be valid as in [`State`]; `level` must be below [`LEVELS`].
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

/// Adds the changes of the last block step to the levels, in block step `number`.
///
/// # Safety
/// `levels` must be valid as in [`State`]. All threads of the grid must call this, between two barriers.
#[inline(always)]
unsafe fn settle_levels(levels: *const AtomicU32, number: u64) {
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

/// What [`STOPPED`] says if block step `number` must not be counted. With `MANY`, a device that is ahead may have stopped the next one.
#[inline(always)]
fn stop_sign<const MANY: bool>(number: u64) -> u32 {
    let of = if MANY { (number as u32) << 8 } else { 0 };
    FOR_HOST as u32 | of
}

/// The reason to stop after block step `number`, or 0.
#[inline(always)]
fn reason_to_stop<const MANY: bool>(stopped: u32, number: u64) -> u64 {
    if !MANY || stopped == together::ALONE {
        stopped as u64
    } else if stopped == stop_sign::<MANY>(number) {
        FOR_HOST
    } else {
        0
    }
}

/// The corrected steps of block step `number`.
#[inline(always)]
fn moved_by<const P: usize, const MANY: bool>(
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

/// The shortest step of all bodies, where `number_of` is the number of those with steps of each length. Every warp determines it
/// independently.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
pub(super) unsafe fn shortest_step(longest: f64, number_of: impl Fn(u32) -> u32) -> f64 {
    let lane = thread::thread_idx_x() % 32;
    let any = |level: u32| number_of(level) != 0;
    // SAFETY: whole warps call it.
    let (low, high) = unsafe {
        (
            warp_vote_ballot(u32::MAX, any(lane)),
            warp_vote_ballot(u32::MAX, any(lane + 32)),
        )
    };
    let level = if high != 0 {
        63 - high.leading_zeros()
    } else {
        31 - low.leading_zeros()
    };
    halved(longest, level)
}

/// Copies the corrected steps of the last block to the stars; then, unless this was the last block, predicts all stars and lists those
/// that are due. `held` are the first two stars of this thread.
///
/// # Safety
/// The same as for [`steps`]; a barrier must separate this from the correction.
#[inline(always)]
unsafe fn settle<const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    mut held: [Held<P>; 2],
    last: bool,
) {
    let lane = thread::thread_idx_x() % 32;
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let places = job.force.sums * job.force.terms;
    // `first` is the same for all lanes of a warp, so that they vote together.
    let mut first = thread::index_1d() - lane;
    while first < places {
        let second = first + threads;
        let settle = |from: u32, held: &Held<P>| {
            let place = from + lane;
            let mut due = false;
            if place < places {
                // SAFETY: only this thread works on the star at this place.
                due = unsafe { settle_star::<P, D, MANY>(job, at, block, place, held, last) };
            }
            if !last {
                // SAFETY: whole warps call it, because `from` is the same for all lanes.
                unsafe { list::<MANY>(&job.devices, at, block.number, place, due) };
            }
        };
        settle(first, &held[0]);
        if second < places {
            settle(second, &held[1]);
        }
        first = second + threads;
        if first < places {
            // SAFETY: only this thread changes these stars.
            held = unsafe { Held::two(job, at, first + lane) };
        }
    }
}

/// A star as its records have it.
#[derive(Clone, Copy)]
struct Held<const P: usize> {
    mass: f64,
    time: f64,
    /// Its step; 0 at places beyond the last body.
    step: f64,
    motion: [Vec3<f64>; P],
}

impl<const P: usize> Held<P> {
    /// Reads the star at `place` and that at the next place of the same thread, both before one is written, so that the waits for memory
    /// overlap. Beyond the last place, another star is read.
    ///
    /// # Safety
    /// No other thread may change these stars.
    #[inline(always)]
    unsafe fn two(job: &Steps, at: &State, place: u32) -> [Self; 2] {
        let threads = thread::grid_dim_x() * thread::block_dim_x();
        let places = job.force.sums * job.force.terms;
        let first = place.min(places - 1);
        let second = if first + threads < places {
            first + threads
        } else {
            first
        };
        // SAFETY: the places are those of stars; the caller guarantees the rest.
        unsafe { [Self::read(job, at, first), Self::read(job, at, second)] }
    }

    /// Reads the star at `place`.
    ///
    /// # Safety
    /// `place` must be that of a star, which no other thread changes.
    #[inline(always)]
    unsafe fn read(job: &Steps, at: &State, place: u32) -> Self {
        // SAFETY: the caller guarantees this; only bodies have records beyond those of stars.
        unsafe {
            let star = at.stars.add(place as usize * const { star_width(P) });
            let step = if place < job.bodies {
                *at.rest.add(place as usize * REST_WIDTH)
            } else {
                0.0
            };
            let (mass, time) = two(star);
            Self {
                mass,
                time,
                step,
                motion: aligned_vectors(star.add(2)),
            }
        }
    }
}

/// Does the work of [`settle`] for one star, whose records are `held`; returns whether it is due.
///
/// # Safety
/// The same as for [`settle`], for a place that only this thread works on.
#[inline(always)]
unsafe fn settle_star<const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    place: u32,
    held: &Held<P>,
    last: bool,
) -> bool {
    let index = place as usize;
    let Held {
        mass,
        mut time,
        mut step,
        mut motion,
    } = *held;
    // SAFETY: the caller guarantees this; only bodies have a step, and records beyond those of stars.
    unsafe {
        if step > 0.0 && time + step == block.before {
            // The star was active in the last block. All is read before anything is written, so that the waits for memory overlap.
            let star = at.stars.add(index * const { star_width(P) });
            let rest = at.rest.add(index * REST_WIDTH);
            let moved = moved_by::<P, MANY>(job, at.moved, block.number + 1);
            let moved = moved.add(index * const { moved_width(P) });
            let (next, what) = two(moved);
            motion = aligned_vectors(moved.add(2));
            let others = aligned_vectors::<2>(moved.add(2 + 3 * P));
            count_step(job, at, step, what);
            (time, step) = (block.before, next);
            *star.add(1) = time;
            put_all(star.add(2), &motion);
            *rest = step;
            put_all(rest.add(1), &others);
        }
        if !last {
            let to = at.predicted.add(index * const { width(D) });
            let predicted = predict::<f64, P, D>(&motion, block.time - time);
            put_predicted(to, mass, &predicted);
        }
        step > 0.0 && time + step == block.time
    }
}

/// Counts a step of length `taken`, and what it was.
///
/// # Safety
/// The report must be valid.
#[inline(always)]
unsafe fn count_step(job: &Steps, at: &State, taken: f64, what: f64) {
    let level = halvings(job.longest, taken);
    // SAFETY: the caller guarantees this; a level is below LEVELS.
    unsafe {
        count_up(at.report, LENGTHS + level as usize, 1);
        if what == IS_NOISY {
            count_up(at.report, NOISY, 1);
        } else if what == IS_CLAMPED {
            count_up(at.report, CLAMPED, 1);
        }
    }
}

/// Appends those places of a warp that are due and belong to this device to the list of active bodies, in any order, because no sum
/// depends on it.
///
/// # Safety
/// Whole warps must call this; the list must have room for all bodies.
#[inline(always)]
unsafe fn list<const MANY: bool>(
    devices: &Devices,
    at: &State,
    number: u64,
    place: u32,
    mut due: bool,
) {
    let lane = thread::thread_idx_x() % 32;
    // SAFETY: whole warps call it.
    unsafe {
        let mut votes = warp_vote_ballot(u32::MAX, due);
        if votes == 0 {
            return;
        }
        if MANY {
            if lane == 0 {
                counter(at, TOTALS, number).fetch_add(votes.count_ones(), Relaxed);
            }
            due = due && place % devices.count == devices.this;
            votes = warp_vote_ballot(u32::MAX, due);
            if votes == 0 {
                return;
            }
        }
        append(counter(at, COUNTS, number), at.active, votes, due, place);
    }
}

/// Appends the places of those lanes that are due to a list of as many places as `count`. `votes` are the lanes that are due.
///
/// # Safety
/// Whole warps must call this; the list must have room.
#[inline(always)]
pub(super) unsafe fn append(count: &AtomicU32, list: *mut u32, votes: u32, due: bool, place: u32) {
    let lane = thread::thread_idx_x() % 32;
    let mut to = 0;
    if lane == 0 {
        to = count.fetch_add(votes.count_ones(), Relaxed);
    }
    // SAFETY: whole warps call it.
    let to = unsafe { warp_shuffle_idx(u32::MAX, to, 0, 32) }.0;
    if due {
        let before = votes & ((1 << lane) - 1);
        // SAFETY: the caller guarantees the room.
        unsafe { *list.add((to + before.count_ones()) as usize) = place };
    }
}

/// Computes the forces on the active bodies, unless they are known because the block has `begun`, and corrects these, `iterations`
/// times. Returns the cycles that this thread spent on correction.
///
/// # Safety
/// The same as for [`steps`]; `count` places must be listed, and a barrier must follow the prediction.
#[inline(always)]
unsafe fn evaluate<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    count: u32,
    begun: bool,
    barrier: &mut together::Barrier,
) -> u64 {
    let launch = Launch { count, ..job.force };
    let mut correcting = 0;
    let mut iteration = 0;
    while iteration < job.iterations {
        if iteration > 0 {
            // SAFETY: all threads of all grids call it; each replaces its own bodies between two barriers.
            unsafe {
                barrier.wait_for_all::<MANY>(&job.devices, at.everywhere);
                replace::<P, D, MANY>(job, at, block, count);
                barrier.wait_for_all::<MANY>(&job.devices, at.everywhere);
            }
        }
        iteration += 1;
        let last = iteration == job.iterations;
        if count <= job.few && !begun {
            let mut k = thread::block_idx_x();
            while k < count {
                // SAFETY: k is the same for all threads of the block.
                unsafe { lanes::pull_at::<A, D>(&launch, at.predicted, at.active, at.forces, k) };
                thread::sync_threads();
                let begin = clock();
                if thread::thread_idx_x() == 0 {
                    // SAFETY: the force has been computed, and only this block works on the body.
                    unsafe {
                        let start = Start::read::<P>(at, block, *at.active.add(k as usize));
                        correct_body::<P, D, MANY>(job, at, block, k, &start, last);
                    }
                }
                correcting += clock() - begin;
                k += thread::grid_dim_x();
            }
        } else {
            // SAFETY: all threads of the grid call it.
            correcting += unsafe {
                let (begun, grid) = (begun && iteration == 1, &mut barrier.grid);
                step_many::<A, P, D, MANY>(job, at, block, &launch, begun, last, grid)
            };
        }
    }
    correcting
}

/// Computes the forces on many bodies, unless the block has `begun`, and corrects them, as many at a time as fit into the memory. Returns
/// the cycles that this thread spent on correction.
///
/// # Safety
/// The same as for [`evaluate`].
#[inline(always)]
unsafe fn step_many<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    all: &Launch,
    begun: bool,
    last: bool,
    barrier: &mut GridBarrier,
) -> u64 {
    let threads = thread::block_dim_x();
    let components = const { 3 * D as u32 };
    let mut correcting = 0;
    let mut first = 0;
    while first < all.count {
        if first > 0 && !begun {
            // The last partial sums have been read.
            // SAFETY: all threads of the grid call it.
            unsafe { barrier.wait() };
        }
        let count = (all.count - first).min(job.room);
        let launch = Launch { count, ..*all };
        // Bodies that a block folds and corrects at a time, with a thread for each value, or for each body without a fold.
        let most = if begun { threads } else { threads / components };
        let group = count.div_ceil(thread::grid_dim_x()).min(most);
        let (t, mut from) = (thread::thread_idx_x(), thread::block_idx_x() * group);
        // SAFETY: the numbers are below that of the listed places.
        let (places, place) = unsafe {
            let places = at.active.add(first as usize);
            (places, *places.add(from.min(count - 1) as usize))
        };
        let mut remaining = 0;
        if !begun {
            // SAFETY: all threads of the grid call it; `count` places are listed.
            remaining = unsafe { sum_forces::<A, D>(at, &launch, places) };
        }
        // The first body is read while the other blocks are waited for.
        // SAFETY: the place is that of a star.
        let mut start = unsafe { Start::read::<P>(at, block, place) };
        if !begun {
            // SAFETY: all threads of the grid call it.
            unsafe { barrier.wait() };
        }
        while from < count {
            let bodies = (count - from).min(group);
            // SAFETY: the list has room for the forces on all bodies.
            let out = unsafe { at.forces.add(first as usize * const { 3 * D }) };
            if group == 1 && !begun {
                // SAFETY: the sums have been written; the component is below 3D and the sum below `remaining`.
                unsafe {
                    let sum = |component, sum| {
                        let at_sum = (component * remaining + sum) as usize * count as usize;
                        *at.partial.add(at_sum + from as usize)
                    };
                    let out = out.add(from as usize * const { 3 * D });
                    fold::by_warps(sum, components, remaining, out);
                }
            } else if t < components * bodies && !begun {
                let (component, k) = (t / bodies, from + t % bodies);
                // SAFETY: each thread has a value of its own.
                unsafe {
                    let value = component * count + k;
                    fold::fold_value(at.partial, out, components, count, remaining, value);
                }
            }
            // Makes the forces visible to the threads of the block.
            thread::sync_threads();
            let begin = clock();
            if t < bodies {
                let k = first + from + t;
                // SAFETY: the forces have been computed, and each thread has bodies of its own.
                unsafe {
                    // The only body of a block has been read.
                    if group > 1 {
                        start = Start::read::<P>(at, block, *at.active.add(k as usize));
                    }
                    correct_body::<P, D, MANY>(job, at, block, k, &start, last);
                }
            }
            correcting += clock() - begin;
            from += thread::grid_dim_x() * group;
        }
        first += count;
    }
    correcting
}

/// Computes sums of the forces on the bodies at `places`. Returns how many sums remain to be folded for each of them.
///
/// # Safety
/// The same as for [`evaluate`]; `places` must be valid for `launch.count` numbers, and there must be room for the sums.
#[inline(always)]
unsafe fn sum_forces<A: Record<D>, const D: usize>(
    at: &State,
    launch: &Launch,
    places: *const u32,
) -> u32 {
    let division = Division::among(launch, thread::block_dim_x(), thread::grid_dim_x());
    let mut unit = thread::block_idx_x();
    while unit < division.units(launch.count) {
        let (from, to) = (at.predicted, at.partial);
        // SAFETY: the unit is the same for all threads of the block; the caller guarantees the rest.
        unsafe { chains::pull_unit::<A, D>(launch, &division, from, places, to, unit) };
        thread::sync_threads();
        unit += thread::grid_dim_x();
    }
    division.remaining
}

/// Replaces the predicted motions of active bodies by their corrected motions, on all devices.
///
/// # Safety
/// The same as for [`evaluate`], between two barriers.
#[inline(always)]
unsafe fn replace<const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    count: u32,
) {
    let mut k = thread::index_1d();
    while k < count {
        // SAFETY: k is below the number of listed places, and each is that of a different body.
        unsafe {
            let place = *at.active.add(k as usize) as usize;
            let moved = moved_by::<P, MANY>(job, at.moved, block.number);
            let moved = moved.add(place * const { moved_width(P) } + 2);
            let (to, motion) = (place * const { width(D) } + 1, vectors::<D>(moved));
            put_all(at.predicted.add(to), &motion);
            if MANY {
                (job.devices).others(at.everywhere, |other| {
                    put_all(other.predicted.add(to), &motion)
                });
            }
        }
        k += thread::grid_dim_x() * thread::block_dim_x();
    }
}

/// An active body before its correction.
#[derive(Clone, Copy)]
struct Start {
    place: u32,
    /// Length of its step.
    before: f64,
    motion: Taylor<f64>,
}

impl Start {
    /// Reads the active body at `place`.
    ///
    /// # Safety
    /// The place must be that of a star.
    #[inline(always)]
    unsafe fn read<const P: usize>(at: &State, block: &Block, place: u32) -> Self {
        // SAFETY: the caller guarantees this.
        unsafe {
            let star = at.stars.add(place as usize * const { star_width(P) });
            Self {
                place,
                before: block.time - *star.add(1),
                motion: start::<P>(star),
            }
        }
    }
}

/// Corrects the active body `k`, which was at `start`, and, after the last iteration, chooses its next step.
///
/// # Safety
/// The same as for [`evaluate`]; the force on the body must have been computed, and no other thread may work on it.
#[inline(always)]
unsafe fn correct_body<const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    k: u32,
    start: &Start,
    last: bool,
) {
    let Start {
        place,
        before,
        motion: x,
    } = *start;
    let place = place as usize;
    // SAFETY: the caller guarantees this.
    let force = unsafe { vectors::<D>(at.forces.add(k as usize * const { 3 * D })) };
    let y = correct::<f64, D>(&x, &force, 0.5 * before, 2.0 / before);
    let moved = moved_by::<P, MANY>(job, at.moved, block.number);
    // SAFETY: as above.
    let moved = unsafe { moved.add(place * const { moved_width(P) }) };
    let mut n = 0;
    while n < P + 2 {
        // SAFETY: a record has this many vectors.
        unsafe { put(moved.add(2 + 3 * n), y[n]) };
        n += 1;
    }
    if last {
        // SAFETY: as above.
        unsafe {
            choose_step::<P, MANY>(job, at, block, moved, &y, before);
            if MANY {
                job.devices.others(at.everywhere, |other| {
                    let to = moved_by::<P, MANY>(job, other.moved, block.number);
                    let to = to.add(place * const { moved_width(P) });
                    let mut n = 0;
                    while n < const { moved_width(P) } {
                        *to.add(n) = *moved.add(n);
                        n += 1;
                    }
                });
            }
        }
    }
}

/// Reads a star in the form that [`correct`] needs.
///
/// # Safety
/// `star` must be valid for [`star_width`] numbers.
#[inline(always)]
unsafe fn start<const P: usize>(star: *const f64) -> Taylor<f64> {
    let mut x = [Vec3::zero(); TERMS];
    let mut n = 0;
    while n < P {
        // SAFETY: the caller guarantees this.
        x[n] = unsafe { vector(star.add(2 + 3 * n)) };
        n += 1;
    }
    x
}

/// Chooses the next step of a body after a step of length `before` to `y`, and stops all threads if the host has to perform the block.
///
/// # Safety
/// The same as for [`correct_body`]; `moved` must be the body's record.
#[inline(always)]
unsafe fn choose_step<const P: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    moved: *mut f64,
    y: &Taylor<f64>,
    before: f64,
) {
    let forced = job.shortest > 0.0;
    let limits = job.limits(block.time);
    let verdict = judge(P as u32, &job.accuracy, &limits, y, before);
    // SAFETY: the caller guarantees this; levels are below LEVELS.
    unsafe {
        if !verdict.finite || verdict.abrupt || (verdict.clamped && !forced) {
            let sign = stop_sign::<MANY>(block.number);
            (*at.control.add(STOPPED)).store(sign, Relaxed);
            if MANY {
                job.devices.others(at.everywhere, |other| {
                    atomic_store_relaxed_32_system(other.stopped, sign);
                });
            }
        }
        *moved = verdict.step;
        *moved.add(1) = if verdict.noisy {
            IS_NOISY
        } else if verdict.clamped {
            IS_CLAMPED
        } else {
            0.0
        };
        let (old, new) = (
            halvings(job.longest, before),
            halvings(job.longest, verdict.step),
        );
        if !MANY {
            change_level(at.levels, old, new);
        } else if old != new {
            job.devices.all(at.everywhere, |_, each| {
                let changes = each.changes.add(changes_by(block.number) - LEVELS as usize);
                atomic_fetch_sub_relaxed_u32_system(changes.add(old as usize), 1);
                atomic_fetch_add_relaxed_u32_system(changes.add(new as usize), 1);
            });
        }
    }
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
