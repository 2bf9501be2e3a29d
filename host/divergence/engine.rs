//! What computes a map: one trait, chosen at run time.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::quantity::Statistics;
use super::queue::FAR;
use super::sink::{Memory, Sink};
use super::value::ValueVec;
use super::{Devices, Points, Resolution, Specification, Validated};
use crate::gpu::{DeviceInfo, Energy, GpuError};

/// Watches a run and may end it.
pub trait Monitor: Sync {
    /// `done` of `total` steps are accounted for (a pixel that parts early accounts for all of its steps).
    /// Called a few times a second, from any thread.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }
    /// Whether the run should end; asked several times a second.
    fn cancelled(&self) -> bool {
        false
    }
    /// How long devices may go on after a cancellation, about; at most the default, with which GPUs are fastest.
    fn reaction(&self) -> Duration {
        FAR
    }
}

/// A [`Monitor`] that shows nothing and lets the run go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {}

/// Computes maps.
pub trait Engine {
    /// `cpu` or `gpu`.
    fn name(&self) -> &'static str;
    /// The device in words, for reports.
    fn device(&self) -> String;
    /// Computes some pixels of a map and hands their values to the task's sink, as they come.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run; otherwise what failed.
    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError>;

    /// The value of every pixel, row-major.
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and [`EngineError::OutOfMemory`] if there is no room for the map.
    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError> {
        let memory = Memory::new(spec.value_type(), spec.pixels())?;
        let whole = [0..spec.pixels()];
        let task = Task::new(spec, &whole, &memory);
        let Ran {
            elapsed,
            notes,
            portions,
            energy,
        } = self.stream(&task, monitor)?;
        Ok(Computed {
            values: memory.into_values(),
            elapsed,
            notes,
            portions,
            energy,
        })
    }
}

/// Pixels to compute.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The map.
    pub spec: &'a Validated,
    /// Which of its pixels (row-major numbers), in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// Where results go.
    pub sink: &'a dyn Sink,
    /// Where more pixels come from while these are computed.
    #[cfg(feature = "mpi")]
    pub(super) supply: Option<&'a dyn super::ranks::Supply>,
}

impl<'a> Task<'a> {
    /// These pixels (row-major numbers, in ascending order and without overlap) of a map.
    pub fn new(spec: &'a Validated, spans: &'a [Range<u64>], sink: &'a dyn Sink) -> Self {
        Self {
            spec,
            spans,
            sink,
            #[cfg(feature = "mpi")]
            supply: None,
        }
    }

    /// Pixels of a map that come while others are computed.
    #[cfg(feature = "mpi")]
    pub(super) fn supplied(
        spec: &'a Validated,
        sink: &'a dyn Sink,
        supply: &'a dyn super::ranks::Supply,
    ) -> Self {
        Self {
            supply: Some(supply),
            ..Self::new(spec, &[], sink)
        }
    }

    /// Its pixels; all of the map, if they come while the task is under way.
    pub(super) fn spans_to_come(&self) -> Cow<'a, [Range<u64>]> {
        #[cfg(feature = "mpi")]
        if self.supply.is_some() {
            return Cow::Owned(vec![0..self.spec.pixels()]);
        }
        Cow::Borrowed(self.spans)
    }

    /// Number of pixels; those of the map, if they come while the task is under way.
    pub fn pixels(&self) -> u64 {
        self.spans_to_come().iter().map(|s| s.end - s.start).sum()
    }
}

/// How a task was done.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Time of the computation itself: on a GPU from the first launch to the last result on the host, without
    /// start-up and compilation.
    pub elapsed: Duration,
    /// What the user should know, such as that a GPU failed and others took over.
    pub notes: Vec<String>,
    /// Which device did how much.
    pub portions: Vec<Portion>,
    /// What it took on the GPUs, if that can be measured.
    pub energy: Option<Energy>,
}

/// What a device contributed to a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portion {
    /// The device in words.
    pub device: String,
    /// Pixels that it computed.
    pub pixels: u64,
}

/// What an engine brings back.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The value of every pixel, row-major.
    pub values: ValueVec,
    /// See [`Ran`].
    pub elapsed: Duration,
    /// See [`Ran`].
    pub notes: Vec<String>,
    /// See [`Ran`].
    pub portions: Vec<Portion>,
    /// See [`Ran`].
    pub energy: Option<Energy>,
}

impl Computed {
    /// The steps of every pixel, of a divergence map.
    ///
    /// # Panics
    /// If the map is of a quantity whose values are of another type.
    pub fn times(&self) -> &[u32] {
        self.values.of().expect(NO_TIMES)
    }
}

/// Said where counts of steps are asked of a map that has none.
pub(super) const NO_TIMES: &str = "the values of this quantity are not counts of steps";

