//! The first phase of a block step: it takes over the corrected steps of the last block, predicts all bodies and lists those that are due.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_ballot};

use super::problem::{
    Block, COUNTS, IS_CLAMPED, IS_NOISY, REST_WIDTH, State, Steps, TOTALS, counter, moved_by,
    moved_width,
};
use super::record::{aligned_vectors, put_predicted, two};
use super::report::{CLAMPED, LENGTHS, NOISY, count_up};
use super::together::Devices;
use super::{put_all, star_width, width};
use crate::Vec3;
use crate::physics::hermite::predict::predict;
use crate::physics::hermite::step::halvings;

/// Copies the corrected steps of the last block to the stars; then, unless this was the last block, predicts all stars and lists those
/// that are due. `held` are the first two stars of this thread.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and nothing else may use their memory. All threads of the grid must call this; a
/// barrier must separate this from the correction.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn settle<const P: usize, const D: usize, const MANY: bool>(
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
    let mut first = first_place() - lane;
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

/// The first place of this thread. The warps of a block have places that are far from each other, so that all multiprocessors share the work if
/// there are fewer stars than threads.
#[inline(always)]
pub(super) fn first_place() -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    (warp * thread::grid_dim_x() + thread::block_idx_x()) * 32 + lane
}

/// A star as its records have it.
#[derive(Clone, Copy)]
pub(super) struct Held<const P: usize> {
    mass: f64,
    time: f64,
    /// Its step; 0 at places beyond the last body.
    step: f64,
    motion: [Vec3<f64>; P],
}

impl<const P: usize> Held<P> {
    const NONE: Self = Self {
        mass: 0.0,
        time: 0.0,
        step: 0.0,
        motion: [Vec3 {
            x: 0.0,
            y: 0.0,
            z: 0.0,
        }; P],
    };

    /// Reads the star at `place` and that at the next place of the same thread, both before one is written, so that the waits for memory
    /// overlap. Beyond the last place, nothing is read.
    ///
    /// # Safety
    /// No other thread may change these stars.
    #[inline(always)]
    pub unsafe fn two(job: &Steps, at: &State, place: u32) -> [Self; 2] {
        let threads = thread::grid_dim_x() * thread::block_dim_x();
        let places = job.force.sums * job.force.terms;
        let mut held = [Self::NONE; 2];
        // SAFETY: the places are those of stars; the caller guarantees the rest.
        unsafe {
            if place < places {
                held[0] = Self::read(job, at, place);
            }
            if place + threads < places {
                held[1] = Self::read(job, at, place + threads);
            }
        }
        held
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
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
            let (next, event) = two(moved);
            motion = aligned_vectors(moved.add(2));
            let others = aligned_vectors::<2>(moved.add(2 + 3 * P));
            count_step(job, at, step, event);
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

/// Copies two numbers of a corrected step that ends at `time`, from number `pair` of its record on, to the star at `place`.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, the place must be that of a body, and no other thread may use these numbers.
#[inline(always)]
pub(super) unsafe fn put_moved<const P: usize>(
    at: &State,
    time: f64,
    place: usize,
    pair: usize,
    (a, b): (f64, f64),
) {
    // SAFETY: the caller guarantees this.
    unsafe {
        let star = at.stars.add(place * const { star_width(P) });
        let rest = at.rest.add(place * REST_WIDTH);
        if pair == 0 {
            *star.add(1) = time;
            *rest = a;
        } else if pair < const { star_width(P) } {
            *star.add(pair) = a;
            *star.add(pair + 1) = b;
        } else {
            let to = rest.add(1 + pair - const { star_width(P) });
            *to = a;
            *to.add(1) = b;
        }
    }
}

/// Counts a step of the length `taken`, and its event.
///
/// # Safety
/// The report must be valid.
#[inline(always)]
pub(super) unsafe fn count_step(job: &Steps, at: &State, taken: f64, event: f64) {
    let level = halvings(job.longest, taken);
    // SAFETY: the caller guarantees this; a level is below LEVELS.
    unsafe {
        count_up(at.report, LENGTHS + level as usize, 1);
        count_event(at, event, 1);
    }
}

/// Adds `by` to the number of events of this kind; 0 is no event.
///
/// # Safety
/// The report must be valid.
#[inline(always)]
pub(super) unsafe fn count_event(at: &State, event: f64, by: u64) {
    // SAFETY: the caller guarantees this.
    unsafe {
        if event == IS_NOISY {
            count_up(at.report, NOISY, by);
        } else if event == IS_CLAMPED {
            count_up(at.report, CLAMPED, by);
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

/// The number of votes of the lanes before `lane`.
#[inline(always)]
pub(super) fn votes_before(votes: u32, lane: u32) -> u32 {
    (votes & ((1 << lane) - 1)).count_ones()
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
        // SAFETY: the caller guarantees the room.
        unsafe { *list.add((to + votes_before(votes, lane)) as usize) = place };
    }
}
