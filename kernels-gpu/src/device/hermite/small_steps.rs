//! Whole block steps of small systems: every block of the grid has all stars in its shared memory.
//!
//! Each block finds the time of the next block step and the active bodies by itself, predicts all stars, computes the forces on its
//! share of the active bodies, and corrects these. The grid waits once in a block step; then each block takes over what the others have
//! corrected. A block may therefore be a step ahead of another one that still reads the results of the last one, so that results of even
//! and of odd block steps have memory of their own.
//!
//! A partial sum belongs to several threads, each of which predicts up to four of its source bodies and computes their terms. The
//! threads add these up one after another, because a sum has a fixed order.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::misc::clock;
use cuda_std::shared::SharedSlice;
use cuda_std::warp::{warp_shuffle_xor, warp_vote_ballot};
use cuda_std::{GridBarrier, thread};

use super::correction::{Start, correct_body};
use super::problem::{Block, REST_WIDTH, STOPPED, State, Steps, moved_width};
use super::record::{two, vectors_of};
use super::report::{ACTIVE, AT_END, FOR_HOST, count_up, tell};
use super::settle::{count_step, put_moved, votes_before};
use super::shared_stars::{self, SharedStars};
use super::{Launch, Record, fold, ratio, star_width};
use crate::Vec3;
use crate::number::each;
use crate::physics::hermite::step::{halved, halvings};

/// Number of source bodies of a thread.
const AT_ONCE: usize = 4;

/// Largest number of threads of a block.
pub const MOST_THREADS: u32 = 256;

/// Number of bodies whose forces a block keeps until it corrects them together.
const MOST_FORCES: u32 = 8;

/// Number of pairs of numbers that a thread reads at a time when it takes over corrected motions.
const PAIRS_AT_ONCE: usize = 8;

/// Room for the numbers that the warps of a block tell each other, two from each.
const TOLD: usize = 2 * (MOST_THREADS / 32) as usize;

/// The number of threads of a block for a system of `sums` partial sums with `terms` bodies each; if it is above [`MOST_THREADS`], the
/// system is not small.
pub const fn threads(sums: u32, terms: u32) -> u32 {
    (sums * terms.div_ceil(AT_ONCE as u32)).next_multiple_of(32)
}

/// The bytes of dynamic shared memory for a system of `sums` partial sums with `terms` bodies each, at order `p`.
pub const fn shared_bytes(p: usize, sums: u32, terms: u32) -> u32 {
    let values = 3 * (p as u32 / 2);
    let of_sums = sum_width(p / 2) as u32 * sums;
    let numbers = of_sums + values * (MOST_FORCES + 1);
    shared_stars::bytes(p, sums * terms) + 8 * numbers + 4 * (sums * terms + TOLD as u32)
}

/// Room for a sum of `d` vectors. This is odd, so that the same number of sums side by side is in different banks.
const fn sum_width(d: usize) -> usize {
    3 * d + (d + 1) % 2
}

/// The shared memory of a block.
struct Memory<A: Record<D>, const P: usize, const D: usize> {
    stars: SharedStars<P>,
    /// Partial sums of the force on a body: in the form of a sum while threads add to them, then in `f64`.
    sums: SharedSlice<A::Number>,
    totals: SharedSlice<f64>,
    /// Forces on up to [`MOST_FORCES`] bodies.
    forces: SharedSlice<f64>,
    /// The predicted motion of the first of these bodies in a block step.
    first: SharedSlice<f64>,
    /// Places of the active bodies.
    active: SharedSlice<u32>,
    /// What each warp says: the shortest of its steps, then its number of active bodies.
    told: SharedSlice<u32>,
}

/// Masses and predicted motions of the source bodies of a thread.
type Sources<const D: usize> = [(f64, [Vec3<f64>; D]); AT_ONCE];

/// The part of a thread.
#[derive(Clone, Copy)]
struct Part {
    /// The partial sum.
    sum: u32,
    /// Which of the threads of this partial sum it is, and their number. Threads without source bodies have numbers beyond.
    member: u32,
    members: u32,
}

impl Part {
    #[inline(always)]
    fn of(force: &Launch) -> Self {
        let t = thread::thread_idx_x();
        Self {
            sum: t & (force.sums - 1),
            member: ratio(t, force.sums),
            members: force.terms.div_ceil(AT_ONCE as u32),
        }
    }

