//! All-pairs accelerations with one thread per body, which reads from global memory.

use cuda_std::prelude::*;

use crate::device::tile::{Basic, plain};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Computes accelerations in the order of the basic solver. This is the kernel to read first; tests compare the tuned kernels with it.
///
/// Every thread reads every body from global memory, which is tolerable because the threads of a warp read the same body at a time.
///
/// # Parameters
/// - `job`: the problem, by value; `splits` is not used
/// - `bodies`: `job.n` bodies
/// - `sums`: `job.count` accelerations
///
/// # Thread mapping
/// Thread i of a one-dimensional grid sums the pulls on body `job.first + i`; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `sums` during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_plain<S: DeviceNumber>(
    job: Basic<S>,
    bodies: *const Body<S>,
    sums: *mut Body<S>,
) {
    let i = thread::index_1d();
    if i < job.count {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe { *sums.add(i as usize) = plain(&job, bodies, job.first + i) };
    }
}
