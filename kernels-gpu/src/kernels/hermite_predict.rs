//! Hermite integration: all stars predicted to one time, and records brought to their places.

use cuda_std::prelude::*;

use crate::device::hermite as device;

/// Copies records to their places: renews stars after a step, or puts corrected motions in the place of predicted ones.
///
/// # Parameters
/// - `from`: `count` records of `width` numbers
/// - `places`: the place of each
/// - `to`: records of `stride` numbers, of which those from number `skip` on are written
///
/// # Thread mapping
/// A thread a number, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above, the places differ, and nobody else use `to` meanwhile.
#[kernel]
pub unsafe fn hermite_scatter(
    from: *const f64,
    places: *const u32,
    to: *mut f64,
    count: u32,
    width: u32,
    stride: u32,
    skip: u32,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::scatter(from, places, to, count, width, stride, skip) };
}

/// Predicts all stars to `time`, in order `P` with `D` = P / 2 forces.
///
/// # Parameters
/// - `stars`: `places` records of mass, time and order vectors
/// - `predicted`: `places` records of [`device::width`] numbers
/// - `time`: the time of the prediction
///
/// # Thread mapping
/// A thread a place, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `predicted` meanwhile.
#[kernel(instances(4: <4, 2>, 6: <6, 3>, 8: <8, 4>))]
pub unsafe fn hermite_predict<const P: usize, const D: usize>(
    stars: *const f64,
    predicted: *mut f64,
    time: f64,
    places: u32,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { device::predict_star::<P, D>(stars, predicted, time, places) };
}
