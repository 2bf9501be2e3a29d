//! What a block has in shared memory, and what it does with it: it announces its bodies, agrees with the others on the next block step, and
//! corrects its active bodies.

use cuda_std::misc::clock;
use cuda_std::shared::{F2, SharedSlice};
use cuda_std::thread;
use cuda_std::warp::{warp_shuffle_idx, warp_shuffle_xor, warp_vote_ballot};

use super::super::chains::{self, MOST_REMAINING, again};
use super::super::correction::{Start, correct_body};
use super::super::neighbours::sum_before;
use super::super::problem::{ANNOUNCED, Block, REST_WIDTH, State, Steps, moved_width};
use super::super::record::{put_predicted, two};
use super::super::settle::{put_moved, votes_before};
use super::super::shared_stars::{self, SharedStars};
use super::super::{Launch, Record, ratio, star_width, width};
use super::THREADS;
use crate::number::each;

/// The bytes of dynamic shared memory of each of so many blocks for a system of `sums` partial sums with `terms` bodies each, with `D` forces.
pub const fn shared_bytes<A: Record<D>, const D: usize>(sums: u32, terms: u32, blocks: u32) -> u32 {
    let stars = sums / blocks * terms;
    let of_chains = chains::shared_bytes::<A, D>(THREADS);
    let of_stars = shared_stars::bytes(2 * D, stars);
    of_chains + of_stars + 8 * (2 * stars + 2 * WARPS + LAPS) + 4 * (2 * stars + blocks)
}

pub(super) const WARPS: u32 = THREADS / 32;
const _: () = assert!(MOST_REMAINING <= THREADS, "a thread for each announcement");

/// Number of times that a block keeps: the cycles of each part of the block steps, and the time of the last of them.
const LAPS: u32 = 4;

/// Number of stars whose times a lane reads at a time.
const AT_ONCE: usize = 4;

/// The bodies of this block.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// The number of this block, which is that of its class of partial sums.
    pub class: u32,
    /// Number of blocks.
    pub classes: u32,
    /// Number of its partial sums, a power of two.
    pub parts: u32,
    /// Number of its stars.
    pub stars: u32,
    /// The number of this thread.
    pub thread: u32,
}

impl Own {
    #[inline(always)]
    pub fn of(force: &Launch) -> Self {
        let (class, classes) = (thread::block_idx_x(), thread::grid_dim_x());
        let parts = ratio(force.sums, classes);
        Self {
            class,
            classes,
            parts,
            stars: parts * force.terms,
            thread: thread::thread_idx_x(),
        }
    }

    /// The same values, by [`again`].
    #[inline(always)]
    pub fn again(&self) -> Self {
        Self {
            class: again(self.class),
            classes: again(self.classes),
            parts: again(self.parts),
            stars: again(self.stars),
            thread: again(self.thread),
        }
    }

    /// The place of a star.
    #[inline(always)]
    pub fn place(&self, force: &Launch, star: u32) -> u32 {
        let (term, part) = (ratio(star, self.parts), star & (self.parts - 1));
        term * force.sums + part * self.classes + self.class
    }
}

/// What a block announces.
#[derive(Clone, Copy)]
pub(super) struct Announcement {
    /// The time at which its first bodies are due.
    pub time: f64,
    /// The number of bodies that are due then.
    pub count: u32,
}

impl Announcement {
    const NONE: Self = Self {
        time: f64::INFINITY,
        count: 0,
    };
}

/// The lesser of two numbers that are not NaN. This takes 3 instructions of a GPU, and [`f64::min`] takes 7.
#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The least number of a warp.
///
/// # Safety
/// Whole warps must call this.
#[inline(always)]
unsafe fn least_of_warp(mut least: f64) -> f64 {
    let mut lanes = 16;
    while lanes > 0 {
        // SAFETY: the caller guarantees this.
        least = lesser(
            least,
            unsafe { warp_shuffle_xor(u32::MAX, least, lanes, 32) }.0,
        );
        lanes /= 2;
    }
    least
}

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct Memory<const P: usize> {
    /// Folded forces, in the memory of the source bodies.
    pub folded: SharedSlice<f64>,
    pub stars: SharedStars<P>,
    /// The time at which each star is due.
    pub due: SharedSlice<f64>,
    /// The step that each star has completed.
    pub taken: SharedSlice<f64>,
    /// The stars that are announced, of even block steps and of odd ones.
    pub lists: [SharedSlice<u32>; 2],
    /// What the warps have agreed on: times, and numbers as bits.
    pub said: SharedSlice<F2>,
    /// The number of the first active body of each block.
    pub starts: SharedSlice<u32>,
    /// Where each active body is among those that are announced, in the memory of terms.
    pub found: SharedSlice<u16>,
    /// Largest number of active bodies that are found.
    pub most_found: u32,
    /// The cycles of each part of the block steps, then the end of the last part.
    pub laps: SharedSlice<u64>,
}

