//! The GPU engine: fetching threads fed by a [`Pipeline`], or one thread a pixel.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kernels_gpu::device::fetch::{Ring, Shared, Starts, TILE, Tile};
use kernels_gpu::lanes::FRESH;
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::Compiled;

use super::devices::Accelerator;
use super::engine::{Engine, Ran, Task};
use super::kernel::Entry;
use super::quantity::OfQuantity;
use super::queue::{Pace, Share};
use super::team::{self, Worker};
use super::tiles::{self, Device, Pipeline, SETS, Take};
use super::value::Value;
use super::{DivergenceKernel, Precision, Quantity, Specification, Validated};
use trisolar_device::{
    Argument, DeviceMemory, EnergyMeter, Gpu, Kernel, Mark, Pinned, Plain, Residency,
};
use trisolar_run::{EngineError, Monitor};
use trisolar_spec::Integrator;

/// Threads of a block. Registers, not this, bound how many threads are resident.
const BLOCK: u32 = 128;
/// Tiles that a device holds at most: 64 MiB of results. (A power of two.)
const SLOTS: u32 = 1 << 14;
/// Results copied at a time, in tiles: bounds page-locked memory to two pieces of 8 MiB.
const PIECE: u32 = 1 << 11;
/// Pixels that one thread a pixel computes at a time.
const BAND: u64 = 1 << 24;

/// The counters of a launch, copied back after it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Counters {
    steps: u64,
    next: u32,
    unused: u32,
}

const _: () = assert!(size_of::<Counters>() == size_of::<Shared>());

// SAFETY: repr(C) of integers without padding.
unsafe impl Plain for Counters {}

/// Computes maps on a GPU.
#[derive(Debug)]
pub struct GpuEngine {
    gpu: Gpu,
    kernel: DivergenceKernel,
    failed: AtomicBool,
}

impl Drop for GpuEngine {
    fn drop(&mut self) {
        // Streams, modules and buffers are given back by the thread whose context they are in. Without it the driver takes
        // them when the process ends.
        let _ = self.gpu.enter();
    }
}

impl GpuEngine {
    /// On the GPU of this number, with the fastest kernel.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`].
    pub fn new(device: u32) -> Result<Self, EngineError> {
        Self::with_kernel(device, DivergenceKernel::default())
    }

    /// With a kernel of the caller's choice.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_kernel(device: u32, kernel: DivergenceKernel) -> Result<Self, EngineError> {
        Ok(Self {
            gpu: Gpu::open(device)?,
            kernel,
            failed: AtomicBool::new(false),
        })
    }

    /// One that keeps its buffers for the next map.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn kept(device: u32) -> Result<Self, EngineError> {
        let mut engine = Self::new(device)?;
        engine.gpu.keep_buffers();
        Ok(engine)
    }

    pub(super) fn driver(&self) -> &Gpu {
        &self.gpu
    }

    /// Takes note of a failure: what is left on the device after one is not known.
    pub(super) fn noting<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        let of_the_run =
            |e: &EngineError| matches!(e, EngineError::Cancelled | EngineError::Sink(_));
        if result.as_ref().is_err_and(|e| !of_the_run(e)) {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }

    /// The GPU's number.
    pub fn index(&self) -> u32 {
        self.gpu.info().index
    }

    /// Makes the GPU the calling thread's.
    pub(super) fn enter(&self) -> Result<(), EngineError> {
        Ok(self.gpu.enter()?)
    }

    /// The kernel of fetching threads for this specification, with all its buffers, for these spans.
    pub(super) fn grid(
        &self,
        spec: &Validated,
        spans: &[Range<u64>],
    ) -> Result<Box<dyn Device + '_>, EngineError> {
        let device = || self.gpu.info().name.clone();
        let entry = DivergenceKernel::Fetch.entry(spec, &device)?;
        let kernel = match blocks(spec.specification()) {
            Some(blocks) => {
                let threads = BLOCK;
                self.gpu
                    .kernel_for(entry.name, Residency { threads, blocks })?
            }
            None => self.gpu.kernel(entry.name)?,
        };
        spec.specification().quantity.visit(GridOf {
            gpu: &self.gpu,
            kernel,
            entry,
            spec,
            spans,
        })
    }
}

/// Blocks that a multiprocessor shall hold at a time, for methods that this makes faster than what the driver chooses. Measured on an
/// H200: f32 10 % faster, float-float 6 %, f64 1 %.
fn blocks(spec: &Specification) -> Option<u32> {
    match (spec.precision, spec.integrator) {
        _ if spec.quantity != Quantity::Divergence => None,
        (Precision::F32 | Precision::FloatFloat, _) => Some(5),
        (Precision::F64, Integrator::ExplicitEuler) => Some(4),
        // As many as where masses are constants.
        (Precision::F64, Integrator::AdamsBashforth2) => Some(3),
        _ => None,
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        measured([self].into_iter(), |at_start| {
            team::run_from(&[self], None, task, monitor, at_start)
        })
    }
}

