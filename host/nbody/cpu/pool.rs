//! The threads of the CPU engine, and the distribution of units of work over them.

use rayon::prelude::*;

use super::super::Schedule;
use trisolar_run::Workers;

/// The workers of an engine and their schedule. A single worker runs in the caller's thread.
#[derive(Debug)]
pub(super) struct WorkerPool {
    workers: Workers,
    schedule: Schedule,
}

impl WorkerPool {
    pub(super) fn new(workers: Workers, schedule: Schedule) -> Self {
        Self { workers, schedule }
    }

    pub(super) fn workers(&self) -> &Workers {
        &self.workers
    }

    pub(super) fn threads(&self) -> usize {
        self.workers.threads()
    }

    pub(super) fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Calls `work` for each of `units` of force computation, in no particular order, and returns when all are done.
    pub(super) fn each(&self, units: usize, work: impl Fn(usize) + Sync + Send) {
        self.deal(self.schedule, units, work);
    }

    /// As [`each`](Self::each), for units that are summed up.
    pub(super) fn each_sum(&self, units: usize, work: impl Fn(usize) + Sync + Send) {
        let schedule = match self.schedule {
            Schedule::CyclicForces => Schedule::Block,
            other => other,
        };
        self.deal(schedule, units, work);
    }

    /// Calls `work` in every thread with its number and the units that the schedule gives it. Units are distributed in advance, so that
    /// `dynamic` is the same as `cyclic`.
    pub(super) fn threads_with_units(
        &self,
        units: usize,
        work: impl Fn(usize, &mut dyn Iterator<Item = usize>) + Sync + Send,
    ) {
        let threads = self.threads();
        if threads == 1 {
            return work(0, &mut (0..units));
        }
        self.workers.broadcast(|c| {
            let t = c.index();
            match self.schedule {
                Schedule::Block => work(t, &mut block(t, threads, units)),
                _ => work(t, &mut (t..units).step_by(threads)),
            }
        });
    }

    fn deal(&self, schedule: Schedule, units: usize, work: impl Fn(usize) + Sync + Send) {
        let (workers, threads) = (&self.workers, self.threads());
        if threads == 1 || units <= 1 {
            (0..units).for_each(work);
            return;
        }
        match schedule {
            Schedule::Dynamic => {
                workers.install(|| (0..units).into_par_iter().with_max_len(1).for_each(work));
            }
            Schedule::Block => {
                workers.broadcast(|c| block(c.index(), threads, units).for_each(&work));
            }
            Schedule::Cyclic | Schedule::CyclicForces => {
                workers.broadcast(|c| (c.index()..units).step_by(threads).for_each(&work));
            }
        }
    }
}

/// The contiguous part of the units of thread `t`.
fn block(t: usize, threads: usize, units: usize) -> std::ops::Range<usize> {
    t * units / threads..(t + 1) * units / threads
}

/// A slice to which several threads write, each to places of its own.
#[derive(Clone, Copy)]
pub(super) struct DisjointSlice<'a> {
    start: *mut f64,
    length: usize,
    lifetime: std::marker::PhantomData<&'a mut [f64]>,
}

// SAFETY: who writes promises in `range` that no two threads use the same places.
unsafe impl Sync for DisjointSlice<'_> {}
// SAFETY: as above.
unsafe impl Send for DisjointSlice<'_> {}

impl<'a> DisjointSlice<'a> {
    pub(super) fn new(slice: &'a mut [f64]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            length: slice.len(),
            lifetime: std::marker::PhantomData,
        }
    }

    /// `length` numbers from `first` on.
    ///
    /// # Safety
    /// No other thread uses any of them while the reference lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn range(&self, first: usize, length: usize) -> &mut [f64] {
        assert!(first + length <= self.length);
        // SAFETY: within the slice, which is borrowed exclusively; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), length) }
    }
}
