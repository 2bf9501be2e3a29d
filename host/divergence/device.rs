//! The engine of devices, GPUs or emulators: fetching threads that a [`Pipeline`] supplies with pixels, or one thread per pixel.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use kernels_gpu::device::fetch::{MassiveThread, Ring, Shared, Starts, TILE, Thread, Tile};
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::kernels::DivergencePlain;
use kernels_gpu::lanes::FRESH;
use kernels_gpu::map::{Job, Masses, Point};
use kernels_gpu::methods::Entries;
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::Quantity as Computed;

use super::quantity::OfMethod;
use super::tiles::{self, LAUNCHES_IN_FLIGHT, Pipeline, Take};
use super::value::Value;
use super::{DivergenceKernel, Precision, Quantity, Specification, Task, Validated};
use trisolar_device::{
    self as gpu, Buffer, Code, Device, GpuError, Grid, HostBuffer, Moment, Plain, Queue, Residency,
};
use trisolar_ensemble::GpuEngine;
use trisolar_run::queue::{Pace, Share};
use trisolar_run::scheduler::Worker;
use trisolar_run::{EngineError, machine};
use trisolar_spec::Integrator;

/// Tiles of results that are copied at a time. This limits page-locked memory to two pieces of 8 MiB.
const TILES_PER_COPY: u32 = 1 << 11;

/// The counters of a launch, which are copied back after it.
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

/// How work is divided into launches, which changes no value.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchShape {
    /// Threads per block.
    pub block: u32,
    /// Largest number of blocks in a grid of fetching threads.
    pub blocks: u32,
    /// Largest number of tiles on a device, a power of two.
    pub slots: u32,
    /// Duration of a launch; `None` if the pipeline chooses it.
    pub slice: Option<Duration>,
    /// Pixels of a launch with one thread per pixel.
    pub band: u64,
}

impl LaunchShape {
    /// The shape for GPUs. Registers, not the block size, limit the number of resident threads. There are 64 MiB of results.
    pub const GPU: Self = Self {
        block: 128,
        blocks: u32::MAX,
        slots: 1 << 14,
        slice: None,
        band: 1 << 24,
    };

    /// The shape for the emulator: blocks of 128 threads, and launches that are as short as possible, so that threads are often interrupted
    /// and resumed. The ring and the portions are short, so that small maps wrap around.
    pub const EMULATED: Self = Self {
        block: 128,
        blocks: 8,
        slots: 8,
        slice: Some(Duration::ZERO),
        band: 1 << 16,
    };
}

/// Computes maps on a device: a GPU, or the emulator of the grid.
#[derive(Debug)]
pub struct DeviceEngine {
    device: Arc<dyn Device>,
    kernel: DivergenceKernel,
    shape: LaunchShape,
}

impl DeviceEngine {
    /// The engine of the GPU with this number, with the fastest kernel.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`].
    pub fn gpu(number: u32) -> Result<Self, EngineError> {
        Self::gpu_with_kernel(number, DivergenceKernel::default())
    }

    /// The engine of a GPU with a kernel that the caller chooses.
    ///
    /// # Errors
    /// As [`gpu`](Self::gpu).
    pub fn gpu_with_kernel(number: u32, kernel: DivergenceKernel) -> Result<Self, EngineError> {
        Ok(Self::with(gpu::open(number)?, kernel, LaunchShape::GPU))
    }

    /// The engine of this device.
    pub(super) fn with(
        device: Arc<dyn Device>,
        kernel: DivergenceKernel,
        shape: LaunchShape,
    ) -> Self {
        Self {
            device,
            kernel,
            shape,
        }
    }

    /// The device's number.
    pub fn index(&self) -> u32 {
        self.device.info().index
    }

    /// The kernel of fetching threads for this specification and these spans, with all its buffers.
    fn grid(
        &self,
        spec: &Validated,
        spans: &[Range<u64>],
    ) -> Result<Box<dyn tiles::Device>, EngineError> {
        let of = spec.specification();
        let (precision, integrator) = (of.precision.kind(), of.integrator.name());
        let grid = GridOf {
            engine: self,
            spec,
            spans,
        };
        let made = of.quantity.with_method(precision, integrator, grid);
        made.unwrap_or_else(|| Err(self.kernel.refused(spec, self.device.info())))
    }
}

/// Resident blocks per multiprocessor for methods that are faster with this number than with the driver's choice. Measured on an
/// H200: f32 is 10 % faster, float-float 6 %, f64 1 %.
fn blocks(spec: &Specification) -> Option<u32> {
    match (spec.precision, spec.integrator) {
        _ if spec.quantity != Quantity::Divergence => None,
        (Precision::F32 | Precision::FloatFloat, _) => Some(5),
        (Precision::F64, Integrator::ExplicitEuler) => Some(4),
        // The same number as for constant masses.
        (Precision::F64, Integrator::AdamsBashforth2) => Some(3),
        _ => None,
    }
}

