//! Pixels of earlier frames that are used again.
//!
//! [`Cache::Exact`] changes no bit: a pixel is taken over only where start position, shift, time step and everything else are the
//! same bits, and where a frame has more steps than the one before, it goes on from the state in which that one left it.
//! [`Cache::Rounded`] is the cache of rounded coordinates of Badger's study, which is not exact.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::folder::{Folder, remove};
use super::frame::{self, Effort, Error, State, Summary};
use super::runner::{Board, Done, Outcome, Settings, Watch, computed_anew, in_flight, most_steps};
use super::sequence::Frame;
use trisolar_map::{
    Computer as _, Devices, Items, Monitor, Resuming, RunOptions, Sink, Validated, Value as _,
    beside,
};

mod exact;
mod later;
mod rounded;

/// Which pixels are used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// None.
    #[default]
    None,
    /// Those whose start has the same bits.
    Exact,
    /// Reuses pixels whose rounded coordinates were computed before, as in Badger's study.
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

/// Computes and writes what is missing of a sequence with a cache.
///
/// What a frame takes over from earlier ones is planned in the order of the frames. They are then computed several at a time, on
/// all the GPUs that the settings ask for; a frame waits for another one where it takes over what that has not computed yet.
///
/// # Errors
/// As [`run`](super::run).
///
/// # Panics
/// If a frame is none that [`can_resume`](trisolar_map::can_resume).
pub fn run_cached(
    frames: &[Frame],
    folder: &Folder,
    settings: &Settings,
    cache: Cache,
    devices: &Devices,
    monitor: &dyn Monitor,
) -> Result<(Outcome, CacheReport), Error> {
    devices.check(&settings.options)?;
    let board = Board::new(frames, monitor);
    let reports = Mutex::new(vec![CacheReport::default(); frames.len()]);
    let (mut exact, mut rounded) = (exact::Store::default(), rounded::Store::default());
    let plan = |frame: &Frame| {
        let damage = match frame::state(frame, &settings.style, folder)? {
            State::Finished(summary) => {
                // The run that finished it may have ended before this.
                remove(&folder.file(frame.index, "part"))?;
                if cache == Cache::Rounded {
                    rounded.replay(frame, folder)?;
                }
                return Ok(Plan::Finished(summary));
            }
            State::Unfinished => None,
            State::Damaged(what) => Some(what),
        };
        Ok(match cache {
            Cache::Rounded => Plan::Rounded(rounded.plan(&frame.specification), damage),
            _ => Plan::Exact(exact.plan(&frame.specification), damage),
        })
    };
    let most = most_steps(frames);
    let work = |_: usize, frame: &Frame, plan: Plan| -> Result<Done, Error> {
        let computing = Computing {
            spec: &frame.specification,
            settings,
            devices,
            monitor: &Watch {
                board: &board,
                index: frame.index as usize,
            },
        };
        let path = folder.file(frame.index, "part");
        let mut report = CacheReport {
            pixels: frame.specification.pixels(),
            ..CacheReport::default()
        };
        if let Plan::Finished(summary) = plan {
            board.finished(frame);
            return Ok((summary, None));
        }
        let compute = || match plan {
            Plan::Exact(plan, damage) => plan
                .compute(&computing, &path, &mut report)
                .map(|computed| (computed, damage)),
            Plan::Rounded(plan, damage) => plan
                .compute(&computing, &path, &mut report)
                .map(|computed| (computed, damage)),
            Plan::Finished(_) => unreachable!("returned above"),
        };
        let (((times, mut effort), damage), unresolved) = beside(
            computing.spec,
            settings.options.threads,
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

/// Caches are of pixels that can go on, and their values are steps.
const OF_STEPS: &str = "a map that can be resumed is of divergence";

/// What is to be done for a frame.
enum Plan {
    Finished(Summary),
    /// With what is wrong with the files that are there.
    Exact(exact::Plan, Option<String>),
    Rounded(rounded::Plan, Option<String>),
}

/// What a frame is computed with.
struct Computing<'a> {
    spec: &'a Validated,
    settings: &'a Settings,
    devices: &'a Devices,
    monitor: &'a dyn Monitor,
}

impl Computing<'_> {
    /// Steps `count` items to their ends; `left` pixels of the frame, these among them, are not done.
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
        let part = frame::Part {
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
