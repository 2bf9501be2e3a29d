//! What a block has in shared memory, and what it does with it: it announces its bodies, agrees with the others on the next block step, and
//! corrects its active bodies.

use cuda_std::misc::clock;
use cuda_std::shared::{F2, SharedSlice};
use cuda_std::thread;
use cuda_std::warp::{sync_warp, warp_shuffle_idx, warp_shuffle_xor, warp_vote_ballot};

use super::super::chains::{self, Division, again};
use super::super::correction::{Corrected, Start, correct_body};
use super::super::neighbours::sum_before;
use super::super::problem::{ANNOUNCED, Block, REST_WIDTH, State, Steps, moved_by, moved_width};
use super::super::record::{put_predicted, put_two, two};
use super::super::report::{LENGTHS, count_up};
use super::super::settle::{count_event, put_moved, votes_before};
use super::super::shared_stars::{self, SharedStars};
use super::super::{Launch, Record, ratio, star_width, width};
use super::{MOST_BLOCKS, THREADS};
use crate::number::each;
use crate::physics::hermite::step::halvings;

/// The bytes of dynamic shared memory of each of so many blocks for a system of `sums` partial sums with `terms` bodies each, with `D` forces.
pub const fn shared_bytes<A: Record<D>, const D: usize>(sums: u32, terms: u32, blocks: u32) -> u32 {
    let stars = sums / blocks * terms;
    let of_chains = chains::shared_bytes::<A, D>(THREADS);
    let of_stars = shared_stars::bytes(2 * D, stars);
    of_chains + of_stars + 8 * (2 * stars + 2 + LAPS + 1) + 4 * (2 * stars + blocks)
}

pub(super) const WARPS: u32 = THREADS / 32;

