//! Many steps of few bodies in one launch.

use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;

use crate::device::DeviceNumber;
use crate::device::steps::{Operation, State, Steps, steps};
use crate::number::{FastF32, FloatFloat};

/// Takes steps of the basic solver with a barrier for the whole grid instead of launches.
///
/// # Parameters
/// - `job`: what to do, by value
/// - `at`: where the bodies are, by value
/// - `operations`: the `job.operations` operations of a step
/// - `arrived`: a number for the barrier, 0 before the launch
///
/// # Thread mapping
/// Thread i of a one-dimensional grid of t threads moves the bodies i, i + t, …, and sums pairs of chunk and body in the same way.
/// All blocks must be resident at the same time: a cooperative launch, or a single block.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use what they point to meanwhile.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_steps<S: DeviceNumber>(
    job: Steps<S>,
    at: State<S>,
    operations: *const Operation<S>,
    arrived: *const AtomicU32,
) {
    // SAFETY: the caller's promise is the same.
    unsafe { steps(&job, &at, operations, arrived) };
}
