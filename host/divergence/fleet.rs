//! Several GPUs, alone or with the CPU.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::{
    Backend, Driver, Engine, EngineError, GpuChoice, Monitor, Portion, Ran, RunOptions, Task,
};
use super::gpu::measured;
use super::queue::Queue;
use super::split::{self, Sum};
use super::team::{self, Worker};
use super::tiles::{Pipeline, Standing};
use super::{CpuEngine, GpuEngine};
use crate::gpu::{self, DeviceInfo};

/// Pixels for which one more GPU is started, if the user leaves the number open: about as many as it works on at a time.
const PIXELS_A_GPU: u64 = 1 << 16;

/// Computes maps on several GPUs.
#[derive(Debug)]
pub struct FleetEngine {
    gpus: Vec<GpuEngine>,
    /// The CPU, which helps.
    cpu: Option<CpuEngine>,
    /// The CPU, which takes over if all GPUs fail.
    reserve: Option<CpuEngine>,
    driver: Driver,
}

impl FleetEngine {
    /// The devices that `options` ask for, for a map of so many pixels; also says which of them cannot be used.
    ///
    /// # Errors
    /// [`EngineError::Gpus`] if one that was named is not there, otherwise why none can be used.
    pub fn open(pixels: u64, options: &RunOptions) -> Result<(Self, Vec<String>), EngineError> {
        let found = gpu::devices()?;
        let chosen = choose(&found, options.gpus, pixels)?;
        let opened: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = chosen
                .into_iter()
                .map(|index| scope.spawn(move || GpuEngine::new(index)))
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
                .collect()
        });
        let (mut gpus, mut failed) = (Vec::new(), Vec::new());
        for result in opened {
            match result {
                Ok(gpu) => gpus.push(gpu),
                Err(error) => failed.push(error),
            }
        }
        if gpus.is_empty() {
            return Err(failed.swap_remove(0));
        }
        let alone = options.driver == Driver::Single;
        let cpu = |wanted: bool| wanted.then(|| CpuEngine::new(options.threads)).transpose();
        let fleet = Self {
            gpus,
            cpu: cpu(options.with_cpu && !alone)?,
            reserve: cpu(options.backend == Backend::Auto && !options.with_cpu && !alone)?,
            driver: options.driver,
        };
        let mut notes: Vec<String> = failed
            .iter()
            .map(|error| format!("{error}; the other devices compute instead"))
            .collect();
        if alone && options.with_cpu {
            notes.push("the single driver drives GPUs only: the CPU takes no part".into());
        }
        Ok((fleet, notes))
    }
}

/// Numbers of the GPUs to use.
fn choose(found: &[DeviceInfo], choice: GpuChoice, pixels: u64) -> Result<Vec<u32>, EngineError> {
    let all = found.iter().map(|gpu| gpu.index);
    match choice {
        GpuChoice::All => Ok(all.collect()),
        GpuChoice::Auto => {
            let enough = usize::try_from(pixels.div_ceil(PIXELS_A_GPU)).unwrap_or(usize::MAX);
            Ok(all.take(enough.max(1)).collect())
        }
        GpuChoice::These(bits) => {
            let wanted: Vec<u32> = GpuChoice::NUMBERS.filter(|n| bits >> n & 1 == 1).collect();
            match wanted.iter().find(|n| **n as usize >= found.len()) {
                None => Ok(wanted),
                Some(missing) => Err(EngineError::Gpus {
                    given: missing.to_string(),
                    reason: match found.len() {
                        1 => "there is only GPU 0".into(),
                        n => format!("there are GPUs 0 to {}", n - 1),
                    },
                }),
            }
        }
    }
}

