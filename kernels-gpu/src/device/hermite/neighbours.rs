//! Lists of neighbours: with one warp per body ([`list`]), or in two steps with all warps for all bodies (`mark`) and then one warp per
//! body (`gather`), which takes less time for few bodies.

use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_up, warp_shuffle_xor, warp_vote_ballot};

use super::record::vector;
use super::width;
use crate::Vec3;
use crate::physics::hermite::ahmad_cohen::{
    MAX_TRIES, is_neighbour, may_be_neighbour, radius_change,
};

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

/// Words of marks that a warp computes at a time; each lane keeps as many bodies in registers.
const SEGMENT_WORDS: usize = 4;

/// Number of words of the marks of a body, a bit for each of `bodies` in ascending order.
pub const fn mark_words(bodies: usize) -> usize {
    bodies.div_ceil(32 * SEGMENT_WORDS) * SEGMENT_WORDS
}

/// The position in a predicted record of order 4.
///
/// # Safety
/// `predicted` must be valid for the record at `place`.
#[inline(always)]
unsafe fn position(predicted: *const f64, place: u32) -> Vec3<f64> {
    // SAFETY: these are the second to fourth numbers of a record.
    unsafe { vector(predicted.add(place as usize * const { width(2) } + 1)) }
}

/// The position and the velocity in a predicted record of order 4.
///
/// # Safety
/// The same as for [`position`].
#[inline(always)]
unsafe fn motion(predicted: *const f64, place: u32) -> [Vec3<f64>; 2] {
    // SAFETY: these are the second to seventh numbers of a record.
    unsafe {
        let record = predicted.add(place as usize * const { width(2) });
        [vector(record.add(1)), vector(record.add(4))]
    }
}

/// Marks the neighbours of `count` bodies, at order 4. All warps of the grid share the work; the first of them begins with the last part.
///
/// # Safety
/// `predicted` must be valid for `bodies` records, `places` for `count` places of them, `radii` for `bodies` numbers, and `marks` for
/// [`mark_words`] numbers for each of the `count` bodies. Blocks must be whole warps.
#[inline(always)]
pub(super) unsafe fn mark(
    count: u32,
    bodies: u32,
    predicted: *const f64,
    places: *const u32,
    radii: *const f64,
    marks: *mut u32,
) {
    let lane = thread::thread_idx_x() % 32;
    let warps = thread::grid_dim_x() * thread::block_dim_x() / 32;
    let words = mark_words(bodies as usize);
    let segments = words as u32 / SEGMENT_WORDS as u32;
    // As many groups of bodies as give a part to each warp.
    let groups = (warps / segments).clamp(1, count);
    let group = count.div_ceil(groups);
    let parts = segments * count.div_ceil(group);
    let mut part = warps - 1 - thread::index_1d() / 32;
    while part < parts {
        let segment = part % segments;
        let first = segment * (32 * SEGMENT_WORDS as u32) + lane;
        let other = |word: u32| first + 32 * word;
        // Lanes beyond the last body read that one, and mark nothing.
        // SAFETY: the places are below `bodies`.
        let read = |word: u32| unsafe { position(predicted, other(word).min(bodies - 1)) };
        let y = [read(0), read(1), read(2), read(3)];
        let mut k = part / segments * group;
        let end = (k + group).min(count);
        let body = |k: u32| {
            // SAFETY: k < count, and places are below `bodies`.
            unsafe {
                let own = *places.add(k.min(end - 1) as usize);
                (own, position(predicted, own), *radii.add(own as usize))
            }
        };
        let mut ahead = body(k);
        while k < end {
            let (own, x, radius) = ahead;
            // Read before it is needed, so that the wait for memory overlaps with the comparisons.
            ahead = body(k + 1);
            let radius2 = radius * radius;
            let near = |word: u32, y: Vec3<f64>| {
                let place = other(word);
                if place >= bodies || place == own || !may_be_neighbour(y - x, radius2) {
                    return false;
                }
                // SAFETY: both places are below `bodies`.
                let (v, w) = unsafe { (motion(predicted, own)[1], motion(predicted, place)[1]) };
                is_neighbour(y - x, w - v, radius2)
            };
            // SAFETY: whole warps call it; the bounds of the loops are the same for all lanes.
            let votes = unsafe {
                [
                    warp_vote_ballot(u32::MAX, near(0, y[0])),
                    warp_vote_ballot(u32::MAX, near(1, y[1])),
                    warp_vote_ballot(u32::MAX, near(2, y[2])),
                    warp_vote_ballot(u32::MAX, near(3, y[3])),
                ]
            };
            if lane == 0 {
                let to = k as usize * words + segment as usize * SEGMENT_WORDS;
                let mut word = 0;
                while word < SEGMENT_WORDS {
                    // SAFETY: the words are those of body k.
                    unsafe { *marks.add(to + word) = votes[word] };
                    word += 1;
                }
            }
            k += 1;
        }
        part += warps;
    }
}

