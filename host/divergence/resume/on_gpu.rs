//! Pixels under way on a GPU: a portion at a time, there and back.

use std::time::{Duration, Instant};

use kernels_gpu::device::fetch::{Shared, Thread};
use kernels_gpu::integrator::ExplicitEuler;
use kernels_gpu::quantity::Divergence;

use super::super::gpu::{GpuEngine, wait};
use super::super::queue::Share;
use super::super::team::Worker as _;
use super::{Item, Resuming, Stepper};
use crate::Value as _;
use trisolar_device::{Argument, DeviceMemory, Gpu, Kernel};
use trisolar_run::EngineError;

/// Threads of a block.
const BLOCK: u32 = 128;
/// Items on the device at a time: 50 MiB. Two such portions keep any device busy.
const BATCH: u64 = 1 << 18;
/// What a launch takes.
const SLICE: Duration = Duration::from_millis(50);

const _: () = assert!(size_of::<Item>() == 24 * 8 + 2 * 4);

impl Stepper for GpuEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.noting(portions(self, task, share))
    }
}

fn portions(engine: &GpuEngine, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
    engine.enter()?;
    let mut list = List::new(engine.driver(), task)?;
    if !share.ready() {
        return share.check();
    }
    // Twice what is resident, so that threads whose pixel has ended find another one.
    let least = 2 * engine.capacity(task.spec.specification());
    let (mut rate, mut done) = (0.0, 0);
    loop {
        let spans = share.draw_portion(rate, least, list.items.len() as u64)?;
        let start = Instant::now();
        let numbers = spans.iter().cloned().flatten();
        let mut items: Vec<Item> = numbers.map(|number| task.items.get(number)).collect();
        if items.is_empty() {
            if !share.wait()? {
                return Ok(());
            }
            continue;
        }
        list.step(&mut items, done, &share)?;
        let mut rest = &items[..];
        for span in spans {
            let (ended, after) = rest.split_at((span.end - span.start) as usize);
            task.items.put(span.start, ended);
            share.deliver(span.start, u32::slice(&task.times(ended)))?;
            rest = after;
        }
        done += items.len() as u64;
        rate = items.len() as f64 / start.elapsed().as_secs_f64().max(1e-6);
    }
}

/// The kernel with its buffers.
struct List<'a> {
    gpu: &'a Gpu,
    kernel: Kernel<'a>,
    task: &'a Resuming<'a>,
    items: DeviceMemory<'a, Item>,
    threads: DeviceMemory<'a, u64>,
    counters: DeviceMemory<'a, u64>,
    /// Blocks that are resident at a time.
    blocks: u32,
}

impl<'a> List<'a> {
    fn new(gpu: &'a Gpu, task: &'a Resuming<'a>) -> Result<Self, EngineError> {
        let kernel = gpu.kernel("map_resume_divergence_explicit_euler_f64")?;
        let blocks = kernel.resident_blocks(BLOCK, 0)?.max(1) * gpu.info().multiprocessors;
        let kept = size_of::<Thread<Divergence, ExplicitEuler, f64>>();
        let words = ((blocks * BLOCK) as usize * kept).div_ceil(size_of::<u64>());
        // A power of two, so that a frame finds the buffers of the one before.
        let room = task.pixels().max(1).next_power_of_two().min(BATCH) as usize;
        Ok(Self {
            gpu,
            kernel,
            task,
            items: DeviceMemory::filled(gpu, room, 0)?,
            threads: DeviceMemory::filled(gpu, words, 0)?,
            counters: DeviceMemory::filled(gpu, size_of::<Shared>().div_ceil(8), 0)?,
            blocks,
        })
    }

    /// Launches until these items are at their ends; `done` others were before.
    fn step(
        &mut self,
        items: &mut [Item],
        done: u64,
        share: &Share<'_>,
    ) -> Result<(), EngineError> {
        self.items.upload(items)?;
        // All ones: threads that have not asked for an item yet.
        self.threads.fill(0xff)?;
        self.counters.fill(0)?;
        let count = items.len() as u32;
        let job = self.task.spec.job(0, count);
        let all = u64::from(count) * u64::from(job.steps);
        let slice = SLICE.as_nanos() as u64;
        let to = self.items.address();
        let (from, counters) = (self.threads.address(), self.counters.address());
        let arguments = [
            Argument::new(&job),
            Argument::new(&slice),
            Argument::new(&to),
            Argument::new(&from),
            Argument::new(&counters),
        ];
        let blocks = self.blocks.min(count.div_ceil(BLOCK));
        loop {
            // SAFETY: the kernel's parameters; the arrays have at least the lengths that it asks for and live until the device
            // is done.
            unsafe { self.kernel.launch(blocks, BLOCK, 0, &arguments)? };
            wait(&self.gpu.mark()?, share)?;
            let mut read = vec![0; self.counters.len()];
            self.counters.download(&mut read)?;
            // The first counter: steps accounted for.
            share.report(done * u64::from(job.steps) + read[0]);
            if read[0] == all {
                break;
            }
        }
        Ok(self.items.download(items)?)
    }
}
