//! Forces on active bodies, with the partial sums distributed over the blocks.
//!
//! A chain is a partial sum of the force on one active body. A block has the source bodies of a few partial sums in shared memory and
//! computes the chains of all its bodies with them, one set after another. A thread has a chain of each of two bodies, and computes their
//! terms for two source bodies at a time. If the bodies that are left are so few that threads would have nothing to do, each chain gets
//! a team of threads: its terms must be added one after another, but can be computed at the same time. One thread of the team adds up
//! what the others hand to it.

use core::mem::size_of;

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::{Launch, Record, fold, ratio, width};
use crate::Vec3;

/// Largest number of partial sums of a block, which a thread can fold for each value.
const MOST_PARTS: u32 = 16;

/// Largest number of sums of each body that are left for [`fold`](mod@fold).
pub const MOST_REMAINING: u32 = 256;

/// Number of source bodies in shared memory, for each thread of a block.
const TILE_BODIES: u32 = 2;

/// The bytes of dynamic shared memory: the source bodies, and two terms or two folded sums for each thread.
pub const fn shared_bytes<A: Record<D>, const D: usize>(threads: u32) -> u32 {
    let terms = (1 + 3 * D) * size_of::<A::Number>();
    let sums = 3 * D * size_of::<f64>();
    let each = if terms > sums { terms } else { sums };
    threads * (TILE_BODIES * 16 * A::WORDS as u32 + 2 * each as u32)
}

/// How the work is divided among the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// Number of partial sums of a block, a power of two.
    parts: u32,
    /// Number of sums that remain for each body, a power of two: one for each class of partial sums.
    pub remaining: u32,
    /// Number of bodies of a block.
    bodies: u32,
}

impl Division {
    /// The division of the forces on `launch.count` bodies among `blocks` blocks of `threads` threads, such that each block has work, or as
    /// many as possible.
    #[inline(always)]
    pub fn among(launch: &Launch, threads: u32, blocks: u32) -> Self {
        let most = if blocks < MOST_REMAINING {
            blocks
        } else {
            MOST_REMAINING
        };
        let (mut parts, mut remaining) = (1, launch.parts());
        while remaining > most && parts < MOST_PARTS {
            parts *= 2;
            remaining /= 2;
        }
        // With so many bodies that each thread has two anyway, fewer classes leave fewer sums to write and to fold.
        let each_has_two =
            launch.count as u64 * launch.parts() as u64 >= 2 * threads as u64 * blocks as u64;
        while each_has_two
            && parts < MOST_PARTS
            && remaining > 1
            && 2 * parts * launch.terms <= TILE_BODIES * threads
        {
            parts *= 2;
            remaining /= 2;
        }
        // Blocks that would be left share the bodies of a class.
        let (mut groups, mut needed) = (0, 0);
        while needed + remaining <= blocks || groups == 0 {
            groups += 1;
            needed += remaining;
        }
        Self {
            parts,
            remaining,
            bodies: launch.count.div_ceil(groups),
        }
    }

    /// Number of units of work, each for a block.
    #[inline(always)]
    pub fn units(&self, count: u32) -> u32 {
        self.remaining * count.div_ceil(self.bodies)
    }
}

/// A block's share of the work.
struct Share<'a, A: Record<D>, const D: usize> {
    launch: &'a Launch,
    division: &'a Division,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
    /// The class of its partial sums, which are the numbers class + remaining · k.
    class: u32,
    tile: SharedSlice<A::Word>,
    /// Two terms for each thread.
    terms: SharedSlice<A::Number>,
    /// Two sums for each thread, in the same memory.
    sums: SharedSlice<f64>,
}

/// Computes the sums of number `unit` of a [`Division`], and writes them to `partial[(component · remaining + class) · count + body]`.
///
/// # Safety
/// `predicted` must be valid for sums · terms records, `places` for `count` numbers less than that, and `partial` for 3D · remaining ·
/// count numbers. The dynamic shared memory must have [`shared_bytes`]. All threads of the block must call this with the same unit, less
/// than [`Division::units`]. It ends with a barrier, so that the next call may follow.
#[inline(always)]
pub(super) unsafe fn pull_unit<A: Record<D>, const D: usize>(
    launch: &Launch,
    division: &Division,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
    unit: u32,
) {
    let threads = thread::block_dim_x();
    let tile_words = A::WORDS * (TILE_BODIES * threads) as usize;
    let room = 2 * threads as usize;
    // SAFETY: the caller provides this much shared memory.
    let share = unsafe {
        Share::<A, D> {
            launch,
            division,
            predicted,
            places,
            partial,
            class: unit & (division.remaining - 1),
            tile: SharedSlice::dynamic(0, tile_words),
            terms: SharedSlice::dynamic(16 * tile_words, const { 1 + 3 * D } * room),
            sums: SharedSlice::dynamic(16 * tile_words, const { 3 * D } * room),
        }
    };
    let mut first = ratio(unit, division.remaining) * division.bodies;
    let end = (first + division.bodies).min(launch.count);
    // SAFETY: the bodies are below `count`; all threads of the block call it.
    unsafe {
        let mut set = Set::of(launch, division, first, end);
        let mut motions = share.motions(&set);
        if share.is_one_tile() {
            share.stage(0, launch.terms);
        }
        while first < end {
            first += set.bodies;
            // Those of the next set are read while the last sums of this one are folded.
            let next = Set::of(launch, division, first, end);
            if set.is_wide {
                let sums = share.pull_set::<2>(&set, &motions);
                motions = share.motions(&next);
                share.fold(&set, &sums);
            } else {
                let sums = share.pull_set::<1>(&set, &motions);
                motions = share.motions(&next);
                share.fold(&set, &sums);
            }
            set = next;
        }
    }
}

