//! Lists of neighbours, with one warp per body.

use cuda_std::thread;
use cuda_std::warp::warp_vote_ballot;

use super::record::vector;
use crate::physics::hermite::ahmad_cohen::is_neighbour;

/// The problem of a launch of the list kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ListLaunch {
    /// Bodies whose neighbours are listed.
    pub count: u32,
    /// All bodies.
    pub bodies: u32,
    /// Numbers of a predicted record.
    pub width: u32,
    /// Places of a list.
    pub capacity: u32,
}

/// The places of the neighbours of this warp's body, ascending, and their number. A list that is longer than the
/// capacity is not usable; only its length is correct.
///
/// # Safety
/// `predicted` is valid for `bodies` records, `places` and `radii2` for `count` numbers, `lists` for
/// count · capacity places, `lengths` for `count`; blocks are whole warps.
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
    // SAFETY: places below `bodies`.
    let record = |place: u32| unsafe { predicted.add(place as usize * launch.width as usize) };
    // SAFETY: body < count.
    let (own, radius2) = unsafe { (*places.add(body as usize), *radii2.add(body as usize)) };
    // SAFETY: the second to seventh number of a record.
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
        // SAFETY: all lanes of the warp are here: body and first are the same for all.
        let votes = unsafe { warp_vote_ballot(u32::MAX, near) };
        let at = length + (votes & ((1 << lane) - 1)).count_ones();
        if near && at < launch.capacity {
            // SAFETY: within the list of the body.
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
