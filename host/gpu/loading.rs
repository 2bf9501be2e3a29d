//! The time that it takes to start a driver, to open devices and to load kernels, apart from that of what they compute.
#![cfg_attr(
    not(feature = "devices"),
    allow(dead_code, reason = "without GPUs nothing is loaded")
)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
struct Clock {
    /// What is being loaded now, and since when something is.
    running: u32,
    since: Option<Instant>,
    total: Duration,
}

static CLOCK: Mutex<Clock> = Mutex::new(Clock {
    running: 0,
    since: None,
    total: Duration::ZERO,
});

fn clock() -> MutexGuard<'static, Clock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time in which this process has opened devices or loaded kernels so far. Loads at the same time count once.
pub fn loading() -> Duration {
    let clock = clock();
    clock.total + clock.since.map_or(Duration::ZERO, |since| since.elapsed())
}

/// Something that is being loaded, until it is dropped.
#[derive(Debug)]
pub(crate) struct Loading(());

impl Loading {
    pub(crate) fn begin() -> Self {
        let mut clock = clock();
        clock.running += 1;
        clock.since.get_or_insert_with(Instant::now);
        Self(())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let mut clock = clock();
        clock.running -= 1;
        if clock.running == 0
            && let Some(since) = clock.since.take()
        {
            clock.total += since.elapsed();
        }
    }
}

/// Measures the time of a computation without that in which devices were opened or kernels loaded.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    began: Instant,
    before: Duration,
}

impl Stopwatch {
    /// Starts measuring.
    pub fn start() -> Self {
        Self {
            before: loading(),
            began: Instant::now(),
        }
    }

    /// The time since the start, less that of loading.
    pub fn elapsed(&self) -> Duration {
        let since = self.began.elapsed();
        since.saturating_sub(loading().saturating_sub(self.before))
    }
}

/// Is called once when the driver compiles kernels, which takes seconds the first time on a machine.
static NOTICE: OnceLock<fn(&str)> = OnceLock::new();

/// Sets what shows the user that the driver compiles kernels; the first call counts.
pub fn on_compiling(show: fn(&str)) {
    let _ = NOTICE.set(show);
}

/// A kernel that the driver has compiled before is loaded in a few milliseconds.
#[cfg_attr(not(feature = "devices"), allow(dead_code))]
const LONG: Duration = Duration::from_millis(200);

/// Loads something, and tells the user if that takes so long that the driver must be compiling it.
#[cfg_attr(not(feature = "devices"), allow(dead_code))]
pub(crate) fn with_notice<T>(load: impl FnOnce() -> T) -> T {
    static SHOWN: AtomicBool = AtomicBool::new(false);
    let Some(show) = NOTICE.get().filter(|_| !SHOWN.load(Ordering::Relaxed)) else {
        return load();
    };
    let (done, wait) = std::sync::mpsc::channel::<()>();
    // Without a thread nothing is said.
    let _ = std::thread::Builder::new().spawn(move || {
        let timed_out = wait.recv_timeout(LONG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if timed_out && !SHOWN.swap(true, Ordering::Relaxed) {
            show("compiling kernels for this GPU, once");
        }
    });
    let loaded = load();
    drop(done);
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopwatch_leaves_out_loading_and_counts_loads_at_the_same_time_once() {
        let outer = Instant::now();
        let (before, watch) = (loading(), Stopwatch::start());
        let loads = [Loading::begin(), Loading::begin(), Loading::begin()];
        std::thread::sleep(Duration::from_millis(20));
        drop(loads);
        let took = loading() - before;
        std::thread::sleep(Duration::from_millis(20));
        let elapsed = watch.elapsed();
        for time in [took, elapsed] {
            assert!(time >= Duration::from_millis(20), "{time:?}");
        }
        assert!(took + elapsed <= outer.elapsed(), "{took:?}, {elapsed:?}");
    }
}