impl Worker for GpuEngine {
    fn label(&self) -> String {
        format!("GPU {}, {}", self.index(), self.gpu.info().name)
    }

    fn capacity(&self, _: &Specification) -> u64 {
        // What is resident with 128 registers a thread.
        u64::from(self.gpu.info().multiprocessors) * 512
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.noting(match self.kernel {
            DivergenceKernel::Fetch => self.work_fetching(task, share),
            DivergenceKernel::Plain => self.work_plainly(task.spec, &share),
        })
    }
}

impl Accelerator for GpuEngine {
    fn index(&self) -> u32 {
        self.gpu.info().index
    }

    fn name(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn usable(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }

    fn driven(&self) -> Option<&GpuEngine> {
        Some(self)
    }
}

impl GpuEngine {
    fn work_fetching(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        self.gpu.enter()?;
        let grid = self.grid(task.spec, &task.spans_to_come())?;
        let steps = task.spec.specification().steps;
        let mut pipeline = Pipeline::new(grid, share, steps);
        if share.ready() {
            pipeline.work()
        } else {
            share.check()
        }
    }

    /// A thread a pixel, a band at a time.
    fn work_plainly(&self, spec: &Validated, share: &Share<'_>) -> Result<(), EngineError> {
        self.gpu.enter()?;
        let entry = self.kernel.entry(spec, &|| self.device())?;
        let kernel = self.gpu.kernel(entry.name)?;
        let band = BAND.min(spec.pixels());
        let times = DeviceMemory::<u32>::filled(&self.gpu, band as usize, 0)?;
        let mut host = vec![0; band as usize];
        share.ready();
        let mut steps = 0;
        loop {
            // All of it is begun at once.
            let pace = Pace {
                backlog: 0,
                rate: 0.0,
            };
            for span in share.draw(pace, band, band)?.spans {
                let count = (span.end - span.start) as usize;
                let job = spec.job(span.start, count as u32);
                let address = times.address();
                let arguments = [Argument::new(&job), Argument::new(&address)];
                // SAFETY: the kernel's parameters are a Job and a pointer to job.count values of device memory, which the
                // stream's order keeps from other uses.
                unsafe { kernel.launch(job.count.div_ceil(BLOCK), BLOCK, 0, &arguments)? };
                wait(&self.gpu.mark()?, share)?;
                times.download(&mut host[..count])?;
                share.deliver(span.start, u32::slice(&host[..count]))?;
                steps += count as u64 * u64::from(job.steps);
                share.report(steps);
            }
            if !share.wait()? {
                return Ok(());
            }
        }
    }
}

/// Runs `run` and adds the energy that these GPUs took, or why it cannot be measured. `run` has to call what it is given when
/// the computation begins.
pub(super) fn measured<'a>(
    gpus: impl Iterator<Item = &'a GpuEngine>,
    run: impl FnOnce(Option<&(dyn Fn() + Sync)>) -> Result<Ran, EngineError>,
) -> Result<Ran, EngineError> {
    let meter = EnergyMeter::new(gpus.map(|engine| &engine.gpu));
    let mut ran = match &meter {
        Ok(meter) => run(Some(&|| meter.start()))?,
        Err(_) => run(None)?,
    };
    match meter.and_then(|meter| meter.stop()) {
        Ok(energy) => ran.energy = Some(energy),
        Err(reason) => ran.notes.push(format!("energy was not measured: {reason}")),
    }
    Ok(ran)
}

/// Makes the [`Grid`] of a quantity.
struct GridOf<'a, 's> {
    gpu: &'a Gpu,
    kernel: Kernel<'a>,
    entry: Entry,
    spec: &'s Validated,
    spans: &'s [Range<u64>],
}

impl<'a> OfQuantity for GridOf<'a, '_> {
    type Output = Result<Box<dyn Device + 'a>, EngineError>;

    fn visit<Q: Compiled<Value: Value>>(self) -> Self::Output {
        Ok(Box::new(Grid::<Q::Value>::new(self)?))
    }
}

/// The kernel of fetching threads with all its buffers.
struct Grid<'a, V: Value> {
    gpu: &'a Gpu,
    kernel: Kernel<'a>,
    job: Job,
    /// Whether the kernel takes masses beside points.
    takes_masses: bool,
    /// The start states of all pixels, if they are points.
    points: Option<DeviceMemory<'a, f64>>,
    /// Their masses, if they have some of their own.
    masses: Option<DeviceMemory<'a, f64>>,
    blocks: u32,
    values: DeviceMemory<'a, V>,
    threads: DeviceMemory<'a, u64>,
    tiles: DeviceMemory<'a, Tile>,
    shared: DeviceMemory<'a, Counters>,
    done: DeviceMemory<'a, u32>,
    staging: [Pinned<'a, V>; 2],
    sets: [Set<'a>; SETS],
}

/// What belongs to a launch in flight.
struct Set<'a> {
    tiles: Pinned<'a, Tile>,
    counters: Pinned<'a, Counters>,
    done: Pinned<'a, u32>,
    over: Option<Mark<'a>>,
}

