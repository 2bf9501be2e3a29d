//! A value that another thread is going to provide.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trisolar_map::{EngineError, Monitor};

/// A value that is provided once, or given up.
#[derive(Debug)]
pub(super) struct Later<T> {
    state: Mutex<LaterState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum LaterState<T> {
    Waiting,
    There(Arc<T>),
    Never,
}

/// Interval at which a waiting thread checks for cancellation.
const CANCELLATION_CHECK_INTERVAL: Duration = Duration::from_millis(20);

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(LaterState::Waiting),
            changed: Condvar::new(),
        }
    }
}

impl<T> Later<T> {
    fn lock(&self) -> MutexGuard<'_, LaterState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, value: T) {
        *self.lock() = LaterState::There(Arc::new(value));
        self.changed.notify_all();
    }

    /// Declares that the value will not be provided, unless it has been already.
    pub fn give_up(&self) {
        let mut state = self.lock();
        if matches!(*state, LaterState::Waiting) {
            *state = LaterState::Never;
        }
        drop(state);
        self.changed.notify_all();
    }

    pub fn is_there(&self) -> bool {
        matches!(*self.lock(), LaterState::There(_))
    }

    /// Waits for the value.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ends the run, or if the value was given up; the thread that gave up reports the reason.
    pub fn wait(&self, monitor: &dyn Monitor) -> Result<Arc<T>, EngineError> {
        let mut state = self.lock();
        loop {
            match &*state {
                LaterState::There(value) => return Ok(value.clone()),
                LaterState::Never => return Err(EngineError::Cancelled),
                LaterState::Waiting if monitor.cancelled() => return Err(EngineError::Cancelled),
                LaterState::Waiting => {
                    let waited = self
                        .changed
                        .wait_timeout(state, CANCELLATION_CHECK_INTERVAL);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}
