//! Reuses pixels of earlier frames.
//!
//! [`Cache::Exact`] changes no bit: a pixel is reused only if start position, shift, time step and all other values have the same
//! bits. If a frame has more steps than an earlier one, the pixel continues from the state in which that frame left it.
//! [`Cache::Rounded`] is the cache of rounded coordinates of Badger's study, which is not exact.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::finished::FrameState;
use super::folder::{Folder, remove};
use super::frame::{self, Effort, Error, Summary};
use super::runner::{
    Board, Done, Outcome, Settings, Watch, computed_anew, in_flight, most_steps, steps,
};
use super::sequence::Frame;
use trisolar_map::{
    Devices, EngineError, Executor as _, Items, Monitor, Resuming, RunOptions, Sink, Validated,
    Value as _, beside, can_resume,
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
    let (mut exact, mut rounded) = (exact::Layers::default(), rounded::RoundedCache::default());
    let most = most_steps(frames);
    let plan = |frame: &Frame| {
        let damage = match frame::state(frame, most, &settings.style, folder)? {
            FrameState::Finished(summary) => {
                // The run that finished the frame may have ended before it removed this file.
                remove(&folder.file(frame.index, "part"))?;
                if cache == Cache::Rounded {
                    rounded.replay(frame, folder)?;
                }
                return Ok(FramePlan::Finished(summary));
            }
            FrameState::Unfinished => None,
            FrameState::Damaged(what) => Some(what),
        };
        Ok(match cache {
            Cache::Rounded => FramePlan::Rounded(rounded.plan(&frame.specification), damage),
            _ => FramePlan::Exact(exact.plan(&frame.specification), damage),
        })
    };
    let work = |_: usize, frame: &Frame, plan: FramePlan| -> Result<Done, Error> {
        let computing = Computing {
            spec: &frame.specification,
            settings,
            devices,
            monitor: &Watch {
                board: &board,
                index: frame.index,
            },
        };
        let path = folder.file(frame.index, "part");
        let mut report = CacheReport {
            pixels: frame.specification.pixels(),
            ..CacheReport::default()
        };
        if let FramePlan::Finished(summary) = plan {
            board.finished(frame);
            return Ok((summary, None));
        }
        let compute = || match plan {
            FramePlan::Exact(plan, damage) => plan
                .compute(&computing, &path, &mut report)
                .map(|computed| (computed, damage)),
            FramePlan::Rounded(plan, damage) => plan
                .compute(&computing, &path, &mut report)
                .map(|computed| (computed, damage)),
            FramePlan::Finished(_) => unreachable!("returned above"),
        };
        let (((times, mut effort), damage), unresolved) = beside(
            computing.spec,
            &settings.options,
            computing.monitor,
            compute,
        )?;
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
    Exact(exact::ReusePlan, Option<String>),
    Rounded(rounded::ReusePlan, Option<String>),
}

/// The devices and settings with which a frame is computed.
struct Computing<'a> {
    spec: &'a Validated,
    settings: &'a Settings,
    devices: &'a Devices,
    monitor: &'a dyn Monitor,
}

impl Computing<'_> {
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
        let streamed = self.devices.resume(&task, &self.options(), &part)?;
        effort.elapsed += streamed.ran.elapsed;
        effort.engine = format!("{}: {}", streamed.engine, streamed.device);
        for note in streamed.ran.notes {
            if !effort.notes.contains(&note) {
                effort.notes.push(note);
            }
        }
        Ok(())
    }

    fn options(&self) -> RunOptions {
        self.settings.options
    }

    fn steps(&self) -> u32 {
        self.spec.specification().steps as u32
    }
}
