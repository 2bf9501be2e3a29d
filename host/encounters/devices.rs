//! Selects devices from the user's options: which GPUs, with or without the CPU, and what happens if there is no GPU.

use super::engine::{Engine, Executor, Streamed, Task, together};
use super::{CpuEngine, DeviceEngine, Precision};
use trisolar_run::scheduler::{Ran, Worker};
use trisolar_run::{Backend, EngineError, Monitor, RunOptions};

/// Number of runs from which `auto` prefers a GPU. For fewer runs it is not worth the seconds that it takes to open a GPU and compile the
/// kernel.
const MIN_RUNS_FOR_GPU: u64 = 20_000;

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
        let precision = task.spec.specification().precision;
        let (devices, notes) = SelectedDevices::open(task.runs(), precision, options)?;
        let ran = devices.stream(task, monitor)?;
        Ok(Streamed::of(&devices, notes, ran))
    }
}

/// The note for an arithmetic whose bits depend on the device, on GPUs and perhaps the CPU.
fn bits_of(precision: Precision, with_cpu: bool) -> Option<String> {
    let devices = if with_cpu {
        ", and from run to run on which runs the CPU integrates"
    } else {
        ""
    };
    (!precision.is_portable()).then(|| {
        format!(
            "with --precision {precision} the bits of the records depend on the kind of GPU{devices}; the statistics do not"
        )
    })
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
    pub fn open(
        runs: u64,
        precision: Precision,
        options: &RunOptions,
    ) -> Result<(Self, Vec<String>), EngineError> {
        options.check()?;
        let mut notes = Vec::new();
        let wanted = match options.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            Backend::Auto => runs >= MIN_RUNS_FOR_GPU,
        };
        if wanted {
            let open = |number| Ok(trisolar_device::open(number)?);
            match options.open_gpus(trisolar_device::devices(), runs, open) {
                Ok((gpus, said)) => {
                    notes.extend(said);
                    notes.extend(bits_of(precision, options.with_cpu));
                    let cpu = |wanted: bool| {
                        wanted.then(|| CpuEngine::with_simd(options.threads, options.simd))
                    };
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
            cpu: Some(CpuEngine::with_simd(options.threads, options.simd)?),
            reserve: None,
        };
        Ok((devices, notes))
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