impl GpuEngine for DeviceEngine {
    fn on(device: Arc<dyn Device>) -> Self {
        Self::with(device, DivergenceKernel::default(), LaunchShape::GPU)
    }

    fn emulated_gpu() -> Self {
        let shape = LaunchShape {
            block: 32,
            blocks: 2,
            ..LaunchShape::EMULATED
        };
        let emulator = machine::emulator().resident(shape.blocks);
        Self::with(Arc::new(emulator), DivergenceKernel::default(), shape)
    }

    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }
}

impl<'a> Worker<Task<'a>> for DeviceEngine {
    fn label(&self) -> String {
        format!("GPU {}, {}", self.index(), self.device.info().name)
    }

    fn capacity(&self, _: &Task<'a>) -> u64 {
        // Threads that are resident with 128 registers each.
        let resident = u64::from(self.device.info().multiprocessors) * 512;
        resident.min(u64::from(self.shape.blocks) * u64::from(self.shape.block))
    }

    fn work(&self, task: &Task<'a>, share: Share<'_>) -> Result<(), EngineError> {
        match self.kernel {
            DivergenceKernel::Fetch => self.work_fetching(task, share),
            DivergenceKernel::Plain => self.work_plainly(task, share),
        }
    }
}

impl DeviceEngine {
    fn work_fetching(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let grid = self.grid(task.spec, &task.spans_to_come())?;
        let mut pipeline = Pipeline::new(grid, task, share);
        if share.ready() {
            pipeline.work()
        } else {
            share.check()
        }
    }

    /// Computes bands of pixels with one thread per pixel.
    fn work_plainly(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let spec = task.spec;
        if !self.kernel.computes(spec) {
            return Err(self.kernel.refused(spec, self.device.info()));
        }
        let band = self.shape.band.min(spec.pixels());
        let times = Buffer::<u32>::filled(&self.device, band as usize, 0)?;
        let mut host = vec![0; band as usize];
        share.ready();
        let mut steps = 0;
        loop {
            // The whole band is begun at once.
            let pace = Pace {
                backlog: 0,
                rate: 0.0,
            };
            for span in share.draw(pace, band, band)?.spans {
                let count = (span.end - span.start) as usize;
                let job = spec.job(span.start, count as u32);
                let grid = Grid::covering(job.count, self.shape.block);
                // SAFETY: there is room for job.count values, which the queue's order keeps from other uses.
                unsafe {
                    self.device
                        .launch::<DivergencePlain>(grid, (job, times.as_mut_ptr()))?
                };
                wait(&self.device.mark(Queue::Compute)?, &share)?;
                times.download(&mut host[..count])?;
                task.deliver(share, span.start, u32::slice(&host[..count]))?;
                steps += count as u64 * u64::from(job.steps);
                share.report(steps);
            }
            if !share.wait()? {
                return Ok(());
            }
        }
    }
}

/// The arguments of a kernel of fetching threads, for any state that its threads keep.
struct Arguments<V> {
    job: Job,
    slice_ns: u64,
    ring: Ring<V>,
    threads: *mut u64,
    shared: *const Shared,
    starts: Starts,
}

/// A kernel of fetching threads.
struct Kernel<V> {
    code: Code,
    /// Bytes that each of its threads keeps between launches.
    kept: usize,
    launch: Box<Start<V>>,
}

/// A function that launches a kernel.
type Start<V> = dyn Fn(&Arc<dyn Device>, Grid, Arguments<V>) -> Result<(), GpuError>;

/// Makes the [`OnDevice`] of a method.
struct GridOf<'a> {
    engine: &'a DeviceEngine,
    spec: &'a Validated,
    spans: &'a [Range<u64>],
}

