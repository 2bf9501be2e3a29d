//! Computes maps on several GPUs, with or without the CPU.

use super::devices::{CpuLease, Devices, GpuLease};
use super::engine::{Engine, Ran, Task};
use super::scheduler::{self, Worker};
use trisolar_run::{Backend, Driver, EngineError, Monitor, RunOptions, device_names};

/// Computes maps on several GPUs.
#[derive(Debug)]
pub struct MultiDeviceEngine {
    gpus: Vec<GpuLease>,
    /// The CPU, if it computes together with the GPUs.
    cpu: Option<CpuLease>,
    /// The CPU, if it takes over when all GPUs have failed.
    reserve: Option<CpuLease>,
    driver: Driver,
}

impl MultiDeviceEngine {
    /// Opens the devices that `options` select for a map of this many pixels; also returns notes about those that cannot be used.
    ///
    /// # Errors
    /// [`EngineError::Refused`] if a named GPU does not exist; otherwise the reason why no GPU can be used.
    pub fn open(pixels: u64, options: &RunOptions) -> Result<(Self, Vec<String>), EngineError> {
        Self::of(&Devices::new(), pixels, options)
    }

    /// As [`open`](Self::open), from devices some of which may be open.
    pub(super) fn of(
        devices: &Devices,
        pixels: u64,
        options: &RunOptions,
    ) -> Result<(Self, Vec<String>), EngineError> {
        let (gpus, notes) =
            options.open_gpus(devices.list(), pixels, |number| devices.gpu(number))?;
        let single = options.driver == Driver::Single;
        let cpu = |wanted: bool| wanted.then(|| devices.cpu(options)).transpose();
        let multi_device = Self {
            gpus,
            cpu: cpu(options.with_cpu)?,
            reserve: cpu(options.backend == Backend::Auto && !options.with_cpu && !single)?,
            driver: options.driver,
        };
        Ok((multi_device, notes))
    }
}

impl Engine for MultiDeviceEngine {
    fn name(&self) -> &'static str {
        if self.cpu.is_some() { "gpu+cpu" } else { "gpu" }
    }

    fn device(&self) -> String {
        let names: Vec<String> = self.gpus.iter().map(|gpu| gpu.name()).collect();
        let gpus = device_names(names.iter().map(String::as_str));
        let cpu = self.cpu.iter().map(|cpu| cpu.device());
        let all: Vec<String> = std::iter::once(gpus).chain(cpu).collect();
        all.join(" + ")
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        let driven: Vec<_> = self.gpus.iter().filter_map(|gpu| gpu.driven()).collect();
        if driven.len() == self.gpus.len() {
            let run = |at_start: Option<&(dyn Fn() + Sync)>| match self.driver {
                Driver::Threads => self.together(task, monitor, at_start),
                Driver::Single => super::single_driver::drive(&driven, task, monitor, at_start),
            };
            return super::device::measured(driven.iter().copied(), monitor, run);
        }
        self.together(task, monitor, None)
    }
}

impl MultiDeviceEngine {
    /// Runs a task with a host thread for each device.
    fn together(
        &self,
        task: &Task<'_>,
        monitor: &dyn Monitor,
        at_start: Option<&(dyn Fn() + Sync)>,
    ) -> Result<Ran, EngineError> {
        let gpus = self.gpus.iter().map(|gpu| &***gpu as &dyn Worker);
        let cpu = self.cpu.iter().map(|cpu| &**cpu as &dyn Worker);
        let workers: Vec<&dyn Worker> = gpus.chain(cpu).collect();
        let reserve = self.reserve.as_ref().map(|cpu| &**cpu as &dyn Worker);
        scheduler::run_from(&workers, reserve, task, monitor, at_start)
    }
}
