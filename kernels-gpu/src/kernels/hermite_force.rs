//! Hermite integration: forces with derivatives on the active particles, and potentials.

use cuda_std::prelude::*;

use crate::hermite::device::{self, Launch};

/// Adds up what the blocks of a force kernel have left: one number for each component and body.
///
/// # Parameters
/// - `partial`: `values` · `rest` numbers, the fastest index the part
/// - `out`: `values` sums
/// - `rest`: parts, a power of two up to 128
///
/// # Thread mapping
/// A warp a value, in a one-dimensional grid of whole warps; surplus warps return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_fold(partial: *const f64, out: *mut f64, values: u32, rest: u32) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::fold(partial, out, values, rest) };
}

/// Potential at each body, without its own.
///
/// # Parameters
/// - `launch`: what to compute, by value; `count` is the number of bodies, `share` is not used
/// - `predicted`: `launch.sums` · `launch.terms` records of `width` numbers
/// - `out`: `launch.count` potentials
///
/// # Thread mapping
/// A thread a body, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `out` meanwhile.
#[kernel]
pub unsafe fn hermite_potential(launch: Launch, predicted: *const f64, out: *mut f64, width: u32) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::potential(&launch, predicted, out, width) };
}

/// Acceleration and jerk of the active bodies: their partial sums, for [`hermite_fold`].
///
/// # Parameters
/// - `launch`: what to compute, by value
/// - `predicted`: `launch.sums` · `launch.terms` records of [`device::width`] numbers
/// - `places`: `launch.count` places of active bodies
/// - `partial`: `3 · derivatives · launch.count · launch.rest()` numbers: component, body, part
///
/// # Tiling
/// [`device::TILE`] bodies at a time in dynamic shared memory, [`device::shared_bytes`]
///
/// # Thread mapping
/// [`Launch::blocks`] blocks of any one size: a thread an active body, a block a part of its partial sums. How many
/// partial sums a thread folds itself does not change the bits.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `partial` meanwhile.
#[kernel]
pub unsafe fn hermite_force_4(
    launch: Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::pull::<2>(&launch, predicted, places, partial) };
}

/// [`hermite_force_4`] with snap, order 6.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn hermite_force_6(
    launch: Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::pull::<3>(&launch, predicted, places, partial) };
}

/// [`hermite_force_4`] with snap and crackle, order 8.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn hermite_force_8(
    launch: Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::pull::<4>(&launch, predicted, places, partial) };
}
