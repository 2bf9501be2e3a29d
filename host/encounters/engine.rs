//! What computes encounters: one trait, selected at run time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kernels_gpu::encounters::Record;
use serde::Serialize;

use super::Validated;
use trisolar_run::queue::Supply;
use trisolar_run::scheduler::{self, Items, Ran, Worker};
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, RunOptions, missing_gpu};

/// Takes records, from any thread and in any order.
pub trait Sink: Sync {
    /// The records of the runs from number `first` on. Every run of a task comes once.
    ///
    /// # Errors
    /// What keeps the sink from taking them; it ends the computation.
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
    /// The ensemble that they are of.
    pub spec: &'a Validated,
    /// Their numbers, in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// Where their records go.
    pub sink: &'a dyn Sink,
    /// Where more of them come from while these are integrated.
    pub supply: Option<&'a dyn Supply>,
}

impl<'a> Task<'a> {
    /// These runs (in ascending order and without overlap) of an ensemble.
    pub fn new(spec: &'a Validated, spans: &'a [Range<u64>], sink: &'a dyn Sink) -> Self {
        Self {
            spec,
            spans,
            sink,
            supply: None,
        }
    }

    /// How many runs it has; all runs of the ensemble, if they come while the task is under way.
    pub fn runs(&self) -> u64 {
        match self.supply {
            Some(_) => self.spec.runs(),
            None => self.spans.iter().map(|s| s.end - s.start).sum(),
        }
    }
}

/// Integrates a task's runs on all of `workers`. What one of them leaves undone by failing, the others do; `reserve` does what all of
/// them have left undone.
///
/// # Errors
/// What ended the computation, or the first failure if something is left undone.
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

    /// The device in words, for reports.
    fn device(&self) -> String;

    /// Integrates runs and hands their records to the task's sink, as they end.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the work; otherwise what failed.
    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError>;

    /// A record of each run, in their order.
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and [`EngineError::OutOfMemory`] if there is no room for them.
    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        in_memory(spec, |task| self.stream(task, monitor)).map(|(records, _)| records)
    }
}

/// The records of all runs, which `stream` hands to the task's sink, and what it says.
pub(super) fn in_memory<T>(
    spec: &Validated,
    stream: impl FnOnce(&Task<'_>) -> Result<T, EngineError>,
) -> Result<(Vec<Record>, T), EngineError> {
    let memory = MemorySink(Mutex::new(room(spec.runs())?));
    let said = stream(&Task::new(spec, &[0..spec.runs()], &memory))?;
    let records = memory.0.into_inner();
    Ok((records.unwrap_or_else(PoisonError::into_inner), said))
}

/// How to compute; nothing here changes a bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Which engine.
    pub backend: Backend,
    /// Whether the CPU computes together with the GPUs.
    pub with_cpu: bool,
    /// Threads of the CPU engine; `None` for as many as the process may use.
    pub threads: Option<usize>,
    /// How many GPUs share the work; `None` for as many as it keeps busy.
    pub gpus: Option<u32>,
}

impl Options {
    /// Checks that the options go together, and that there are as many GPUs as they ask for. GPUs that are asked for are GPUs to be
    /// used.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if the options contradict each other.
    pub fn checked(&self) -> Result<RunOptions, EngineError> {
        let mut options = RunOptions {
            backend: self.backend,
            with_cpu: self.with_cpu,
            threads: self.threads,
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
        let numbers: Vec<u32> = (0..gpus).collect();
        match GpuChoice::of(&numbers) {
            Some(chosen) => options.gpus = chosen,
            None => return refused("must be from 1 to 64".into()),
        }
        options.backend = Backend::Gpu;
        Ok(options)
    }
}

/// What a device contributed to an ensemble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portion {
    /// The device in words.
    pub device: String,
    /// Runs that it integrated.
    pub runs: u64,
}

/// How runs were integrated.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// `cpu`, `gpu` or `gpu+cpu`.
    pub engine: &'static str,
    /// The device in words.
    pub device: String,
    /// Time of the computation itself: from when all devices were ready to the last record.
    pub elapsed: Duration,
    /// What the user should know, such as that no GPU could be used.
    pub notes: Vec<String>,
    /// Which device did how much.
    pub portions: Vec<Portion>,
}

impl Streamed {
    /// What an engine did, and what was to be said before.
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
    /// Integrates runs and hands their records to the task's sink, as they end.
    ///
    /// # Errors
    /// As [`Engine::stream`]; no GPU can be used and one is needed, or the CPU engine cannot start.
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError>;
}

/// An array of records to be filled, and as much memory again for what engines have of it on the way.
///
/// # Errors
/// [`EngineError::OutOfMemory`] if there is no room.
fn room(runs: u64) -> Result<Vec<Record>, EngineError> {
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