impl<const P: usize> Memory<P> {
    /// # Safety
    /// The launch must provide [`shared_bytes`].
    #[inline(always)]
    pub unsafe fn of<A: Record<D>, const D: usize>(own: &Own) -> Self {
        let stars = own.stars as usize;
        let first = chains::shared_bytes::<A, D>(THREADS) as usize;
        let due = first + shared_stars::bytes(P, own.stars) as usize;
        let said = due + 16 * stars;
        let laps = said + const { 16 * WARPS as usize };
        let lists = laps + const { 8 * LAPS as usize };
        let starts = lists + 8 * stars;
        // SAFETY: the caller provides this much shared memory.
        unsafe {
            Self {
                folded: SharedSlice::dynamic(0, THREADS as usize),
                stars: SharedStars::dynamic(first, stars),
                due: SharedSlice::dynamic(due, stars),
                taken: SharedSlice::dynamic(due + 8 * stars, stars),
                lists: [
                    SharedSlice::dynamic(lists, stars),
                    SharedSlice::dynamic(lists + 4 * stars, stars),
                ],
                said: SharedSlice::dynamic(said, const { WARPS as usize }),
                starts: SharedSlice::dynamic(starts, own.classes as usize),
                found: SharedSlice::dynamic(
                    const { chains::terms_offset::<A, D>(THREADS) as usize },
                    const { most_found::<A, D>() as usize },
                ),
                most_found: const { most_found::<A, D>() },
                laps: SharedSlice::dynamic(laps, const { LAPS as usize }),
            }
        }
    }

    /// Adds the time since the last call to that of part `part` of the block steps. The times are in memory, because the loop over pairs needs
    /// the registers.
    #[inline(always)]
    pub fn lap(&self, own: &Own, part: usize) {
        if own.thread == 0 {
            let (now, last) = (clock(), const { LAPS as usize - 1 });
            // SAFETY: only this thread uses these numbers.
            unsafe {
                let since = now - self.laps.get(last);
                self.laps.set(part, self.laps.get(part) + since);
                self.laps.set(last, now);
            }
        }
    }

    /// Begins to count for [`lap`](Self::lap).
    #[inline(always)]
    pub fn start(&self, own: &Own) {
        if own.thread == 0 {
            each!(const { LAPS as usize }, |k| {
                let value = if k + 1 < LAPS as usize { 0 } else { clock() };
                // SAFETY: only this thread uses these numbers.
                unsafe { self.laps.set(k, value) };
            });
        }
    }

