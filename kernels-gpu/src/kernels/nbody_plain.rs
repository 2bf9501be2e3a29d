//! All-pairs accelerations with one thread per body, from global memory.

use cuda_std::prelude::*;

use crate::device::tile::{Basic, plain};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Accelerations by the basic solver: the kernel to read first, with which the tuned ones are compared in tests.
///
/// Every thread reads every body from global memory; this is bearable because the threads of a warp read the same one.
///
/// # Parameters
/// - `job`: what to compute, by value; `splits` is not used
/// - `bodies`: `job.n` bodies
/// - `sums`: `job.count` accelerations
///
/// # Thread mapping
/// Thread i of a one-dimensional grid sums the pulls on body `job.first + i`; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `sums` meanwhile.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_plain<S: DeviceNumber>(
    job: Basic<S>,
    bodies: *const Body<S>,
    sums: *mut Body<S>,
) {
    let i = thread::index_1d();
    if i < job.count {
        // SAFETY: the caller vouches for the pointers; each thread has an i of its own.
        unsafe { *sums.add(i as usize) = plain(&job, bodies, job.first + i) };
    }
}
