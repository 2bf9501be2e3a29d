//! Reuses pixels of earlier frames.
//!
//! [`Cache::Exact`] changes no bit: a pixel is reused only if start position, shift, time step and all other values have the same
//! bits. If a frame has more steps than an earlier one, the pixel continues from the state in which that frame left it.
//! [`Cache::Rounded`] is the cache of rounded coordinates of Badger's study, which is not exact.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::finished::FrameState;
use super::folder::{Folder, remove};
use super::frame::{self, Effort, Error, Summary};
use super::partial::Partial;
use super::runner::{
    Board, Done, Outcome, Settings, Watch, computed_anew, in_flight, most_steps, steps,
};
use super::sequence::Frame;
use trisolar_io::IoError;
use trisolar_map::{
    Devices, EngineError, Executor as _, Items, Monitor, Resolution, Resuming, RunOptions, Sink,
    Validated, Value as _, beside, can_resume,
};

mod exact;
mod in_turn;
mod later;
mod rounded;

pub use in_turn::CachedMaps;

/// The pixels that are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// No pixels are reused.
    #[default]
    None,
    /// Reuses pixels whose start has the same bits.
    Exact,
    /// Reuses pixels whose rounded coordinates were computed before, as in Badger's study.
    Rounded,
}

impl Cache {
    /// Checks that pixels of these maps can be reused.
    ///
    /// # Errors
    /// What is allowed.
    pub fn check<'a>(
        self,
        maps: impl IntoIterator<Item = &'a Validated>,
    ) -> Result<(), &'static str> {
        match self == Self::None || maps.into_iter().all(can_resume) {
            true => Ok(()),
            false => Err(
                "it works with --quantity divergence, --precision f64 and --integrator explicit-euler only",
            ),
        }
    }
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

/// The effect of a cache in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CacheReport {
    /// Pixels of the frames that were computed.
    pub pixels: u64,
    /// Of these, pixels reused without a step.
    pub reused: u64,
    /// Of these, pixels continued from a state that an earlier frame had left.
    pub continued: u64,
    /// Reused pixels that were also computed to determine the error (for rounded coordinates only).
    pub checked: u64,
    /// Of these, those that had the right number of steps.
    pub right: u64,
    /// Mean absolute error (steps).
    pub mean_error: f64,
    /// Largest absolute error (steps).
    pub largest_error: u32,
}

impl CacheReport {
    fn add(&mut self, other: &Self) {
        let sum = |r: &Self| r.mean_error * r.checked as f64;
        let sum = sum(self) + sum(other);
        self.pixels += other.pixels;
        self.reused += other.reused;
        self.continued += other.continued;
        self.checked += other.checked;
        self.right += other.right;
        self.largest_error = self.largest_error.max(other.largest_error);
        self.mean_error = sum / (self.checked as f64).max(1.0);
    }
}

/// Computes and writes the missing frames of a sequence with a cache.
///
/// The pixels that a frame reuses are planned in the order of the frames. Several frames are then computed at a time, on all GPUs of
/// the settings. A frame waits for another one if it reuses pixels which that one has not yet computed.
///
/// # Errors
/// As [`run`](super::run).
///
/// # Panics
/// If a frame is not one that [`can_resume`](trisolar_map::can_resume).
pub fn run_cached(
    frames: &[Frame],
    folder: &Folder,
    settings: &Settings,
    cache: Cache,
    devices: &Devices,
    monitor: &dyn Monitor,
) -> Result<(Outcome, CacheReport), Error> {
    devices.check(&settings.options)?;
    if let Some(part) = settings.part {
        // A frame may need pixels of any earlier one.
        let reason = "a cache needs all frames of the sequence";
        return Err(EngineError::refused("part", part, reason).into());
    }
    let board = Board::new(frames, steps(frames), monitor);
    let reports = Mutex::new(vec![CacheReport::default(); frames.len()]);
    let mut known = KnownPixels::new(cache);
    let most = most_steps(frames);
    let plan = |frame: &Frame| {
        let damage = match frame::state(frame, most, &settings.style, folder)? {
            FrameState::Finished(summary) => {
                // The run that finished the frame may have ended before it removed this file.
                remove(&folder.file(frame.index, "part"))?;
                known.replay(frame, folder)?;
                return Ok(FramePlan::Finished(summary));
            }
            FrameState::Unfinished => None,
            FrameState::Damaged(what) => Some(what),
        };
        Ok(FramePlan::Computed(
            known.plan(&frame.specification),
            damage,
        ))
    };
    let work = |_: usize, frame: &Frame, plan: FramePlan| -> Result<Done, Error> {
        let (plan, damage) = match plan {
            FramePlan::Finished(summary) => {
                board.finished(frame);
                return Ok((summary, None));
            }
            FramePlan::Computed(plan, damage) => (plan, damage),
        };
        let path = folder.file(frame.index, "part");
        let computing = Computing {
            spec: &frame.specification,
            options: settings.options,
            file: Some((&path, settings.checkpoint)),
            devices,
            monitor: &Watch {
                board: &board,
                index: frame.index,
            },
        };
        let CachedMap {
            times,
            mut effort,
            unresolved,
            report,
        } = plan.compute(&computing)?;
        effort.notes.extend(damage.map(|what| computed_anew(&what)));
        let summary = frame::write_found(
            frame,
            u32::slice(&times),
            unresolved,
            most,
            &settings.style,
            folder,
        )?;
        reports.lock().unwrap_or_else(PoisonError::into_inner)[frame.index as usize] = report;
        board.finished(frame);
        Ok((summary, Some(effort)))
    };
    let outcome = in_flight(frames, settings.in_flight, &board, plan, work)?;
    let mut report = CacheReport::default();
    let reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.iter().for_each(|of_frame| report.add(of_frame));
    Ok((outcome, report))
}

