//! All-pairs accelerations with tiles in shared memory.

use cuda_std::prelude::*;

use crate::device::tile::{Basic, basic};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Computes sums of the pulls on `K` bodies per thread, so that each body read from shared memory serves `K` pairs. `UNROLL` steps of
/// the inner loop are written out.
///
/// # Parameters
/// - `job`: the problem, by value
/// - `bodies`: `job.n` bodies
/// - `sums`: with `job.splits` = 1, `job.count` accelerations; otherwise the sums of each chunk (chunks × count), for the
///   second pass
///
/// # Tiling
/// A block copies as many bodies as it has threads to dynamic shared memory (one `Body` per thread), evaluates their pulls, and goes
/// on to the next tile. Tiles end with their chunk.
///
/// # Thread mapping
/// One-dimensional, with blocks of any size. The blocks of a part sum the pulls on threads · `K` bodies each, and parts are
/// consecutive: the grid has ⌈count / (threads · `K`)⌉ · splits blocks.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `sums` during the launch.
#[kernel(instances(
    // For few bodies.
    f32_k1: <FastF32, 1, 16>,
    f32_k2: <FastF32, 2, 16>,
    f32_k4: <FastF32, 4, 8>,
    // Without unrolling, to measure its effect.
    f32_k4_u1: <FastF32, 4, 1>,
    f32_k4_u16: <FastF32, 4, 16>,
    // For many bodies.
    f32_k8: <FastF32, 8, 8>,
    f64_k1: <f64, 1, 4>,
    f64_k2: <f64, 2, 4>,
    f64_k4: <f64, 4, 2>,
    ff_k1: <FloatFloat<f32>, 1, 2>,
    ff_k2: <FloatFloat<f32>, 2, 1>,
))]
pub unsafe fn nbody_tile<S: DeviceNumber, const K: usize, const UNROLL: usize>(
    job: Basic<S>,
    bodies: *const Body<S>,
    sums: *mut Body<S>,
) {
    // SAFETY: the caller guarantees the same.
    unsafe { basic::<S, K, UNROLL>(&job, bodies, sums) };
}
