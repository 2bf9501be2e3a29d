//! The kernel on devices: short launches of threads that go on where they stopped, so that progress can be shown and the work be
//! stopped.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kernels_gpu::device::encounters::{Job, Shared, Thread};
use kernels_gpu::encounters::Record;
use kernels_gpu::encounters::step::KICK_OPERATIONS;
use kernels_gpu::kernels::Encounters;

use super::Validated;
use super::engine::{Engine, room};
use trisolar_device::{Buffer, Device, Entry, Grid, Residency};
use trisolar_run::{EngineError, Monitor, machine, missing_gpu};

/// Blocks that a multiprocessor holds: with 128 registers a thread the kernel is fastest.
const RESIDENT: u32 = 4;
/// Length of a launch on a GPU in nanoseconds.
const SLICE_NS: u64 = 100_000_000;
/// Runs of a job at most: their records are on the device.
const MOST_RUNS: u64 = 1 << 24;

/// Integrates on devices: GPUs, or the emulator of the grid.
#[derive(Debug)]
pub struct DeviceEngine {
    devices: Vec<Arc<dyn Device>>,
    /// Threads of a block.
    block: u32,
    /// Blocks of a grid at most.
    blocks: u32,
    /// Length of a launch in nanoseconds.
    slice_ns: u64,
}

impl DeviceEngine {
    /// On this many GPUs, or on all.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`]; [`EngineError::Refused`] if there are not as many.
    pub fn on_gpus(count: Option<u32>) -> Result<Self, EngineError> {
        let found = trisolar_device::devices();
        if let Some(count) = count
            && let Some((_, reason)) = missing_gpu(found.as_deref(), 0..count.max(1))
        {
            return Err(EngineError::refused("gpus", count, reason));
        }
        let count = count.unwrap_or(found?.len() as u32);
        let devices = (0..count.max(1)).map(trisolar_device::open);
        Ok(Self::on(devices.collect::<Result<_, _>>()?))
    }

    /// On these devices.
    ///
    /// # Panics
    /// Without any.
    pub fn on(devices: Vec<Arc<dyn Device>>) -> Self {
        assert!(!devices.is_empty());
        Self {
            devices,
            block: 128,
            blocks: u32::MAX,
            slice_ns: SLICE_NS,
        }
    }

    /// Kicks per second at which the devices' `f64` units have no pause; `None` if their number is not known.
    pub fn kicks_limit(&self) -> Option<f64> {
        let rates = (self.devices.iter()).map(|d| d.info().f64_operations_per_second());
        rates
            .sum::<Option<f64>>()
            .map(|rate| rate / KICK_OPERATIONS)
    }

    /// Under the emulator of the grid, in grids of so many blocks and threads of a block, and in the shortest launches there are, so
    /// that threads are often put aside. The threads run in a random order that `seed` decides.
    pub fn emulated(blocks: u32, block: u32, seed: Option<u64>) -> Self {
        let emulator = machine::emulator().seed(seed).resident(blocks);
        Self {
            block,
            blocks,
            slice_ns: 0,
            ..Self::on(vec![Arc::new(emulator)])
        }
    }
}

/// What the devices share.
struct Work<'a> {
    engine: &'a DeviceEngine,
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
    fn on(&self, device: &Arc<dyn Device>) -> Result<(), EngineError> {
        let &DeviceEngine {
            block,
            blocks,
            slice_ns,
            ..
        } = self.engine;
        let grid = Grid::new(0, block).residency(Some(Residency {
            threads: block,
            blocks: RESIDENT,
        }));
        let resident = device.resident_blocks(Entry::of::<Encounters>(), grid)?;
        let blocks = (self.batch.div_ceil(block.into())).min(resident.min(blocks).into()) as u32;
        let grid = Grid { blocks, ..grid };
        if blocks == 0 {
            return Err(EngineError::Gpu {
                device: device.info().name.clone(),
                call: "finding room for the kernel's threads",
                reason: "a multiprocessor has too few registers for a block".into(),
            });
        }
        let words = (blocks * block) as usize * size_of::<Thread>().div_ceil(8);
        let mut threads = Buffer::<u64>::filled(device, words, 0)?;
        let mut shared = Buffer::<u64>::filled(device, size_of::<Shared>() / 8, 0)?;
        let stages = Buffer::of(device, self.spec.stages())?;
        let plan = Buffer::of(device, &[*self.spec.plan()])?;
        let room = self.batch.min(self.spec.runs()) as usize;
        let records = Buffer::<Record>::filled(device, room, 0)?;
        let given = self.spec.given_bodies();
        let mut bodies = match given {
            Some(_) => Some(Buffer::filled(device, room, 0)?),
            None => None,
        };
        while let Some(runs) = self.draw() {
            let places = runs.start as usize..runs.end as usize;
            if let (Some(on_device), Some(given)) = (&mut bodies, given) {
                on_device.upload(&given[places.clone()])?;
            }
            threads.fill(0)?;
            shared.fill(0)?;
            let job = Job {
                settings: *self.spec.settings(),
                stages: stages.as_ptr(),
                plan: plan.as_ptr(),
                bodies: bodies.as_ref().map_or(std::ptr::null(), Buffer::as_ptr),
                records: records.as_mut_ptr(),
                first: runs.start,
                count: runs.end - runs.start,
                stage_count: self.spec.stages().len() as u32,
                unused: 0,
            };
            let mut before = 0;
            while before < job.count {
                let arguments = (
                    job,
                    slice_ns,
                    threads.as_mut_ptr().cast(),
                    shared.as_ptr().cast(),
                );
                // SAFETY: the arrays have the lengths that the kernel asks for and live until the device is done.
                unsafe { device.launch::<Encounters>(grid, arguments)? };
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
            let mut all = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            records.download(&mut all[places])?;
        }
        Ok(())
    }
}

impl Engine for DeviceEngine {
    fn name(&self) -> &'static str {
        self.devices[0].name()
    }

    fn device(&self) -> String {
        let names: Vec<&str> = (self.devices.iter())
            .map(|d| d.info().name.as_str())
            .collect();
        names.join(", ")
    }

    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        let mut records = room(spec.runs())?;
        // One device takes all at once; several take parts, so that none waits long for the others.
        let parts = match self.devices.len() as u64 {
            1 => 1,
            devices => 4 * devices,
        };
        let work = Work {
            engine: self,
            spec,
            next: AtomicU64::new(0),
            batch: spec.runs().div_ceil(parts).min(MOST_RUNS),
            ended: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            records: Mutex::new(&mut records),
            monitor,
        };
        let one = |device: &Arc<dyn Device>| {
            let outcome = work.on(device);
            if outcome.is_err() {
                work.failed.store(true, Ordering::Relaxed);
            }
            outcome
        };
        let outcomes: Vec<Result<(), EngineError>> = match &self.devices[..] {
            [device] => vec![one(device)],
            devices => std::thread::scope(|scope| {
                let workers: Vec<_> = (devices.iter())
                    .map(|device| scope.spawn(|| one(device)))
                    .collect();
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