impl<'a> Set<'a> {
    fn new(gpu: &'a Gpu, slots: usize) -> Result<Self, EngineError> {
        Ok(Self {
            tiles: Pinned::new(gpu, slots, Tile::default())?,
            counters: Pinned::new(gpu, 1, Counters::default())?,
            done: Pinned::new(gpu, slots, 0)?,
            over: None,
        })
    }
}

impl<'a, V: Value> Grid<'a, V> {
    fn new(of: GridOf<'a, '_>) -> Result<Self, EngineError> {
        let GridOf {
            gpu,
            kernel,
            entry,
            spec,
            spans,
        } = of;
        let pixels: u64 = spans.iter().map(|s| s.end - s.start).sum();
        let resident = kernel.resident_blocks(BLOCK, 0)?.max(1) * gpu.info().multiprocessors;
        let blocks = u64::from(resident).min(pixels.div_ceil(u64::from(BLOCK))) as u32;
        // A span has tiles of its own, however short it is.
        let tiles = spans
            .iter()
            .map(|s| (s.end - s.start).div_ceil(u64::from(TILE)));
        let tiles = tiles.sum::<u64>().max(1);
        let slots = tiles.next_power_of_two().min(u64::from(SLOTS)) as usize;
        let words = ((blocks * BLOCK) as usize * entry.kept).div_ceil(size_of::<u64>());
        let piece = slots.min(PIECE as usize) * TILE as usize;
        let grid = Self {
            gpu,
            kernel,
            job: spec.job(0, 0),
            takes_masses: entry.takes_masses,
            points: on_device(gpu, spec, |pixel| spec.point(pixel), point_numbers)?,
            masses: on_device(gpu, spec, |pixel| spec.masses(pixel), masses_numbers)?,
            blocks,
            values: DeviceMemory::filled(gpu, slots * TILE as usize, 0)?,
            threads: DeviceMemory::filled(gpu, words, FRESH_BYTE)?,
            tiles: DeviceMemory::filled(gpu, slots, 0)?,
            shared: DeviceMemory::filled(gpu, 1, 0)?,
            done: DeviceMemory::filled(gpu, slots, 0)?,
            staging: [
                Pinned::new(gpu, piece, V::default())?,
                Pinned::new(gpu, piece, V::default())?,
            ],
            sets: [Set::new(gpu, slots)?, Set::new(gpu, slots)?],
        };
        gpu.synchronise()?;
        Ok(grid)
    }
}

