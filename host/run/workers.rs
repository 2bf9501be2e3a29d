//! The CPU threads of a run, and the instruction set of their lanes.

use std::fmt;
use std::sync::Arc;

use crate::EngineError;
use crate::short_tasks::ShortTasks;
use crate::simd::Simd;

/// The stack of a thread, as large as that of a program's first one: in a build without optimisation, lanes of double-double need more than
/// the usual 2 MiB.
const STACK_BYTES: usize = 8 << 20;

/// Threads that share the work of a run, and the instruction set they compute with. Clones share the threads.
#[derive(Clone)]
pub struct Workers {
    /// `None`: rayon's global pool.
    pool: Option<Arc<rayon::ThreadPool>>,
    short_tasks: Option<Arc<ShortTasks>>,
    simd: Simd,
}

impl Default for Workers {
    /// The threads of the process, which rayon starts when they are first needed, and the fastest instruction set.
    fn default() -> Self {
        Self {
            pool: None,
            short_tasks: None,
            simd: Simd::best(),
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({} × {})", self.threads(), self.simd)
    }
}

impl Workers {
    /// This many threads (`None`: as many as the process may use) and the fastest instruction set.
    ///
    /// # Errors
    /// [`EngineError::Threads`] for 0, or if the system cannot start that many.
    pub fn new(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::with_simd(threads, None)
    }

