//! Hermite integration: whole block steps, many in a launch.

use core::sync::atomic::{AtomicU32, AtomicU64};

use cuda_std::prelude::*;

use crate::device::hermite::Record;
use crate::device::hermite::steps::{State, Steps, steps};
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

/// Takes block steps in order `P` with `D` = P / 2 forces, until a time, a number of blocks or pairs, or a block that the host has to
/// look at. A thread has `BODIES` active bodies, those of [`Record::BODIES`].
///
/// # Parameters
/// - `job`: what to do, by value
/// - the others: as in [`State`]
///
/// # Tiling
/// As `hermite_tiles` and `hermite_lanes` of the same order, whichever takes more shared memory
///
/// # Thread mapping
/// Places, active bodies, groups and parts are dealt to the threads and blocks of a one-dimensional grid in turn. Blocks
/// are whole warps, with at least a thread for each partial sum. All blocks must be resident at the same time: a
/// cooperative launch.
///
/// # Safety
/// The pointers must be valid for what [`State`] says; nobody else may use what they point to meanwhile.
#[kernel(instances(
    4: <Plain<f64>, 4, 2, 2>,
    6: <Plain<f64>, 6, 3, 2>,
    8: <Plain<f64>, 8, 4, 2>,
    4_split_f32: <SplitF32<f32>, 4, 2, 4>,
    6_split_f32: <SplitF32<f32>, 6, 3, 4>,
    8_split_f32: <SplitF32<f32>, 8, 4, 4>,
))]
pub unsafe fn hermite_steps<A: Record<D>, const P: usize, const D: usize, const BODIES: usize>(
    job: Steps,
    stars: *mut f64,
    rest: *mut f64,
    moved: *mut f64,
    predicted: *mut f64,
    active: *mut u32,
    forces: *mut f64,
    partial: *mut f64,
    levels: *const AtomicU32,
    control: *const AtomicU32,
    report: *const AtomicU64,
) {
    // The compiler takes a parameter for global memory, but not what a structure points to.
    let at = State {
        stars,
        rest,
        moved,
        predicted,
        active,
        forces,
        partial,
        levels,
        control,
        report,
    };
    // SAFETY: the caller's promise is the same.
    unsafe { steps::<A, P, D, BODIES>(&job, &at) };
}
