//! Engines: the CPU, a device, or several devices that share the items of a task.

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use trisolar_device::{self as gpu, Device};
use trisolar_run::partial::Contents as _;
use trisolar_run::queue::Share;
use trisolar_run::scheduler::{self, Items, Ran, Worker};
use trisolar_run::{EngineError, Monitor, Workers, device_names, machine};
use trisolar_simd::Simd;

use super::contract::{Ensemble, GpuEngine, Portion, Report, Sink, Task};
use super::lease::Lease;

/// Computes an ensemble.
pub trait Engine<E: Ensemble> {
    /// `cpu`, `gpu`, `gpu+cpu` or `emulator`.
    fn name(&self) -> &'static str;

    /// Description of the device, for reports.
    fn device(&self) -> String;

    /// Computes items and passes their values to the task's sink as they arrive.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run; otherwise the failure.
    fn stream(&self, task: &Task<'_, E>, monitor: &dyn Monitor) -> Result<Report, EngineError>;

    /// The values of all items, in their order.
    ///
    /// # Errors
    /// As [`stream`](Self::stream), and [`EngineError::OutOfMemory`] if there is too little memory for them.
    fn compute(&self, spec: &E, monitor: &dyn Monitor) -> Result<Computed<E>, EngineError> {
        in_memory(spec, |task| self.stream(task, monitor))
    }
}

/// All values of an ensemble, and the report on their computation.
#[derive(Clone, Debug)]
pub struct Computed<E: Ensemble> {
    /// One for each item, in the order of the items.
    pub values: E::Values,
    /// How they were computed.
    pub report: Report,
}

/// Values in memory.
struct MemorySink<E: Ensemble>(Mutex<E::Values>);

impl<E: Ensemble> Sink<E> for MemorySink<E> {
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        E::put(&mut all, first as usize, values);
        Ok(())
    }
}

/// The values of all items, which `stream` passes to the task's sink.
///
/// # Errors
/// Those of `stream`, and [`EngineError::OutOfMemory`] if there is too little memory for them.
pub fn in_memory<E: Ensemble>(
    spec: &E,
    stream: impl FnOnce(&Task<'_, E>) -> Result<Report, EngineError>,
) -> Result<Computed<E>, EngineError> {
    let needed = spec.bytes_needed();
    let available = machine::available_memory();
    let full = EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // The system may grant more memory than it has and end the program when the memory is used. The number is 0 if it is not known.
    let values = if available > 0 && needed > available {
        None
    } else {
        spec.blank()
    };
    let memory = MemorySink::<E>(Mutex::new(values.ok_or(full)?));
    let report = stream(&Task::new(spec, &[0..spec.items()], &memory))?;
    let values = memory.0.into_inner();
    Ok(Computed {
        values: values.unwrap_or_else(PoisonError::into_inner),
        report,
    })
}

/// Computes a task on all of `workers`. If one of them fails, the others compute its items; if all of them fail, `reserve` computes what is
/// left. `at_start` is called when all workers are ready.
///
/// # Errors
/// The error that ended the run, or the first failure if items are left.
pub fn together<'a, E: Ensemble>(
    workers: &[&dyn Worker<Task<'a, E>>],
    reserve: Option<&dyn Worker<Task<'a, E>>>,
    task: &Task<'a, E>,
    monitor: &dyn Monitor,
    at_start: Option<&(dyn Fn() + Sync)>,
) -> Result<Ran, EngineError> {
    let items = Items {
        spans: task.spans,
        steps: task.spec.steps(),
        name: E::Contents::ITEMS,
        supply: task.supply,
        at_start,
    };
    scheduler::run(workers, reserve, task, &items, monitor)
}

/// As [`together`], with the energy of `gpus` if it is wanted, or a note with the reason why it cannot be measured.
fn measured<'a, E: Ensemble>(
    gpus: &[&dyn Device],
    workers: &[&dyn Worker<Task<'a, E>>],
    reserve: Option<&dyn Worker<Task<'a, E>>>,
    task: &Task<'a, E>,
    monitor: &dyn Monitor,
) -> Result<Report, EngineError> {
    let wanted = E::MEASURES_ENERGY && monitor.wants_energy();
    let real = !gpus.is_empty() && gpus.iter().all(|gpu| gpu.name() == "gpu");
    let meter = (wanted && real).then(|| gpu::EnergyMeter::new(gpus.iter().copied()));
    let start = || {
        if let Some(Ok(meter)) = &meter {
            meter.start();
        }
    };
    let ran = together(workers, reserve, task, monitor, Some(&start))?;
    let mut notes = ran.notes;
    let energy = meter.map(|meter| meter.and_then(|meter| meter.stop()));
    if let Some(Err(reason)) = &energy {
        notes.push(format!("energy was not measured: {reason}"));
    }
    Ok(Report {
        elapsed: ran.elapsed,
        notes,
        portions: Portion::all(ran.portions),
        energy: energy.and_then(Result::ok),
        ..Report::default()
    })
}

/// Computes ensembles on the CPU: threads with SIMD lanes.
#[derive(Clone, Debug)]
pub struct CpuEngine<E> {
    workers: Workers,
    of: PhantomData<fn(E)>,
}

impl<E> CpuEngine<E> {
    /// An engine with this many threads (`None`: as many as the process may use) and the fastest lanes of this machine.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system cannot start that many.
    pub fn new(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::with_simd(threads, None)
    }

    /// An engine with lanes that the caller chooses from [`Simd::available`] (`None`: the fastest).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(
        threads: Option<usize>,
        simd: impl Into<Option<Simd>>,
    ) -> Result<Self, EngineError> {
        let workers = Workers::with_simd(threads, simd)?;
        Ok(Self {
            workers,
            of: PhantomData,
        })
    }

    /// Its threads.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }
}

