//! What computes encounters, chosen at run time.

use std::time::{Duration, Instant};

use kernels_gpu::encounters::Record;

use super::{CpuEngine, DeviceEngine, Specification, Validated};
use trisolar_run::{Backend, EngineError, Monitor};

/// Integrates encounters to their ends.
pub trait Engine: Sync {
    /// `cpu`, `gpu` or `emulator`.
    fn name(&self) -> &'static str;

    /// The device in words, for reports.
    fn device(&self) -> String;

    /// A record of each run, in their order.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the work; otherwise what failed.
    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError>;
}

/// How to compute; nothing here changes a bit.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which engine.
    pub backend: Backend,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// How many GPUs share the work; `None` for all.
    pub gpus: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: Backend::Auto,
            threads: None,
            gpus: None,
        }
    }
}

impl Options {
    /// The engine to use: GPUs that are asked for are GPUs to be used.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if the options contradict each other.
    pub fn checked_backend(&self) -> Result<Backend, EngineError> {
        match (self.backend, self.gpus) {
            (Backend::Cpu, Some(gpus)) => {
                let reason = "--backend cpu uses no GPU; remove one of the two options";
                Err(EngineError::refused("gpus", gpus, reason))
            }
            (Backend::Auto, Some(_)) => Ok(Backend::Gpu),
            (backend, _) => Ok(backend),
        }
    }
}

/// From this number of runs on `auto` prefers a GPU: opening one and letting its driver compile the kernel takes seconds.
const WORTH_A_GPU: u64 = 20_000;

/// Encounters that have ended.
#[derive(Clone, Debug)]
pub struct Ensemble {
    /// What they are of.
    pub specification: Specification,
    /// One for each run, in their order.
    pub records: Vec<Record>,
    /// `cpu` or `gpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// Time of the computation.
    pub elapsed: Duration,
    /// What the user should know, such as that no GPU could be used.
    pub notes: Vec<String>,
}

impl Ensemble {
    /// Kicks of all runs together.
    pub fn kicks(&self) -> f64 {
        let steps: u64 = self.records.iter().map(|r| u64::from(r.steps)).sum();
        steps as f64 * self.specification.order.stages() as f64
    }
}

/// Computes encounters on the engine that `options` ask for. With [`Backend::Auto`] a GPU that cannot be used is passed over, which the
/// notes say.
///
/// # Errors
/// See [`Engine::integrate`].
pub fn run(
    spec: &Validated,
    options: &Options,
    monitor: &dyn Monitor,
) -> Result<Ensemble, EngineError> {
    let mut notes = Vec::new();
    let backend = options.checked_backend()?;
    let wanted = match backend {
        Backend::Cpu => false,
        Backend::Gpu => true,
        Backend::Auto => spec.runs() >= WORTH_A_GPU,
    };
    if wanted {
        let outcome =
            DeviceEngine::on_gpus(options.gpus).and_then(|engine| measured(&engine, spec, monitor));
        match outcome {
            Ok(ensemble) => return Ok(ensemble),
            Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
            Err(error) => notes.extend(error.passed_over(backend)?),
        }
    }
    let engine = CpuEngine::new(options.threads)?;
    let mut ensemble = measured(&engine, spec, monitor)?;
    ensemble.notes = notes;
    Ok(ensemble)
}

fn measured(
    engine: &dyn Engine,
    spec: &Validated,
    monitor: &dyn Monitor,
) -> Result<Ensemble, EngineError> {
    let began = Instant::now();
    let records = engine.integrate(spec, monitor)?;
    Ok(Ensemble {
        specification: spec.specification().clone(),
        records,
        engine: engine.name(),
        device: engine.device(),
        elapsed: began.elapsed(),
        notes: Vec::new(),
    })
}

/// An array of records to be filled, and as much memory again for what engines have of it on the way.
///
/// # Errors
/// [`EngineError::OutOfMemory`] if there is no room.
pub(super) fn room(runs: u64) -> Result<Vec<Record>, EngineError> {
    let needed = runs.saturating_mul(2 * size_of::<Record>() as u64);
    let available = trisolar_run::machine::available_memory();
    let full = || EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // 0 where the system does not tell.
    if available > 0 && needed > available {
        return Err(full());
    }
    let mut records = Vec::new();
    let count = usize::try_from(runs).map_err(|_| full())?;
    records.try_reserve_exact(count).map_err(|_| full())?;
    records.resize(count, Record::default());
    Ok(records)
}

/// Whether two records have the same bits, also where a number is missing.
pub fn same_bits(a: &Record, b: &Record) -> bool {
    let bits = |r: &Record| {
        let reals = super::files::REALS.map(|(_, value)| value(r).to_bits());
        let wholes = super::files::WHOLES.map(|(_, value)| value(r));
        (reals, wholes)
    };
    bits(a) == bits(b)
}
