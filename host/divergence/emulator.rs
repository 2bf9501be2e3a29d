//! The kernels on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cuda_std::emulator::{EmulatorError, Launch};
use kernels_gpu::Real;
use kernels_gpu::device::fetch::{MassiveThread, Ring, Shared, Starts, TILE, Thread, Tile};
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::kernels::{divergence_plain, map, map_uniform};
use kernels_gpu::lanes::{LaneMasses, LaneState};
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::Entries;
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::Quantity;

use super::devices::{Accelerator, Source};
use super::engine::{Engine, Ran, Task};
use super::quantity::OfMethod;
use super::queue::{Pace, Share};
use super::resume::{Resuming, Stepper};
use super::team::{self, Worker};
use super::tiles::{Counters, Device, Pipeline, SETS, Take};
use super::value::Value;
use super::{DivergenceKernel, Specification, Validated};
use trisolar_device::{DeviceInfo, GpuError};
use trisolar_run::{EngineError, Monitor};

/// Runs the kernels' code in emulated grids.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorEngine {
    /// Which kernel.
    pub kernel: DivergenceKernel,
    /// Threads of a block.
    pub block: u32,
    /// Blocks of a grid of fetching threads.
    pub blocks: u32,
    /// Length of a launch of fetching threads in nanoseconds; 0 for the shortest possible.
    pub slice_ns: u64,
    /// Runs the threads in a random order that this number decides.
    pub seed: Option<u64>,
}

impl EmulatorEngine {
    /// With blocks of 128 threads in their natural order, and the shortest launches, so that threads are often put
    /// aside and resumed.
    pub fn new(kernel: DivergenceKernel) -> Self {
        Self {
            kernel,
            block: 128,
            blocks: 8,
            slice_ns: 0,
            seed: None,
        }
    }

    pub(super) fn launch(&self, blocks: u32, kernel: impl Fn()) -> Result<(), EngineError> {
        let mut launch = Launch::new(blocks, self.block);
        if let Some(seed) = self.seed {
            launch = launch.seed(seed);
        }
        // SAFETY: these kernels may run on several threads at once: each pixel and each thread's slot is
        // used by one thread only, everything else is atomic.
        let outcome = unsafe { launch.run(kernel) };
        outcome
            .map(|_| ())
            .map_err(|e: EmulatorError| EngineError::Gpu {
                device: self.device(),
                call: self.kernel.name(),
                reason: e.to_string(),
            })
    }

    /// Feeds a kernel of fetching threads until the run is over.
    fn fetch<T: Kept, V: Value>(
        &self,
        spec: &Validated,
        share: Share<'_>,
        kernel: Fetching<'_, T, V>,
    ) -> Result<(), EngineError> {
        let grid = Grid::new(self, spec.job(0, 0), kernel);
        let mut pipeline = Pipeline::new(grid, share, spec.specification().steps);
        if share.ready() {
            pipeline.work()
        } else {
            share.check()
        }
    }

    /// A thread a pixel.
    fn work_plainly(&self, spec: &Validated, share: &Share<'_>) -> Result<(), EngineError> {
        let mut times = vec![0; 1 << 16];
        let pace = Pace {
            backlog: 0,
            rate: 0.0,
        };
        share.ready();
        loop {
            let most = times.len() as u64;
            for span in share.draw(pace, most, most)?.spans {
                let count = (span.end - span.start) as usize;
                let job = spec.job(span.start, count as u32);
                let pointer = times.as_mut_ptr();
                self.launch(job.count.div_ceil(self.block), || {
                    // SAFETY: room for every pixel of the job.
                    unsafe { divergence_plain(job, pointer) }
                })?;
                share.deliver(span.start, u32::slice(&times[..count]))?;
            }
            if !share.wait()? {
                return Ok(());
            }
        }
    }
}

impl Engine for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", trisolar_run::machine::cpu_name())
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        team::run(&[self], None, task, monitor)
    }
}