    /// This many threads with an instruction set out of [`Simd::available`] (`None`: the fastest).
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`EngineError::Refused`] if the machine does not have the instruction set.
    pub fn with_simd(
        threads: Option<usize>,
        simd: impl Into<Option<Simd>>,
    ) -> Result<Self, EngineError> {
        let simd = match simd.into() {
            // The text of the name is refused with the reason, if the machine does not have the instruction set.
            Some(simd) => (simd.name().parse())
                .map_err(|reason: String| EngineError::refused("simd", simd.name(), reason))?,
            None => Simd::best(),
        };
        let given = threads.unwrap_or_else(crate::machine::threads);
        let fail = |reason: String| EngineError::Threads { given, reason };
        if given == 0 {
            return Err(fail("must be at least 1".into()));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(given)
            .stack_size(STACK_BYTES)
            .build()
            .map_err(|e| fail(e.to_string()))?;
        Ok(Self {
            pool: Some(Arc::new(pool)),
            short_tasks: None,
            simd,
        })
    }

    /// The same, and able to distribute tasks of a few microseconds by [`for_shares`](Self::for_shares): as many threads, including the
    /// caller's, wait for them in a loop. They sleep when there has been no such task for about 0.1 ms.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system cannot start that many.
    pub fn with_short_tasks(mut self) -> Result<Self, EngineError> {
        let given = self.threads();
        let tasks = ShortTasks::new(given).map_err(|e| EngineError::Threads {
            given,
            reason: e.to_string(),
        })?;
        self.short_tasks = Some(Arc::new(tasks));
        Ok(self)
    }

    /// Limits the threads of the process, which do the work outside of any run's own workers, to this many (`None`: as many as the process may
    /// use). Only the first call has an effect, and only before these threads are first used.
    pub fn limit_process(threads: Option<usize>) {
        if let Some(threads) = threads {
            // An existing pool does not change.
            let _ = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global();
        }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool
            .as_ref()
            .map_or_else(rayon::current_num_threads, |pool| {
                pool.current_num_threads()
            })
    }

    /// The CPU, the instruction set and the number of threads, for reports.
    pub fn in_words(&self) -> String {
        let threads = self.threads();
        let s = if threads == 1 { "" } else { "s" };
        let cpu = crate::machine::cpu_name();
        format!("{cpu}, {}, {threads} thread{s}", self.simd)
    }

    /// The instruction set.
    pub fn simd(&self) -> Simd {
        self.simd
    }

    /// Runs `work` on one of the threads; rayon's parallel iterators in it use these threads and no others.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Calls `on` for shares of `items`, each with the index of its first item. The threads of
    /// [`with_short_tasks`](Self::with_short_tasks) take the shares; without them the calling thread does all the work.
    ///
    /// A share is a multiple of `unit` items. It has at least `least` items, if there are so many: fewer would take less time than
    /// their distribution.
    ///
    /// # Panics
    /// If `on` panics, after all shares are finished.
    pub fn for_shares<T: Send>(
        &self,
        items: &mut [T],
        unit: usize,
        least: usize,
        on: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let count = items.len();
        let shares = shares(count, least, self.threads());
        let (Some(tasks), 2..) = (&self.short_tasks, shares) else {
            return on(0, items);
        };
        let size = count.div_ceil(shares).next_multiple_of(unit);
        let start = Start(items.as_mut_ptr());
        tasks.perform(count.div_ceil(size), &|share| {
            let first = share * size;
            let length = size.min(count - first);
            // SAFETY: the shares do not overlap and end at `count`; every share is performed once, while `items` is borrowed.
            let part = unsafe { std::slice::from_raw_parts_mut(start.at(first), length) };
            on(first, part);
        });
    }

    /// Runs `work` on every thread at the same time; the results are in the order of the threads.
    pub fn broadcast<R: Send>(
        &self,
        work: impl Fn(rayon::BroadcastContext<'_>) -> R + Sync,
    ) -> Vec<R> {
        match &self.pool {
            Some(pool) => pool.broadcast(work),
            None => rayon::broadcast(work),
        }
    }
}

/// The start of a slice, different parts of which are given to different threads.
struct Start<T>(*mut T);

// SAFETY: the parts are given away like exclusive references to items, which may be sent.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T> Start<T> {
    /// # Safety
    /// The slice must have that many items.
    unsafe fn at(&self, index: usize) -> *mut T {
        // SAFETY: the caller guarantees this.
        unsafe { self.0.add(index) }
    }
}

/// Number of shares of `count` items: at least `least` items in each, and one for each thread. With several times as much work, there are
/// four for each thread, so that none waits long for the last one.
fn shares(count: usize, least: usize, threads: usize) -> usize {
    let by_work = count / least.max(1);
    let most = if by_work >= 8 * threads {
        4 * threads
    } else {
        threads
    };
    by_work.clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_items_once_and_are_as_large_as_asked() {
        for threads in [1, 2, 5] {
            let workers = Workers::new(Some(threads)).unwrap();
            for workers in [workers.clone(), workers.with_short_tasks().unwrap()] {
                for (count, unit, least) in
                    [(0, 1, 1), (1, 1, 4), (37, 1, 4), (96, 8, 8), (4000, 8, 3)]
                {
                    let mut items = vec![0; count];
                    workers.for_shares(&mut items, unit, least, |first, part| {
                        assert!(first.is_multiple_of(unit));
                        assert!(part.len() >= least.min(count) || first + part.len() == count);
                        for (n, item) in part.iter_mut().enumerate() {
                            *item += 1 + first + n;
                        }
                    });
                    assert_eq!(items, (1..=count).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn no_more_threads_work_than_were_asked_for() {
        for threads in [1, 2, 3] {
            let workers = Workers::new(Some(threads)).unwrap();
            let workers = workers.with_short_tasks().unwrap();
            let mut by = std::collections::HashSet::new();
            let mut items = vec![None; 64];
            for _ in 0..200 {
                workers.for_shares(&mut items, 1, 1, |_, part| {
                    part.fill(Some(std::thread::current().id()));
                });
                by.extend(items.iter().copied());
            }
            assert!(by.contains(&Some(std::thread::current().id())));
            assert!(by.len() <= threads, "{} threads", by.len());
        }
    }

    #[test]
    fn little_work_is_not_shared_and_much_work_is_shared_finely() {
        assert_eq!(shares(7, 4, 16), 1);
        assert_eq!(shares(8, 4, 16), 2);
        assert_eq!(shares(64, 4, 16), 16);
        assert_eq!(shares(4096, 4, 16), 64);
        assert_eq!(shares(4096, 4, 1), 4);
        assert_eq!(shares(0, 0, 3), 1);
    }
}
