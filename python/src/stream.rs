//! Runs a computation in a thread of its own, which sends its results one by one, while the calling thread handles Python's signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use trisolar::divergence::Monitor;

/// Interval at which signals are checked.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The data that the two threads share.
#[derive(Default)]
struct StreamShared {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Monitor for StreamShared {
    fn progress(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// The reason why a run ended early.
pub(crate) enum EndedEarly {
    /// An exception ended it.
    Failed(PyErr),
    /// The results are no longer needed.
    Unwanted,
}

impl From<PyErr> for EndedEarly {
    fn from(error: PyErr) -> Self {
        Self::Failed(error)
    }
}

/// The destination of the run's results.
pub(crate) struct ResultSender<'a, T> {
    sender: &'a SyncSender<Result<T, PyErr>>,
    shared: &'a StreamShared,
}

impl<T> ResultSender<'_, T> {
    /// Sends a result; waits until it is received.
    pub(crate) fn give(&self, result: T) -> Result<(), EndedEarly> {
        self.sender
            .send(Ok(result))
            .map_err(|_| EndedEarly::Unwanted)
    }

    /// The monitor of the run.
    pub(crate) fn monitor(&self) -> &dyn Monitor {
        self.shared
    }
}

/// The results of a run, one after the other. It ends when this is dropped.
pub(crate) struct Stream<T> {
    shared: Arc<StreamShared>,
    results: Mutex<Option<Receiver<Result<T, PyErr>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<T> Drop for Stream<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T: Send + 'static> Stream<T> {
    /// Starts the run.
    pub(crate) fn new(
        run: impl FnOnce(&ResultSender<'_, T>) -> Result<(), EndedEarly> + Send + 'static,
    ) -> PyResult<Self> {
        // Without room in the channel the run is never more than one result ahead.
        let (sender, receiver) = sync_channel(0);
        let shared = Arc::new(StreamShared::default());
        let theirs = Arc::clone(&shared);
        let work = move || {
            let sink = ResultSender {
                sender: &sender,
                shared: &theirs,
            };
            let failed = match catch_unwind(AssertUnwindSafe(|| run(&sink))) {
                Ok(Ok(()) | Err(EndedEarly::Unwanted)) => return,
                Ok(Err(EndedEarly::Failed(error))) => error,
                Err(_) => PyRuntimeError::new_err(
                    "internal error: the computation panicked; the message is on the standard error",
                ),
            };
            // The receiver may have been dropped.
            let _ = sender.send(Err(failed));
        };
        let thread = std::thread::Builder::new()
            .name("trisolar".into())
            .spawn(work)
            .map_err(|e| PyRuntimeError::new_err(format!("cannot start a thread: {e}")))?;
        Ok(Self {
            shared,
            results: Mutex::new(Some(receiver)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The next result, `None` after the last. An exception of a signal handler or of `progress` ends the run and is
    /// raised, as one of the run itself is.
    pub(crate) fn next(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<T>> {
        let result = self.wait(py, progress);
        if !matches!(result, Ok(Some(_))) {
            self.close();
        }
        result
    }

    fn wait(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>> {
        let mut told = None;
        let mut tell = || -> PyResult<()> {
            let now = (
                self.shared.done.load(Ordering::Relaxed),
                self.shared.total.load(Ordering::Relaxed),
            );
            if let Some(progress) = progress.filter(|_| now.1 > 0 && told != Some(now)) {
                told = Some(now);
                progress.call1(now)?;
            }
            Ok(())
        };
        loop {
            let received = py.detach(|| {
                let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
                results
                    .as_ref()
                    .map(|r| r.recv_timeout(SIGNAL_CHECK_INTERVAL))
            });
            match received {
                None => return Ok(None),
                Some(Ok(result)) => {
                    let result = result?;
                    tell()?;
                    return Ok(Some(result));
                }
                Some(Err(RecvTimeoutError::Disconnected)) => {
                    tell()?;
                    return Ok(None);
                }
                Some(Err(RecvTimeoutError::Timeout)) => {
                    py.check_signals()?;
                    tell()?;
                }
            }
        }
    }
}

impl<T> Stream<T> {
    /// Waits until the run has ended, such as until it has written its files after [`close`](Self::close).
    pub(crate) fn join(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic has been caught and reported.
            let _ = thread.join();
        }
    }

    /// Ends the run; there are no more results.
    pub(crate) fn close(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        // Another thread that waits for a result may hold the lock; the end of the run wakes it.
        if let Ok(mut results) = self.results.try_lock() {
            *results = None;
        }
    }
}