impl Worker for EmulatorEngine {
    fn label(&self) -> String {
        self.device()
    }

    fn capacity(&self, _: &Specification) -> u64 {
        u64::from(self.blocks) * u64::from(self.block)
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let spec = task.spec;
        let method = spec.specification();
        // Refuses what the kernel has no entry for.
        self.kernel.entry(spec, &|| self.device())?;
        if self.kernel == DivergenceKernel::Plain {
            return self.work_plainly(spec, &share);
        }
        let fetched = FetchedBy {
            engine: self,
            spec,
            share,
            points: (0..spec.pixels()).map(|n| spec.point(n)).collect(),
            masses: (0..spec.pixels()).map(|n| spec.masses(n)).collect(),
        };
        let (precision, integrator) = (method.precision.kind(), method.integrator.name());
        let done = (method.quantity).with_method(precision, integrator, fetched);
        done.expect("there is an entry")
    }
}

/// A map on an emulator.
struct FetchedBy<'a> {
    engine: &'a EmulatorEngine,
    spec: &'a Validated,
    share: Share<'a>,
    points: Option<Vec<Point>>,
    masses: Option<Vec<Masses>>,
}

impl OfMethod for FetchedBy<'_> {
    type Output = Result<(), EngineError>;

    /// The kernel that a GPU would run.
    fn visit<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        entries: Entries,
    ) -> Self::Output {
        fn start<T>(list: &Option<Vec<T>>) -> *const T {
            list.as_ref().map_or(std::ptr::null(), |list| list.as_ptr())
        }
        let (engine, spec, share) = (self.engine, self.spec, self.share);
        let (points, masses) = (start(&self.points), start(&self.masses));
        if entries.map_uniform.is_some() && masses.is_null() {
            return engine.fetch(spec, share, &|job, slice, ring, threads, shared| {
                // SAFETY: the caller's promise, see `Fetching`; there is a point for every pixel, or there are none.
                unsafe { map_uniform::<Q, I, P>(job, slice, ring, threads, shared, points) };
            });
        }
        let starts = Starts { points, masses };
        engine.fetch(spec, share, &|job, slice, ring, threads, shared| {
            // SAFETY: as above; there are masses for every pixel, or there are none.
            unsafe { map::<Q, I, P>(job, slice, ring, threads, shared, starts) };
        })
    }
}

/// A kernel of fetching threads. Called with what [`map`] asks for: a fresh value at first for every
/// thread, and tiles with slots of their own for the tickets not taken.
type Fetching<'k, T, V> = &'k dyn Fn(Job, u64, Ring<V>, *mut T, *const Shared);

/// What a kernel's threads keep between launches.
pub(super) trait Kept: Clone {
    /// Before the first launch.
    fn fresh(job: &Job) -> Self;
}

impl<Q: Quantity, I: MapIntegrator, R: Real> Kept for Thread<Q, I, R> {
    fn fresh(job: &Job) -> Self {
        Self::fresh(job)
    }
}

impl<Q: Quantity, I: MapIntegrator, R: Real> Kept for MassiveThread<Q, I, R> {
    fn fresh(job: &Job) -> Self {
        Self {
            lanes: LaneState::fresh(job),
            masses: LaneMasses::new(&job.masses),
        }
    }
}

/// Slots of the emulated ring: few, so that small maps go round it.
const SLOTS: u32 = 8;

/// An emulated kernel of fetching threads with its buffers.
struct Grid<'a, T, V> {
    engine: &'a EmulatorEngine,
    job: Job,
    kernel: Fetching<'a, T, V>,
    threads: Vec<T>,
    tiles: Vec<Tile>,
    values: Vec<V>,
    done: Vec<AtomicU32>,
    shared: Shared,
    sets: [(u64, u32, Vec<u32>); SETS],
}