impl<V: Value> Device for Grid<'_, V> {
    fn slots(&self) -> u32 {
        self.done.len() as u32
    }

    fn launch(
        &mut self,
        set: usize,
        position: u32,
        tiles: &[Tile],
        limit: u32,
        slice: Duration,
    ) -> Result<(), EngineError> {
        let ring = Ring {
            tiles: std::ptr::with_exposed_provenance(self.tiles.address() as usize),
            values: std::ptr::with_exposed_provenance_mut::<V>(self.values.address() as usize),
            done: std::ptr::with_exposed_provenance(self.done.address() as usize),
            mask: self.slots() - 1,
            limit,
        };
        let slice = slice.as_nanos() as u64;
        let (threads, shared) = (self.threads.address(), self.shared.address());
        let set = &mut self.sets[set];
        set.tiles[..tiles.len()].copy_from_slice(tiles);
        // The ring's end may lie between them.
        let first = (position & ring.mask) as usize;
        let before_end = tiles.len().min(self.tiles.len() - first);
        let pieces = [
            (first, 0, before_end),
            (0, before_end, tiles.len() - before_end),
        ];
        for (to, from, count) in pieces {
            if count > 0 {
                // SAFETY: this set is written again only after its launch, which comes after the copy, is over.
                unsafe { self.tiles.copy_in(to, &set.tiles, from, count)? };
            }
        }
        // A null pointer stands for the job's grid, or its masses. The two are the kernel's `Starts`, or the first is its points.
        let starts = [&self.points, &self.masses];
        let starts = starts.map(|list| list.as_ref().map_or(0, DeviceMemory::address));
        let arguments = [
            Argument::new(&self.job),
            Argument::new(&slice),
            Argument::new(&ring),
            Argument::new(&threads),
            Argument::new(&shared),
            if self.takes_masses {
                Argument::new(&starts)
            } else {
                Argument::new(&starts[0])
            },
        ];
        // SAFETY: the arguments are the kernel's parameters. The pipeline opens no more tiles than there are slots, so
        // that the ring holds those of all tickets not taken; all buffers live until the launches have been waited for, since
        // freeing them waits for the device. Counters are an integer each of Shared's atomics.
        unsafe {
            self.kernel.launch(self.blocks, BLOCK, 0, &arguments)?;
            // The set was read before this launch was queued.
            self.shared.copy_to(0, &mut set.counters, 1)?;
            self.done.copy_to(0, &mut set.done, self.done.len())?;
        }
        set.over = Some(self.gpu.mark()?);
        Ok(())
    }

    fn is_over(&mut self, set: usize) -> Result<bool, EngineError> {
        let mark = self.sets[set].over.as_ref();
        Ok(mark.expect("it was launched").reached()?)
    }

    fn counters(&self, set: usize) -> tiles::Counters<'_> {
        let Set { counters, done, .. } = &self.sets[set];
        tiles::Counters {
            steps: counters[0].steps,
            next: counters[0].next,
            done,
        }
    }

    /// While one piece is on its way through page-locked memory, the one before is put into place.
    fn results(&mut self, runs: &[Range<u32>], take: &mut Take<'_>) -> Result<(), EngineError> {
        let (gpu, values, staging) = (self.gpu, &self.values, &mut self.staging);
        let length = |piece: &Range<u32>| piece.len() * TILE as usize;
        let mut under_way: Option<(Range<u32>, usize, Mark<'_>)> = None;
        let pieces = runs.iter().flat_map(|run| {
            let starts = run.clone().step_by(PIECE as usize);
            starts.map(|start| start..run.end.min(start + PIECE))
        });
        for (n, piece) in pieces.enumerate() {
            let buffer = n % 2;
            let first = piece.start as usize * TILE as usize;
            // SAFETY: the tiles of these slots are done, as a launch that is over has said; the buffer was last read two pieces
            // ago, and is read again only after its mark.
            unsafe { values.copy_beside(first, &mut staging[buffer], length(&piece))? };
            let mark = gpu.mark_copies()?;
            if let Some((piece, buffer, mark)) = under_way.replace((piece, buffer, mark)) {
                mark.wait()?;
                take(piece.start, V::slice(&staging[buffer][..length(&piece)]))?;
            }
        }
        if let Some((piece, buffer, mark)) = under_way {
            mark.wait()?;
            take(piece.start, V::slice(&staging[buffer][..length(&piece)]))?;
        }
        Ok(())
    }
}

// Pointers on the device are numbers here.
const _: () = assert!(size_of::<[u64; 2]>() == size_of::<Starts>());
const _: () = assert!(18 * size_of::<f64>() == size_of::<Point>());
const _: () = assert!(11 * size_of::<f64>() == size_of::<Masses>());

/// Brings something of all pixels to a GPU, if they have it.
fn on_device<'a, T, N: Iterator<Item = f64>>(
    gpu: &'a Gpu,
    spec: &Validated,
    of: impl Fn(u64) -> Option<T>,
    numbers: impl Fn(T) -> N,
) -> Result<Option<DeviceMemory<'a, f64>>, EngineError> {
    if of(0).is_none() {
        return Ok(None);
    }
    let all: Vec<f64> = (0..spec.pixels())
        .filter_map(of)
        .flat_map(numbers)
        .collect();
    let mut memory = DeviceMemory::filled(gpu, all.len(), 0)?;
    memory.upload(&all)?;
    Ok(Some(memory))
}

/// A [`Point`] in the order of its memory.
fn point_numbers(point: Point) -> impl Iterator<Item = f64> {
    let vectors = point.positions.into_iter().chain(point.velocities);
    vectors.flatten()
}

/// [`Masses`] in the order of its memory.
fn masses_numbers(masses: Masses) -> impl Iterator<Item = f64> {
    let Masses {
        in_steps,
        criterion,
    } = masses;
    let c = criterion.centre;
    let in_steps = (in_steps.g.into_iter())
        .chain(in_steps.minus_sum)
        .chain([in_steps.softening2]);
    in_steps
        .chain([c.x, c.y, c.z])
        .chain(criterion.minus_weights)
        .chain([criterion.critical2])
}

/// Every byte of a [`LaneState`](kernels_gpu::lanes::LaneState) that has not asked for a pixel: its slot is then [`FRESH`], and the rest
/// does not matter.
const FRESH_BYTE: u8 = 0xff;
const _: () = assert!(FRESH == u32::from_ne_bytes([FRESH_BYTE; 4]));

/// Waits for a mark without holding a core, as long as the run goes on.
pub(super) fn wait(mark: &Mark<'_>, share: &Share<'_>) -> Result<(), EngineError> {
    while !mark.reached()? {
        share.check()?;
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