/// Why a map could not be computed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The monitor ended the run.
    #[error("cancelled")]
    Cancelled,
    /// No GPU can be used.
    #[error("no usable GPU: {0}")]
    NoGpu(String),
    /// A call to a GPU failed.
    #[error("{device}: {call} failed: {reason}")]
    Gpu {
        /// Which GPU.
        device: String,
        /// Which call.
        call: &'static str,
        /// The driver's words.
        reason: String,
    },
    /// A device or the host has too little memory.
    #[error("{device}: out of memory: {needed} bytes are needed, {available} are free")]
    OutOfMemory {
        /// Which device, or `host`.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// What an option asks for is not there, or does not go with another option.
    #[error("--{option} {given}: {reason}")]
    Refused {
        /// Name of the option, as on the command line.
        option: &'static str,
        /// What was asked for.
        given: String,
        /// What there is, or what does not go together.
        reason: String,
    },
    /// The results could not be stored.
    #[error("{0}")]
    Sink(String),
    /// Another process of the run cannot go on.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// Which.
        rank: usize,
        /// Its words.
        reason: String,
    },
    /// The CPU engine could not start its threads.
    #[error("--threads {given}: {reason}")]
    Threads {
        /// Number asked for.
        given: usize,
        /// What the system said.
        reason: String,
    },
}

impl EngineError {
    /// An option that cannot be had.
    pub(crate) fn refused(
        option: &'static str,
        given: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self::Refused {
            option,
            given: given.to_string(),
            reason: reason.into(),
        }
    }

    /// What it means that GPUs cannot be used: with `auto` the CPU computes instead, and this is to be said of it.
    ///
    /// # Errors
    /// The error itself, with any other backend.
    pub(crate) fn passed_over(self, backend: Backend) -> Result<Option<String>, Self> {
        match self {
            error if backend != Backend::Auto => Err(error),
            // What was asked for by its number must be there.
            error @ Self::Refused { .. } => Err(error),
            // The ordinary case of a machine without a GPU is no news.
            Self::NoGpu(_) if !crate::gpu::driver_present() => Ok(None),
            error => Ok(Some(format!("{error}; the CPU computes instead"))),
        }
    }
}

impl From<GpuError> for EngineError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Unavailable(why) => Self::NoGpu(why),
            GpuError::Call {
                device,
                call,
                reason,
            } => Self::Gpu {
                device,
                call,
                reason,
            },
            GpuError::OutOfMemory {
                device,
                needed,
                available,
            } => Self::OutOfMemory {
                device,
                needed,
                available,
            },
        }
    }
}

/// Which engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// GPUs if any can be used, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// GPUs, or an error.
    Gpu,
}

/// Which GPUs to use, by the driver's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuChoice {
    /// All, as far as the map is large enough to keep them busy.
    #[default]
    Auto,
    /// All.
    All,
    /// Those whose bit is set.
    These(u64),
}

impl GpuChoice {
    /// Numbers that can be chosen.
    pub const NUMBERS: Range<u32> = 0..64;

    /// These GPUs; `None` if there is none, or one beyond [`NUMBERS`](Self::NUMBERS).
    pub fn of(numbers: &[u32]) -> Option<Self> {
        let known = numbers.iter().all(|n| Self::NUMBERS.contains(n));
        (known && !numbers.is_empty())
            .then(|| Self::These(numbers.iter().fold(0, |bits, n| bits | 1 << n)))
    }

    /// The numbers of the GPUs that are named one by one; none of the other choices.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        let bits = match self {
            Self::These(bits) => bits,
            Self::Auto | Self::All => 0,
        };
        Self::NUMBERS.filter(move |n| bits >> n & 1 == 1)
    }
}

impl fmt::Display for GpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::All => f.write_str("all"),
            Self::These(_) => {
                let numbers: Vec<String> = self.numbers().map(|n| n.to_string()).collect();
                f.write_str(&numbers.join(","))
            }
        }
    }
}

/// The first of these numbers of GPUs that there is not, and what there is.
pub(crate) fn missing_gpu(
    found: Result<&[DeviceInfo], &GpuError>,
    numbers: impl IntoIterator<Item = u32>,
) -> Option<(u32, String)> {
    let there = found.map_or(0, <[_]>::len);
    let missing = numbers.into_iter().find(|n| *n as usize >= there)?;
    let reason = match (found, there) {
        (Err(error), _) => error.to_string(),
        (Ok(_), 0) => "there is no GPU".into(),
        (Ok(_), 1) => "there is only GPU 0".into(),
        (Ok(_), n) => format!("there are GPUs 0 to {}", n - 1),
    };
    Some((missing, reason))
}

/// How several GPUs are driven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// A thread for each, which draws from a common queue: all finish together.
    #[default]
    Threads,
    /// One thread for all, each of which computes an equal part of the pixels.
    Single,
}

/// How to compute; nothing here changes a map's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Which engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// Whether the CPU computes together with the GPUs, if the backend has any.
    pub with_cpu: bool,
    /// Which GPUs.
    pub gpus: GpuChoice,
    /// How they are driven.
    pub driver: Driver,
}

