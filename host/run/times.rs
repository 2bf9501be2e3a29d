//! The times at which checkpoints are written.

use std::time::{Duration, Instant};

/// Least time between two checkpoints.
const MIN_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);
/// Checkpoints take at most the fraction 1 / `CHECKPOINT_TIME_DIVISOR` of the time.
const CHECKPOINT_TIME_DIVISOR: u32 = 20;

/// Decides when to renew a checkpoint: about once a second, unless that takes more than a twentieth of the run's time.
#[derive(Debug, Default)]
pub struct Renewal {
    /// The time of the last checkpoint, and how long it took.
    last: Option<(Instant, Duration)>,
}

impl Renewal {
    /// Whether a new checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|(when, took)| {
            when.elapsed() >= MIN_CHECKPOINT_INTERVAL.max(CHECKPOINT_TIME_DIVISOR * took)
        })
    }

    /// Writes a checkpoint and measures its time.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn renew<E>(&mut self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let began = Instant::now();
        write()?;
        self.last = Some((Instant::now(), began.elapsed()));
        Ok(())
    }
}
