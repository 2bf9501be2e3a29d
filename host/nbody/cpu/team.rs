//! The threads of the CPU engine, and how units of work are dealt to them.

use rayon::prelude::*;

use super::super::Schedule;
use crate::run::EngineError;

/// Threads, or none but the caller's.
#[derive(Debug)]
pub(super) struct Team {
    pool: Option<rayon::ThreadPool>,
    schedule: Schedule,
}

impl Team {
    /// `None` for as many threads as the process may use.
    pub(super) fn new(threads: Option<usize>, schedule: Schedule) -> Result<Self, EngineError> {
        let given = threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let fail = |reason: String| EngineError::Threads { given, reason };
        let pool = match given {
            0 => return Err(fail("must be at least 1".into())),
            1 => None,
            _ => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(given)
                    .build()
                    .map_err(|e| fail(e.to_string()))?,
            ),
        };
        Ok(Self { pool, schedule })
    }

    pub(super) fn threads(&self) -> usize {
        self.pool
            .as_ref()
            .map_or(1, rayon::ThreadPool::current_num_threads)
    }

    pub(super) fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Does `work` for each of `units` that pulls are computed of, in no particular order, and returns when all are done.
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

    /// Lets every thread do `work` with its number and the units that the schedule gives it: none is shared out while they
    /// work, so that `dynamic` is dealt as `cyclic` is.
    pub(super) fn threads_with_units(
        &self,
        units: usize,
        work: impl Fn(usize, &mut dyn Iterator<Item = usize>) + Sync + Send,
    ) {
        let Some(pool) = self.pool.as_ref() else {
            return work(0, &mut (0..units));
        };
        let threads = pool.current_num_threads();
        pool.broadcast(|c| {
            let t = c.index();
            match self.schedule {
                Schedule::Block => work(t, &mut block(t, threads, units)),
                _ => work(t, &mut (t..units).step_by(threads)),
            }
        });
    }

    fn deal(&self, schedule: Schedule, units: usize, work: impl Fn(usize) + Sync + Send) {
        let Some(pool) = self.pool.as_ref().filter(|_| units > 1) else {
            (0..units).for_each(work);
            return;
        };
        let threads = pool.current_num_threads();
        match schedule {
            Schedule::Dynamic => {
                pool.install(|| (0..units).into_par_iter().with_max_len(1).for_each(work));
            }
            Schedule::Block => {
                pool.broadcast(|c| block(c.index(), threads, units).for_each(&work));
            }
            Schedule::Cyclic | Schedule::CyclicForces => {
                pool.broadcast(|c| (c.index()..units).step_by(threads).for_each(&work));
            }
        }
    }
}

/// The part of the units that thread `t` has in one piece.
fn block(t: usize, threads: usize, units: usize) -> std::ops::Range<usize> {
    t * units / threads..(t + 1) * units / threads
}

/// A slice that several threads write to, each to places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    start: *mut f64,
    length: usize,
    lifetime: std::marker::PhantomData<&'a mut [f64]>,
}

// SAFETY: who writes promises in `range` that no two threads use the same places.
unsafe impl Sync for Shared<'_> {}
// SAFETY: as above.
unsafe impl Send for Shared<'_> {}

impl<'a> Shared<'a> {
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
    /// Nobody else uses any of them while the reference lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn range(&self, first: usize, length: usize) -> &mut [f64] {
        assert!(first + length <= self.length);
        // SAFETY: within the slice, which is borrowed exclusively; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), length) }
    }
}
