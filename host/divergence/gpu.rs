//! The GPU engine: one stream, resumable launches of a known length, so that there is progress and an end
//! whatever the map.

use std::time::{Duration, Instant};

use kernels_gpu::divergence::Job;
use kernels_gpu::kernels::Shared;

use super::cpu::zeroed;
use super::engine::{Computed, Engine, EngineError, Monitor};
use super::{DivergenceKernel, Validated};
use crate::gpu::{Argument, DeviceMemory, Gpu, GpuError, Kernel, Mark, Pinned, Plain};

/// Threads of a block. Registers, not this, bound how many threads are resident.
const BLOCK: u32 = 128;
/// Pixels computed at a time, which bounds device memory to 256 MiB.
const BAND: u32 = 1 << 26;
/// Results copied at a time: bounds page-locked memory to two pieces of 16 MiB.
const PIECE: usize = 1 << 22;
/// What a launch takes: short enough for progress, cancellation and a display, long enough that putting the
/// threads aside costs nothing.
const SLICE: Duration = Duration::from_millis(50);

/// The counters of a launch, copied back after it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Counters {
    steps: u64,
    next: u32,
    idle: u32,
}

const _: () = assert!(size_of::<Counters>() == size_of::<Shared>());

// SAFETY: repr(C) of integers without padding.
unsafe impl Plain for Counters {}
/// Computes maps on a GPU.
#[derive(Debug)]
pub struct GpuEngine {
    gpu: Gpu,
    kernel: DivergenceKernel,
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
        })
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError> {
        self.gpu.enter()?;
        let pixels = spec.pixels();
        let mut times = zeroed(pixels)?;
        let total = pixels * spec.specification().steps;
        let (entry, kept) = self.kernel.entry(spec.specification(), &|| self.device())?;
        let kernel = self.gpu.kernel(entry)?;
        let band = pixels.min(u64::from(BAND)) as usize;
        let device_times = DeviceMemory::<u32>::filled(&self.gpu, band, 0)?;
        let piece = band.min(PIECE);
        let mut staging = [
            Pinned::new(&self.gpu, piece, 0)?,
            Pinned::new(&self.gpu, if band > piece { piece } else { 1 }, 0)?,
        ];
        let mut fetching = match self.kernel {
            DivergenceKernel::Fetch => Some(Fetching::new(&self.gpu, &kernel, band, kept)?),
            DivergenceKernel::Plain => None,
        };
        self.gpu.synchronise()?;
        let start = Instant::now();
        let mut first = 0;
        for part in times.chunks_mut(BAND as usize) {
            let job = spec.job(first, part.len() as u32);
            let before = first * u64::from(job.steps);
            let report = |steps| monitor.progress(before + steps, total);
            match &mut fetching {
                Some(fetching) => {
                    fetching.run(&job, &device_times, &report, monitor)?;
                }
                None => self.run_plain(&kernel, &job, &device_times, monitor)?,
            }
            self.bring_back(&device_times, &mut staging, part)?;
            first += part.len() as u64;
        }
        let elapsed = start.elapsed();
        monitor.progress(total, total);
        Ok(Computed { times, elapsed })
    }
}

impl GpuEngine {
    fn run_plain(
        &self,
        kernel: &Kernel<'_>,
        job: &Job,
        times: &DeviceMemory<'_, u32>,
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let address = times.address();
        let arguments = [Argument::new(job), Argument::new(&address)];
        // SAFETY: the kernel's parameters are a Job and a pointer to job.count values of device memory, which the
        // stream's order keeps from other uses.
        unsafe { kernel.launch(job.count.div_ceil(BLOCK), BLOCK, 0, &arguments)? };
        wait(&self.gpu.mark()?, monitor)
    }

