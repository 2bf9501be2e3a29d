//! All-pairs accelerations with each pair evaluated once: bodies that travel through a warp.

use cuda_std::prelude::*;

use crate::device::number::AtomicSum;
use crate::device::sweep::{Atomics, Partials, Reduced, gather, sweep};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// The sums of each pair of row and chunk of a launch. [`nbody_gather`] adds them up. `K` is [`LANE_BODIES`](DeviceNumber::LANE_BODIES);
/// `UNROLL` steps of the inner loop are spelled out.
///
/// # Parameters
/// - `job`: what to compute, by value; a row has 32 · `K` bodies
/// - `bodies`: `job.n` bodies, filled up to whole rows with bodies of strength 0 that lie apart from each other and
///   from all others
/// - `p`: rows × 3 × stride numbers
/// - `q`: chunks × 3 × stride numbers
///
/// # Thread mapping
/// A warp for each [unit](Reduced::unit) of row and chunk, in one-dimensional blocks of whole warps. Warps beyond the last
/// unit return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `p` and `q` meanwhile.
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
        // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, false>(&job, bodies, row, chunk, &sink) };
    }
}

/// As [`nbody_reduced`], but adds to the accelerations atomically: no second pass and no memory for it, but the order of
/// the sums, and with it their last bits, differ from launch to launch.
///
/// # Parameters
/// - `job`: what to compute, by value; its chunk and first row can be any
/// - `bodies`: as there
/// - `accelerations`: whole rows of values, zero before the launch
///
/// # Thread mapping
/// As there.
///
/// # Safety
/// As there.
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
        // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, false>(&job, bodies, row, chunk, &sink) };
    }
}

/// As [`nbody_atomic`], for bodies that all have the strength of the first: it is multiplied into sums, not into pulls. Bodies that
/// fill up the last row lie so far away that they do not pull.
///
/// # Safety
/// As there.
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
        // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
        unsafe { sweep::<S, K, UNROLL, true>(&job, bodies, row, chunk, &sink) };
    }
}

/// Adds up what [`nbody_reduced`] left, in a fixed order. Launched after it for the same rows; rows ascend from launch to launch.
///
/// # Parameters
/// - `job`, `p`, `q`: those of that launch
/// - `accelerations`: `job.n` values; those of the rows so far are complete
/// - `first`, `count`: the bodies to add up for, from the first row of the launch on
///
/// # Thread mapping
/// Threads 3 · count of a one-dimensional grid: those of a component side by side. Surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `accelerations` meanwhile.
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
        // SAFETY: the caller's promise; each thread has a body and component of its own.
        unsafe { gather(&job, &from, accelerations, first + i % count, i / count) };
    }
}