impl<'a, T: Kept, V: Value> Grid<'a, T, V> {
    fn new(engine: &'a EmulatorEngine, job: Job, kernel: Fetching<'a, T, V>) -> Self {
        let threads = (engine.blocks * engine.block) as usize;
        Self {
            engine,
            job,
            kernel,
            threads: vec![T::fresh(&job); threads],
            tiles: vec![Tile::default(); SLOTS as usize],
            values: vec![V::default(); (SLOTS * TILE) as usize],
            done: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            shared: Shared::new(),
            sets: Default::default(),
        }
    }
}

impl<T, V: Value> Device for Grid<'_, T, V> {
    fn slots(&self) -> u32 {
        SLOTS
    }

    /// Runs at once; its length is the engine's.
    fn launch(
        &mut self,
        set: usize,
        position: u32,
        tiles: &[Tile],
        limit: u32,
        _: Duration,
    ) -> Result<(), EngineError> {
        for (n, tile) in tiles.iter().enumerate() {
            self.tiles[(position + n as u32) as usize % SLOTS as usize] = *tile;
        }
        let ring = Ring {
            tiles: self.tiles.as_ptr(),
            values: self.values.as_mut_ptr(),
            done: self.done.as_ptr(),
            mask: SLOTS - 1,
            limit,
        };
        let (job, kernel, shared) = (self.job, self.kernel, &self.shared);
        let (threads, slice_ns) = (self.threads.as_mut_ptr(), self.engine.slice_ns);
        self.engine.launch(self.engine.blocks, || {
            // A value for every thread; the pipeline has no more tiles open than there are slots, each in a slot of its
            // own, and the tickets not taken are theirs.
            kernel(job, slice_ns, ring, threads, shared);
        })?;
        let load = |counter: &AtomicU32| counter.load(Ordering::Relaxed);
        self.sets[set] = (
            shared.steps.load(Ordering::Relaxed),
            load(&shared.next),
            self.done.iter().map(load).collect(),
        );
        Ok(())
    }

    fn is_over(&mut self, _: usize) -> Result<bool, EngineError> {
        Ok(true)
    }

    fn counters(&self, set: usize) -> Counters<'_> {
        let (steps, next, done) = &self.sets[set];
        Counters {
            steps: *steps,
            next: *next,
            done,
        }
    }

    fn results(&mut self, runs: &[Range<u32>], take: &mut Take<'_>) -> Result<(), EngineError> {
        for run in runs {
            let values = (run.start * TILE) as usize..(run.end * TILE) as usize;
            take(run.start, V::slice(&self.values[values]))?;
        }
        Ok(())
    }
}

/// Emulated GPUs, as many as one likes.
#[derive(Debug)]
pub(super) struct Emulated {
    pub gpus: u32,
}

impl Source for Emulated {
    fn list(&self) -> Result<Vec<DeviceInfo>, GpuError> {
        let info = |index| DeviceInfo {
            index,
            name: "emulated GPU".into(),
            compute_capability: (7, 0),
            memory_bytes: trisolar_run::machine::available_memory(),
            multiprocessors: 2,
            clock_khz: 0,
        };
        Ok((0..self.gpus).map(info).collect())
    }

    fn open(&self, index: u32) -> Result<Box<dyn Accelerator>, EngineError> {
        let engine = EmulatorEngine {
            block: 32,
            blocks: 2,
            ..EmulatorEngine::new(DivergenceKernel::Fetch)
        };
        Ok(Box::new(EmulatedGpu { index, engine }))
    }
}

/// One of them.
#[derive(Debug)]
struct EmulatedGpu {
    index: u32,
    engine: EmulatorEngine,
}

impl Worker for EmulatedGpu {
    fn label(&self) -> String {
        format!("emulated GPU {}", self.index)
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        self.engine.capacity(specification)
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.engine.work(task, share)
    }
}

impl Stepper for EmulatedGpu {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.engine.step(task, share)
    }
}

impl Accelerator for EmulatedGpu {
    fn index(&self) -> u32 {
        self.index
    }

    fn name(&self) -> String {
        "emulated GPU".into()
    }

    fn usable(&self) -> bool {
        true
    }
}
