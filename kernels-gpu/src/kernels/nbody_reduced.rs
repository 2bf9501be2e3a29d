//! All-pairs accelerations with each pair evaluated once, by bodies that travel through a warp.

use cuda_std::prelude::*;

use crate::device::number::AtomicSum;
use crate::device::sweep::{Atomics, Partials, Reduced, gather, sweep};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Computes the sums of each pair of row and chunk of a launch, which [`nbody_gather`] adds up. `K` is
/// [`LANE_BODIES`](DeviceNumber::LANE_BODIES); `UNROLL` steps of the inner loop are written out.
///
/// # Parameters
/// - `job`: the problem, by value; a row has 32 · `K` bodies
/// - `bodies`: `job.n` bodies, padded to whole rows with bodies of strength 0 that are apart from each other and from all others
/// - `p`: rows × 3 × stride numbers
/// - `q`: chunks × 3 × stride numbers
///
/// # Thread mapping
/// One warp for each [unit](Reduced::unit) of row and chunk, in one-dimensional blocks of whole warps. Surplus warps return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `p` and `q` during the launch.
#[kernel(instances(f32: <FastF32, 8, 8>, f64: <f64, 4, 4>, ff: <FloatFloat<f32>, 2, 1>))]
pub unsafe fn nbody_reduced<S: DeviceNumber, const K: usize, const UNROLL: u32>(
    job: Reduced<S>,
    bodies: *const Body<S>,
    p: *mut S,
    q: *mut S,
) {
    const { assert!(K == S::LANE_BODIES) };
    if let Some((row, chunk)) = job.unit(thread::index_1d() / 32) {
        let sink = Partials::new(&job, p, q);
        // SAFETY: the caller guarantees the memory; all lanes of a warp have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, false>(&job, bodies, row, chunk, &sink) };
    }
}

/// Does the same as [`nbody_reduced`], but adds to the accelerations atomically. It needs neither a second pass nor memory for one,
/// but the order of the sums, and with it their last bits, differs from launch to launch.
///
/// # Parameters
/// - `job`: the problem, by value; chunk and first row may be arbitrary
/// - `bodies`: the same as for [`nbody_reduced`]
/// - `accelerations`: whole rows of values, zero before the launch
///
/// # Thread mapping
/// The same as for [`nbody_reduced`].
///
/// # Safety
/// The same as for [`nbody_reduced`].
#[kernel(instances(f32: <FastF32, 8, 8>, f64: <f64, 4, 4>))]
pub unsafe fn nbody_atomic<S: AtomicSum, const K: usize, const UNROLL: u32>(
    job: Reduced<S>,
    bodies: *const Body<S>,
    accelerations: *mut Body<S>,
) {
    const { assert!(K == S::LANE_BODIES) };
    if let Some((row, chunk)) = job.unit(thread::index_1d() / 32) {
        let sink = Atomics {
            sums: accelerations,
            scale: None,
        };
        // SAFETY: the caller guarantees the memory; all lanes of a warp have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, false>(&job, bodies, row, chunk, &sink) };
    }
}

/// Does the same as [`nbody_atomic`] for bodies that all have the strength of the first, which multiplies the sums instead of each
/// pull. The bodies that pad the last row must be so far away that they do not pull.
///
/// # Safety
/// The same as for [`nbody_atomic`].
#[kernel(instances(f32: <FastF32, 8, 8>, f64: <f64, 4, 4>))]
pub unsafe fn nbody_equal<S: AtomicSum, const K: usize, const UNROLL: u32>(
    job: Reduced<S>,
    bodies: *const Body<S>,
    accelerations: *mut Body<S>,
) {
    const { assert!(K == S::LANE_BODIES) };
    if let Some((row, chunk)) = job.unit(thread::index_1d() / 32) {
        let sink = Atomics {
            sums: accelerations,
            // SAFETY: there is at least one body.
            scale: Some(unsafe { (*bodies).g }),
        };
        // SAFETY: the caller guarantees the memory; all lanes of a warp have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, true>(&job, bodies, row, chunk, &sink) };
    }
}

/// Adds up the sums of [`nbody_reduced`] in a fixed order. It is launched after that kernel for the same rows; rows must ascend from
/// launch to launch.
///
/// # Parameters
/// - `job`, `p`, `q`: those of the launch of [`nbody_reduced`]
/// - `accelerations`: `job.n` values; those of the rows so far are complete
/// - `first`, `count`: the bodies whose sums are added up, counted from the first row of the launch
///
/// # Thread mapping
/// 3 · count threads of a one-dimensional grid, ordered by component. Surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `accelerations` during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_gather<S: DeviceNumber>(
    job: Reduced<S>,
    p: *mut S,
    q: *mut S,
    accelerations: *mut Body<S>,
    first: u32,
    count: u32,
) {
    let i = thread::index_1d();
    if i < 3 * count {
        let from = Partials::new(&job, p, q);
        // SAFETY: the caller guarantees the memory; each thread has its own body and component.
        unsafe { gather(&job, &from, accelerations, first + i % count, i / count) };
    }
}
