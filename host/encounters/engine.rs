//! The engines that integrate encounters: one trait, selected at run time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernels_gpu::encounters::Record;
use serde::Serialize;

use super::Validated;
use trisolar_run::queue::Supply;
use trisolar_run::scheduler::{self, Items, Ran, Worker};
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, RunOptions, missing_gpu};
use trisolar_simd::Simd;

/// Takes records, from any thread and in any order.
pub trait Sink: Sync {
    /// Takes the records of the runs from number `first` on. Every run of a task is passed once.
    ///
    /// # Errors
    /// The reason why the sink cannot take them, which ends the computation.
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError>;
}

/// Records in memory.
struct MemorySink(Mutex<Vec<Record>>);

impl Sink for MemorySink {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[first as usize..][..records.len()].copy_from_slice(records);
        Ok(())
    }
}

/// Runs to integrate.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)]
pub struct Task<'a> {
    /// The ensemble.
    pub spec: &'a Validated,
    /// Numbers of the runs, in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// The destination of the records.
    pub sink: &'a dyn Sink,
    /// The source of further runs while these are integrated.
    pub supply: Option<&'a dyn Supply>,
}

impl<'a> Task<'a> {
    /// A task for these runs (in ascending order and without overlap) of an ensemble.
    pub fn new(spec: &'a Validated, spans: &'a [Range<u64>], sink: &'a dyn Sink) -> Self {
        Self {
            spec,
            spans,
            sink,
            supply: None,
        }
    }

    /// Number of runs; that of the whole ensemble, if they arrive while the task runs.
    pub fn runs(&self) -> u64 {
        match self.supply {
            Some(_) => self.spec.runs(),
            None => self.spans.iter().map(|s| s.end - s.start).sum(),
        }
    }
}

/// Integrates a task's runs on all of `workers`. If one of them fails, the others integrate its runs; if all of them fail, `reserve`
/// integrates what is left.
///
/// # Errors
/// The error that ended the computation, or the first failure if runs are left.
pub(super) fn together<'a>(
    workers: &[&dyn Worker<Task<'a>>],
    reserve: Option<&dyn Worker<Task<'a>>>,
    task: &Task<'a>,
    monitor: &dyn Monitor,
) -> Result<Ran, EngineError> {
    let items = Items {
        spans: task.spans,
        steps: 1,
        name: "runs",
        supply: task.supply,
        at_start: None,
    };
    scheduler::run(workers, reserve, task, &items, monitor)
}

/// Integrates encounters to their ends.
pub trait Engine: Sync {
    /// `cpu`, `gpu`, `gpu+cpu` or `emulator`.
    fn name(&self) -> &'static str;

    /// Description of the device, for reports.
    fn device(&self) -> String;

    /// Integrates runs and passes their records to the task's sink as they end.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the work; otherwise the failure.
    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError>;

    /// The record of each run, in the order of the runs.
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and [`EngineError::OutOfMemory`] if there is too little memory for them.
    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        in_memory(spec, |task| self.stream(task, monitor)).map(|(records, _)| records)
    }
}

/// The records of all runs, which `stream` passes to the task's sink, and the report of `stream`.
pub(super) fn in_memory<T>(
    spec: &Validated,
    stream: impl FnOnce(&Task<'_>) -> Result<T, EngineError>,
) -> Result<(Vec<Record>, T), EngineError> {
    let memory = MemorySink(Mutex::new(room(spec.runs())?));
    let said = stream(&Task::new(spec, &[0..spec.runs()], &memory))?;
    let records = memory.0.into_inner();
    Ok((records.unwrap_or_else(PoisonError::into_inner), said))
}

/// Options of a computation, none of which changes a bit of the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The engine.
    pub backend: Backend,
    /// Whether the CPU computes together with the GPUs.
    pub with_cpu: bool,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// The instruction set of the CPU engine; `None` for the fastest.
    pub simd: Option<Simd>,
    /// Number of GPUs that share the work; `None` for as many as the work keeps busy.
    pub gpus: Option<u32>,
}

impl Options {
    /// Checks that the options are compatible and that the requested number of GPUs exists. Requesting GPUs selects the GPU backend.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if the options contradict each other.
    pub fn checked(&self) -> Result<RunOptions, EngineError> {
        let mut options = RunOptions {
            backend: self.backend,
            with_cpu: self.with_cpu,
            threads: self.threads,
            simd: self.simd,
            ..RunOptions::default()
        };
        let Some(gpus) = self.gpus else {
            return Ok(options);
        };
        let refused = |reason: String| Err(EngineError::refused("gpus", gpus, reason));
        if self.backend == Backend::Cpu {
            return refused("--backend cpu uses no GPU; leave one of them out".into());
        }
        let found = trisolar_device::devices();
        if let Some((_, reason)) = missing_gpu(found.as_deref(), 0..gpus.max(1)) {
            return refused(reason);
        }
        options.gpus = GpuChoice::First(gpus);
        options.backend = Backend::Gpu;
        Ok(options)
    }
}

/// The contribution of a device to an ensemble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portion {
    /// Description of the device.
    pub device: String,
    /// Number of runs that it integrated.
    pub runs: u64,
}

/// The report on integrated runs.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// Description of the device.
    pub device: String,
    /// Time of the computation itself, from the moment at which all devices were ready to the last record.
    pub elapsed: Duration,
    /// Facts that the user should know, such as that no GPU could be used.
    pub notes: Vec<String>,
    /// The contribution of each device.
    pub portions: Vec<Portion>,
}

impl Streamed {
    /// The report where no run was left to integrate.
    pub fn nothing() -> Self {
        Self {
            engine: "none",
            device: "all records were there".into(),
            elapsed: Duration::ZERO,
            notes: Vec::new(),
            portions: Vec::new(),
        }
    }

    /// The report of an engine, with the notes from before the computation.
    pub(super) fn of(engine: &dyn Engine, mut notes: Vec<String>, ran: Ran) -> Self {
        notes.extend(ran.notes);
        let portions = ran.portions.into_iter();
        Self {
            engine: engine.name(),
            device: engine.device(),
            elapsed: ran.elapsed,
            notes,
            portions: portions
                .map(|(device, runs)| Portion { device, runs })
                .collect(),
        }
    }
}

/// Integrates runs with the devices of one process or of several.
pub trait Executor: Sync {
    /// Integrates runs and passes their records to the task's sink as they end.
    ///
    /// # Errors
    /// As [`Engine::stream`]; also if a GPU is needed and none can be used, or if the CPU engine cannot start.
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError>;
}

/// An empty array with memory for the records. The same amount of memory again must be free for the buffers of the engines.
///
/// # Errors
/// [`EngineError::OutOfMemory`] if there is too little memory.
fn room(runs: u64) -> Result<Vec<Record>, EngineError> {
    let needed = runs.saturating_mul(2 * size_of::<Record>() as u64);
    let available = trisolar_run::machine::available_memory();
    let full = || EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // The number is 0 if the system does not provide it.
    if available > 0 && needed > available {
        return Err(full());
    }
    let mut records = Vec::new();
    let count = usize::try_from(runs).map_err(|_| full())?;
    records.try_reserve_exact(count).map_err(|_| full())?;
    records.resize(count, Record::default());
    Ok(records)
}
