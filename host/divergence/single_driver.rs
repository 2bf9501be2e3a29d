//! The driver of Badger's study: one host thread starts every GPU on an equal part of the pixels and polls the GPUs until all are
//! done.

use std::ops::Range;
use std::time::Duration;

use super::DeviceEngine;
use super::engine::{Portion, Ran, Task};
use super::queue::{Queue, Share};
use super::scheduler::Worker as _;
use super::static_split::ProgressSum;
use super::tiles::{Pipeline, PipelineState};
use trisolar_device::Stopwatch;
use trisolar_run::part::evenly;
use trisolar_run::{EngineError, Monitor};

/// Computes a task on these GPUs, calling `at_start` when all are ready.
///
/// # Errors
/// The first failure of a GPU. The other GPUs do not take over its pixels.
pub(super) fn drive(
    gpus: &[&DeviceEngine],
    task: &Task<'_>,
    monitor: &dyn Monitor,
    at_start: Option<&(dyn Fn() + Sync)>,
) -> Result<Ran, EngineError> {
    let steps = task.spec.specification().steps;
    let parts: Vec<Vec<Range<u64>>> = evenly(task.spans, gpus.len());
    let sum = ProgressSum::new(monitor, &parts, steps);
    let monitors: Vec<_> = (0..parts.len()).map(|part| sum.part(part)).collect();
    let capacities = gpus
        .iter()
        .map(|gpu| gpu.capacity(task.spec.specification()));
    let queues: Vec<Queue<'_>> = parts
        .iter()
        .zip(&monitors)
        .zip(capacities)
        .map(|((part, monitor), capacity)| Queue::new(part, steps, &[capacity], monitor))
        .collect();
    let mut pipelines = Vec::new();
    for ((gpu, queue), part) in gpus.iter().zip(&queues).zip(&parts) {
        let grid = gpu.grid(task.spec, part)?;
        pipelines.push(Pipeline::new(
            grid,
            Share::new(queue.share(0), task.sink),
            steps,
        ));
    }
    if let Some(call) = at_start {
        call();
    }
    let start = Stopwatch::start();
    let mut running = true;
    while running {
        running = false;
        for pipeline in &mut pipelines {
            running |= pipeline.advance()? == PipelineState::Running;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let elapsed = start.elapsed();
    queues.iter().for_each(Queue::tell_all_done);
    let portions = gpus.iter().zip(&queues).map(|(gpu, queue)| Portion {
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
