//! How Badger's study divides a map among GPUs: into parts with equal numbers of pixels.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use trisolar_run::Monitor;

/// Splits spans into `parts` parts whose sizes differ by one pixel at most.
pub(super) fn evenly(spans: &[Range<u64>], parts: usize) -> Vec<Vec<Range<u64>>> {
    let total: u64 = spans.iter().map(|s| s.end - s.start).sum();
    let mut rest = spans.iter().filter(|s| !s.is_empty()).cloned();
    let mut current = rest.next();
    let mut found = Vec::new();
    for part in 0..parts as u64 {
        let end = |part: u64| (u128::from(total) * u128::from(part) / parts as u128) as u64;
        let mut missing = end(part + 1) - end(part);
        let mut taken = Vec::new();
        while missing > 0
            && let Some(span) = &mut current
        {
            let cut = span.end.min(span.start + missing);
            missing -= cut - span.start;
            taken.push(span.start..cut);
            span.start = cut;
            if span.is_empty() {
                current = rest.next();
            }
        }
        found.push(taken);
    }
    found
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_and_nothing_is_dropped() {
        for (spans, parts) in [
            (vec![0..10], 3),
            (vec![5..6, 7..20, 100..101], 4),
            (vec![0..2], 4),
            (vec![], 2),
            (vec![0..1 << 32], 7),
        ] {
            let split = evenly(&spans, parts);
            assert_eq!(split.len(), parts);
            let sizes = split
                .iter()
                .map(|p| p.iter().map(|s| s.end - s.start).sum::<u64>());
            let (least, most) = (sizes.clone().min().unwrap(), sizes.clone().max().unwrap());
            assert!(most - least <= 1);
            let whole: u64 = spans.iter().map(|s| s.end - s.start).sum();
            assert_eq!(sizes.sum::<u64>(), whole);
            let mut joined: Vec<Range<u64>> = Vec::new();
            for span in split.into_iter().flatten() {
                match joined.last_mut() {
                    Some(last) if last.end == span.start => last.end = span.end,
                    _ => joined.push(span),
                }
            }
            assert_eq!(joined, spans);
        }
    }
}