    /// The place of source body `k` of this thread, and whether there is one.
    #[inline(always)]
    fn place(&self, force: &Launch, k: usize) -> (u32, bool) {
        let term = AT_ONCE as u32 * self.member + k as u32;
        let place = self.sum + force.sums * term.min(force.terms - 1);
        (place, term < force.terms)
    }
}

impl<A: Record<D>, const P: usize, const D: usize> Memory<A, P, D> {
    /// # Safety
    /// The launch must provide [`shared_bytes`].
    #[inline(always)]
    unsafe fn of(force: &Launch) -> Self {
        let places = (force.sums * force.terms) as usize;
        let of_stars = shared_stars::bytes(P, places as u32) as usize;
        let of_sums = const { sum_width(D) } * force.sums as usize;
        let forces = of_stars + 8 * of_sums;
        let first = forces + const { 8 * 3 * D * MOST_FORCES as usize };
        let active = first + const { 8 * 3 * D };
        // SAFETY: the caller provides this much shared memory.
        unsafe {
            Self {
                stars: SharedStars::dynamic(0, places),
                sums: SharedSlice::dynamic(of_stars, 8 * of_sums / size_of::<A::Number>()),
                totals: SharedSlice::dynamic(of_stars, of_sums),
                forces: SharedSlice::dynamic(forces, const { 3 * D * MOST_FORCES as usize }),
                first: SharedSlice::dynamic(first, const { 3 * D }),
                active: SharedSlice::dynamic(active, places),
                told: SharedSlice::dynamic(active + 4 * places, TOLD),
            }
        }
    }

