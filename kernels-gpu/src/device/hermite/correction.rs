//! The last phase of a block step: the correction of the active bodies and the choice of their next steps.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_relaxed_u32_system, atomic_fetch_sub_relaxed_u32_system,
    atomic_store_relaxed_32_system,
};
use cuda_std::thread;

use super::levels::{LEVELS, change_level, changes_by};
use super::problem::{
    Block, IS_CLAMPED, IS_NOISY, STOPPED, State, Steps, moved_by, moved_width, stop_sign,
};
use super::record::{put_two, vectors_of};
use super::{put_all, star_width, vectors, width};
use crate::Real;
use crate::Vec3;
use crate::physics::hermite::correct::correct;
use crate::physics::hermite::step::{Accuracy, halvings, judge, reciprocal};
use crate::physics::hermite::{TERMS, Taylor};

/// An active body before its correction.
#[derive(Clone, Copy)]
pub(super) struct Start {
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
    pub unsafe fn read<const P: usize>(at: &State, block: &Block, place: u32) -> Self {
        // SAFETY: the caller guarantees this.
        unsafe {
            let star = at.stars.add(place as usize * const { star_width(P) });
            Self::of::<P>(block, place, |k| *star.add(k))
        }
    }

    /// The active body at `place`, where `number` gives the numbers of its star.
    #[inline(always)]
    pub fn of<const P: usize>(block: &Block, place: u32, number: impl Fn(usize) -> f64) -> Self {
        let mut motion = [Vec3::zero(); TERMS];
        motion[..P].copy_from_slice(&vectors_of::<P>(|k| number(2 + k)));
        Self {
            place,
            before: block.time - number(1),
            motion,
        }
    }
}

/// An active body after its correction.
#[derive(Clone, Copy)]
pub(super) struct Corrected {
    pub motion: Taylor<f64>,
    /// The next step: 0 before the last iteration, and -∞ if the host has to perform the block.
    pub step: f64,
    /// The event to count, or 0.
    pub event: f64,
}

/// Corrects the active body that was at `start`, on which `force` acts, and, after the last iteration, chooses its next step.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and no other thread may work on the body.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn correct_body<const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    start: &Start,
    force: &[Vec3<f64>; D],
    last: bool,
) -> Corrected {
    let Start {
        place,
        before,
        motion: x,
    } = *start;
    let place = place as usize;
    let y = correct::<f64, D>(&x, force, 0.5 * before, 2.0 * reciprocal(before));
    let (mut step, mut event, mut stops) = (0.0, 0.0, false);
    if last {
        // SAFETY: the caller guarantees this.
        (step, event, stops) = unsafe { choose_step::<P, MANY>(job, at, block, &y, before) };
    }
    // SAFETY: the caller guarantees this.
    let write = |moved: *mut f64| unsafe {
        let moved = moved_by::<P, MANY>(job, moved, block.number);
        put_corrected::<P>(moved.add(place * const { moved_width(P) }), step, event, &y);
    };
    // Last: the registers with the numbers could not be used again before the memory has taken them.
    write(at.moved);
    if MANY && last {
        // SAFETY: as above.
        unsafe {
            job.devices
                .others(at.everywhere, |other| write(other.moved))
        };
    }
    Corrected {
        motion: y,
        step: if stops { f64::NEG_INFINITY } else { step },
        event,
    }
}

/// Writes the record of a corrected step, two numbers at a time.
///
/// # Safety
/// `to` must be valid for [`moved_width`] numbers and aligned to 16 bytes.
#[inline(always)]
unsafe fn put_corrected<const P: usize>(to: *mut f64, step: f64, event: f64, y: &Taylor<f64>) {
    // SAFETY: the caller guarantees this.
    unsafe {
        put_two(to, step, event);
        let mut n = 0;
        while n < P + 2 {
            let to = to.add(2 + 3 * n);
            put_two(to, y[n].x, y[n].y);
            put_two(to.add(2), y[n].z, y[n + 1].x);
            put_two(to.add(4), y[n + 1].y, y[n + 1].z);
            n += 2;
        }
    }
}

/// Chooses the next step of a body after a step of length `before` to `y`. Returns it, the event to count, and whether the host has to
/// perform the block; if so, it tells all threads to stop.
///
/// # Safety
/// The same as for [`correct_body`].
#[inline(always)]
unsafe fn choose_step<const P: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    y: &Taylor<f64>,
    before: f64,
) -> (f64, f64, bool) {
    // What only depends on these would be computed before the loop over block steps, and take registers from the loop over pairs.
    let job = &Steps {
        accuracy: Accuracy {
            eta: job.accuracy.eta.now(),
            epsilon: job.accuracy.epsilon.now(),
        },
        longest: job.longest.now(),
        shortest: job.shortest.now(),
        ..*job
    };
    let forced = job.shortest > 0.0;
    let limits = job.limits(block.time);
    let verdict = judge(P as u32, &job.accuracy, &limits, y, before);
    let event = if verdict.noisy {
        IS_NOISY
    } else if verdict.clamped {
        IS_CLAMPED
    } else {
        0.0
    };
    let stops = !verdict.finite || verdict.abrupt || (verdict.clamped && !forced);
    // SAFETY: the caller guarantees this.
    unsafe {
        if stops {
            let sign = stop_sign::<MANY>(block.number);
            (*at.control.add(STOPPED)).store(sign, Relaxed);
            if MANY {
                job.devices.others(at.everywhere, |other| {
                    atomic_store_relaxed_32_system(other.stopped, sign);
                });
            }
        }
    }
    (verdict.step, event, stops)
}

/// Moves a body that was at `start` to the number of bodies with steps of its new length, from which
/// [`steps`](super::steps::steps) finds the next block step.
///
/// # Safety
/// The pointers must be valid as [`State`] requires.
#[inline(always)]
pub(super) unsafe fn change_levels<const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    start: &Start,
    corrected: &Corrected,
) {
    // There is no next step before the last iteration, or if the host has to perform the block.
    if corrected.step <= 0.0 {
        return;
    }
    let (old, new) = (
        halvings(job.longest, start.before),
        halvings(job.longest, corrected.step),
    );
    // SAFETY: the caller guarantees this; levels are below LEVELS.
    unsafe {
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

/// Replaces the predicted motions of active bodies by their corrected motions, on all devices.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and `count` places must be listed. All threads of the grid must call this, between two
/// barriers.
#[inline(always)]
pub(super) unsafe fn replace<const P: usize, const D: usize, const MANY: bool>(
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