/// The length of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ListSize {
    /// Number of neighbours that a list should have.
    pub wanted: u32,
    /// Number of neighbours for which it has room.
    pub capacity: u32,
}

/// A list that [`gather`] made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    /// Number of neighbours.
    pub length: u32,
    /// The radius with which the list fits.
    pub radius: f64,
    /// Whether the neighbours within the first radius did not fit.
    pub overflowed: bool,
}

/// The sum of a number over the lanes of a warp, in every lane.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
unsafe fn total(mut count: u32) -> u32 {
    let mut distance = 16;
    while distance > 0 {
        // SAFETY: whole warps call it.
        count += unsafe { warp_shuffle_xor(u32::MAX, count, distance, 32) }.0;
        distance /= 2;
    }
    count
}

/// The sum of a number over the lanes before this one.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
unsafe fn sum_before(own: u32) -> u32 {
    let lane = thread::thread_idx_x() % 32;
    let mut sum = own;
    let mut distance = 1;
    while distance < 32 {
        // SAFETY: whole warps call it.
        let other = unsafe { warp_shuffle_up(u32::MAX, sum, distance, 32) }.0;
        if lane >= distance {
            sum += other;
        }
        distance *= 2;
    }
    sum - own
}

/// Makes the list of the neighbours that [`mark`] has marked within `radius`, by this warp. As long as there is no room for all of
/// them, the radius shrinks and the marks beyond it are removed. All lanes have the result.
///
/// # Safety
/// `marks` must be the [`mark_words`] numbers of body `own`, whom only this warp works on; `list` must be valid for `size.capacity` places, and
/// `predicted` for `bodies` records. Whole warps must call this.
#[inline(always)]
pub(super) unsafe fn gather(
    own: u32,
    bodies: u32,
    predicted: *const f64,
    mut radius: f64,
    size: ListSize,
    marks: *mut u32,
    list: *mut u32,
) -> Gathered {
    let lane = thread::thread_idx_x() as usize % 32;
    let words = mark_words(bodies as usize);
    // The lanes have consecutive words, so that the list is in ascending order.
    let share = words.div_ceil(32 * SEGMENT_WORDS) * SEGMENT_WORDS;
    let (begin, end) = ((lane * share).min(words), ((lane + 1) * share).min(words));
    let mut found = 0;
    let mut word = begin;
    while word < end {
        // SAFETY: the word is one of the body's, and there are multiples of SEGMENT_WORDS.
        unsafe {
            found += (*marks.add(word)).count_ones() + (*marks.add(word + 1)).count_ones();
            found += (*marks.add(word + 2)).count_ones() + (*marks.add(word + 3)).count_ones();
        }
        word += SEGMENT_WORDS;
    }
    // SAFETY: whole warps call it.
    let mut length = unsafe { total(found) };
    let overflowed = length > size.capacity;
    let mut tries = 1;
    while length > size.capacity && tries <= MAX_TRIES {
        radius *= radius_change(size.wanted, length);
        if tries < MAX_TRIES {
            // SAFETY: the words are this lane's; whole warps call it.
            unsafe {
                found = unmark(own, predicted, radius * radius, marks, begin, end);
                length = total(found);
            }
        }
        tries += 1;
    }
    if length > size.capacity {
        return Gathered {
            length: 0,
            radius,
            overflowed,
        };
    }
    // SAFETY: whole warps call it.
    let mut at = unsafe { sum_before(found) } as usize;
    let mut word = begin;
    while found > 0 && word < end {
        // SAFETY: the word is one of the body's.
        let mut left = unsafe { *marks.add(word) };
        while left != 0 {
            // SAFETY: there are `length` marks, at most `capacity`.
            unsafe { *list.add(at) = 32 * word as u32 + left.trailing_zeros() };
            left &= left - 1;
            at += 1;
        }
        word += 1;
    }
    Gathered {
        length,
        radius,
        overflowed,
    }
}

/// Removes the marks of those bodies that are no neighbours within a smaller radius; returns the number of the others.
///
/// # Safety
/// The same as for [`gather`]; the words from `begin` to `end` must be used by this thread only.
#[inline(always)]
unsafe fn unmark(
    own: u32,
    predicted: *const f64,
    radius2: f64,
    marks: *mut u32,
    begin: usize,
    end: usize,
) -> u32 {
    let mut found = 0;
    let mut word = begin;
    while word < end {
        // SAFETY: the caller guarantees the words; marked bodies have records.
        unsafe {
            let (mut left, mut kept) = (*marks.add(word), 0);
            let [x, v] = motion(predicted, own);
            while left != 0 {
                let bit = left.trailing_zeros();
                let [y, w] = motion(predicted, 32 * word as u32 + bit);
                if is_neighbour(y - x, w - v, radius2) {
                    kept |= 1 << bit;
                    found += 1;
                }
                left &= left - 1;
            }
            *marks.add(word) = kept;
        }
        word += 1;
    }
    found
}
