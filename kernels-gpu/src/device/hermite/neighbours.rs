//! Lists of neighbours, with one warp per body.

use cuda_std::thread;
use cuda_std::warp::warp_vote_ballot;

use super::record::vector;
use crate::physics::hermite::ahmad_cohen::is_neighbour;

/// The problem of a launch of the neighbour-list kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ListLaunch {
    /// Number of bodies whose neighbours are listed.
    pub count: u32,
    /// Number of all bodies.
    pub bodies: u32,
    /// Numbers of a predicted record.
    pub width: u32,
    /// Capacity of a list.
    pub capacity: u32,
}

/// Lists the places of the neighbours of this warp's body in ascending order, and their number. A list that is longer than the
/// capacity is not usable; only its length is correct.
///
/// # Safety
/// `predicted` must be valid for `bodies` records, `places` and `radii2` for `count` numbers, `lists` for count · capacity places, and
/// `lengths` for `count`. Blocks must be whole warps.
#[inline(always)]
pub unsafe fn list(
    launch: &ListLaunch,
    predicted: *const f64,
    places: *const u32,
    radii2: *const f64,
    lists: *mut u32,
    lengths: *mut u32,
) {
    let lane = thread::thread_idx_x() % 32;
    let body = thread::index_1d() / 32;
    if body >= launch.count {
        return;
    }
    // SAFETY: places are below `bodies`.
    let record = |place: u32| unsafe { predicted.add(place as usize * launch.width as usize) };
    // SAFETY: body < count.
    let (own, radius2) = unsafe { (*places.add(body as usize), *radii2.add(body as usize)) };
    // SAFETY: these are the second to seventh numbers of a record.
    let motion =
        |place: u32| unsafe { (vector(record(place).add(1)), vector(record(place).add(4))) };
    let (x, v) = motion(own);
    let mut length = 0;
    let mut first = 0;
    while first < launch.bodies {
        let place = first + lane;
        let mut near = false;
        if place < launch.bodies && place != own {
            let (y, w) = motion(place);
            near = is_neighbour(y - x, w - v, radius2);
        }
        // SAFETY: all lanes of the warp call it, because body and first are the same for all of them.
        let votes = unsafe { warp_vote_ballot(u32::MAX, near) };
        let at = length + (votes & ((1 << lane) - 1)).count_ones();
        if near && at < launch.capacity {
            // SAFETY: the index is within the body's list.
            unsafe { *lists.add(body as usize * launch.capacity as usize + at as usize) = place };
        }
        length += votes.count_ones();
        first += 32;
    }
    if lane == 0 {
        // SAFETY: body < count.
        unsafe { *lengths.add(body as usize) = length };
    }
}
