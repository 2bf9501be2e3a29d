//! Hermite integration: prediction of all stars to one time, and the copying of records to their places.

use cuda_std::prelude::*;

use crate::device::hermite as device;

/// Copies records to their places, to update stars after a step or to replace predicted motions by corrected ones.
///
/// # Parameters
/// - `from`: `count` records of `width` numbers
/// - `places`: the place of each record
/// - `to`: records of `stride` numbers, of which those from number `skip` on are written
///
/// # Thread mapping
/// One thread for each number, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above, the places must differ, and nothing else may use `to` during the launch.
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
    // SAFETY: the caller guarantees the pointers.
    unsafe { device::scatter(from, places, to, count, width, stride, skip) };
}

/// Predicts all stars to `time`, for order `P` with `D` = P / 2 forces.
///
/// # Parameters
/// - `stars`: `places` records of mass, time and `P` vectors
/// - `predicted`: `places` records of [`device::width`] numbers
/// - `time`: the time of the prediction
///
/// # Thread mapping
/// One thread for each place, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above, and `predicted` aligned to 16 bytes; nothing else may use `predicted` during
/// the launch.
#[kernel(instances(4: <4, 2>, 6: <6, 3>, 8: <8, 4>))]
pub unsafe fn hermite_predict<const P: usize, const D: usize>(
    stars: *const f64,
    predicted: *mut f64,
    time: f64,
    places: u32,
) {
    // SAFETY: the caller guarantees the pointers.
    unsafe { device::predict_star::<P, D>(stars, predicted, time, places) };
}
