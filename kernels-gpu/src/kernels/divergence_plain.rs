//! A divergence map with one thread per pixel.

use cuda_std::prelude::*;

use crate::integrator::ExplicitEuler;
use crate::lanes::one_pixel;
use crate::map::Job;
use crate::quantity::Divergence;

/// Computes `times` for every pixel of a job. This is the kernel to read first; tests compare the tuned kernel with it.
///
/// A warp is busy until the last of its 32 pixels has parted.
///
/// # Parameters
/// - `job`: the map, by value
/// - `times`: `job.count` numbers of steps, in pixel order
///
/// # Thread mapping
/// Thread i of a one-dimensional grid computes pixel `job.first + i`; surplus threads return at once.
///
/// # Safety
/// `times` must be valid for writes of `job.count` values, and nothing else may use it during the launch.
#[kernel]
pub unsafe fn divergence_plain(job: Job, times: *mut u32) {
    let i = thread::index_1d();
    if i < job.count {
        // SAFETY: i < job.count, which the caller guarantees; each thread has its own i.
        unsafe {
            *times.add(i as usize) =
                one_pixel::<Divergence, ExplicitEuler, f64>(&job, job.first + i as u64)
        };
    }
}
