//! Hermite integration: lists of neighbours for the Ahmad–Cohen scheme.

use cuda_std::prelude::*;

use crate::device::hermite::neighbours::{self, ListLaunch};

/// Lists the neighbours of active particles.
///
/// # Parameters
/// - `launch`: the problem, by value
/// - `predicted`: `launch.bodies` records of `launch.width` numbers: mass, position, velocity, …
/// - `places`: `launch.count` places of active bodies
/// - `radii2`: the square of each body's radius
/// - `lists`: `launch.count · launch.capacity` places, ascending for each body
/// - `lengths`: the number of neighbours of each body; a list longer than the capacity is not usable
///
/// # Thread mapping
/// One warp for each body, in a one-dimensional grid of whole warps; surplus warps return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `lists` and `lengths` during the launch.
#[kernel]
pub unsafe fn hermite_neighbours(
    launch: ListLaunch,
    predicted: *const f64,
    places: *const u32,
    radii2: *const f64,
    lists: *mut u32,
    lengths: *mut u32,
) {
    // SAFETY: the caller guarantees the pointers.
    unsafe { neighbours::list(&launch, predicted, places, radii2, lists, lengths) };
}
