//! When a checkpoint is due.

use std::time::{Duration, Instant};

/// Checkpoints are not renewed more often than this.
const INTERVAL: Duration = Duration::from_secs(1);
/// Nor may they take a larger part of the time than one in so many.
const SHARE: u32 = 20;

/// Says when to renew a checkpoint: about once a second, but so that the run spends no more than a twentieth of its time on it.
#[derive(Debug, Default)]
pub struct Renewal {
    /// When the last one was written, and how long that took.
    last: Option<(Instant, Duration)>,
}

impl Renewal {
    /// Whether the last one is old, or there is none.
    pub fn is_due(&self) -> bool {
        self.last
            .is_none_or(|(when, took)| when.elapsed() >= INTERVAL.max(SHARE * took))
    }

    /// Renews it, and takes note of how long that takes.
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
