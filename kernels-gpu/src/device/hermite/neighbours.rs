//! Lists of neighbours: with one warp per body ([`list`]), or in two steps, of which the first marks near bodies while the forces on a
//! body are summed (`Marking`), and the second chooses the neighbours among them with one warp per body (`gather`).

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_up, warp_shuffle_xor, warp_vote_ballot};

use super::record::vector;
use super::settle::votes_before;
use super::tiles::Watch;
use super::width;
use crate::Vec3;
use crate::physics::hermite::ahmad_cohen::{
    MAX_TRIES, is_neighbour, may_be_neighbour_up_to, radius_change,
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
        let at = length + votes_before(votes, lane);
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

/// Words of marks that are read together.
const WORDS_TOGETHER: usize = 4;

/// Words of marks.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Words([u32; WORDS_TOGETHER]);

/// Number of words of the marks of a body, a bit for each of `bodies` in ascending order.
pub const fn mark_words(bodies: usize) -> usize {
    bodies.div_ceil(32 * WORDS_TOGETHER) * WORDS_TOGETHER
}

/// The position and the velocity in a predicted record of order 4.
///
/// # Safety
/// `predicted` must be valid for the record at `place`.
#[inline(always)]
unsafe fn motion(predicted: *const f64, place: u32) -> [Vec3<f64>; 2] {
    // SAFETY: these are the second to seventh numbers of a record.
    unsafe {
        let record = predicted.add(place as usize * const { width(2) });
        [vector(record.add(1)), vector(record.add(4))]
    }
}

/// Marks all bodies that may be neighbours of the listed ones, at order 4, while the forces on these are summed.
pub(super) struct Marking {
    /// Number of all bodies.
    pub bodies: u32,
    /// Square of the softening length in the sums.
    pub softening2: f64,
    /// Their predicted records.
    pub predicted: *const f64,
    /// The places of the listed bodies.
    pub places: *const u32,
    /// The radius of the neighbours of each of all bodies.
    pub radii: *const f64,
    /// The [`mark_words`] numbers of each listed body.
    pub marks: *mut u32,
}

impl Watch for Marking {
    const WATCHES: bool = true;

    #[inline(always)]
    unsafe fn limit(&self, body: u32) -> f64 {
        // SAFETY: the caller guarantees the number; places are below `bodies`.
        unsafe {
            let own = *self.places.add(body as usize);
            let radius = *self.radii.add(own as usize);
            let [position, _] = motion(self.predicted, own);
            may_be_neighbour_up_to(position, radius, self.softening2)
        }
    }

    #[inline(always)]
    unsafe fn near(&self, body: u32, place: u32) {
        if place < self.bodies {
            let word = body as usize * mark_words(self.bodies as usize) + place as usize / 32;
            // SAFETY: the word is one of the listed body's; threads only change it by atomic operations.
            let word = unsafe { &*self.marks.add(word).cast::<AtomicU32>() };
            word.fetch_or(1 << (place % 32), Relaxed);
        }
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
pub(super) unsafe fn sum_before(own: u32) -> u32 {
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

/// The marks of a body, of which each lane of a warp works on consecutive words, so that lists are in ascending order.
pub(super) struct Marks {
    /// The word of body 0.
    words: *mut u32,
    begin: usize,
    end: usize,
}

impl Marks {
    /// This lane's part of the marks of the listed body of number `body`.
    ///
    /// # Safety
    /// `marks` must be valid for the [`mark_words`] numbers of the listed body, whom only this warp works on, and aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn of(marks: *mut u32, body: u32, bodies: u32) -> Self {
        let lane = thread::thread_idx_x() as usize % 32;
        let words = mark_words(bodies as usize);
        let share = words.div_ceil(32 * WORDS_TOGETHER) * WORDS_TOGETHER;
        Self {
            // SAFETY: the caller guarantees this.
            words: unsafe { marks.add(body as usize * words) },
            begin: (lane * share).min(words),
            end: ((lane + 1) * share).min(words),
        }
    }

    /// Replaces each word that has marks, given the place of its first bit.
    #[inline(always)]
    fn replace(&self, mut with: impl FnMut(u32, u32) -> u32) {
        let mut first = self.begin;
        while first < self.end {
            // SAFETY: the words are this lane's, which has multiples of WORDS_TOGETHER.
            let words = unsafe { *self.words.add(first).cast::<Words>() }.0;
            if words[0] | words[1] | words[2] | words[3] != 0 {
                let mut k = 0;
                while k < WORDS_TOGETHER {
                    // SAFETY: as above.
                    let word = unsafe { &mut *self.words.add(first + k) };
                    if *word != 0 {
                        *word = with(32 * (first + k) as u32, *word);
                    }
                    k += 1;
                }
            }
            first += WORDS_TOGETHER;
        }
    }

    /// Removes all marks, so that the next forces can be summed.
    #[inline(always)]
    pub fn remove(&self) {
        self.replace(|_, _| 0);
    }

    /// Removes the marks of bodies that are not neighbours of `own` within the radius; returns the number of the others.
    ///
    /// # Safety
    /// `predicted` must have the records of `own` and of the marked bodies.
    #[inline(always)]
    unsafe fn keep_neighbours(&self, own: u32, predicted: *const f64, radius: f64) -> u32 {
        let radius2 = radius * radius;
        // SAFETY: the caller guarantees the record.
        let [x, v] = unsafe { motion(predicted, own) };
        let mut found = 0;
        self.replace(|first, mut left| {
            let mut kept = 0;
            while left != 0 {
                let bit = left.trailing_zeros();
                // SAFETY: the caller guarantees the record.
                let [y, w] = unsafe { motion(predicted, first + bit) };
                if first + bit != own && is_neighbour(y - x, w - v, radius2) {
                    kept |= 1 << bit;
                    found += 1;
                }
                left &= left - 1;
            }
            kept
        });
        found
    }
}

/// Makes the list of the neighbours within `radius`, by this warp, among the bodies that [`Marking`] has marked for that radius, and
/// removes the marks. As long as there is no room for all of them, the radius shrinks. All lanes have the result.
///
/// # Safety
/// `marks` must be those of body `own`; `list` must be valid for `size.capacity` places, and `predicted` for the records of all bodies.
/// Whole warps must call this.
#[inline(always)]
pub(super) unsafe fn gather(
    own: u32,
    predicted: *const f64,
    mut radius: f64,
    size: ListSize,
    marks: Marks,
    list: *mut u32,
) -> Gathered {
    // SAFETY: marked bodies have records.
    let mut found = unsafe { marks.keep_neighbours(own, predicted, radius) };
    // SAFETY: whole warps call it.
    let mut length = unsafe { total(found) };
    let overflowed = length > size.capacity;
    let mut tries = 1;
    while length > size.capacity && tries <= MAX_TRIES {
        radius *= radius_change(size.wanted, length);
        if tries < MAX_TRIES {
            // SAFETY: as above.
            unsafe {
                found = marks.keep_neighbours(own, predicted, radius);
                length = total(found);
            }
        }
        tries += 1;
    }
    if length > size.capacity {
        marks.remove();
        return Gathered {
            length: 0,
            radius,
            overflowed,
        };
    }
    // SAFETY: whole warps call it.
    let mut at = unsafe { sum_before(found) } as usize;
    marks.replace(|first, mut left| {
        while left != 0 {
            // SAFETY: there are `length` marks, at most `capacity`.
            unsafe { *list.add(at) = first + left.trailing_zeros() };
            left &= left - 1;
            at += 1;
        }
        0
    });
    Gathered {
        length,
        radius,
        overflowed,
    }
}
