//! What sequences need of an ensemble, and what they tell of its frames.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::colours::Colours;
use super::finished::FrameState;
use super::folder::Folder;
use super::sequence::Frame;
use trisolar_ensemble::{Ensemble, Report, Task};
use trisolar_io::colour::ColourMap;
use trisolar_io::picture::{Theme, YDirection};
use trisolar_io::{IoError, PictureFormat};
use trisolar_run::partial::{Mapped, PartialError};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// An ensemble of which there are sequences.
pub trait Framed: Ensemble {
    /// The summary of a frame.
    type Summary: Clone + Send;
    /// What is found about the accuracy of a frame while it is computed.
    type Found;

    /// The largest number of steps of any frame, on which the colours of pictures may depend.
    fn most_steps(_: &[Frame<Self>]) -> u32 {
        0
    }

    /// The file beside which the values of an unfinished frame are kept.
    fn main(frame: u32, folder: &Folder) -> PathBuf;

    /// The state of a frame. All bytes of its files are checked. A frame whose picture has another look is drawn again if its array or its
    /// picture has all that is needed.
    ///
    /// # Errors
    /// A file cannot be read, or the picture cannot be written.
    fn state(
        frame: &Frame<Self>,
        files: &FrameFiles<'_>,
    ) -> Result<FrameState<Self::Summary>, IoError>;

    /// Calls `work`, which computes the frame, and determines its accuracy meanwhile.
    ///
    /// # Errors
    /// Those of `work`, and [`EngineError::Cancelled`].
    fn beside<T>(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Self::Found), Error>;

    /// Writes a frame's files; the summary is written last, with the checksums of the other files. Returns the summary and the number of
    /// steps that this run took.
    ///
    /// # Errors
    /// A file cannot be written; no incomplete file remains.
    fn write(
        frame: &Frame<Self>,
        values: FrameValues<Self::Found>,
        files: &FrameFiles<'_>,
    ) -> Result<(Self::Summary, u64), IoError>;
}

/// Where and how the files of frames are written.
#[derive(Clone, Copy, Debug)]
pub struct FrameFiles<'a> {
    /// Their appearance.
    pub style: &'a Style,
    /// The largest number of steps of any frame ([`Framed::most_steps`]).
    pub most: u32,
    /// Their folder.
    pub folder: &'a Folder,
}

/// The values of a computed frame.
#[derive(Debug)]
pub struct FrameValues<F> {
    /// All of them.
    pub mapped: Mapped,
    /// The items that this run computed.
    pub computed: Vec<Range<u64>>,
    /// What was found about their accuracy.
    pub found: F,
}

/// How the frames of a sequence are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours of the pictures.
    pub colormap: ColourMap,
    /// The values that are coloured.
    pub colours: Colours,
    /// Whether pictures have axes, title and colour bar instead of one pixel per pixel of the map.
    pub axes: bool,
    /// Whether pictures without axes have a caption with the parameters that the sequence sets.
    pub captions: bool,
    /// Background and lines of pictures with axes.
    pub theme: Theme,
    /// The format of pictures with axes; others are PNG.
    pub format: PictureFormat,
    /// The direction of y.
    pub y: YDirection,
    /// Whether arrays (of ensembles of records, these) are written as well.
    pub npy: bool,
}

impl Style {
    /// The format of the pictures, of which only those with axes can be anything else than pixels.
    pub fn picture_format(&self) -> PictureFormat {
        if self.axes {
            self.format
        } else {
            PictureFormat::Png
        }
    }
}

/// The work of computing a frame, or the rest of a frame.
#[derive(Clone, Debug, Default)]
pub struct Effort {
    /// Time of the computation itself.
    pub elapsed: Duration,
    /// Steps taken in this run: pixel-steps of a map, each of which advances a system and its twin, or steps of encounters.
    pub steps: u64,
    /// `cpu`, `gpu` or `gpu+cpu`; empty if there was nothing left to compute.
    pub engine: &'static str,
    /// The device in words; empty if there was nothing left to compute.
    pub device: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Effort {
    /// That of a computation of this many steps.
    pub(super) fn of(report: Report, steps: u64) -> Self {
        Self {
            elapsed: report.elapsed,
            steps,
            engine: report.engine,
            device: report.device,
            notes: report.notes,
        }
    }
}

/// A frame or sequence that could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A map could not be computed, or the monitor ended the run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The records of an unfinished frame could not be taken over or kept.
    #[error(transparent)]
    Records(#[from] PartialError),
}

/// Reports the progress of a part of a frame as that of the frame.
pub(super) struct PartProgress<'a> {
    monitor: &'a dyn Monitor,
    /// Steps of the parts before.
    before: u64,
    /// Steps of the part.
    count: u64,
    /// Steps of the frame.
    total: u64,
}

impl<'a> PartProgress<'a> {
    /// The progress of a task that completes its ensemble.
    pub fn of<E: Ensemble>(task: &Task<'_, E>, monitor: &'a dyn Monitor) -> Self {
        let (count, all) = (task.items(), task.spec.items());
        let [before, count, total] =
            [all - count, count, all].map(|items| items.saturating_mul(task.spec.steps()));
        Self {
            monitor,
            before,
            count,
            total,
        }
    }
}

impl Monitor for PartProgress<'_> {
    fn progress(&self, done: u64, of: u64) {
        let share = done as f64 / of.max(1) as f64;
        let steps = (share * self.count as f64) as u64;
        self.monitor
            .progress(self.before.saturating_add(steps), self.total);
    }

    fn cancelled(&self) -> bool {
        self.monitor.cancelled()
    }
}

/// The effect of the cache in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CacheReport {
    /// Pixels of the frames that were computed.
    pub pixels: u64,
    /// Of these, pixels that took the value of an earlier frame.
    pub reused: u64,
    /// Reused pixels that were also computed to determine the error.
    pub checked: u64,
    /// Of these, those that had the right number of steps.
    pub right: u64,
    /// Mean absolute error (steps).
    pub mean_error: f64,
    /// Largest absolute error (steps).
    pub largest_error: u32,
}