    /// Reads the stars of this block, and when they are due.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires. All threads of the block must call this; a barrier must follow.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn load(&self, job: &Steps, at: &State, own: &Own) {
        let place_of = |star| own.place(&job.force, star);
        // SAFETY: the caller guarantees this; only bodies have records beyond those of stars.
        unsafe {
            self.stars.load(at, own.stars, place_of);
            let mut star = own.thread;
            while star < own.stars {
                let place = place_of(star);
                let mut due = f64::INFINITY;
                if place < job.bodies {
                    let step = *at.rest.add(place as usize * REST_WIDTH);
                    due = step + *at.stars.add(place as usize * const { star_width(P) } + 1);
                }
                self.due.set(star as usize, due);
                star += THREADS;
            }
        }
    }

    /// Announces when the bodies of this block are due next, and their motions at that time, and lists them.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires. All threads of the block must call this, after a barrier.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn announce<const D: usize>(
        &self,
        at: &State,
        own: &Own,
        list: &SharedSlice<u32>,
    ) -> Announcement {
        let (t, lane) = (own.thread, own.thread % 32);
        // SAFETY: the stars have been set before a barrier; whole warps vote; only this block writes to its part of the predicted bodies.
        unsafe {
            let due_at = |star: u32| {
                if star < own.stars {
                    self.due.get(star as usize)
                } else {
                    f64::INFINITY
                }
            };
            // Every warp looks at all stars, so that none waits for another. Several are read before one is used, so that the waits overlap.
            let (mut least, mut first) = (f64::INFINITY, lane);
            while first < own.stars {
                let mut due = [f64::INFINITY; AT_ONCE];
                each!(AT_ONCE, |k| due[k] = due_at(first + 32 * k as u32));
                each!(AT_ONCE, |k| least = lesser(least, due[k]));
                first += const { 32 * AT_ONCE as u32 };
            }
            let time = least_of_warp(least);
            let (mut count, mut first) = (0, 0);
            while first < own.stars {
                // Each group of 32 stars has a warp that lists its bodies; these are adjacent warps for adjacent groups.
                let mine = (t / 32).wrapping_sub(first / 32) % WARPS;
                let (mut votes, mut to) = (0, count);
                each!(AT_ONCE, |k| {
                    let due = due_at(first + 32 * k as u32 + lane);
                    let all = warp_vote_ballot(u32::MAX, time < f64::INFINITY && due == time);
                    to += if (k as u32) < mine {
                        all.count_ones()
                    } else {
                        0
                    };
                    votes = if k as u32 == mine { all } else { votes };
                    count += all.count_ones();
                });
                if votes >> lane & 1 != 0 {
                    let star = first + 32 * mine + lane;
                    let to = to + votes_before(votes, lane);
                    list.set(to as usize, star);
                    let (mass, motion) = self.stars.predicted::<D>(star, time);
                    let to = (own.class * own.stars + to) as usize;
                    put_predicted(at.predicted.add(to * const { width(D) }), mass, &motion);
                }
                first += const { 32 * AT_ONCE as u32 };
            }
            if t == 0 {
                let to = announced(at).add(2 * own.class as usize);
                *to = time;
                *to.add(1) = f64::from_bits(u64::from(count));
            }
            Announcement { time, count }
        }
    }

    /// The time of the next block step and the number of its active bodies, from what all blocks have announced. Sets the first number of each
    /// block, and finds the first [`most_found`] active bodies: where they are among those that are announced.
    ///
    /// # Safety
    /// All threads of the block must call this, after a barrier of the grid.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn agree(&self, at: &State, own: &Own) -> (f64, u32) {
        let (class, warp) = (own.thread, own.thread / 32);
        // SAFETY: the blocks have announced before a barrier; whole warps call it; there is room for all blocks and warps.
        unsafe {
            // Each thread looks at an announcement, and each warp agrees on its own.
            let mut said = Announcement::NONE;
            if class < own.classes {
                let (time, count) = two(announced(at).add(2 * class as usize));
                said = Announcement {
                    time,
                    count: count.to_bits() as u32,
                };
            }
            let least = least_of_warp(said.time);
            let count = if said.time == least { said.count } else { 0 };
            let mut start = sum_before(count);
            let last = warp_shuffle_idx(u32::MAX, start + count, 31, 32).0;
            if own.thread.is_multiple_of(32) {
                let last = f64::from_bits(u64::from(last));
                self.said.set(warp as usize, F2::new(least, last));
            }
            thread::sync_threads();
            let mut of_warp = [F2::new(0.0, 0.0); WARPS as usize];
            each!(const { WARPS as usize }, |k| of_warp[k] = self.said.get(k));
            let mut times = of_warp.map(|one| one.x);
            each!(const { WARPS.ilog2() as usize }, |level| {
                let half = const { WARPS as usize / 2 } >> level;
                each!(const { WARPS as usize / 2 }, |k| if k < half {
                    times[k] = lesser(times[k], times[k + half]);
                });
            });
            let time = times[0];
            start = if least == time { start } else { 0 };
            let mut total = 0;
            each!(
                const { WARPS as usize },
                |k| if of_warp[k].x.to_bits() == time.to_bits() {
                    let count = of_warp[k].y.to_bits() as u32;
                    total += count;
                    start += if (k as u32) < warp { count } else { 0 };
                }
            );
            if class < own.classes {
                self.starts.set(class as usize, start);
            }
            if said.time == time {
                let end = self.most_found.min(start + said.count);
                let mut record = class * own.stars;
                while start < end {
                    self.found.set(start as usize, record as u16);
                    start += 1;
                    record += 1;
                }
            }
            thread::sync_threads();
            (time, total)
        }
    }

    /// Copies the corrected steps of these bodies to the stars in global memory, and counts them.
    ///
    /// # Safety
    /// All threads of the block must call this. The bodies must have been listed and corrected before a barrier, and the block step must be valid.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn settle(&self, job: &Steps, at: &State, own: &Own, corrected: &Corrected) {
        let pairs = const { moved_width(P) as u32 / 2 };
        // The first thread waits for other blocks meanwhile.
        let mut item = const { THREADS - 1 } - own.thread;
        while item < corrected.count * pairs {
            // SAFETY: the body is listed, its place is that of a body of this block, and each number belongs to one thread.
            unsafe {
                let star = corrected.list.get((item / pairs) as usize);
                let place = own.place(&job.force, star) as usize;
                let pair = 2 * (item % pairs) as usize;
                let numbers = two(at.moved.add(place * const { moved_width(P) } + pair));
                let taken = || self.taken.get(star as usize);
                put_moved::<P>(job, at, corrected.time, place, pair, numbers, taken);
            }
            item += THREADS;
        }
    }

    /// Corrects the active body `star` of this block, on which `force` acts.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires, and no other thread may work on the body.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn correct<const D: usize>(
        &self,
        job: &Steps,
        at: &State,
        own: &Own,
        block: &Block,
        star: u32,
        force: &[crate::Vec3<f64>; D],
    ) {
        let place = own.place(&job.force, star);
        // SAFETY: the caller guarantees this.
        unsafe {
            let start = Start::of::<P>(block, place, |k| self.stars.number(star, k));
            let taken = block.time - self.stars.number(star, 1);
            let (motion, step) = correct_body::<P, D, false>(job, at, block, &start, force, true);
            self.taken.set(star as usize, taken);
            self.due.set(star as usize, block.time + step);
            self.stars.set_number(star, 1, block.time);
            let mut n = 0;
            while n < P {
                self.stars.set_number(star, 2 + 3 * n, motion[n].x);
                self.stars.set_number(star, 3 + 3 * n, motion[n].y);
                self.stars.set_number(star, 4 + 3 * n, motion[n].z);
                n += 1;
            }
        }
    }

    /// Lists all active bodies, and predicts all bodies, for the kernel for forces.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires, `list` must have the `count` active bodies of this block, and no thread may read what is
    /// announced any more. All threads of the block must call this.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn begin<const D: usize>(
        &self,
        job: &Steps,
        at: &State,
        own: &Own,
        list: &SharedSlice<u32>,
        count: u32,
        time: f64,
    ) {
        // SAFETY: the places are those of stars of this block, and the numbers those of its active bodies.
        unsafe {
            let mut star = own.thread;
            while star < own.stars {
                let (mass, motion) = self.stars.predicted::<D>(star, time);
                let to = own.place(&job.force, star) as usize * const { width(D) };
                put_predicted(at.predicted.add(to), mass, &motion);
                star += THREADS;
            }
            let first = self.starts.get(own.class as usize);
            let mut k = own.thread;
            while k < count {
                let place = own.place(&job.force, list.get(k as usize));
                *at.active.add((first + k) as usize) = place;
                k += THREADS;
            }
        }
    }
}

/// The announcements of all blocks: a time and a number for each.
#[inline(always)]
fn announced(at: &State) -> *mut f64 {
    at.control.wrapping_add(ANNOUNCED).cast_mut().cast()
}

/// Largest number of active bodies whose forces the blocks compute.
pub(super) const fn most_found<A: Record<D>, const D: usize>() -> u32 {
    (chains::shared_bytes::<A, D>(THREADS) - chains::terms_offset::<A, D>(THREADS)) / 2
}

/// Largest number of stars of all blocks, so that 16 bits have the number of each.
pub const MOST_STARS: u32 = 1 << 16;

/// The bodies of this block that a block step has corrected.
#[derive(Clone, Copy)]
pub(super) struct Corrected {
    pub list: SharedSlice<u32>,
    pub count: u32,
    /// The end of the block step.
    pub time: f64,
}