impl OfMethod for GridOf<'_> {
    type Output = Result<Box<dyn tiles::Device>, EngineError>;

    fn visit<Q: Computed<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        entries: Entries<Q, P, I>,
    ) -> Self::Output {
        let own_masses = self.spec.masses(0).is_some();
        let kernel = match entries.map_uniform.filter(|_| !own_masses) {
            Some(entry) => Kernel {
                code: entry.code(),
                kept: size_of::<Thread<Q, I, P>>(),
                launch: Box::new(
                    move |device: &Arc<dyn Device>, grid, a: Arguments<Q::Value>| {
                        let threads = a.threads.cast();
                        let arguments = (
                            a.job,
                            a.slice_ns,
                            a.ring,
                            threads,
                            a.shared,
                            a.starts.points,
                        );
                        // SAFETY: see `OnDevice::launch`.
                        unsafe { device.launch_entry(entry, grid, arguments) }
                    },
                ),
            },
            None => {
                let entry = entries.map;
                Kernel {
                    code: entry.code(),
                    kept: size_of::<MassiveThread<Q, I, P>>(),
                    launch: Box::new(
                        move |device: &Arc<dyn Device>, grid, a: Arguments<Q::Value>| {
                            let threads = a.threads.cast();
                            let arguments =
                                (a.job, a.slice_ns, a.ring, threads, a.shared, a.starts);
                            // SAFETY: see `OnDevice::launch`.
                            unsafe { device.launch_entry(entry, grid, arguments) }
                        },
                    ),
                }
            }
        };
        Ok(Box::new(OnDevice::<Q::Value>::new(self, kernel)?))
    }
}

/// The kernel of fetching threads with all its buffers.
struct OnDevice<V: Value> {
    device: Arc<dyn Device>,
    kernel: Kernel<V>,
    grid: Grid,
    /// Duration of a launch; `None` if the pipeline chooses it.
    slice: Option<Duration>,
    job: Job,
    /// The start states of all pixels, if they are points.
    points: Option<Buffer<f64>>,
    /// Their masses, if they have some of their own.
    masses: Option<Buffer<f64>>,
    values: Buffer<V>,
    threads: Buffer<u64>,
    tiles: Buffer<Tile>,
    shared: Buffer<Counters>,
    done: Buffer<u32>,
    staging: [HostBuffer<V>; 2],
    sets: [Set; LAUNCHES_IN_FLIGHT],
}

/// The resources of a launch in flight.
struct Set {
    tiles: HostBuffer<Tile>,
    counters: HostBuffer<Counters>,
    done: HostBuffer<u32>,
    over: Option<Moment>,
}

impl Set {
    fn new(device: &Arc<dyn Device>, slots: usize) -> Result<Self, EngineError> {
        Ok(Self {
            tiles: HostBuffer::new(device, slots, Tile::default())?,
            counters: HostBuffer::new(device, 1, Counters::default())?,
            done: HostBuffer::new(device, slots, 0)?,
            over: None,
        })
    }
}

impl<V: Value> OnDevice<V> {
    fn new(of: GridOf<'_>, kernel: Kernel<V>) -> Result<Self, EngineError> {
        let GridOf {
            engine: &DeviceEngine {
                ref device, shape, ..
            },
            spec,
            spans,
        } = of;
        let pixels: u64 = spans.iter().map(|s| s.end - s.start).sum();
        let residency = blocks(spec.specification()).map(|blocks| Residency {
            threads: shape.block,
            blocks,
        });
        let grid = Grid::new(0, shape.block).residency(residency);
        let multiprocessors = device.info().multiprocessors;
        let resident = device.resident(&kernel.code, &grid)?.max(multiprocessors);
        let blocks = u64::from(resident.min(shape.blocks))
            .min(pixels.div_ceil(u64::from(shape.block))) as u32;
        // Even a short span has tiles of its own.
        let tiles = spans
            .iter()
            .map(|s| (s.end - s.start).div_ceil(u64::from(TILE)));
        let tiles = tiles.sum::<u64>().max(1);
        let slots = tiles.next_power_of_two().min(u64::from(shape.slots)) as usize;
        let words = ((blocks * shape.block) as usize * kernel.kept).div_ceil(size_of::<u64>());
        let piece = slots.min(TILES_PER_COPY as usize) * TILE as usize;
        let made = Self {
            device: device.clone(),
            kernel,
            grid: Grid { blocks, ..grid },
            slice: shape.slice,
            job: spec.job(0, 0),
            points: on_device(device, spec, |pixel| spec.point(pixel), point_numbers)?,
            masses: on_device(device, spec, |pixel| spec.masses(pixel), masses_numbers)?,
            values: Buffer::filled(device, slots * TILE as usize, 0)?,
            threads: Buffer::filled(device, words, FRESH_BYTE)?,
            tiles: Buffer::filled(device, slots, 0)?,
            shared: Buffer::filled(device, 1, 0)?,
            done: Buffer::filled(device, slots, 0)?,
            staging: [
                HostBuffer::new(device, piece, V::default())?,
                HostBuffer::new(device, piece, V::default())?,
            ],
            sets: [Set::new(device, slots)?, Set::new(device, slots)?],
        };
        device.synchronise()?;
        Ok(made)
    }
}

