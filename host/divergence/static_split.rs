//! The progress of a map that is divided among GPUs as in Badger's study: into parts with equal numbers of pixels.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use trisolar_run::Monitor;

/// Adds up the steps that the parts report.
pub(super) struct ProgressSum<'a> {
    monitor: &'a dyn Monitor,
    done: Vec<AtomicU64>,
    total: u64,
}

impl<'a> ProgressSum<'a> {
    /// For these parts of a map whose pixels have `steps` steps.
    pub fn new(monitor: &'a dyn Monitor, parts: &[Vec<Range<u64>>], steps: u64) -> Self {
        let pixels: u64 = parts.iter().flatten().map(|s| s.end - s.start).sum();
        Self {
            monitor,
            done: parts.iter().map(|_| AtomicU64::new(0)).collect(),
            total: pixels.saturating_mul(steps),
        }
    }

    /// The monitor of one part.
    pub fn part(&self, number: usize) -> PartMonitor<'_> {
        PartMonitor { sum: self, number }
    }
}

/// One part's monitor.
pub(super) struct PartMonitor<'a> {
    sum: &'a ProgressSum<'a>,
    number: usize,
}

impl Monitor for PartMonitor<'_> {
    fn progress(&self, done: u64, _: u64) {
        self.sum.done[self.number].store(done, Ordering::Relaxed);
        let all = self
            .sum
            .done
            .iter()
            .map(|d| d.load(Ordering::Relaxed))
            .sum();
        self.sum.monitor.progress(all, self.sum.total);
    }

    fn cancelled(&self) -> bool {
        self.sum.monitor.cancelled()
    }
}
