//! The CPU threads of a run, and the instruction set of their lanes.

use std::fmt;
use std::sync::Arc;

use crate::EngineError;
use crate::simd::Simd;

/// Threads that share the work of a run, and the instruction set they compute with. Clones share the threads.
#[derive(Clone)]
pub struct Workers {
    /// `None`: rayon's global pool.
    pool: Option<Arc<rayon::ThreadPool>>,
    simd: Simd,
}

impl Default for Workers {
    /// The threads of the process, which rayon starts when they are first needed, and the fastest instruction set.
    fn default() -> Self {
        Self {
            pool: None,
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
            .build()
            .map_err(|e| fail(e.to_string()))?;
        Ok(Self {
            pool: Some(Arc::new(pool)),
            simd,
        })
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