/// Largest number of announcements that a lane looks at.
const MOST_OF_LANE: usize = MOST_BLOCKS as usize / 32;

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

    /// How the forces on so many bodies are divided among the blocks.
    #[inline(always)]
    pub fn division(&self, bodies: u32) -> Division {
        Division {
            parts: self.parts,
            remaining: self.classes,
            bodies,
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
    /// The last step that each star has completed in this launch.
    taken: SharedSlice<f64>,
    /// How many steps each star has completed in this launch.
    completed: SharedSlice<u16>,
    /// How many of these were as long as the last one, without any in between that were not. They are not in the report yet.
    alike: SharedSlice<u16>,
    /// The earliest time at which a body is due that is not announced.
    rest: SharedSlice<f64>,
    /// The stars that are announced.
    pub list: SharedSlice<u32>,
    /// What the blocks have agreed on: a time, and a number as bits.
    said: SharedSlice<F2>,
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
        let laps = said + 16;
        let rest = laps + const { 8 * LAPS as usize };
        let list = rest + 8;
        let starts = list + 4 * stars;
        let completed = starts + 4 * own.classes as usize;
        let alike = completed + 2 * stars;
        // SAFETY: the caller provides this much shared memory.
        unsafe {
            Self {
                folded: SharedSlice::dynamic(0, THREADS as usize),
                stars: SharedStars::dynamic(first, stars),
                due: SharedSlice::dynamic(due, stars),
                taken: SharedSlice::dynamic(due + 8 * stars, stars),
                completed: SharedSlice::dynamic(completed, stars),
                alike: SharedSlice::dynamic(alike, stars),
                rest: SharedSlice::dynamic(rest, 1),
                list: SharedSlice::dynamic(list, stars),
                said: SharedSlice::dynamic(said, 1),
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
                self.completed.set(star as usize, 0);
                self.alike.set(star as usize, 0);
                star += THREADS;
            }
        }
    }

    /// The earliest time at which a body of this block is due, without those that are due at the time `except`.
    ///
    /// # Safety
    /// The stars must have been set before a barrier. Whole warps must call this.
    #[inline(always)]
    pub unsafe fn first_due(&self, own: &Own, except: f64) -> f64 {
        // Several are read before one is used, so that the waits overlap.
        let (mut least, mut first) = (f64::INFINITY, own.thread % 32);
        while first < own.stars {
            let mut due = [f64::INFINITY; AT_ONCE];
            // SAFETY: the caller guarantees this.
            each!(AT_ONCE, |k| due[k] =
                unsafe { self.due_at(own, first + 32 * k as u32) });
            each!(AT_ONCE, |k| if due[k] != except {
                least = lesser(least, due[k]);
            });
            first += const { 32 * AT_ONCE as u32 };
        }
        // SAFETY: whole warps call it.
        unsafe { least_of_warp(least) }
    }

    /// When a star is due; never if there is no such star.
    ///
    /// # Safety
    /// The stars must have been set before a barrier.
    #[inline(always)]
    unsafe fn due_at(&self, own: &Own, star: u32) -> f64 {
        if star < own.stars {
            // SAFETY: the caller guarantees this.
            unsafe { self.due.get(star as usize) }
        } else {
            f64::INFINITY
        }
    }

    /// Announces when the bodies of this block are due next, and their motions at that time, and lists them. Returns that time. `corrected` is a
    /// star that this lane has corrected, and when it is due; `rest` is the earliest time at which any other body is due.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires. One warp of the block must call this. All other stars must have been set before a barrier.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn announce<const D: usize>(
        &self,
        at: &State,
        own: &Own,
        corrected: (u32, f64),
        rest: f64,
    ) -> f64 {
        let lane = own.thread % 32;
        // SAFETY: the whole warp calls it; the caller guarantees the rest. Only this block writes to its part of the predicted bodies.
        unsafe {
            let time = lesser(least_of_warp(corrected.1), rest);
            let are_all_corrected = time < rest;
            let end = if are_all_corrected { 32 } else { own.stars };
            // The lanes read what others have set.
            sync_warp(u32::MAX);
            let (mut count, mut first) = (0, 0);
            while first < end {
                let (star, due) = if are_all_corrected {
                    corrected
                } else {
                    (first + lane, self.due_at(own, first + lane))
                };
                let votes = warp_vote_ballot(u32::MAX, time < f64::INFINITY && due == time);
                if votes >> lane & 1 != 0 {
                    let to = count + votes_before(votes, lane);
                    self.list.set(to as usize, star);
                    let (mass, motion) = self.stars.predicted::<D>(star, time);
                    let to = (own.class * own.stars + to) as usize;
                    put_predicted(at.predicted.add(to * const { width(D) }), mass, &motion);
                }
                count += votes.count_ones();
                first += 32;
            }
            if lane == 0 {
                let to = announced(at).add(2 * own.class as usize);
                put_two(to, time, f64::from_bits(u64::from(count)));
            }
            time
        }
    }

    /// The numbers of the active bodies of a block, if there are `total` in all: the first, and the one after the last.
    ///
    /// # Safety
    /// The first number of each block must have been set before a barrier.
    #[inline(always)]
    unsafe fn active_of(&self, class: u32, own: &Own, total: u32) -> (u32, u32) {
        let next = class + 1;
        // SAFETY: there is a number for each block.
        unsafe {
            let end = if next < own.classes {
                self.starts.get(next as usize)
            } else {
                total
            };
            (self.starts.get(class as usize), end)
        }
    }

    /// Number of active bodies of this block, if there are `total` in all.
    ///
    /// # Safety
    /// All threads of the block must have called [`agree`](Self::agree), which returns `total`.
    #[inline(always)]
    pub unsafe fn active(&self, own: &Own, total: u32) -> u32 {
        // SAFETY: the caller guarantees this.
        let (first, end) = unsafe { self.active_of(own.class, own, total) };
        end - first
    }

    /// The time of the next block step and the number of its active bodies, from what all blocks have announced. Sets the first number of each
    /// block, and finds the first [`most_found`] active bodies: where they are among those that are announced. One warp does this alone: if all
    /// warps shared it, they would have to agree as well.
    ///
    /// # Safety
    /// All threads of the block must call this, after a barrier of the grid.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn agree(&self, at: &State, own: &Own) -> (f64, u32) {
        // SAFETY: the blocks have announced before a barrier; the first warp as a whole calls it; there is room for all blocks.
        unsafe {
            if own.thread < 32 {
                // Each lane looks at the announcements of adjacent blocks.
                let each = own.classes.div_ceil(32);
                let first = own.thread * each;
                let mut said = [Announcement::NONE; MOST_OF_LANE];
                each!(MOST_OF_LANE, |k| {
                    let class = first + k as u32;
                    if (k as u32) < each && class < own.classes {
                        let (time, count) = two(announced(at).add(2 * class as usize));
                        said[k] = Announcement {
                            time,
                            count: count.to_bits() as u32,
                        };
                    }
                });
                let mut least = f64::INFINITY;
                each!(MOST_OF_LANE, |k| least = lesser(least, said[k].time));
                let time = least_of_warp(least);
                let mut own_count = 0;
                each!(MOST_OF_LANE, |k| {
                    if said[k].time != time {
                        said[k].count = 0;
                    }
                    own_count += said[k].count;
                });
                let mut start = sum_before(own_count);
                each!(MOST_OF_LANE, |k| {
                    let class = first + k as u32;
                    if (k as u32) < each && class < own.classes {
                        self.starts.set(class as usize, start);
                    }
                    start += said[k].count;
                });
                let total = warp_shuffle_idx(u32::MAX, start, 31, 32).0;
                if own.thread == 0 {
                    let total = f64::from_bits(u64::from(total));
                    self.said.set(0, F2::new(time, total));
                }
            }
            thread::sync_threads();
            let agreed = self.said.get(0);
            let (time, total) = (agreed.x, agreed.y.to_bits() as u32);
            if own.thread < own.classes {
                let (mut at, end) = self.active_of(own.thread, own, total);
                let mut record = own.thread * own.stars;
                while at < end.min(self.most_found) {
                    self.found.set(at as usize, record as u16);
                    at += 1;
                    record += 1;
                }
            }
            thread::sync_threads();
            (time, total)
        }
    }

    /// Copies the last step that each star has completed to the stars in global memory. Those that end at the time `invalid` do not count: the
    /// steps before them are copied.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires. All threads of the block must call this, after a barrier that follows the corrections.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn settle(&self, job: &Steps, at: &State, own: &Own, invalid: f64) {
        let moved = |star: u32, completed: u32| {
            let of_step = moved_by::<P, true>(job, at.moved, u64::from(completed));
            of_step.wrapping_add(own.place(&job.force, star) as usize * const { moved_width(P) })
        };
        // SAFETY: the stars have been set; each star belongs to one thread, then each pair of numbers. Only bodies complete steps. Whole warps count.
        unsafe {
            let mut first = own.thread & !31;
            while first < own.stars {
                let star = first + own.thread % 32;
                let (mut level, mut alike) = (0, 0);
                if star < own.stars {
                    let completed = self.completed.get(star as usize);
                    if completed > 0 {
                        let taken = self.taken.get(star as usize);
                        let time = self.stars.number(star, 1);
                        level = halvings(job.longest, taken);
                        alike = u32::from(self.alike.get(star as usize));
                        if time == invalid {
                            let event = *moved(star, u32::from(completed)).add(1);
                            count_event(at, event, u64::MAX);
                            alike -= 1;
                            self.stars.set_number(star, 1, time - taken);
                            self.completed.set(star as usize, completed - 1);
                        }
                    }
                }
                count_lengths(at, level, alike);
                first += THREADS;
            }
            thread::sync_threads();
            let pairs = const { moved_width(P) as u32 / 2 };
            let mut item = own.thread;
            while item < own.stars * pairs {
                let (star, pair) = (item / pairs, 2 * (item % pairs) as usize);
                let completed = u32::from(self.completed.get(star as usize));
                if completed > 0 {
                    let numbers = two(moved(star, completed).add(pair));
                    let place = own.place(&job.force, star) as usize;
                    put_moved::<P>(at, self.stars.number(star, 1), place, pair, numbers);
                }
                item += THREADS;
            }
        }
    }

    /// Notes when the first body is due of those that are not due at `time`, which is announced.
    ///
    /// # Safety
    /// The stars must have been set before a barrier. One warp must call this.
    #[inline(always)]
    pub unsafe fn note_rest(&self, own: &Own, time: f64) {
        // SAFETY: the whole warp calls it, and one lane sets the number.
        unsafe {
            let rest = self.first_due(own, time);
            if own.thread.is_multiple_of(32) {
                self.rest.set(0, rest);
            }
        }
    }

    /// What [`note_rest`](Self::note_rest) has noted.
    ///
    /// # Safety
    /// It must have been noted before a barrier.
    #[inline(always)]
    pub unsafe fn rest(&self) -> f64 {
        // SAFETY: the caller guarantees this.
        unsafe { self.rest.get(0) }
    }

    /// Corrects the active body `star` of this block, on which `force` acts, and counts the step. Returns when it is due next. Even
    /// and odd steps of a body have memory of their own, so that the step before is still there if this one turns out not to be valid.
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
    ) -> f64 {
        let place = own.place(&job.force, star);
        // SAFETY: the caller guarantees this.
        unsafe {
            let start = Start::of::<P>(block, place, |k| self.stars.number(star, k));
            let taken = block.time - self.stars.number(star, 1);
            let completed = self.completed.get(star as usize) + 1;
            let at = &State {
                moved: moved_by::<P, true>(job, at.moved, u64::from(completed)),
                ..*at
            };
            let Corrected {
                motion,
                step,
                event,
            } = correct_body::<P, D, false>(job, at, block, &start, force, true);
            count_event(at, event, 1);
            // Steps alike are counted together: many threads that add to the same number wait for each other.
            let (last, mut alike) = (self.taken.get(star as usize), self.alike.get(star as usize));
            if alike > 0 && last != taken {
                let level = halvings(job.longest, last);
                count_up(at.report, LENGTHS + level as usize, u64::from(alike));
                alike = 0;
            }
            self.alike.set(star as usize, alike + 1);
            self.taken.set(star as usize, taken);
            self.completed.set(star as usize, completed);
            let due = block.time + step;
            self.due.set(star as usize, due);
            self.stars.set_number(star, 1, block.time);
            let mut n = 0;
            while n < P {
                self.stars.set_number(star, 2 + 3 * n, motion[n].x);
                self.stars.set_number(star, 3 + 3 * n, motion[n].y);
                self.stars.set_number(star, 4 + 3 * n, motion[n].z);
                n += 1;
            }
            due
        }
    }

    /// Lists all active bodies, and predicts all bodies, for the kernel for forces.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] requires, the `count` active bodies of this block must be listed, and no thread may read what is
    /// announced any more. All threads of the block must call this.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn begin<const D: usize>(
        &self,
        job: &Steps,
        at: &State,
        own: &Own,
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
                let place = own.place(&job.force, self.list.get(k as usize));
                *at.active.add((first + k) as usize) = place;
                k += THREADS;
            }
        }
    }
}

/// Counts `number` steps of the length number `level` for each lane.
///
/// # Safety
/// The report must be valid, and levels below LEVELS. Whole warps must call this.
#[inline(always)]
unsafe fn count_lengths(at: &State, level: u32, number: u32) {
    // SAFETY: whole warps call it; the caller guarantees the rest.
    unsafe {
        let mut left = warp_vote_ballot(u32::MAX, number > 0);
        while left != 0 {
            let of_first = warp_shuffle_idx(u32::MAX, level, left.trailing_zeros(), 32).0;
            let is_same = number > 0 && level == of_first;
            left &= !warp_vote_ballot(u32::MAX, is_same);
            let number = if is_same { number } else { 0 };
            let before = sum_before(number);
            if thread::thread_idx_x() % 32 == 31 {
                let sum = u64::from(before + number);
                count_up(at.report, LENGTHS + of_first as usize, sum);
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