impl<E: Ensemble> Engine<E> for CpuEngine<E> {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        self.workers.in_words()
    }

    fn stream(&self, task: &Task<'_, E>, monitor: &dyn Monitor) -> Result<Report, EngineError> {
        Ok(Report {
            engine: self.name(),
            device: self.device(),
            ..measured(&[], &[self], None, task, monitor)?
        })
    }
}

impl<'a, E: Ensemble> Worker<Task<'a, E>> for CpuEngine<E> {
    fn label(&self) -> String {
        self.workers.in_words()
    }

    fn capacity(&self, task: &Task<'a, E>) -> u64 {
        (self.workers.threads() * task.spec.lanes(self.workers.simd())) as u64
    }

    fn work(&self, task: &Task<'a, E>, share: Share<'_>) -> Result<(), EngineError> {
        if !share.ready() {
            return share.check();
        }
        E::on_lanes(task, &self.workers, share)
    }
}

impl<E: Ensemble<Gpu = G>, G: GpuEngine> Engine<E> for G
where
    G: for<'a> Worker<Task<'a, E>>,
{
    fn name(&self) -> &'static str {
        GpuEngine::device(self).name()
    }

    fn device(&self) -> String {
        GpuEngine::device(self).info().name.clone()
    }

    fn stream(&self, task: &Task<'_, E>, monitor: &dyn Monitor) -> Result<Report, EngineError> {
        let device = GpuEngine::device(self);
        Ok(Report {
            engine: device.name(),
            device: device.info().name.clone(),
            ..measured(&[&**device], &[self], None, task, monitor)?
        })
    }
}

/// A GPU in use.
pub type GpuLease<E> = Lease<u32, <E as Ensemble>::Gpu>;
/// The CPU engine in use.
pub(crate) type CpuLease<E> = Lease<CpuKey, CpuEngine<E>>;
/// Threads and instruction set of a CPU engine.
pub(crate) type CpuKey = (Option<usize>, Option<Simd>);

impl<'a, E: Ensemble> Worker<Task<'a, E>> for Lease<u32, E::Gpu> {
    fn label(&self) -> String {
        (**self).label()
    }

    fn capacity(&self, task: &Task<'a, E>) -> u64 {
        (**self).capacity(task)
    }

    fn work(&self, task: &Task<'a, E>, share: Share<'_>) -> Result<(), EngineError> {
        self.noting((**self).work(task, share))
    }
}

/// Computes ensembles on GPUs, with or without the CPU, or on the CPU alone.
#[derive(Debug)]
pub struct MultiDeviceEngine<E: Ensemble> {
    pub(crate) gpus: Vec<GpuLease<E>>,
    /// The CPU, if it computes, alone or together with the GPUs.
    pub(crate) cpu: Option<CpuLease<E>>,
    /// The CPU, if it takes over when all GPUs have failed.
    pub(crate) reserve: Option<CpuLease<E>>,
}

impl<E: Ensemble> MultiDeviceEngine<E> {
    /// The GPUs.
    pub fn gpus(&self) -> impl Iterator<Item = &dyn Device> {
        self.gpus.iter().map(|gpu| &**GpuEngine::device(&**gpu))
    }
}

impl<E: Ensemble> Engine<E> for MultiDeviceEngine<E> {
    fn name(&self) -> &'static str {
        match (self.gpus.is_empty(), &self.cpu) {
            (true, _) => "cpu",
            (false, Some(_)) => "gpu+cpu",
            (false, None) => "gpu",
        }
    }

    fn device(&self) -> String {
        let gpus = device_names(self.gpus().map(|gpu| gpu.info().name.as_str()));
        let gpus = Some(gpus).filter(|names| !names.is_empty());
        let cpu = self.cpu.iter().map(|cpu| cpu.device());
        let all: Vec<String> = gpus.into_iter().chain(cpu).collect();
        all.join(" + ")
    }

    fn stream(&self, task: &Task<'_, E>, monitor: &dyn Monitor) -> Result<Report, EngineError> {
        let devices: Vec<&dyn Device> = self.gpus().collect();
        let gpus = self.gpus.iter().map(|gpu| gpu as &dyn Worker<_>);
        let cpu = self.cpu.iter().map(|cpu| &**cpu as &dyn Worker<_>);
        let workers: Vec<&dyn Worker<_>> = gpus.chain(cpu).collect();
        let reserve = self.reserve.as_ref().map(|cpu| &**cpu as &dyn Worker<_>);
        Ok(Report {
            engine: self.name(),
            device: self.device(),
            ..measured(&devices, &workers, reserve, task, monitor)?
        })
    }
}