/// The bodies whose chains a block computes at a time, and the part of a thread in them.
#[derive(Clone, Copy)]
struct Set {
    /// The first body.
    first: u32,
    /// Number of bodies.
    bodies: u32,
    /// Whether each thread has chains of two bodies.
    is_wide: bool,
    /// Number of chains, or of pairs of chains.
    chains: u32,
    /// Number of bodies for each partial sum that threads have as their first one.
    of_thread: u32,
    /// Number of threads of a chain, a power of two: 1 for pairs.
    team: u32,
    /// The number of this thread in its team.
    member: u32,
    /// The team of this thread. Teams without a chain do the same as that of the last one, and write nothing.
    own: u32,
    /// The partial sum of the chain, and its first body.
    part: u32,
    body: u32,
}

impl Set {
    /// The set from body `first` on, which ends before body `end`. If `first` is not below `end`, no body is left; the set then has the last
    /// one and is not used.
    #[inline(always)]
    fn of(launch: &Launch, division: &Division, first: u32, end: u32) -> Self {
        let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
        let first = first.min(end - 1);
        let most = ratio(threads, division.parts);
        let left = end - first;
        let is_wide = left > most;
        let bodies = left.min(2 * most);
        let of_thread = if is_wide { (bodies + 1) >> 1 } else { bodies };
        let chains = division.parts * of_thread;
        let mut team = 1;
        while !is_wide && 2 * team * chains <= threads && 2 * team < launch.terms {
            team *= 2;
        }
        let teams = ratio(threads, team);
        let own = t & (teams - 1);
        let chain = own.min(chains - 1);
        let part = chain / of_thread;
        Self {
            first,
            bodies,
            is_wide,
            chains,
            of_thread,
            team,
            member: ratio(t, teams),
            own,
            part,
            body: chain - part * of_thread,
        }
    }

    /// The number of body `k` of this thread in the set. With an odd number of bodies, the second one of some threads is beyond the set.
    #[inline(always)]
    fn number(&self, k: usize) -> u32 {
        self.body + k as u32 * self.of_thread
    }
}

