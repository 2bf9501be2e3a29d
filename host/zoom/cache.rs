//! Pixels of earlier frames that are used again.
//!
//! [`Cache::Exact`] changes no bit: a pixel is taken over only where start position, shift, time step and everything else are the
//! same bits, and where a frame has more steps than the one before, it goes on from the state in which that one left it.
//! [`Cache::Rounded`] is the published cache of rounded coordinates, and is not exact.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::folder::{Folder, remove};
use super::frame::{self, Effort, Error};
use super::partial::Partial;
use super::runner::{Board, Outcome, Settings, Watch, most_steps};
use super::sequence::Frame;
use crate::divergence::{EngineError, Item, Monitor, RunOptions, Validated, resume};

mod exact;
mod rounded;

/// Which pixels are used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// None.
    #[default]
    None,
    /// Those whose start has the same bits.
    Exact,
    /// Those whose rounded coordinates were computed before: the source document's.
    Rounded,
}

impl FromStr for Cache {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "exact" => Ok(Self::Exact),
            "rounded" => Ok(Self::Rounded),
            _ => Err("must be none, exact or rounded".into()),
        }
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Exact => "exact",
            Self::Rounded => "rounded",
        })
    }
}

/// What a cache did in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CacheReport {
    /// Pixels of the frames that were computed.
    pub pixels: u64,
    /// Of these, taken over without a step.
    pub reused: u64,
    /// Of these, gone on with from a state that an earlier frame had left.
    pub continued: u64,
    /// Reused pixels that were computed as well, to see how far off they are (of rounded coordinates only).
    pub checked: u64,
    /// Of these, those that had the right number of steps.
    pub right: u64,
    /// The mean of the differences' absolute values (steps).
    pub mean_error: f64,
    /// The largest of them (steps).
    pub largest_error: u32,
}

/// Computes and writes what is missing of a sequence, frame after frame, with a cache.
///
/// # Errors
/// As [`run`](super::run).
///
/// # Panics
/// If a frame is none that [`can_resume`](crate::divergence::can_resume).
pub fn run_cached(
    frames: &[Frame],
    folder: &Folder,
    settings: &Settings,
    cache: Cache,
    monitor: &dyn Monitor,
) -> Result<(Outcome, CacheReport), Error> {
    let start = Instant::now();
    let (mut exact, mut rounded) = (exact::Store::default(), rounded::Store::default());
    let (mut outcome, mut report) = (Outcome::default(), CacheReport::default());
    let most = most_steps(frames);
    let board = Board::new(frames, monitor);
    let pace = Pace::new(settings.checkpoint);
    for frame in frames {
        if monitor.cancelled() {
            return Err(EngineError::Cancelled.into());
        }
        if let Some(summary) = frame::finished(frame, &settings.style, folder) {
            // The run that finished it may have ended before this.
            remove(&folder.file(frame.index, "part"))?;
            if cache == Cache::Rounded {
                rounded.replay(frame, folder)?;
            }
            board.finished(frame);
            outcome.add(summary, None);
            continue;
        }
        let watch = Watch {
            board: &board,
            index: frame.index as usize,
        };
        let path = folder.file(frame.index, "part");
        let computing = Computing {
            spec: &frame.specification,
            pace: &pace,
            options: &settings.options,
            monitor: &watch,
        };
        let pixels = frame.specification.pixels();
        report.pixels += pixels;
        let (times, effort) = if cache == Cache::Rounded {
            rounded.frame(&computing, &path, &mut report)?
        } else {
            let partial = Partial::open(&path, pixels as usize, RECORD_ALL)?;
            exact.frame(&computing, partial, &mut report)?
        };
        let summary = frame::write(frame, &times, most, &settings.style, folder)?;
        board.finished(frame);
        outcome.add(summary, Some(effort));
    }
    outcome.elapsed = start.elapsed();
    Ok((outcome, report))
}

/// Bands are recorded as soon as they are done.
const RECORD_ALL: Duration = Duration::ZERO;

/// What a frame is computed with.
struct Computing<'a> {
    spec: &'a Validated,
    pace: &'a Pace,
    options: &'a RunOptions,
    monitor: &'a dyn Monitor,
}

impl Computing<'_> {
    /// Steps items to their ends, the first being item number `before` of `total`.
    fn go_on(
        &self,
        items: &mut [Item],
        before: usize,
        total: usize,
        effort: &mut Effort,
    ) -> Result<(), Error> {
        let steps = self.spec.specification().steps;
        let taken = |items: &[Item]| items.iter().map(|i| u64::from(i.taken)).sum::<u64>();
        let had = taken(items);
        let part = frame::Part {
            monitor: self.monitor,
            before: before as u64 * steps,
            total: total as u64 * steps,
            count: items.len() as u64 * steps,
        };
        let resumed = resume(self.spec, items, self.options, &part)?;
        effort.pixel_steps += taken(items).saturating_sub(had);
        effort.elapsed += resumed.elapsed;
        effort.engine = format!("{}: {}", resumed.engine, resumed.device);
        for note in resumed.notes {
            if !effort.notes.contains(&note) {
                effort.notes.push(note);
            }
        }
        Ok(())
    }

    fn steps(&self) -> u32 {
        self.spec.specification().steps as u32
    }
}

/// How many pixels to compute between two records of what is done: as many as take a given time.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    /// Steps of the next band, if none of its pixels parts.
    steps: AtomicU64,
}

/// Steps of the first band, of which nobody knows how long it takes: some milliseconds on a GPU, a tenth of a second on one
/// core.
const FIRST_BAND: u64 = 1 << 24;

impl Pace {
    /// A record about every `interval`.
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            steps: AtomicU64::new(FIRST_BAND),
        }
    }

    /// Pixels of the next band of a map of so many steps.
    fn band(&self, steps: u64) -> usize {
        (self.steps.load(Ordering::Relaxed) / steps).max(1) as usize
    }

    /// Learns what a band took. The next one is at most 16 times as large, since short ones say little about long ones.
    fn measured(&self, pixels: usize, steps: u64, elapsed: Duration) {
        let steps = pixels as u64 * steps;
        let rate = steps as f64 / elapsed.as_secs_f64().max(1e-6);
        let wanted = (rate * self.interval.as_secs_f64()) as u64;
        let most = steps.saturating_mul(16).max(FIRST_BAND);
        self.steps.store(wanted.min(most), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_take_about_the_time_between_two_records() {
        let pace = Pace::new(Duration::from_secs(10));
        assert_eq!(pace.band(1 << 14), 1 << 10);
        assert_eq!(pace.band(1 << 30), 1);
        pace.measured(1 << 10, 1 << 20, Duration::from_secs(1));
        assert_eq!(pace.band(1 << 20), 10 << 10);
        assert_eq!(pace.band(1 << 10), 10 << 20, "fewer steps, more pixels");
        pace.measured(1 << 10, 1 << 20, Duration::from_millis(1));
        assert_eq!(pace.band(1 << 20), 16 << 10, "grows by 16 at most");
        pace.measured(1 << 10, 1 << 20, Duration::from_secs(100_000));
        assert_eq!(pace.band(1 << 20), 1, "one pixel at least");
    }
}
