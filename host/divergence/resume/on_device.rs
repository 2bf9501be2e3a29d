//! Continues pixels on a device: copies a portion to the device, computes it and copies it back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels_gpu::device::fetch::{Shared, Thread};
use kernels_gpu::integrator::ExplicitEuler;
use kernels_gpu::kernels::MapResumeDivergenceExplicitEulerF64;
use kernels_gpu::quantity::Divergence;

use super::super::device::{DeviceEngine, LaunchShape, wait};
use super::super::queue::Share;
use super::super::scheduler::Worker as _;
use super::{Item, Resuming, Stepper};
use crate::Value as _;
use trisolar_device::{Buffer, Device, Entry, Grid, Queue};
use trisolar_run::EngineError;

/// Duration of a launch.
const LAUNCH_TIME: Duration = Duration::from_millis(50);

const _: () = assert!(size_of::<Item>() == 24 * 8 + 2 * 4);

impl Stepper for DeviceEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.noting(portions(self, task, share))
    }
}

fn portions(
    engine: &DeviceEngine,
    task: &Resuming<'_>,
    share: Share<'_>,
) -> Result<(), EngineError> {
    let mut list = ItemKernel::new(engine, task)?;
    if !share.ready() {
        return share.check();
    }
    // Twice the number of resident threads, so that threads whose pixel has ended find another one.
    let least = 2 * engine.capacity(task.spec.specification());
    let least = least.min(list.items.len() as u64);
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
struct ItemKernel<'a> {
    device: &'a Arc<dyn Device>,
    shape: &'a LaunchShape,
    task: &'a Resuming<'a>,
    items: Buffer<Item>,
    threads: Buffer<u64>,
    counters: Buffer<u64>,
    /// Blocks that are resident at a time.
    blocks: u32,
}

impl<'a> ItemKernel<'a> {
    fn new(engine: &'a DeviceEngine, task: &'a Resuming<'a>) -> Result<Self, EngineError> {
        let (device, shape) = (engine.driver(), engine.shape());
        let kernel = Entry::of::<MapResumeDivergenceExplicitEulerF64>();
        let resident = device.resident_blocks(kernel, Grid::new(1, shape.block))?;
        let blocks = resident
            .max(device.info().multiprocessors)
            .min(shape.blocks);
        let kept = size_of::<Thread<Divergence, ExplicitEuler, f64>>();
        let words = ((blocks * shape.block) as usize * kept).div_ceil(size_of::<u64>());
        // A power of two, so that a frame can use the buffers of the previous frame.
        let room = (task.pixels().max(1).next_power_of_two()).min(shape.batch) as usize;
        Ok(Self {
            device,
            shape,
            task,
            items: Buffer::filled(device, room, 0)?,
            threads: Buffer::filled(device, words, 0)?,
            counters: Buffer::filled(device, size_of::<Shared>().div_ceil(8), 0)?,
            blocks,
        })
    }

    /// Launches until these items are finished; `done` items were finished before.
    fn step(
        &mut self,
        items: &mut [Item],
        done: u64,
        share: &Share<'_>,
    ) -> Result<(), EngineError> {
        self.items.upload(items)?;
        // All bits set: threads that have not asked for an item yet.
        self.threads.fill(0xff)?;
        self.counters.fill(0)?;
        let count = items.len() as u32;
        let job = self.task.spec.job(0, count);
        let all = u64::from(count) * u64::from(job.steps);
        let slice = self.shape.slice.unwrap_or(LAUNCH_TIME).as_nanos() as u64;
        let block = self.shape.block;
        let grid = Grid::new(self.blocks.min(count.div_ceil(block)), block);
        loop {
            let arguments = (
                job,
                slice,
                self.items.as_mut_ptr(),
                self.threads.as_mut_ptr().cast(),
                self.counters.as_ptr().cast(),
            );
            // SAFETY: the arrays have at least the lengths that the kernel asks for and live until the device is done.
            unsafe {
                self.device
                    .launch::<MapResumeDivergenceExplicitEulerF64>(grid, arguments)?
            };
            wait(&self.device.mark(Queue::Compute)?, share)?;
            let mut read = vec![0; self.counters.len()];
            self.counters.download(&mut read)?;
            // The first counter is the number of steps.
            share.report(done * u64::from(job.steps) + read[0]);
            if read[0] == all {
                break;
            }
        }
        Ok(self.items.download(items)?)
    }
}
