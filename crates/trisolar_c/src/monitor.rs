//! A C function as the monitor of a run.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trisolar::divergence::Monitor;

use crate::Progress;

/// The least time between two calls.
const MIN_CALL_INTERVAL: Duration = Duration::from_millis(50);

/// A C function that receives the progress and can cancel the run.
pub(crate) struct Callback {
    progress: Progress,
    user: *mut c_void,
    /// The time of the last call. The lock is held during a call, because the function need not be reentrant.
    last: Mutex<Option<Instant>>,
    cancelled: AtomicBool,
}

// SAFETY: the header says that the function is called from any thread, so `user` must allow that.
unsafe impl Sync for Callback {}

impl Callback {
    /// No function is called.
    pub(crate) fn none() -> Self {
        Self {
            progress: None,
            user: null_mut(),
            last: Mutex::new(None),
            cancelled: AtomicBool::new(false),
        }
    }

    /// # Safety
    /// As long as this lives, `progress` can be called with `user` from any thread, by one thread at a time.
    pub(crate) unsafe fn new(progress: Progress, user: *mut c_void) -> Self {
        Self {
            progress,
            user,
            ..Self::none()
        }
    }
}

impl Monitor for Callback {
    fn progress(&self, done: u64, total: u64) {
        let Some(progress) = self.progress else {
            return;
        };
        // A call while another thread is in the function is outdated, and is skipped.
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if done < total && last.is_some_and(|last| last.elapsed() < MIN_CALL_INTERVAL) {
            return;
        }
        // SAFETY: the promise to `new`; the lock excludes concurrent calls.
        if unsafe { progress(done, total, self.user) } != 0 {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        *last = Some(Instant::now());
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
