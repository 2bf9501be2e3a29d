//! Selects devices from the user's options: which GPUs, with or without the CPU, and what happens if there is no GPU.

use std::sync::Arc;
use std::thread;

use super::engine::{Engine, Executor, Streamed, Task, together};
use super::{CpuEngine, DeviceEngine};
use trisolar_device::{Device, GpuError};
use trisolar_run::scheduler::{Ran, Worker};
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, RunOptions};

/// Number of runs from which `auto` prefers a GPU. For fewer runs it is not worth the seconds that it takes to open a GPU and compile the
/// kernel.
const MIN_RUNS_FOR_GPU: u64 = 20_000;

/// Number of runs for each GPU if the user does not set the number of GPUs: about as many as a GPU integrates at a time.
const RUNS_PER_GPU: u64 = 1 << 16;

/// The devices of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Devices;

impl Executor for Devices {
    fn stream(
        &self,
        task: &Task<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Streamed, EngineError> {
        let (devices, notes) = SelectedDevices::open(task.runs(), options)?;
        let ran = devices.stream(task, monitor)?;
        Ok(Streamed::of(&devices, notes, ran))
    }
}

/// The devices that integrate a task.
#[derive(Debug)]
pub(super) struct SelectedDevices {
    gpus: Option<DeviceEngine>,
    cpu: Option<CpuEngine>,
    /// The CPU, which takes over if all GPUs fail.
    reserve: Option<CpuEngine>,
}

impl SelectedDevices {
    /// The devices that `options` select for this number of runs, and notes for the user.
    ///
    /// # Errors
    /// A GPU is needed and none can be used, or the CPU engine cannot start.
    pub fn open(runs: u64, options: &RunOptions) -> Result<(Self, Vec<String>), EngineError> {
        options.check()?;
        let mut notes = Vec::new();
        let wanted = match options.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            Backend::Auto => runs >= MIN_RUNS_FOR_GPU,
        };
        if wanted {
            match open_gpus(options, runs) {
                Ok((gpus, failed)) => {
                    let note = |e| format!("{e}; the other devices compute instead");
                    notes.extend(failed.into_iter().map(note));
                    let cpu = |wanted: bool| wanted.then(|| CpuEngine::new(options.threads));
                    let auto = options.backend == Backend::Auto && !options.with_cpu;
                    let devices = Self {
                        gpus: Some(DeviceEngine::on(gpus)),
                        cpu: cpu(options.with_cpu).transpose()?,
                        reserve: cpu(auto).transpose()?,
                    };
                    return Ok((devices, notes));
                }
                Err(error) => notes.extend(error.passed_over(options.backend)?),
            }
        }
        let devices = Self {
            gpus: None,
            cpu: Some(CpuEngine::new(options.threads)?),
            reserve: None,
        };
        Ok((devices, notes))
    }
}

/// The GPUs that can be used, and the reasons why others cannot.
type Opened = (Vec<Arc<dyn Device>>, Vec<EngineError>);

/// Opens the GPUs concurrently. Also returns the errors of those that cannot be used.
fn open_gpus(options: &RunOptions, runs: u64) -> Result<Opened, EngineError> {
    let found = trisolar_device::devices();
    options.check_with(found.as_deref())?;
    let found = found?.into_iter().map(|gpu| gpu.index);
    let numbers: Vec<u32> = match options.gpus {
        GpuChoice::These(_) => options.gpus.numbers().collect(),
        GpuChoice::All => found.collect(),
        GpuChoice::Auto => {
            let enough = usize::try_from(runs.div_ceil(RUNS_PER_GPU)).unwrap_or(usize::MAX);
            found.take(enough.max(1)).collect()
        }
    };
    let opened: Vec<Result<Arc<dyn Device>, GpuError>> = thread::scope(|scope| {
        let open = |index: &u32| {
            let index = *index;
            scope.spawn(move || trisolar_device::open(index))
        };
        let threads: Vec<_> = numbers.iter().map(open).collect();
        let join = |t: thread::ScopedJoinHandle<'_, _>| {
            t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))
        };
        threads.into_iter().map(join).collect()
    });
    let (mut gpus, mut failed) = (Vec::new(), Vec::new());
    for gpu in opened {
        match gpu {
            Ok(gpu) => gpus.push(gpu),
            Err(error) => failed.push(EngineError::from(error)),
        }
    }
    match failed.is_empty() || !gpus.is_empty() {
        true => Ok((gpus, failed)),
        false => Err(failed.swap_remove(0)),
    }
}

impl Engine for SelectedDevices {
    fn name(&self) -> &'static str {
        match (&self.gpus, &self.cpu) {
            (Some(_), Some(_)) => "gpu+cpu",
            (Some(gpus), None) => gpus.name(),
            (None, _) => "cpu",
        }
    }

    fn device(&self) -> String {
        let gpus = self.gpus.iter().map(Engine::device);
        let all: Vec<String> = gpus.chain(self.cpu.iter().map(Engine::device)).collect();
        all.join(" + ")
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        let gpus: Vec<_> = self.gpus.iter().flat_map(DeviceEngine::gpus).collect();
        let mut workers: Vec<&dyn Worker<Task<'_>>> = gpus.iter().map(|gpu| gpu as _).collect();
        workers.extend(self.cpu.iter().map(|cpu| cpu as &dyn Worker<Task<'_>>));
        let reserve = self
            .reserve
            .as_ref()
            .map(|cpu| cpu as &dyn Worker<Task<'_>>);
        together(&workers, reserve, task, monitor)
    }
}
