//! Hermite integration: forces with derivatives on the active particles, and potentials.

use cuda_std::prelude::*;

use crate::device::hermite::tiles::{self, Shape};
use crate::device::hermite::{self as device, Launch, Record, lanes};
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

/// Adds up the partial sums of [`hermite_tiles`] to one number for each component and body.
///
/// # Parameters
/// - `partial`: `components · parts · count` numbers, indexed by component, part and body
/// - `out`: `count · components` sums, indexed by body and component
/// - `parts`: a power of two up to 128
///
/// # Thread mapping
/// One thread for each value, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `out` during the launch.
#[kernel]
pub unsafe fn hermite_fold(
    partial: *const f64,
    out: *mut f64,
    components: u32,
    count: u32,
    parts: u32,
) {
    // SAFETY: the caller guarantees the pointers.
    unsafe { device::fold::fold(partial, out, components, count, parts) };
}

/// Computes the potential at each body due to all other bodies.
///
/// # Parameters
/// - `launch`: the problem, by value; `count` is the number of bodies
/// - `predicted`: `launch.sums · launch.terms` records of `width` numbers
/// - `out`: `launch.count` potentials
///
/// # Tiling
/// Partial sums in dynamic shared memory of [`lanes::shared_bytes`] for 1 value
///
/// # Thread mapping
/// One block of [`lanes::threads`] threads for each body; each thread computes a partial sum.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `out` during the launch.
#[kernel]
pub unsafe fn hermite_potential(launch: Launch, predicted: *const f64, out: *mut f64, width: u32) {
    // SAFETY: the caller guarantees the pointers.
    unsafe { lanes::potential(&launch, predicted, out, width) };
}

/// Computes sums of the forces on active bodies, with `D` derivatives, for [`hermite_fold`]. A thread handles `BODIES` active bodies,
/// which must equal [`device::Record::BODIES`].
///
/// # Parameters
/// - `launch`: the problem, by value
/// - `shape`: the division of the work, by value
/// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
/// - `places`: `launch.count` places of active bodies
/// - `partial`: `3 · derivatives · shape.remaining · launch.count` numbers, indexed by component, sum and body
///
/// # Tiling
/// At least one body per thread of a block at a time, in dynamic shared memory of [`tiles::shared_bytes`]
///
/// # Thread mapping
/// [`Shape::units`] blocks in a one-dimensional grid, whose number of threads is a power of two. Neither their size nor the shape changes
/// the bits.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `partial` during the launch.
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
    shape: Shape,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller guarantees the pointers.
    unsafe { tiles::pull::<A, D, BODIES>(&launch, &shape, predicted, places, partial) };
}

/// Computes the forces on few active bodies, with `D` derivatives.
///
/// # Parameters
/// - `launch`: the problem, by value
/// - `predicted`: `launch.sums · launch.terms` records of [`device::width`] numbers
/// - `places`: `launch.count` places of active bodies
/// - `out`: `launch.count · 3 · derivatives` numbers, indexed by body and component
///
/// # Tiling
/// Partial sums in dynamic shared memory of [`lanes::shared_bytes`] for 3 · derivatives values
///
/// # Thread mapping
/// One block of [`lanes::threads`] threads for each active body; each thread computes a partial sum.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `out` during the launch.
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
    // SAFETY: the caller guarantees the pointers.
    unsafe { lanes::pull::<A, D>(&launch, predicted, places, out) };
}
