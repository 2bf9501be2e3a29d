//! Many steps of few bodies in one launch.

use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;

use crate::device::DeviceNumber;
use crate::device::steps::{Operation, State, Steps, steps};
use crate::number::{FastF32, FloatFloat};

/// Takes steps of the basic solver, with barriers for the whole grid instead of separate launches.
///
/// # Parameters
/// - `job`: the problem, by value
/// - `at`: the addresses of the bodies, by value
/// - `operations`: the `job.operations` operations of a step
/// - `arrived`: the counter of the barrier, 0 before the launch
///
/// # Thread mapping
/// Thread i of a one-dimensional grid of t threads moves the bodies i, i + t, …, and sums pairs of chunk and body in the same way. All
/// blocks must be resident at the same time, which requires a cooperative launch or a single block.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use these during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_steps<S: DeviceNumber>(
    job: Steps<S>,
    at: State<S>,
    operations: *const Operation<S>,
    arrived: *const AtomicU32,
) {
    // SAFETY: the caller guarantees the same.
    unsafe { steps(&job, &at, operations, arrived) };
}