    /// The sources of a thread at `time`.
    ///
    /// # Safety
    /// `part` must be that of this thread.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn sources(&self, force: &Launch, part: &Part, time: f64) -> Sources<D> {
        // SAFETY: the places are those of stars.
        let source = |k| unsafe { self.stars.predicted(part.place(force, k).0, time) };
        [source(0), source(1), source(2), source(3)]
    }

    /// The highest level of all bodies, which is that of the shortest step.
    ///
    /// # Safety
    /// All threads of the block must call this; there must be a barrier between two calls.
    #[inline(always)]
    unsafe fn largest(&self, levels: [u32; AT_ONCE]) -> u32 {
        let mut most = 0;
        each!(AT_ONCE, |k| most = levels[k].max(most));
        let mut lanes = 16;
        while lanes > 0 {
            // SAFETY: whole warps call it.
            most = most.max(unsafe { warp_shuffle_xor(u32::MAX, most, lanes, 32) }.0);
            lanes /= 2;
        }
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        if lane == 0 {
            // SAFETY: there is room for each warp, and a barrier follows.
            unsafe { self.told.set(warp as usize, most) };
        }
        thread::sync_threads();
        let mut warp = 0;
        while warp < thread::block_dim_x() / 32 {
            // SAFETY: each warp has set its number before the barrier.
            most = most.max(unsafe { self.told.get(warp as usize) });
            warp += 1;
        }
        most
    }

    /// Tells the other warps how many source bodies of this one are active.
    ///
    /// # Safety
    /// Whole warps must call this; a barrier must follow.
    #[inline(always)]
    unsafe fn tell_active(&self, votes: &[u32; AT_ONCE]) {
        let mut count = 0;
        each!(AT_ONCE, |k| count += votes[k].count_ones());
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        if lane == 0 {
            // SAFETY: there is room for each warp.
            unsafe { self.told.set(TOLD / 2 + warp as usize, count) };
        }
    }

    /// Lists the active bodies, in the same order in all blocks, and keeps the motion of this block's first one, which is a source of one
    /// of the threads. Returns the number of active bodies.
    ///
    /// # Safety
    /// All threads of the block must call this with their votes, after a barrier that follows [`tell_active`](Self::tell_active). A barrier must
    /// follow.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn list(
        &self,
        force: &Launch,
        part: &Part,
        votes: &[u32; AT_ONCE],
        sources: &Sources<D>,
    ) -> u32 {
        let (own, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let (mut first, mut total, mut warp) = (0, 0, 0);
        while warp < thread::block_dim_x() / 32 {
            // SAFETY: each warp has set its number before the barrier.
            let count = unsafe { self.told.get(TOLD / 2 + warp as usize) };
            first += if warp < own { count } else { 0 };
            total += count;
            warp += 1;
        }
        let mut list = |k: usize| {
            if votes[k] >> lane & 1 != 0 {
                let to = first + votes_before(votes[k], lane);
                // SAFETY: there is room for all bodies, and each has a place of its own; only one is the first one.
                unsafe {
                    self.active.set(to as usize, part.place(force, k).0);
                    if to == thread::block_idx_x() {
                        let motion = sources[k].1;
                        each!(D, |d| {
                            self.first.set(3 * d, motion[d].x);
                            self.first.set(3 * d + 1, motion[d].y);
                            self.first.set(3 * d + 2, motion[d].z);
                        });
                    }
                }
            }
            first += votes[k].count_ones();
        };
        each!(AT_ONCE, |k| list(k));
        total
    }

    /// Computes the force on `body`, and keeps it as number `slot`.
    ///
    /// # Safety
    /// All threads of the block must call this with the same body; `slot` must be below [`MOST_FORCES`]. It ends with a barrier.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn pull(
        &self,
        force: &Launch,
        part: &Part,
        sources: &Sources<D>,
        body: &A::Body,
        slot: u32,
    ) {
        let source = |k: usize| A::of(sources[k].0, &sources[k].1);
        let s = [source(0), source(1), source(2), source(3)];
        let (all, _) = A::terms_of(
            [body; AT_ONCE],
            [&s[0].1, &s[1].1, &s[2].1, &s[3].1],
            [s[0].0, s[1].0, s[2].0, s[3].0],
            A::number(force.softening2),
        );
        let first = part.sum as usize * const { sum_width(D) };
        let in_sums = first * const { 8 / size_of::<A::Number>() };
        let mut member = 0;
        while member < part.members {
            if member == part.member {
                // SAFETY: the sum is below their number; the previous member has set it before a barrier.
                unsafe {
                    let mut total = A::zero();
                    if member > 0 {
                        total = A::sum_of(|k| self.sums.get(in_sums + k));
                    }
                    each!(AT_ONCE, |k| if part.place(force, k).1 {
                        A::add(all[k].0, &all[k].1, &mut total);
                    });
                    if member + 1 < part.members {
                        A::each_number(&total, |k, value| self.sums.set(in_sums + k, value));
                    } else {
                        let totals = A::totals(&total);
                        each!(D, |d| {
                            self.totals.set(first + 3 * d, totals[d].x);
                            self.totals.set(first + 3 * d + 1, totals[d].y);
                            self.totals.set(first + 3 * d + 2, totals[d].z);
                        });
                    }
                }
            }
            thread::sync_threads();
            member += 1;
        }
        let values = const { 3 * D as u32 };
        // SAFETY: all sums have been set before the barrier; there is room for the force.
        unsafe {
            fold::by_warps::<2, _>(
                |value| {
                    move |sum| {
                        let at = sum as usize * const { sum_width(D) } + value as usize;
                        self.totals.get(at)
                    }
                },
                values,
                force.sums,
                |value, total| self.forces.set((slot * values + value) as usize, total),
            );
        }
        thread::sync_threads();
    }

    /// Takes over the corrected motions of `count` active bodies; `threads` threads share this, of which this one is number `thread`.
    ///
    /// # Safety
    /// The bodies must be listed and corrected, and barriers must separate this from other accesses to the stars.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn take_over(&self, moved: *const f64, count: u32, thread: u32, threads: u32) {
        let pairs = const { 3 * P as u32 / 2 };
        let items = count * pairs;
        let mut first = thread;
        while first < items {
            // SAFETY: the item is one of a listed body, whose record has these numbers.
            let read = |k: usize| unsafe {
                let item = (first + k as u32 * threads).min(items - 1);
                let place = self.active.get((item / pairs) as usize);
                let pair = 2 + 2 * (item % pairs) as usize;
                let from = moved.add(place as usize * const { moved_width(P) } + pair);
                (place, pair, two(from))
            };
            // All are read before one is written, so that the waits for memory overlap.
            let mut items_read = [read(0); PAIRS_AT_ONCE];
            each!(4, |k| if k > 0 {
                items_read[k] = read(k);
            });
            if first + 4 * threads < items {
                each!(PAIRS_AT_ONCE, |k| if k >= 4 {
                    items_read[k] = read(k);
                });
            }
            each!(PAIRS_AT_ONCE, |k| if first + (k as u32) * threads < items {
                let (place, pair, (a, b)) = items_read[k];
                // SAFETY: each item belongs to one thread.
                unsafe {
                    self.stars.set_number(place, pair, a);
                    self.stars.set_number(place, pair + 1, b);
                }
            });
            first += PAIRS_AT_ONCE as u32 * threads;
        }
    }

    /// Copies the corrected steps of this block's active bodies to the stars in global memory, and counts them. A warp does this.
    ///
    /// # Safety
    /// The same as for [`take_over`](Self::take_over); the pointers must be valid as [`State`] requires.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn settle(&self, job: &Steps, at: &State, block: &Block, count: u32) {
        let (first, grid) = (thread::block_idx_x(), thread::grid_dim_x());
        if first >= count {
            return;
        }
        let pairs = const { moved_width(P) as u32 / 2 };
        let items = pairs * (count - first).div_ceil(grid);
        let mut item = thread::thread_idx_x() % 32;
        while item < items {
            let pair = 2 * (item % pairs) as usize;
            // SAFETY: the place is that of a listed body; only this block changes its records, and each number belongs to one thread.
            unsafe {
                let place = self.active.get((first + item / pairs * grid) as usize) as usize;
                let numbers = two(at.moved.add(place * const { moved_width(P) } + pair));
                if pair == 0 {
                    let taken = block.time - *at.stars.add(place * const { star_width(P) } + 1);
                    count_step(job, at, taken, numbers.1);
                }
                put_moved::<P>(at, block.time, place, pair, numbers);
            }
            item += 32;
        }
    }
}