    /// Copies results to the host through page-locked memory: while one piece is on its way, the one before is
    /// put into place.
    fn bring_back(
        &self,
        from: &DeviceMemory<'_, u32>,
        staging: &mut [Pinned<'_, u32>; 2],
        to: &mut [u32],
    ) -> Result<(), EngineError> {
        let mut waiting: Option<(&mut [u32], usize, Mark<'_>)> = None;
        let mut first = 0;
        for (n, piece) in to.chunks_mut(PIECE).enumerate() {
            let slot = n % 2;
            // SAFETY: the slot was last read two pieces ago, and is read again only after its mark.
            unsafe { from.copy_to(first, &mut staging[slot], piece.len())? };
            first += piece.len();
            let mark = self.gpu.mark()?;
            if let Some((piece, slot, mark)) = waiting.replace((piece, slot, mark)) {
                wait(&mark, &super::Unattended)?;
                piece.copy_from_slice(&staging[slot][..piece.len()]);
            }
        }
        if let Some((piece, slot, mark)) = waiting {
            wait(&mark, &super::Unattended)?;
            piece.copy_from_slice(&staging[slot][..piece.len()]);
        }
        Ok(())
    }
}

/// The kernel of fetching threads with all its buffers.
pub(super) struct Fetching<'a> {
    gpu: &'a Gpu,
    kernel: &'a Kernel<'a>,
    blocks: u32,
    threads: DeviceMemory<'a, u64>,
    shared: DeviceMemory<'a, Counters>,
    counters: [Pinned<'a, Counters>; 2],
}

impl<'a> Fetching<'a> {
    /// For jobs of up to `pixels` pixels; each thread keeps `kept` bytes between launches.
    pub(super) fn new(
        gpu: &'a Gpu,
        kernel: &'a Kernel<'a>,
        pixels: usize,
        kept: usize,
    ) -> Result<Self, EngineError> {
        let resident = kernel.resident_blocks(BLOCK, 0)?.max(1) * gpu.info().multiprocessors;
        let blocks = resident.min(pixels.div_ceil(BLOCK as usize) as u32);
        let words = ((blocks * BLOCK) as usize * kept).div_ceil(size_of::<u64>());
        Ok(Self {
            gpu,
            kernel,
            blocks,
            threads: DeviceMemory::filled(gpu, words, FRESH_BYTE)?,
            shared: DeviceMemory::filled(gpu, 1, 0)?,
            counters: [
                Pinned::new(gpu, 1, Counters::default())?,
                Pinned::new(gpu, 1, Counters::default())?,
            ],
        })
    }

    /// Runs a job to its end. One launch is always queued behind the one that runs, so the device does not wait
    /// for the host.
    pub(super) fn run(
        &mut self,
        job: &Job,
        times: &DeviceMemory<'_, u32>,
        report: &dyn Fn(u64),
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        self.threads.fill(FRESH_BYTE)?;
        self.shared.fill(0)?;
        let threads = self.blocks * BLOCK;
        let mut running = self.launch(job, times, 0)?;
        let mut slot = 0;
        loop {
            let queued = self.launch(job, times, 1 - slot)?;
            wait(&running, monitor)?;
            let Counters { steps, idle, .. } = self.counters[slot][0];
            report(steps);
            if idle == threads {
                // The queued launch finds nothing to do.
                return wait(&queued, &super::Unattended);
            }
            running = queued;
            slot = 1 - slot;
        }
    }

    fn launch(
        &mut self,
        job: &Job,
        times: &DeviceMemory<'_, u32>,
        slot: usize,
    ) -> Result<Mark<'a>, EngineError> {
        let (times, threads, shared) = (
            times.address(),
            self.threads.address(),
            self.shared.address(),
        );
        let slice = SLICE.as_nanos() as u64;
        // SAFETY: Counters are an integer each of Shared's atomics; the fields below are the kernel's parameters,
        // and all buffers live until this job's launches have been waited for.
        unsafe {
            self.kernel.launch(
                self.blocks,
                BLOCK,
                0,
                &[
                    Argument::new(job),
                    Argument::new(&slice),
                    Argument::new(&times),
                    Argument::new(&threads),
                    Argument::new(&shared),
                ],
            )?;
            // The slot was read before this launch was queued.
            self.shared.copy_to(0, &mut self.counters[slot], 1)?;
        }
        Ok(self.gpu.mark()?)
    }
}

/// Every byte of a [`Walker`](kernels_gpu::divergence::Walker) that has not asked for a pixel: its pixel number is then
/// [`FRESH`](kernels_gpu::divergence::FRESH), and the rest does not matter.
const FRESH_BYTE: u8 = 0xff;
const _: () = assert!(kernels_gpu::divergence::FRESH == u32::from_ne_bytes([FRESH_BYTE; 4]));

/// Waits for a mark without holding a core, asking the monitor meanwhile.
fn wait(mark: &Mark<'_>, monitor: &dyn Monitor) -> Result<(), EngineError> {
    while !mark.reached()? {
        if monitor.cancelled() {
            return Err(EngineError::Cancelled);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

impl From<GpuError> for EngineError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Unavailable(why) => Self::NoGpu(why),
            GpuError::Call {
                device,
                call,
                reason,
            } => Self::Gpu {
                device,
                call,
                reason,
            },
            GpuError::OutOfMemory {
                device,
                needed,
                available,
            } => Self::OutOfMemory {
                device,
                needed,
                available,
            },
        }
    }
}
