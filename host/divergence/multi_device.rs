//! Computes maps on several GPUs, with or without the CPU.

use std::thread;

use super::devices::{CpuLease, Devices, GpuLease};
use super::engine::{Engine, Ran, Task};
use super::resume::{Resuming, Stepper};
use super::scheduler::{self, Worker};
use trisolar_device::DeviceInfo;
use trisolar_run::{Backend, Driver, EngineError, GpuChoice, Monitor, RunOptions};

/// Pixels per GPU if the user does not set the number of GPUs: about as many as a GPU computes at a time.
const PIXELS_PER_GPU: u64 = 1 << 16;

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
        let found = devices.list();
        options.check_with(found.as_deref())?;
        let chosen = select_gpus(&found?, options.gpus, pixels);
        let (gpus, mut failed) = open_all(devices, &chosen);
        if gpus.is_empty() {
            return Err(failed.swap_remove(0));
        }
        let single = options.driver == Driver::Single;
        let cpu = |wanted: bool| wanted.then(|| devices.cpu(options.threads)).transpose();
        let multi_device = Self {
            gpus,
            cpu: cpu(options.with_cpu)?,
            reserve: cpu(options.backend == Backend::Auto && !options.with_cpu && !single)?,
            driver: options.driver,
        };
        let note = |error| format!("{error}; the other devices compute instead");
        Ok((multi_device, failed.iter().map(note).collect()))
    }
}

/// Opens these GPUs concurrently.
fn open_all(devices: &Devices, chosen: &[u32]) -> (Vec<GpuLease>, Vec<EngineError>) {
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .iter()
            .map(|index| scope.spawn(move || devices.gpu(*index)))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    let (mut gpus, mut failed) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(gpu) => gpus.push(gpu),
            Err(error) => failed.push(error),
        }
    }
    (gpus, failed)
}

/// Numbers of the GPUs to use, all of which exist.
fn select_gpus(found: &[DeviceInfo], choice: GpuChoice, pixels: u64) -> Vec<u32> {
    let all = found.iter().map(|gpu| gpu.index);
    match choice {
        GpuChoice::All => all.collect(),
        GpuChoice::Auto => {
            let enough = usize::try_from(pixels.div_ceil(PIXELS_PER_GPU)).unwrap_or(usize::MAX);
            all.take(enough.max(1)).collect()
        }
        GpuChoice::These(_) => choice.numbers().collect(),
    }
}

impl Engine for MultiDeviceEngine {
    fn name(&self) -> &'static str {
        if self.cpu.is_some() { "gpu+cpu" } else { "gpu" }
    }

    /// Equal names are listed once, with their count.
    fn device(&self) -> String {
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for gpu in &self.gpus {
            let name = gpu.name();
            match kinds.iter_mut().find(|(kind, _)| *kind == name) {
                Some((_, count)) => *count += 1,
                None => kinds.push((name, 1)),
            }
        }
        let gpus = kinds.into_iter().map(|(name, count)| match count {
            1 => name,
            n => format!("{n} x {name}"),
        });
        let cpu = self.cpu.iter().map(|cpu| cpu.device());
        let all: Vec<String> = gpus.chain(cpu).collect();
        all.join(" + ")
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        let driven: Vec<_> = self.gpus.iter().filter_map(|gpu| gpu.driven()).collect();
        if driven.len() == self.gpus.len() {
            return super::device::measured(driven.iter().copied(), |at_start| match self.driver {
                Driver::Threads => self.together(task, monitor, at_start),
                Driver::Single => super::single_driver::drive(&driven, task, monitor, at_start),
            });
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

    /// Computes unfinished pixels to their ends. Every GPU has two handles: while one copies results and states or waits for its last
    /// pixels, the GPU computes those of the other.
    pub(super) fn resume(
        &self,
        devices: &Devices,
        task: &Resuming<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Ran, EngineError> {
        let numbers: Vec<u32> = self.gpus.iter().map(|gpu| gpu.index()).collect();
        // One handle is enough if a second one cannot be opened.
        let (seconds, _) = open_all(devices, &numbers);
        let gpus = self.gpus.iter().chain(&seconds);
        let gpus = gpus.map(|gpu| &***gpu as &dyn Stepper);
        let cpu = self.cpu.iter().map(|cpu| &**cpu as &dyn Stepper);
        let steppers: Vec<&dyn Stepper> = gpus.chain(cpu).collect();
        let reserve = self.reserve.as_ref().map(|cpu| &**cpu as &dyn Stepper);
        task.run(&steppers, reserve, monitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_device::listed;

    #[test]
    fn small_maps_take_few_gpus_unless_asked_otherwise() {
        let found = listed(4);
        let chosen = |choice, pixels| select_gpus(&found, choice, pixels);
        assert_eq!(chosen(GpuChoice::Auto, 300 * 300), [0, 1]);
        assert_eq!(chosen(GpuChoice::Auto, 10), [0]);
        assert_eq!(chosen(GpuChoice::Auto, 1 << 24), [0, 1, 2, 3]);
        assert_eq!(chosen(GpuChoice::All, 10), [0, 1, 2, 3]);
        let these = GpuChoice::of(&[3, 1, 3]).expect("possible");
        assert_eq!(chosen(these, 10), [1, 3]);
    }

    #[test]
    fn a_gpu_that_is_not_there_is_named() {
        let message = |count| {
            let options = RunOptions {
                gpus: GpuChoice::of(&[0, 7]).expect("possible"),
                ..RunOptions::default()
            };
            let refused = options.check_with(Ok(&listed(count)));
            refused.expect_err("7 is missing").to_string()
        };
        assert_eq!(message(2), "--gpus 7: there are GPUs 0 to 1");
        assert_eq!(message(1), "--gpus 7: there is only GPU 0");
        assert_eq!(message(0), "--gpus 0: there is no GPU");
        assert_eq!(GpuChoice::of(&[]), None);
        assert_eq!(GpuChoice::of(&[64]), None);
    }
}
