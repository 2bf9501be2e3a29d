//! The kernel on GPUs: short launches of threads that go on where they stopped, so that progress can be shown and the work be stopped.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernels_gpu::device::encounters::{Job, Shared, Thread};
use kernels_gpu::encounters::Record;
use kernels_gpu::encounters::start::{BodiesStart, Plan};

use super::Validated;
use super::engine::{Engine, room};
use crate::gpu::{Argument, DeviceMemory, Gpu, Residency, devices};
use crate::run::{EngineError, Monitor, missing_gpu};

/// Threads of a block.
const BLOCK: u32 = 128;
/// Blocks that a multiprocessor holds: with 128 registers a thread the kernel is fastest.
const RESIDENT: u32 = 4;
/// Length of a launch in nanoseconds.
const SLICE_NS: u64 = 100_000_000;
/// Runs of a job at most: their records are on the device.
const MOST_RUNS: u64 = 1 << 24;

/// Integrates on GPUs.
#[derive(Debug)]
pub struct GpuEngine {
    gpus: Vec<Gpu>,
}

impl GpuEngine {
    /// On this many GPUs, or on all.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`]; [`EngineError::Refused`] if there are not as many.
    pub fn new(count: Option<u32>) -> Result<Self, EngineError> {
        let found = devices();
        if let Some(count) = count
            && let Some((_, reason)) = missing_gpu(found.as_deref(), 0..count.max(1))
        {
            return Err(EngineError::refused("gpus", count, reason));
        }
        let count = count.unwrap_or(found?.len() as u32);
        Self::on(&(0..count).collect::<Vec<_>>())
    }

    /// On the GPUs of these numbers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn on(numbers: &[u32]) -> Result<Self, EngineError> {
        let gpus = numbers.iter().map(|number| Gpu::open(*number));
        let gpus = gpus.collect::<Result<_, _>>()?;
        Ok(Self { gpus })
    }
}

/// What the GPUs share.
struct Work<'a> {
    spec: &'a Validated,
    next: AtomicU64,
    /// Runs of a job.
    batch: u64,
    ended: AtomicU64,
    failed: AtomicBool,
    records: Mutex<&'a mut [Record]>,
    monitor: &'a dyn Monitor,
}