impl RunOptions {
    /// That the options go together.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for the first that does not go with another.
    pub fn check(&self) -> Result<(), EngineError> {
        let on_cpu = self.backend == Backend::Cpu;
        if on_cpu && self.gpus != GpuChoice::Auto {
            let reason = "--backend cpu uses no GPU; leave one of them out";
            return Err(EngineError::refused("gpus", self.gpus, reason));
        }
        if self.driver == Driver::Single {
            let reason = match (on_cpu, self.with_cpu) {
                (false, false) => return Ok(()),
                (true, _) => "it drives GPUs, and --backend cpu uses none; leave one of them out",
                (_, true) => "it drives GPUs only, and --backend gpu+cpu has the CPU take part",
            };
            return Err(EngineError::refused("driver", "single", reason));
        }
        Ok(())
    }

    /// That the options go together, and that the GPUs they name are among those found.
    ///
    /// # Errors
    /// [`EngineError::Refused`].
    pub(crate) fn check_with(
        &self,
        found: Result<&[DeviceInfo], &GpuError>,
    ) -> Result<(), EngineError> {
        self.check()?;
        match missing_gpu(found, self.gpus.numbers()) {
            Some((number, reason)) => Err(EngineError::refused("gpus", number, reason)),
            None => Ok(()),
        }
    }
}

/// A computed map with what made it.
#[derive(Clone, Debug)]
pub struct DivergenceMap {
    /// What it is of.
    pub specification: Specification,
    /// The start states, if they are not a grid's: `values` are theirs, in the same order.
    pub points: Option<Arc<Points>>,
    /// height × width, row-major: the specification's quantity. Of a divergence map the steps that began with the twins together, equal
    /// to `specification.steps` where they never parted.
    pub values: ValueVec,
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// Time of the computation itself, see [`Ran::elapsed`].
    pub elapsed: Duration,
    /// The values in a few numbers.
    pub statistics: Statistics,
    /// What the user should know, such as that a GPU failed and the CPU took over.
    pub notes: Vec<String>,
    /// Which device did how much.
    pub portions: Vec<Portion>,
    /// What it took on the GPUs, if that can be measured.
    pub energy: Option<Energy>,
    /// How many pixels have a step that is too long, if it was looked for.
    pub resolution: Option<Resolution>,
    /// Why the map may not be what was meant: what was known before, and what was found.
    pub warnings: Vec<String>,
}

impl DivergenceMap {
    /// The same with what was found about its steps.
    #[must_use]
    pub fn with_resolution(mut self, resolution: Option<Resolution>) -> Self {
        self.resolution = resolution;
        self.warnings.extend(resolution.and_then(|r| r.warning()));
        self
    }

    /// The shape of `values`: height and width, or how the points are arranged.
    pub fn shape(&self) -> Vec<usize> {
        match &self.points {
            Some(points) => points.shape().to_owned(),
            None => [1, 0].map(|k| self.specification.size[k] as usize).into(),
        }
    }

    /// The specification as JSON text, without what the points stand in for.
    pub fn specification_json(&self) -> String {
        super::spec::json(&self.specification, self.points.as_deref())
    }

    /// The steps of every pixel, of a divergence map.
    ///
    /// # Panics
    /// If the map is of a quantity whose values are of another type.
    pub fn times(&self) -> &[u32] {
        self.values.of().expect(NO_TIMES)
    }

    /// Of values that were computed: one for each pixel of `spec`, in their order.
    pub fn new(spec: &Validated, values: ValueVec, streamed: Streamed) -> Self {
        let s = spec.specification();
        Self {
            specification: s.clone(),
            points: spec.points().cloned(),
            statistics: s.quantity.statistics(values.as_slice(), s.steps),
            values,
            engine: streamed.engine,
            device: streamed.device,
            elapsed: streamed.ran.elapsed,
            notes: streamed.ran.notes,
            portions: streamed.ran.portions,
            energy: streamed.ran.energy,
            resolution: None,
            warnings: spec.warnings(),
        }
    }
}

/// Computes a map on the engine that `options` ask for. Whoever computes many maps keeps the [`Devices`] open and calls
/// [`Devices::run`].
///
/// With [`Backend::Auto`] a GPU that cannot be used is passed over, and if all that there are fail in the middle the CPU
/// computes what is left; both are said in the result's notes.
///
/// # Errors
/// See [`Engine::compute`].
pub fn run(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    Devices::new().run(spec, options, monitor)
}

/// How [`stream`] did a task.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// The rest.
    pub ran: Ran,
}

/// Computes pixels of a map on the engine that `options` ask for, as [`run`] does, and hands them to the task's sink as
/// they come.
///
/// # Errors
/// See [`Engine::stream`].
pub fn stream(
    task: &Task<'_>,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Streamed, EngineError> {
    Devices::new().stream(task, options, monitor)
}
