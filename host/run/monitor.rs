//! Progress and cancellation of runs.

use std::time::Duration;

/// Longest time for which a device may compute before it checks for cancellation, unless the [monitor](Monitor::reaction) needs a
/// shorter one.
pub const LONGEST_REACTION: Duration = Duration::from_millis(120);

/// Receives the progress of a run and can cancel it.
pub trait Monitor: Sync {
    /// Reports that `done` of `total` steps are accounted for; a pixel that parts early accounts for all of its steps. Called a few
    /// times per second, from any thread.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }
    /// Whether the run should end; asked several times a second.
    fn cancelled(&self) -> bool {
        false
    }
    /// Whether the energy of GPUs is measured, which takes some milliseconds per run.
    fn wants_energy(&self) -> bool {
        true
    }
    /// Approximate time for which devices may continue after a cancellation. At most the default, with which GPUs are fastest.
    fn reaction(&self) -> Duration {
        LONGEST_REACTION
    }
}

/// A [`Monitor`] that ignores the progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {}

/// Shows no progress, but is cancelled with another monitor.
pub struct Quiet<'a>(pub &'a dyn Monitor);

impl Monitor for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn reaction(&self) -> Duration {
        self.0.reaction()
    }
}