/// Takes block steps of a system that is small enough, as [`steps`](super::steps::steps) does.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and nothing else may use their memory; `moved` must have the records of even and of odd
/// block steps. Blocks must have [`threads`] threads, at most [`MOST_THREADS`], and [`shared_bytes`] of shared memory. There must be one device
/// and one iteration, and no block that has begun. All blocks of the grid must be resident at the same time, and all threads must call this.
#[inline(always)]
pub unsafe fn small_steps<A: Record<D>, const P: usize, const D: usize>(job: &Steps, at: &State) {
    const { assert!(P == 2 * D, "order P has P / 2 forces") };
    let mut barrier = GridBarrier::new(at.control);
    let force = job.force;
    let part = Part::of(&force);
    let (t, grid) = (thread::thread_idx_x(), thread::grid_dim_x());
    let warps = thread::block_dim_x() / 32;
    let leader = thread::index_1d() == 0;
    // SAFETY: the caller guarantees the memory.
    let memory = unsafe { Memory::<A, P, D>::of(&force) };
    // SAFETY: a barrier follows before the stars are used.
    unsafe {
        memory
            .stars
            .load(at, force.sums * force.terms, |place| place)
    };
    // Whether this thread has a body as each of its sources, and the level of its step.
    let (mut is_body, mut levels) = ([false; AT_ONCE], [0; AT_ONCE]);
    each!(AT_ONCE, |k| {
        let (place, exists) = part.place(&force, k);
        is_body[k] = exists && place < job.bodies;
        if is_body[k] {
            // SAFETY: the place is that of a body.
            let step = unsafe { *at.rest.add(place as usize * REST_WIDTH) };
            levels[k] = halvings(job.longest, step);
        }
    });
    let (mut time, mut number, mut taken, mut pairs, mut ended) = (job.time, 0, 0, 0, 0);
    let mut cycles = [0; 3];
    loop {
        let begin = clock();
        // SAFETY: all threads of the block call it. Its barrier also separates what was taken over from its use.
        let next = time + halved(job.longest, unsafe { memory.largest(levels) });
        if next > job.end {
            ended = AT_END;
            break;
        }
        if number >= job.most_blocks || pairs >= job.most_pairs {
            break;
        }
        let block = Block {
            before: time,
            time: next,
            number,
        };
        let at = &at.of_parity::<P>(job, number);
        let (mut votes, mut due) = ([0; AT_ONCE], [false; AT_ONCE]);
        each!(AT_ONCE, |k| {
            // SAFETY: the place is that of a star; whole warps vote.
            unsafe {
                let started = memory.stars.number(part.place(&force, k).0, 1);
                due[k] = is_body[k] && started + halved(job.longest, levels[k]) == next;
                votes[k] = warp_vote_ballot(u32::MAX, due[k]);
            }
        });
        // SAFETY: whole warps call it; the places are those of stars; all threads list their bodies between two barriers.
        let (sources, total) = unsafe {
            memory.tell_active(&votes);
            let sources = memory.sources(&force, &part, next);
            thread::sync_threads();
            let total = memory.list(&force, &part, &votes, &sources);
            (sources, total)
        };
        thread::sync_threads();
        let listed = clock();
        let mut correcting = 0;
        let mut at_body = thread::block_idx_x();
        if at_body < total {
            // SAFETY: the list has kept the motion before the barrier.
            let mut motion = unsafe { vectors_of::<D>(|k| memory.first.get(k)) };
            let mut slot = 0;
            loop {
                // SAFETY: the body is the same for all threads of the block.
                unsafe { memory.pull(&force, &part, &sources, &A::of(0.0, &motion).1, slot) };
                slot += 1;
                at_body += grid;
                if slot == MOST_FORCES || at_body >= total {
                    let begin = clock();
                    if t < slot {
                        let at_place = at_body - (slot - t) * grid;
                        // SAFETY: the force has been set before a barrier, and only this thread works on the body.
                        unsafe {
                            let place = memory.active.get(at_place as usize);
                            let start =
                                Start::of::<P>(&block, place, |k| memory.stars.number(place, k));
                            let at_force = (t * const { 3 * D as u32 }) as usize;
                            let force = vectors_of::<D>(|k| memory.forces.get(at_force + k));
                            correct_body::<P, D, false>(job, at, &block, &start, &force, true);
                        }
                    }
                    correcting += clock() - begin;
                    slot = 0;
                }
                if at_body >= total {
                    break;
                }
                // SAFETY: the next body is listed.
                unsafe {
                    let place = memory.active.get(at_body as usize);
                    motion = memory.stars.predicted(place, next).1;
                }
            }
        }
        // SAFETY: all threads of the grid call it.
        let stopped = unsafe {
            barrier.wait();
            (*at.control.add(STOPPED)).load(Relaxed)
        };
        // One warp settles the block's own bodies while the others take over all bodies.
        // SAFETY: all blocks have corrected their bodies before the barrier. The shared memory is not used any more if the block step is
        // not valid.
        unsafe {
            if warps == 1 {
                memory.take_over(at.moved, total, t, 32);
            } else if t < 32 * (warps - 1) {
                memory.take_over(at.moved, total, t, 32 * (warps - 1));
            }
            each!(AT_ONCE, |k| if due[k] {
                let (place, _) = part.place(&force, k);
                let step = *at.moved.add(place as usize * const { moved_width(P) });
                levels[k] = halvings(job.longest, step);
                memory.stars.set_number(place, 1, next);
            });
        }
        cycles[0] += listed - begin;
        cycles[1] += clock() - listed - correcting;
        cycles[2] += correcting;
        if stopped != 0 {
            ended = FOR_HOST;
            break;
        }
        if t >= 32 * (warps - 1) {
            // SAFETY: the block step is valid.
            unsafe { memory.settle(job, at, &block, total) };
        }
        if leader {
            // SAFETY: the logarithm is below 32.
            unsafe { count_up(at.report, ACTIVE + total.ilog2() as usize, 1) };
        }
        time = next;
        number += 1;
        taken += total as u64;
        pairs += total as u64 * job.bodies as u64;
    }
    if leader {
        // SAFETY: the report is valid.
        unsafe { tell(at.report, time, number, taken, ended, &cycles) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::summation::partial_sums::{partial_sums, terms};

    #[test]
    fn systems_of_up_to_1024_bodies_fit_into_a_block_of_compute_capability_9() {
        for n in 1..=1024 {
            let (sums, terms) = (partial_sums(n) as u32, terms(n) as u32);
            let threads = threads(sums, terms);
            assert!(threads <= MOST_THREADS, "{n}: {threads} threads");
            for p in [4, 6, 8] {
                let bytes = shared_bytes(p, sums, terms);
                assert!(bytes <= 227 << 10, "{n}, order {p}: {bytes} bytes");
            }
        }
        let (sums, terms) = (partial_sums(1025) as u32, terms(1025) as u32);
        assert!(threads(sums, terms) > MOST_THREADS);
    }

    #[test]
    fn each_body_is_a_source_of_one_thread() {
        for n in [1, 3, 100, 511, 1000, 1024] {
            let force = Launch {
                softening2: 0.0,
                sums: partial_sums(n) as u32,
                terms: terms(n) as u32,
                count: 0,
                first: 0,
                stride: 1,
            };
            let mut found = vec![0; (force.sums * force.terms) as usize];
            for t in 0..threads(force.sums, force.terms) {
                let part = Part {
                    sum: t % force.sums,
                    member: t / force.sums,
                    members: force.terms.div_ceil(AT_ONCE as u32),
                };
                for k in 0..AT_ONCE {
                    if let (place, true) = part.place(&force, k) {
                        found[place as usize] += 1;
                    }
                }
            }
            assert!(found.iter().all(|n| *n == 1), "{n}: {found:?}");
        }
    }
}