impl Engine for FleetEngine {
    fn name(&self) -> &'static str {
        if self.cpu.is_some() { "gpu+cpu" } else { "gpu" }
    }

    /// Equal names once, with their number.
    fn device(&self) -> String {
        let mut kinds: Vec<(String, usize)> = Vec::new();
        for gpu in &self.gpus {
            let name = gpu.device();
            match kinds.iter_mut().find(|(kind, _)| *kind == name) {
                Some((_, count)) => *count += 1,
                None => kinds.push((name, 1)),
            }
        }
        let gpus = kinds.into_iter().map(|(name, count)| match count {
            1 => name,
            n => format!("{n} x {name}"),
        });
        let all: Vec<String> = gpus.chain(self.cpu.iter().map(Engine::device)).collect();
        all.join(" + ")
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        let gpus = self.gpus.iter().map(|gpu| gpu as &dyn Worker);
        let cpu = self.cpu.iter().map(|cpu| cpu as &dyn Worker);
        let workers: Vec<&dyn Worker> = gpus.chain(cpu).collect();
        let reserve = self.reserve.as_ref().map(|cpu| cpu as &dyn Worker);
        measured(self.gpus.iter(), |at_start| match self.driver {
            Driver::Threads => team::run_from(&workers, reserve, task, monitor, at_start),
            Driver::Single => self.drive_alone(task, monitor, at_start),
        })
    }
}

impl FleetEngine {
    /// The document's driver: this thread starts every GPU on its part of the pixels, and goes round until all are done.
    fn drive_alone(
        &self,
        task: &Task<'_>,
        monitor: &dyn Monitor,
        at_start: Option<&(dyn Fn() + Sync)>,
    ) -> Result<Ran, EngineError> {
        let steps = task.spec.specification().steps;
        let parts: Vec<Vec<Range<u64>>> = split::evenly(task.spans, self.gpus.len());
        let sum = Sum::new(monitor, &parts, steps);
        let monitors: Vec<_> = (0..parts.len()).map(|part| sum.part(part)).collect();
        let capacities = self
            .gpus
            .iter()
            .map(|gpu| gpu.capacity(task.spec.specification()));
        let queues: Vec<Queue<'_>> = parts
            .iter()
            .zip(&monitors)
            .zip(capacities)
            .map(|((part, monitor), capacity)| {
                Queue::new(part, steps, &[capacity], task.sink, monitor)
            })
            .collect();
        let mut pipelines = Vec::new();
        for ((gpu, queue), part) in self.gpus.iter().zip(&queues).zip(&parts) {
            gpu.enter()?;
            let pixels = part.iter().map(|s| s.end - s.start).sum();
            let grid = gpu.grid(task.spec, pixels)?;
            pipelines.push((gpu, Pipeline::new(grid, queue.share(0), steps)));
        }
        if let Some(call) = at_start {
            call();
        }
        let start = Instant::now();
        let mut running = true;
        while running {
            running = false;
            for (gpu, pipeline) in &mut pipelines {
                gpu.enter()?;
                running |= pipeline.advance()? == Standing::Running;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        let elapsed = start.elapsed();
        queues.iter().for_each(Queue::tell_all_done);
        let portions = self.gpus.iter().zip(&queues).map(|(gpu, queue)| Portion {
            device: gpu.label(),
            pixels: queue.delivered()[0],
        });
        Ok(Ran {
            elapsed,
            notes: Vec::new(),
            portions: portions.collect(),
            energy: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(count: u32) -> Vec<DeviceInfo> {
        let gpu = |index| DeviceInfo {
            index,
            name: "a GPU".into(),
            compute_capability: (9, 0),
            memory_bytes: 1 << 30,
            multiprocessors: 10,
            clock_khz: 1,
        };
        (0..count).map(gpu).collect()
    }

    #[test]
    fn small_maps_take_few_gpus_unless_asked_otherwise() {
        let found = gpus(4);
        let chosen = |choice, pixels| choose(&found, choice, pixels).expect("they are there");
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
            let choice = GpuChoice::of(&[0, 7]).expect("possible");
            choose(&gpus(count), choice, 1)
                .expect_err("7 is missing")
                .to_string()
        };
        assert_eq!(message(2), "--gpus 7: there are GPUs 0 to 1");
        assert_eq!(message(1), "--gpus 7: there is only GPU 0");
        assert_eq!(GpuChoice::of(&[]), None);
        assert_eq!(GpuChoice::of(&[64]), None);
    }
}
