//! A C function as the monitor of a run.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use trisolar::divergence::Monitor;

use crate::Progress;

/// A C function that is told of the progress and may end the run.
pub(crate) struct Callback {
    progress: Progress,
    user: *mut c_void,
    /// Held during a call: the function need not be ready for two at once.
    busy: Mutex<()>,
    cancelled: AtomicBool,
}

// SAFETY: the header tells that the function is called from any thread, so `user` must bear it.
unsafe impl Sync for Callback {}

impl Callback {
    /// No function.
    pub(crate) fn none() -> Self {
        Self {
            progress: None,
            user: null_mut(),
            busy: Mutex::new(()),
            cancelled: AtomicBool::new(false),
        }
    }

    /// # Safety
    /// `progress` can be called with `user` from any thread, one at a time, as long as this lives.
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
        // What a thread has to say while another one speaks is out of date.
        let Ok(_alone) = self.busy.try_lock() else {
            return;
        };
        // SAFETY: promised to `new`; the lock keeps others out.
        if unsafe { progress(done, total, self.user) } != 0 {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
