//! What computes a map: one trait, chosen at run time.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{CpuEngine, Specification, Validated};

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
    /// `times` of every pixel, row-major: the number of steps that began with the twins together.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run; otherwise what failed.
    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError>;
}

/// What an engine brings back.
#[derive(Clone, Debug)]
pub struct Computed {
    /// `times` of every pixel, row-major.
    pub times: Vec<u32>,
    /// Time of the computation itself: on a GPU from the first launch to the last result on the host, without
    /// start-up and compilation.
    pub elapsed: Duration,
}

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
    /// The CPU engine could not start its threads.
    #[error("--threads {given}: {reason}")]
    Threads {
        /// Number asked for.
        given: usize,
        /// What the system said.
        reason: String,
    },
}

/// Which engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A GPU if one can be used, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, or an error.
    Gpu,
}

/// How to compute; nothing here changes a map's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Which engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
}

/// A computed map with what made it.
#[derive(Clone, Debug)]
pub struct DivergenceMap {
    /// What it is of.
    pub specification: Specification,
    /// height × width, row-major: steps that began with the twins together. Equal to `specification.steps`
    /// where they never parted.
    pub times: Vec<u32>,
    /// `cpu` or `gpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// Time of the computation itself, see [`Computed::elapsed`].
    pub elapsed: Duration,
    /// The sum of `times`: steps taken, each by a pixel's both systems.
    pub pixel_steps: u64,
    /// Pixels whose twins never parted.
    pub never_parted: u64,
    /// What the user should know, such as that a GPU failed and the CPU took over.
    pub notes: Vec<String>,
}

impl DivergenceMap {
    fn new(spec: &Validated, engine: &dyn Engine, computed: Computed, notes: Vec<String>) -> Self {
        let steps = spec.specification().steps as u32;
        Self {
            specification: spec.specification().clone(),
            pixel_steps: computed.times.iter().map(|t| u64::from(*t)).sum(),
            never_parted: computed.times.iter().filter(|t| **t == steps).count() as u64,
            times: computed.times,
            engine: engine.name(),
            device: engine.device(),
            elapsed: computed.elapsed,
            notes,
        }
    }
}

/// Computes a map on the engine that `options` ask for.
///
/// With [`Backend::Auto`] a GPU that cannot be used is passed over, and one that fails in the middle hands the
/// map over to the CPU; both are said in the result's notes.
///
/// # Errors
/// See [`Engine::compute`].
pub fn run(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<DivergenceMap, EngineError> {
    let mut notes = Vec::new();
    if options.backend != Backend::Cpu {
        match on_gpu(spec, monitor) {
            Ok(map) => return Ok(map),
            Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
            Err(error) if options.backend == Backend::Gpu => return Err(error),
            // The ordinary case of a machine without a GPU is no news.
            Err(EngineError::NoGpu(_)) if !crate::gpu::driver_present() => {}
            Err(error) => notes.push(format!("{error}; the CPU computes instead")),
        }
    }
    let engine = CpuEngine::new(options.threads)?;
    let computed = engine.compute(spec, monitor)?;
    Ok(DivergenceMap::new(spec, &engine, computed, notes))
}

#[cfg(feature = "gpu")]
fn on_gpu(spec: &Validated, monitor: &dyn Monitor) -> Result<DivergenceMap, EngineError> {
    let engine = super::GpuEngine::new(0)?;
    let computed = engine.compute(spec, monitor)?;
    Ok(DivergenceMap::new(spec, &engine, computed, Vec::new()))
}

#[cfg(not(feature = "gpu"))]
fn on_gpu(_: &Validated, _: &dyn Monitor) -> Result<DivergenceMap, EngineError> {
    Err(EngineError::NoGpu(
        "this program was built without the feature `gpu`".into(),
    ))
}

/// Runs `work` and measures it.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = work();
    (value, start.elapsed())
}