impl Work<'_> {
    fn draw(&self) -> Option<Range<u64>> {
        let first = self.next.fetch_add(self.batch, Ordering::Relaxed);
        let end = self.spec.runs().min(first.saturating_add(self.batch));
        (first < end).then_some(first..end)
    }

    /// Draws jobs until there are none.
    fn on(&self, gpu: &Gpu) -> Result<(), EngineError> {
        gpu.enter()?;
        let residency = Residency {
            threads: BLOCK,
            blocks: RESIDENT,
        };
        let kernel = gpu.kernel_for("encounters", residency)?;
        let resident = kernel.resident_blocks(BLOCK, 0)? * gpu.info().multiprocessors;
        let per_block = u64::from(BLOCK);
        let blocks = self.batch.div_ceil(per_block).min(resident.into()) as u32;
        if blocks == 0 {
            return Err(EngineError::Gpu {
                device: gpu.info().name.clone(),
                call: "finding room for the kernel's threads",
                reason: "a multiprocessor has too few registers for a block".into(),
            });
        }
        let words = (blocks * BLOCK) as usize * size_of::<Thread>().div_ceil(8);
        let mut threads = DeviceMemory::<u64>::filled(gpu, words, 0)?;
        let mut shared = DeviceMemory::<u64>::filled(gpu, size_of::<Shared>() / 8, 0)?;
        let stages = self.spec.stages();
        let mut on_device = DeviceMemory::<[f64; 2]>::filled(gpu, stages.len(), 0)?;
        on_device.upload(stages)?;
        let mut plan = DeviceMemory::<Plan>::filled(gpu, 1, 0)?;
        plan.upload(&[*self.spec.plan()])?;
        let room = self.batch.min(self.spec.runs()) as usize;
        let records = DeviceMemory::<Record>::filled(gpu, room, 0)?;
        let given = self.spec.given_bodies();
        let mut bodies = match given {
            Some(_) => Some(DeviceMemory::<BodiesStart>::filled(gpu, room, 0)?),
            None => None,
        };
        let mut host = vec![Record::default(); room];
        while let Some(runs) = self.draw() {
            let places = runs.start as usize..runs.end as usize;
            if let (Some(on_device), Some(given)) = (&mut bodies, given) {
                on_device.upload(&given[places.clone()])?;
            }
            threads.fill(0)?;
            shared.fill(0)?;
            let pointer = |address: u64| address as usize;
            let job = Job {
                settings: *self.spec.settings(),
                stages: std::ptr::with_exposed_provenance(pointer(on_device.address())),
                plan: std::ptr::with_exposed_provenance(pointer(plan.address())),
                bodies: bodies.as_ref().map_or(std::ptr::null(), |memory| {
                    std::ptr::with_exposed_provenance(pointer(memory.address()))
                }),
                records: std::ptr::with_exposed_provenance_mut(pointer(records.address())),
                first: runs.start,
                count: runs.end - runs.start,
                stage_count: stages.len() as u32,
                unused: 0,
            };
            let (of_threads, counters) = (threads.address(), shared.address());
            let mut before = 0;
            while before < job.count {
                let arguments = [
                    Argument::new(&job),
                    Argument::new(&SLICE_NS),
                    Argument::new(&of_threads),
                    Argument::new(&counters),
                ];
                // SAFETY: the arguments are those of the kernel, as declared in `kernels::encounters`; the arrays have
                // the lengths that it asks for and live until the device is done.
                unsafe { kernel.launch(blocks, BLOCK, 0, &arguments)? };
                let mut now = [0; 2];
                shared.download(&mut now)?;
                let new = now[1] - before;
                before = now[1];
                let ended = self.ended.fetch_add(new, Ordering::Relaxed) + new;
                self.monitor.progress(ended, self.spec.runs());
                if self.failed.load(Ordering::Relaxed) || self.monitor.cancelled() {
                    return Err(EngineError::Cancelled);
                }
            }
            let count = places.len();
            records.download(&mut host[..count])?;
            let mut all = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            all[places].copy_from_slice(&host[..count]);
        }
        Ok(())
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        let names: Vec<&str> = self.gpus.iter().map(|g| g.info().name.as_str()).collect();
        names.join(", ")
    }

    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        let mut records = room(spec.runs())?;
        // One GPU takes all at once; several take parts, so that none waits long for the others.
        let parts = match self.gpus.len() as u64 {
            1 => 1,
            gpus => 4 * gpus,
        };
        let work = Work {
            spec,
            next: AtomicU64::new(0),
            batch: spec.runs().div_ceil(parts).min(MOST_RUNS),
            ended: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            records: Mutex::new(&mut records),
            monitor,
        };
        let one = |gpu: &Gpu| {
            let outcome = work.on(gpu);
            if outcome.is_err() {
                work.failed.store(true, Ordering::Relaxed);
            }
            outcome
        };
        let outcomes: Vec<Result<(), EngineError>> = match &self.gpus[..] {
            [gpu] => vec![one(gpu)],
            gpus => std::thread::scope(|scope| {
                let workers: Vec<_> = gpus.iter().map(|gpu| scope.spawn(|| one(gpu))).collect();
                let join = |w: std::thread::ScopedJoinHandle<'_, _>| {
                    w.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
                };
                workers.into_iter().map(join).collect()
            }),
        };
        // What failed first says more than that the others were stopped for it.
        let (cancelled, failed): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .filter_map(Result::err)
            .partition(|e| matches!(e, EngineError::Cancelled));
        match failed.into_iter().chain(cancelled).next() {
            Some(error) => Err(error),
            None => Ok(records),
        }
    }
}
