//! All-pairs accelerations by tiles in shared memory.

use cuda_std::prelude::*;

use crate::device::tile::{Basic, basic};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Sums of the pulls on `K` bodies a thread: a body that is read from shared memory serves as many pairs. `UNROLL` steps of the inner
/// loop are spelled out.
///
/// # Parameters
/// - `job`: what to compute, by value
/// - `bodies`: `job.n` bodies
/// - `sums`: with `job.splits` = 1, `job.count` accelerations; otherwise the sums of each chunk (chunks × count), for the
///   second pass
///
/// # Tiling
/// A block stages as many bodies as it has threads in dynamic shared memory (a `Body` a thread), meets them, and goes
/// on to the next; tiles end with their chunk.
///
/// # Thread mapping
/// One-dimensional; blocks of any size. The blocks of a part sum the pulls on (threads × bodies a thread) bodies each;
/// parts follow each other: the grid has ⌈count / (threads · bodies)⌉ · splits blocks.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `sums` meanwhile.
#[kernel(instances(
    // For few bodies.
    f32_k1: <FastF32, 1, 16>,
    f32_k2: <FastF32, 2, 16>,
    f32_k4: <FastF32, 4, 8>,
    // To see what unrolling is worth.
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
    // SAFETY: the caller's promise is the same.
    unsafe { basic::<S, K, UNROLL>(&job, bodies, sums) };
}
