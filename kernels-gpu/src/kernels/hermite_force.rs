//! Hermite integration: forces with derivatives on the active particles, and potentials.

use cuda_std::prelude::*;

use crate::device::hermite::{self as device, Launch, Record, lanes, tiles};
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

/// Adds up what the blocks of [`hermite_tiles`] have left: one number for each component and body.
///
/// # Parameters
/// - `partial`: `components · parts · count` numbers: component, part, body
/// - `out`: `count · components` sums: body, component
/// - `parts`: a power of two up to 128
///
/// # Thread mapping
/// A thread a value, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_fold(
    partial: *const f64,
    out: *mut f64,
    components: u32,
    count: u32,
    parts: u32,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::fold::fold(partial, out, components, count, parts) };
}

/// Potential at each body, without its own.
///
/// # Parameters
/// - `launch`: what to compute, by value; `count` is the number of bodies
/// - `predicted`: `launch.sums · launch.terms` records of `width` numbers
/// - `out`: `launch.count` potentials
///
/// # Tiling
/// Partial sums in dynamic shared memory, [`lanes::shared_bytes`] for 1 value
///
/// # Thread mapping
/// A block of [`lanes::threads`] threads a body: a thread a partial sum.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_potential(launch: Launch, predicted: *const f64, out: *mut f64, width: u32) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { lanes::potential(&launch, predicted, out, width) };
}

/// Forces on many active bodies, with `D` derivatives: their partial sums, for [`hermite_fold`]. A thread has `BODIES` active bodies,
/// those of [`device::Record::BODIES`].
///
/// # Parameters
/// - `launch`: what to compute, by value
/// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
/// - `places`: `launch.count` places of active bodies
/// - `partial`: `3 · derivatives · launch.parts() · launch.count` numbers: component, part, body
///
/// # Tiling
/// As many bodies at a time as a block has threads in dynamic shared memory, [`tiles::shared_bytes`]
///
/// # Thread mapping
/// A block for each part of each group of active bodies, `BODIES` of them a thread; blocks of
/// the same part follow each other. The size of blocks does not change the bits.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `partial` meanwhile.
#[kernel(instances(
    4: <Plain<f64>, 2, 2>,
    6: <Plain<f64>, 3, 2>,
    8: <Plain<f64>, 4, 2>,
    4_split_f32: <SplitF32<f32>, 2, 4>,
    6_split_f32: <SplitF32<f32>, 3, 4>,
    8_split_f32: <SplitF32<f32>, 4, 4>,
))]
pub unsafe fn hermite_tiles<A: Record<D>, const D: usize, const BODIES: usize>(
    launch: Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { tiles::pull::<A, D, BODIES>(&launch, predicted, places, partial) };
}

/// Forces on few active bodies, with `D` derivatives.
///
/// # Parameters
/// - `launch`: what to compute, by value
/// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
/// - `places`: `launch.count` places of active bodies
/// - `out`: `launch.count · 3 · derivatives` numbers: body, component
///
/// # Tiling
/// Partial sums in dynamic shared memory, [`lanes::shared_bytes`] for 3 · derivatives values
///
/// # Thread mapping
/// A block of [`lanes::threads`] threads an active body: a thread a partial sum.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel(instances(
    4: <Plain<f64>, 2>,
    6: <Plain<f64>, 3>,
    8: <Plain<f64>, 4>,
    4_split_f32: <SplitF32<f32>, 2>,
    6_split_f32: <SplitF32<f32>, 3>,
    8_split_f32: <SplitF32<f32>, 4>,
))]
pub unsafe fn hermite_lanes<A: Record<D>, const D: usize>(
    launch: Launch,
    predicted: *const f64,
    places: *const u32,
    out: *mut f64,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { lanes::pull::<A, D>(&launch, predicted, places, out) };
}
