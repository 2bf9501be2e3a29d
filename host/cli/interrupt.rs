//! Ctrl-C: the first one ends the work cleanly, the second one ends the program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trisolar::io::system;

use super::Failure;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Number of pieces of work that the program waits for.
static WORTH_WAITING: AtomicUsize = AtomicUsize::new(0);

/// The text that is printed when the signal arrives.
static NOTICE: OnceLock<String> = OnceLock::new();

/// Longest time for which the work may take to end cleanly.
const SHUTDOWN_TIME: Duration = Duration::from_millis(800);

/// From now on a signal sets [`interrupted`]. A second one, or work that does not end in time (a call into a
/// driver may take long), ends the program.
pub(crate) fn watch() -> Result<(), Failure> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    system::on_interrupt(|code| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            end(code);
        }
        if let Some(notice) = NOTICE.get() {
            super::report::to_stderr(notice);
        }
        std::thread::spawn(move || {
            std::thread::sleep(SHUTDOWN_TIME);
            while WORTH_WAITING.load(Ordering::Relaxed) > 0 {
                std::thread::sleep(SHUTDOWN_TIME / 8);
            }
            end(code);
        });
    })
    .map_err(|e| Failure::Failed(format!("cannot watch for Ctrl-C: {e}")))
}

/// Ends the program with this exit code.
fn end(code: i32) -> ! {
    trisolar::run::lock::release_all();
    std::process::exit(code);
}

/// Work that must be completed before a signal ends the program, such as writing a checkpoint. The program waits as long as this value
/// lives.
pub(crate) struct Patient;

/// See [`Patient`].
#[must_use]
pub(crate) fn patient() -> Patient {
    WORTH_WAITING.fetch_add(1, Ordering::Relaxed);
    Patient
}

impl Drop for Patient {
    fn drop(&mut self) {
        WORTH_WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// As [`watch`], and prints `notice` when a signal arrives. Later calls of [`watch`] change nothing.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub(crate) fn watch_as(notice: String) -> Result<(), Failure> {
    let _ = NOTICE.set(notice);
    watch()
}

/// Whether a signal has arrived.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// [`Failure::Interrupted`] if a signal has arrived.
pub(crate) fn check() -> Result<(), Failure> {
    if interrupted() {
        return Err(Failure::Interrupted);
    }
    Ok(())
}