/// The panic message for maps that are not of divergence: caches only hold pixels that can be resumed.
const OF_STEPS: &str = "a map that can be resumed is of divergence";

/// The work for a frame.
enum FramePlan {
    Finished(Summary),
    /// With a description of the damage of existing files.
    Computed(ReusePlan, Option<String>),
}

/// The known pixels of earlier maps.
#[derive(Debug)]
enum KnownPixels {
    Exact(Box<exact::Layers>),
    Rounded(rounded::RoundedCache),
}

impl KnownPixels {
    /// None yet.
    fn new(cache: Cache) -> Self {
        match cache {
            Cache::Rounded => Self::Rounded(rounded::RoundedCache::default()),
            Cache::None | Cache::Exact => Self::Exact(Box::default()),
        }
    }

    /// Plans which pixels the next map reuses. Maps that are not yet computed count as computed.
    fn plan(&mut self, spec: &Validated) -> ReusePlan {
        match self {
            Self::Exact(known) => ReusePlan::Exact(known.plan(spec)),
            Self::Rounded(known) => ReusePlan::Rounded(known.plan(spec)),
        }
    }

    /// Adds the pixels that a finished frame had added, if later frames would not have the same values without them.
    fn replay(&mut self, frame: &Frame, folder: &Folder) -> Result<(), IoError> {
        match self {
            Self::Exact(_) => Ok(()),
            Self::Rounded(known) => known.replay(frame, folder),
        }
    }
}

/// The pixels that a map reuses, and those that it computes.
#[derive(Debug)]
enum ReusePlan {
    Exact(exact::ReusePlan),
    Rounded(rounded::ReusePlan),
}

/// A map that was computed with a cache.
struct CachedMap {
    /// The number of steps of each pixel.
    times: Vec<u32>,
    effort: Effort,
    unresolved: Option<Resolution>,
    /// The effect of the cache.
    report: CacheReport,
}

impl ReusePlan {
    fn compute(self, computing: &Computing<'_>) -> Result<CachedMap, Error> {
        let mut report = CacheReport {
            pixels: computing.spec.pixels(),
            ..CacheReport::default()
        };
        let compute = || match self {
            Self::Exact(plan) => plan.compute(computing, &mut report),
            Self::Rounded(plan) => plan.compute(computing, &mut report),
        };
        let options = &computing.options;
        let ((times, effort), unresolved) =
            beside(computing.spec, options, computing.monitor, compute)?;
        Ok(CachedMap {
            times,
            effort,
            unresolved,
            report,
        })
    }
}

/// The devices and settings with which a map is computed.
struct Computing<'a> {
    spec: &'a Validated,
    options: RunOptions,
    /// The file of the finished pixels, and the time between two records in it; `None` if they are not kept.
    file: Option<(&'a Path, Duration)>,
    devices: &'a Devices,
    monitor: &'a dyn Monitor,
}

impl Computing<'_> {
    /// This many pixels, of which the file may have some.
    fn partial(&self, pixels: usize) -> Result<Partial, Error> {
        Ok(match self.file {
            Some((path, interval)) => Partial::open(path, self.spec, pixels, interval)?,
            None => Partial::in_memory(self.spec, pixels)?,
        })
    }

    /// Computes `count` items to their ends; `left` pixels of the frame, including these, are not done.
    fn go_on(
        &self,
        items: &dyn Items,
        sink: &dyn Sink,
        count: usize,
        left: usize,
        effort: &mut Effort,
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let (pixels, steps) = (self.spec.pixels(), u64::from(self.steps()));
        let part = frame::PartProgress {
            monitor: self.monitor,
            before: pixels.saturating_sub(left as u64) * steps,
            total: pixels * steps,
            count: count as u64 * steps,
        };
        let task = Resuming {
            spec: self.spec,
            spans: &[0..count as u64],
            items,
            sink,
        };
        let streamed = self.devices.resume(&task, &self.options, &part)?;
        effort.elapsed += streamed.ran.elapsed;
        effort.engine = streamed.engine;
        effort.device = streamed.device;
        for note in streamed.ran.notes {
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
