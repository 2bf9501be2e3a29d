//! Runs a computation in a thread of its own, while the calling thread handles Python's signals and the progress callback.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use trisolar::divergence::{EngineError, Monitor};

use crate::errors;

/// Interval at which signals are checked.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

type Outcome<T> = std::thread::Result<Result<T, EngineError>>;

/// The data that the two threads share.
struct WatchShared<T> {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
    outcome: Mutex<Option<Outcome<T>>>,
    ended: Condvar,
}

impl<T: Send> Monitor for WatchShared<T> {
    fn progress(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl<T> WatchShared<T> {
    fn new() -> Self {
        Self {
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            outcome: Mutex::new(None),
            ended: Condvar::new(),
        }
    }

    /// The outcome, if it is available within `patience`.
    fn wait(&self, patience: Duration) -> Option<Outcome<T>> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut outcome, _) = self
            .ended
            .wait_timeout_while(outcome, patience, |outcome| outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        outcome.take()
    }
}

/// Calls `compute`, which reports its progress to its monitor. An exception of a signal handler or of `progress` ends the run and is
/// raised.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    compute: impl FnOnce(&dyn Monitor) -> Result<T, EngineError> + Send + 'static,
) -> PyResult<T> {
    let shared = Arc::new(WatchShared::new());
    let theirs = Arc::clone(&shared);
    std::thread::Builder::new()
        .name("trisolar".into())
        .spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| compute(&*theirs)));
            *theirs
                .outcome
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            theirs.ended.notify_all();
        })
        .map_err(|e| PyRuntimeError::new_err(format!("cannot start a thread: {e}")))?;

    let mut told = None;
    let mut tell = || -> PyResult<()> {
        let now = (
            shared.done.load(Ordering::Relaxed),
            shared.total.load(Ordering::Relaxed),
        );
        if let Some(progress) = progress.filter(|_| now.1 > 0 && told != Some(now)) {
            told = Some(now);
            progress.call1(now)?;
        }
        Ok(())
    };
    let outcome = loop {
        if let Some(outcome) = py.detach(|| shared.wait(SIGNAL_CHECK_INTERVAL)) {
            break outcome;
        }
        if let Err(error) = py.check_signals().and_then(|()| tell()) {
            shared.cancelled.store(true, Ordering::Relaxed);
            while py.detach(|| shared.wait(SIGNAL_CHECK_INTERVAL)).is_none() {}
            return Err(error);
        }
    };
    match outcome {
        Ok(result) => {
            let result = result.map_err(errors::engine)?;
            tell()?;
            Ok(result)
        }
        Err(_) => Err(PyRuntimeError::new_err(
            "internal error: the computation panicked; the message is on the standard error",
        )),
    }
}