impl<V: Value> tiles::Device for OnDevice<V> {
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
            tiles: self.tiles.as_ptr(),
            values: self.values.as_mut_ptr(),
            done: self.done.as_ptr().cast(),
            mask: self.slots() - 1,
            limit,
        };
        let set = &mut self.sets[set];
        set.tiles[..tiles.len()].copy_from_slice(tiles);
        // The end of the ring may lie between them.
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
        let arguments = Arguments {
            job: self.job,
            slice_ns: self.slice.unwrap_or(slice).as_nanos() as u64,
            ring,
            threads: self.threads.as_mut_ptr(),
            shared: self.shared.as_ptr().cast(),
            // A null pointer stands for the job's grid, or its masses.
            starts: Starts {
                points: start(&self.points),
                masses: start(&self.masses),
            },
        };
        // The pipeline opens no more tiles than there are slots, so that the ring holds those of all tickets not taken; all
        // buffers live until the launches have been waited for, since freeing them waits for the device. Counters are an
        // integer each of Shared's atomics.
        (self.kernel.launch)(&self.device, self.grid, arguments)?;
        // SAFETY: the set was read before this launch was queued.
        unsafe {
            self.shared
                .copy_out(Queue::Compute, 0, &mut set.counters, 1)?;
            let slots = self.done.len();
            self.done
                .copy_out(Queue::Compute, 0, &mut set.done, slots)?;
        }
        set.over = Some(self.device.mark(Queue::Compute)?);
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

    /// While one piece is copied through page-locked memory, the previous piece is put into place.
    fn results(&mut self, runs: &[Range<u32>], take: &mut Take<'_>) -> Result<(), EngineError> {
        let (device, values, staging) = (&self.device, &self.values, &mut self.staging);
        let length = |piece: &Range<u32>| piece.len() * TILE as usize;
        let mut under_way: Option<(Range<u32>, usize, Moment)> = None;
        let pieces = runs.iter().flat_map(|run| {
            let starts = run.clone().step_by(TILES_PER_COPY as usize);
            starts.map(|start| start..run.end.min(start + TILES_PER_COPY))
        });
        for (n, piece) in pieces.enumerate() {
            let buffer = n % 2;
            let first = piece.start as usize * TILE as usize;
            // SAFETY: the tiles of these slots are done, as a launch that is over has said; the buffer was last read two pieces
            // ago, and is read again only after its mark.
            unsafe {
                values.copy_out(Queue::Copies, first, &mut staging[buffer], length(&piece))?;
            }
            let mark = device.mark(Queue::Copies)?;
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

const _: () = assert!(21 * size_of::<f64>() == size_of::<Point>());
const _: () = assert!(23 * size_of::<f64>() == size_of::<Masses>());

/// The address of a list on the device; null if there is none.
fn start<T>(list: &Option<Buffer<f64>>) -> *const T {
    list.as_ref()
        .map_or(std::ptr::null(), |list| list.as_ptr().cast())
}

/// Copies a list with an entry for every pixel to a device, if there is such a list.
fn on_device<T, N: Iterator<Item = f64>>(
    device: &Arc<dyn Device>,
    spec: &Validated,
    of: impl Fn(u64) -> Option<T>,
    numbers: impl Fn(T) -> N,
) -> Result<Option<Buffer<f64>>, EngineError> {
    if of(0).is_none() {
        return Ok(None);
    }
    let all: Vec<f64> = (0..spec.pixels())
        .filter_map(of)
        .flat_map(numbers)
        .collect();
    Ok(Some(Buffer::of(device, &all)?))
}

/// A [`Point`] in the order of its memory.
fn point_numbers(point: Point) -> impl Iterator<Item = f64> {
    let vectors = point.positions.into_iter().chain(point.velocities);
    vectors.chain([point.rest]).flatten()
}

/// [`Masses`] in the order of its memory.
fn masses_numbers(masses: Masses) -> impl Iterator<Item = f64> {
    let Masses {
        in_steps,
        criterion,
        own_steps,
    } = masses;
    let c = criterion.centre;
    let in_steps = (in_steps.g.into_iter())
        .chain(in_steps.minus_sum)
        .chain([in_steps.softening2]);
    (in_steps.flatten())
        .chain([c.x, c.y, c.z])
        .chain(criterion.minus_weights)
        .chain([criterion.critical2])
        .chain(own_steps.strengths.into_iter().flatten())
        .chain([own_steps.step])
}

/// Every byte of a [`LaneState`](kernels_gpu::lanes::LaneState) that has not asked for a pixel: its slot is then [`FRESH`], and the rest
/// does not matter.
const FRESH_BYTE: u8 = 0xff;
const _: () = assert!(FRESH == u32::from_ne_bytes([FRESH_BYTE; 4]));

/// Waits for an event without occupying a core, until the run ends.
fn wait(mark: &Moment, share: &Share<'_>) -> Result<(), EngineError> {
    while !mark.reached()? {
        share.check()?;
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
