//! Hermite integration: lists of neighbours for the Ahmad–Cohen scheme.

use cuda_std::prelude::*;

use crate::device::hermite::neighbours::{self, ListLaunch};

/// Lists the neighbours of active particles.
///
/// # Parameters
/// - `launch`: what to look for, by value
/// - `predicted`: `launch.bodies` records of `launch.width` numbers: mass, position, velocity, …
/// - `places`: `launch.count` places of active bodies
/// - `radii2`: the squared radius of each
/// - `lists`: `launch.count · launch.capacity` places, ascending for each body
/// - `lengths`: how many each body has; a list longer than the capacity is not usable
///
/// # Thread mapping
/// A warp a body, in a one-dimensional grid of whole warps; surplus warps return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `lists` and `lengths` meanwhile.
#[kernel]
pub unsafe fn hermite_neighbours(
    launch: ListLaunch,
    predicted: *const f64,
    places: *const u32,
    radii2: *const f64,
    lists: *mut u32,
    lengths: *mut u32,
) {
    // SAFETY: the caller vouches for the pointers.
    unsafe { neighbours::list(&launch, predicted, places, radii2, lists, lengths) };
}