impl<A: Record<D>, const D: usize> Share<'_, A, D> {
    /// Number of terms of each partial sum for which the tile has room.
    #[inline(always)]
    fn tile_terms(&self) -> u32 {
        ratio(TILE_BODIES * thread::block_dim_x(), self.division.parts)
    }

    /// Whether the tile has room for all source bodies.
    #[inline(always)]
    fn is_one_tile(&self) -> bool {
        self.launch.terms <= self.tile_terms()
    }

    /// Reads the predicted body at `place`, and its mass.
    ///
    /// # Safety
    /// `place` must be that of a predicted body.
    #[inline(always)]
    unsafe fn read(&self, place: u32) -> (A::Number, A::Body) {
        // SAFETY: the caller guarantees this.
        unsafe { A::read(self.predicted.add(place as usize * const { width(D) })) }
    }

    /// Fills the tile with `terms` source bodies of each partial sum from number `first` on.
    ///
    /// # Safety
    /// All threads of the block must call this, after a barrier; `first` + `terms` must be at most the number of terms, and `terms` at most
    /// [`tile_terms`](Self::tile_terms).
    #[inline(always)]
    unsafe fn stage(&self, first: u32, terms: u32) {
        let (launch, division) = (self.launch, self.division);
        let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
        let end = terms * division.parts;
        // SAFETY: `at` is at most end - 1.
        let read = |at: u32| unsafe {
            let (term, part) = (ratio(at, division.parts), at & (division.parts - 1));
            let sum = self.class + division.remaining * part;
            self.read((first + term) * launch.sums + launch.first + sum * launch.stride)
        };
        // Both are read before one is written, so that the waits for memory overlap.
        let (a, b) = (read(t.min(end - 1)), read((t + threads).min(end - 1)));
        // SAFETY: the tile has room for `end` bodies; barriers separate this from the reads.
        unsafe {
            if t < end {
                A::stage(self.tile, t as usize, a.0, &a.1);
            }
            if t + threads < end {
                A::stage(self.tile, (t + threads) as usize, b.0, &b.1);
            }
        }
        thread::sync_threads();
    }

    /// The motions of this thread's bodies in a set.
    ///
    /// # Safety
    /// The bodies of the set must be below `count`.
    #[inline(always)]
    unsafe fn motions(&self, set: &Set) -> [A::Body; 2] {
        let at = |k: usize| set.first + set.number(k).min(set.bodies - 1);
        // SAFETY: the caller guarantees this; the places are those of bodies.
        unsafe {
            let places = [
                *self.places.add(at(0) as usize),
                *self.places.add(at(1) as usize),
            ];
            [self.read(places[0]).1, self.read(places[1]).1]
        }
    }

    /// Computes the sums for the `I` bodies `i` of each thread.
    ///
    /// # Safety
    /// All threads of the block must call this with the same set, which is wide if `I` is 2.
    #[inline(always)]
    unsafe fn pull_set<const I: usize>(&self, set: &Set, i: &[A::Body; 2]) -> [A::Sum; I] {
        const { assert!(I == 1 || I == 2) };
        let (launch, parts) = (self.launch, self.division.parts);
        let Set {
            team,
            member,
            own,
            part,
            ..
        } = *set;
        let teams = ratio(thread::block_dim_x(), team);
        let softening2 = A::number(launch.softening2);
        let mut sum = [A::zero(); I];
        let mut done = 0;
        while done < launch.terms {
            let staged = (launch.terms - done).min(self.tile_terms());
            if !self.is_one_tile() {
                thread::sync_threads();
                // SAFETY: these are terms of the partial sums.
                unsafe { self.stage(done, staged) };
            }
            let mut base = 0;
            while base < staged {
                let at = |term: u32| (term.min(staged - 1) * parts + part) as usize;
                // SAFETY: the term is staged.
                let (a, b) = unsafe {
                    let second = base + team + member;
                    (
                        A::staged(self.tile, at(base + member)),
                        A::staged(self.tile, at(second)),
                    )
                };
                let ready = (staged - base).min(2 * team);
                if let [s0, s1] = &mut sum[..] {
                    let (all, _) = A::terms_of(
                        [&i[0], &i[1], &i[0], &i[1]],
                        [&a.1, &a.1, &b.1, &b.1],
                        [a.0, a.0, b.0, b.0],
                        softening2,
                    );
                    A::add(all[0].0, &all[0].1, s0);
                    A::add(all[1].0, &all[1].1, s1);
                    if ready == 2 {
                        A::add(all[2].0, &all[2].1, s0);
                        A::add(all[3].0, &all[3].1, s1);
                    }
                } else {
                    let (all, _) = A::terms_of([&i[0]; 2], [&a.1, &b.1], [a.0, b.0], softening2);
                    if team == 1 {
                        A::add(all[0].0, &all[0].1, &mut sum[0]);
                        if ready == 2 {
                            A::add(all[1].0, &all[1].1, &mut sum[0]);
                        }
                    } else {
                        // SAFETY: the terms are below 2 · threads, and each belongs to one thread.
                        unsafe {
                            self.hand_over(member * teams + own, &all[0]);
                            self.hand_over((team + member) * teams + own, &all[1]);
                        }
                        thread::sync_threads();
                        if member == 0 {
                            let mut k = 0;
                            while k < ready {
                                // SAFETY: the team has handed this term over before the barrier.
                                let (factor, vectors) = unsafe { self.take(k * teams + own) };
                                A::add(factor, &vectors, &mut sum[0]);
                                k += 1;
                            }
                        }
                        thread::sync_threads();
                    }
                }
                base += 2 * team;
            }
            done += staged;
        }
        sum
    }

    /// Folds the sums of the chains of each body, and writes the results.
    ///
    /// # Safety
    /// The same as for [`pull_set`](Self::pull_set), of which `sum` must be the result.
    #[inline(always)]
    unsafe fn fold<const I: usize>(&self, set: &Set, sum: &[A::Sum; I]) {
        let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
        let (parts, remaining) = (self.division.parts, self.division.remaining);
        let bodies = set.bodies;
        // The number of a body's value in shared memory, by part.
        let at = |component: usize, part: u32, body: u32| {
            component * (parts * bodies) as usize + (part * bodies + body) as usize
        };
        if set.member == 0 && set.own < set.chains {
            let mut k = 0;
            while k < I {
                let totals = A::totals(&sum[k]);
                let body = set.number(k);
                let mut d = 0;
                while d < D && body < bodies {
                    // SAFETY: the numbers are below 3D · parts · bodies; a barrier follows.
                    unsafe {
                        self.sums.set(at(3 * d, set.part, body), totals[d].x);
                        self.sums.set(at(3 * d + 1, set.part, body), totals[d].y);
                        self.sums.set(at(3 * d + 2, set.part, body), totals[d].z);
                    }
                    d += 1;
                }
                k += 1;
            }
        }
        thread::sync_threads();
        let mut value = t;
        while value < const { 3 * D as u32 } * bodies {
            let component = value / bodies;
            let body = value - component * bodies;
            // SAFETY: every chain has set its values.
            let sum = fold::small_tree(
                |part| unsafe { self.sums.get(at(component as usize, part, body)) },
                parts,
            );
            let to = (component * remaining + self.class) as usize * self.launch.count as usize;
            // SAFETY: the index is below 3D · remaining · count.
            unsafe { *self.partial.add(to + (set.first + body) as usize) = sum };
            value += threads;
        }
        // The memory is used again.
        thread::sync_threads();
    }

    /// Writes a term for the thread that adds it up.
    ///
    /// # Safety
    /// `at` must be less than twice the number of threads, and no other thread may use this term before a barrier.
    #[inline(always)]
    unsafe fn hand_over(&self, at: u32, term: &(A::Number, [Vec3<A::Number>; D])) {
        let place = |number: usize| number * 2 * thread::block_dim_x() as usize + at as usize;
        let (factor, vectors) = term;
        // SAFETY: the caller guarantees this; a term has 1 + 3D numbers.
        unsafe {
            self.terms.set(place(0), *factor);
            let mut d = 0;
            while d < D {
                self.terms.set(place(1 + 3 * d), vectors[d].x);
                self.terms.set(place(2 + 3 * d), vectors[d].y);
                self.terms.set(place(3 + 3 * d), vectors[d].z);
                d += 1;
            }
        }
    }

    /// Reads a term.
    ///
    /// # Safety
    /// The term must have been [handed over](Self::hand_over), and a barrier must separate this from that.
    #[inline(always)]
    unsafe fn take(&self, at: u32) -> (A::Number, [Vec3<A::Number>; D]) {
        let place = |number: usize| number * 2 * thread::block_dim_x() as usize + at as usize;
        // SAFETY: the caller guarantees this.
        let vector = |d: usize| unsafe {
            Vec3 {
                x: self.terms.get(place(1 + 3 * d)),
                y: self.terms.get(place(2 + 3 * d)),
                z: self.terms.get(place(3 + 3 * d)),
            }
        };
        let mut vectors = [vector(0); D];
        let mut d = 1;
        while d < D {
            vectors[d] = vector(d);
            d += 1;
        }
        // SAFETY: as above.
        (unsafe { self.terms.get(place(0)) }, vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::physics::summation::partial_sums::{partial_sums, terms};

    fn launch(n: usize, count: u32) -> Launch {
        Launch {
            softening2: 0.0,
            sums: partial_sums(n) as u32,
            terms: terms(n) as u32,
            count,
            first: 0,
            stride: 1,
        }
    }

    #[test]
    fn blocks_share_all_partial_sums_and_bodies() {
        for n in [200, 1024, 8192, 16384, 65536, 1 << 20] {
            for (threads, blocks) in [(64, 1), (128, 7), (128, 264), (128, 1000)] {
                for count in [1, 2, 73, 853, n as u32] {
                    let launch = launch(n, count);
                    let division = Division::among(&launch, threads, blocks);
                    let what = format!("{n} {threads} {blocks} {count}: {division:?}");
                    assert_eq!(
                        division.parts * division.remaining,
                        launch.parts(),
                        "{what}"
                    );
                    assert!(division.parts <= MOST_PARTS, "{what}");
                    assert!(division.remaining <= MOST_REMAINING, "{what}");
                    assert!(division.bodies >= 1, "{what}");
                    let groups = division.units(count) / division.remaining;
                    assert!(groups * division.bodies >= count, "{what}");
                    assert!((groups - 1) * division.bodies < count, "{what}");
                    let too_many = division.units(count) > blocks && division.remaining <= blocks;
                    assert!(!too_many, "{what}");
                }
            }
        }
    }

    #[test]
    fn a_large_gpu_has_work_for_nearly_all_blocks() {
        for n in [8192, 16384, 32768, 65536, 262_144] {
            for count in [2, 264, 1000] {
                let units = Division::among(&launch(n, count), 128, 264).units(count);
                assert!(units >= 252, "{n} bodies, {count} active: {units}");
            }
        }
    }
}
