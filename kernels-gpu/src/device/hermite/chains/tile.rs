//! The source bodies of a block, in shared memory.

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::super::{Launch, Record, ratio};
use super::{Bodies, Division, again};

/// Number of source bodies of a block of so many threads.
pub(super) const fn bodies(threads: u32) -> u32 {
    2 * threads
}

/// Number of words of these bodies.
pub(super) const fn words<A: Record<D>, const D: usize>(threads: u32) -> usize {
    A::WORDS * bodies(threads) as usize
}

/// The source bodies of a block.
pub(super) struct Tile<'a, A: Record<D>, B: Bodies<A, D>, const D: usize> {
    pub launch: &'a Launch,
    pub division: &'a Division,
    pub bodies: &'a B,
    /// The class of its partial sums, which are the numbers class + remaining · k.
    pub class: u32,
    memory: SharedSlice<A::Word>,
}

impl<'a, A: Record<D>, B: Bodies<A, D>, const D: usize> Tile<'a, A, B, D> {
    /// The source bodies of number `unit` of a division.
    ///
    /// # Safety
    /// The dynamic shared memory must have room for [`words`].
    #[inline(always)]
    pub unsafe fn of(launch: &'a Launch, division: &'a Division, bodies: &'a B, unit: u32) -> Self {
        let words = words::<A, D>(thread::block_dim_x());
        Self {
            launch,
            division,
            bodies,
            class: unit & (division.remaining - 1),
            // SAFETY: the caller provides this much shared memory.
            memory: unsafe { SharedSlice::dynamic(0, words) },
        }
    }

    /// Number of terms of each partial sum for which there is room.
    #[inline(always)]
    fn terms(&self) -> u32 {
        ratio(bodies(thread::block_dim_x()), self.division.parts)
    }

    /// Whether there is room for all source bodies.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.launch.terms <= self.terms()
    }

    /// Fills the tile with `terms` source bodies of each partial sum from number `first` on.
    ///
    /// # Safety
    /// All threads of the block must call this, between two barriers; `first` + `terms` must be at most the number of terms, and `terms` at
    /// most that for which there is room.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn stage(&self, first: u32, terms: u32) {
        let (launch, division) = (self.launch, self.division.again());
        let (threads, t) = (again(thread::block_dim_x()), again(thread::thread_idx_x()));
        let end = terms * division.parts;
        // SAFETY: `at` is at most end - 1.
        let read = |at: u32| unsafe {
            let (term, part) = (ratio(at, division.parts), at & (division.parts - 1));
            let sum = self.class + division.remaining * part;
            let place = (first + term) * launch.sums + launch.first + sum * launch.stride;
            self.bodies.source(first * division.parts + at, place)
        };
        if t < end {
            // Both are read before one is written, so that the waits for memory overlap.
            let a = read(t);
            let mut b = a;
            if end > threads {
                b = read((t + threads).min(end - 1));
            }
            // SAFETY: the tile has room for `end` bodies; barriers separate this from the reads.
            unsafe {
                A::stage(self.memory, t as usize, a.0, &a.1);
                if t + threads < end {
                    A::stage(self.memory, (t + threads) as usize, b.0, &b.1);
                }
            }
        }
    }

    /// Fills the tile with the next terms of each partial sum, unless all are in it anyway. Returns their number, or `None` after the last ones.
    /// `done` is the number of terms so far. (A closure for each tile might not be inlined.)
    ///
    /// # Safety
    /// All threads of the block must call this.
    #[inline(always)]
    pub unsafe fn next(&self, done: &mut u32) -> Option<u32> {
        let staged = (self.launch.terms - *done).min(self.terms());
        if staged == 0 {
            return None;
        }
        if !self.is_whole() {
            thread::sync_threads();
            // SAFETY: these are terms of the partial sums.
            unsafe { self.stage(*done, staged) };
            thread::sync_threads();
        }
        *done += staged;
        Some(staged)
    }

    /// The source body of number `term` of those in the tile, of partial sum number `part` of the block.
    ///
    /// # Safety
    /// The body must have been staged before a barrier.
    #[inline(always)]
    pub unsafe fn body(&self, part: u32, term: u32) -> (A::Number, A::Body) {
        // SAFETY: the caller guarantees this.
        unsafe { A::staged(self.memory, (term * self.division.parts + part) as usize) }
    }
}
