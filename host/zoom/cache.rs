//! Pixels of earlier frames that are used again.
//!
//! [`Cache::Exact`] changes no bit: a pixel is taken over only where start position, shift, time step and everything else are the
//! same bits, and where a frame has more steps than the one before, it goes on from the state in which that one left it.
//! [`Cache::Rounded`] is the published cache of rounded coordinates, and is not exact.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use serde::Serialize;

use super::folder::Folder;
use super::frame::{self, Effort, Error, Pace};
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
        let pixels = frame.specification.pixels() as usize;
        report.pixels += pixels as u64;
        let (times, effort) = if cache == Cache::Rounded {
            rounded.frame(&computing, &path, &mut report)?
        } else {
            exact.frame(&computing, Partial::open(&path, pixels)?, &mut report)?
        };
        let summary = frame::write(frame, &times, most, &settings.style, folder)?;
        board.finished(frame);
        outcome.add(summary, Some(effort));
    }
    outcome.elapsed = start.elapsed();
    Ok((outcome, report))
}

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
