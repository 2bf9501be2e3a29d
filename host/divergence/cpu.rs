//! The CPU engine: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernels_gpu::divergence::{Feed, IDLE, Job, Masses, Pixel, Twins, Walker, Weights};
use kernels_gpu::integrator::three_body as by;
use kernels_gpu::number::{Fixed, FloatFloat, Mixed};
use kernels_gpu::{Lanes, Real};

use super::engine::{Engine, EngineError, Monitor, Ran, Task};
use super::queue::{Pace, Share};
use super::team::{self, Worker};
use super::{Integrator, Precision, Specification, Validated};
use crate::simd::Simd;

/// Pairs of steps a thread goes between looking for a cancellation and reporting progress: some milliseconds.
pub(super) const SLICE: u32 = 1 << 13;
/// Pixels that a thread draws at a time: so many that this takes some time, and at most these.
pub(super) const MAX_BATCH: u64 = 1 << 12;
/// How long a batch should last, at least.
pub(super) const BATCH_TIME: Duration = Duration::from_millis(2);

/// Computes maps on the CPU.
#[derive(Debug)]
pub struct CpuEngine {
    pool: rayon::ThreadPool,
    simd: Simd,
}

impl CpuEngine {
    /// With this many threads (`None`: as many as the process may use) and the fastest lanes there are.
    ///
    /// # Errors
    /// [`EngineError::Threads`] if the system does not give that many.
    pub fn new(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::with_simd(threads, Simd::best())
    }

    /// With lanes of the caller's choice, out of [`Simd::available`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_simd(threads: Option<usize>, simd: Simd) -> Result<Self, EngineError> {
        assert!(
            Simd::available().contains(&simd),
            "{simd} is not available on this machine"
        );
        let given = threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let fail = |reason: String| EngineError::Threads { given, reason };
        if given == 0 {
            return Err(fail("must be at least 1".into()));
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(given)
            .build()
            .map_err(|e| fail(e.to_string()))?;
        Ok(Self { pool, simd })
    }

    pub(super) fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    pub(super) fn simd(&self) -> Simd {
        self.simd
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let threads = self.pool.current_num_threads();
        let s = if threads == 1 { "" } else { "s" };
        format!(
            "{}, {}, {threads} thread{s}",
            crate::machine::cpu_name(),
            self.simd
        )
    }

    fn stream(&self, task: &Task<'_>, monitor: &dyn Monitor) -> Result<Ran, EngineError> {
        team::run(&[self], None, task, monitor)
    }
}

impl Worker for CpuEngine {
    fn label(&self) -> String {
        self.device()
    }

    fn capacity(&self, specification: &Specification) -> u64 {
        let narrow = match specification.precision {
            Precision::F32 | Precision::FloatFloat => 2,
            _ => 1,
        };
        (self.pool.current_num_threads() * self.simd.lanes() * narrow) as u64
    }

    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError> {
        // The numbers of pixels come with them.
        let job = task.spec.job(0, 0);
        let shared = Shared::new(self, task.spec, &job, share);
        if !shared.begin() {
            return share.check();
        }
        let results = self.pool.broadcast(|context| {
            work(
                self.simd,
                task.spec.specification(),
                &shared,
                context.index(),
            )
        });
        results.into_iter().collect()
    }
}

/// What the threads of a run share.
pub(super) struct Shared<'a> {
    spec: &'a Validated,
    pub job: &'a Job,
    pub share: Share<'a>,
    pub lanes: u64,
    /// Steps each thread has accounted for.
    steps: Vec<AtomicU64>,
    began: Mutex<Option<Instant>>,
}

impl<'a> Shared<'a> {
    pub fn new(engine: &CpuEngine, spec: &'a Validated, job: &'a Job, share: Share<'a>) -> Self {
        Self {
            spec,
            job,
            share,
            lanes: engine.simd.lanes() as u64,
            steps: (0..engine.pool.current_num_threads())
                .map(|_| AtomicU64::new(0))
                .collect(),
            began: Mutex::new(None),
        }
    }

    /// Waits for the other devices; false if the run has ended.
    pub fn begin(&self) -> bool {
        let goes_on = self.share.ready();
        *self.began.lock().expect("nobody panics with it") = Some(Instant::now());
        goes_on
    }

    pub fn threads(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Takes note of the steps that `thread` has accounted for. The first thread speaks for all.
    pub fn report(&self, thread: usize, steps: u64) {
        self.steps[thread].store(steps, Ordering::Relaxed);
        if thread == 0 {
            self.share.report(self.accounted());
        }
    }

    fn accounted(&self) -> u64 {
        self.steps.iter().map(|s| s.load(Ordering::Relaxed)).sum()
    }

    /// All threads' pixels a second.
    pub fn rate(&self) -> f64 {
        let began = *self.began.lock().expect("nobody panics with it");
        let seconds = began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.accounted() as f64 / f64::from(self.job.steps) / seconds.max(1e-3)
    }
}

/// The worker of a map's precision and integrator, on the lanes asked for.
fn work(
    simd: Simd,
    method: &Specification,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    /// Number and lanes of each instruction set, and the integrator.
    macro_rules! on_lanes {
        ($one:ty, $four:ty: $n4:literal, $eight:ty: $n8:literal, $integrator:ty) => {
            match simd {
                Simd::Scalar => worker_scalar::<$one, $integrator>(shared, thread),
                // SAFETY: a CpuEngine holds only instruction sets that the machine has.
                #[cfg(target_arch = "x86_64")]
                Simd::Avx2 => unsafe { worker_avx2::<$four, $n4, $integrator>(shared, thread) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Simd::Avx512 => unsafe {
                    worker_avx512::<$eight, $n8, $integrator>(shared, thread)
                },
            }
        };
    }
    macro_rules! exact {
        ($integrator:ty) => {
            on_lanes!(f64, F64x4: 4, F64x8: 8, $integrator)
        };
    }
    #[cfg(target_arch = "x86_64")]
    use crate::simd::{F32x8, F32x16, F64x4, F64x8};
    use by::ExplicitEuler as Euler;
    match (method.precision, method.integrator) {
        // Their specification allows explicit Euler only.
        (Precision::Mixed, _) => {
            on_lanes!(Mixed<f64>, Mixed<F64x4>: 4, Mixed<F64x8>: 8, Euler)
        }
        (Precision::F32, _) => on_lanes!(f32, F32x8: 8, F32x16: 16, Euler),
        (Precision::FloatFloat, _) => {
            on_lanes!(FloatFloat<f32>, FloatFloat<F32x8>: 8, FloatFloat<F32x16>: 16, Euler)
        }
        // One number at a time, with the set's fused multiply-add.
        (Precision::Fixed { .. }, _) => on_lanes!(Fixed, Fixed: 1, Fixed: 1, by::FixedEuler),
        // Fast is exact where there is no approximate instruction of a GPU.
        (Precision::Exact | Precision::Fast, integrator) => match integrator {
            Integrator::ExplicitEuler => exact!(Euler),
            Integrator::SemiImplicitEuler => exact!(by::SemiImplicitEuler),
            Integrator::Leapfrog => exact!(by::Leapfrog),
            Integrator::AdamsBashforth2 => exact!(by::AdamsBashforth2),
            Integrator::AdamsBashforth4 => exact!(by::AdamsBashforth4),
            Integrator::RungeKutta4 => exact!(by::RungeKutta4),
            Integrator::Hermite4 => exact!(by::Hermite4),
        },
    }
}

/// Not inlined: all of them in one function take the compiler twice as long.
#[inline(never)]
fn worker_scalar<R: Lanes, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, 1, I>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, N, I>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, N, I>(shared, thread)
}

/// Steps pixels until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut walker = Walker::<R, N, I>::fresh();
    let mut weights = Weights::spread(&shared.job.masses());
    let mut feed = Batches::new(shared);
    loop {
        let went = walker.walk_weighted(shared.job, SLICE, &mut weights, &mut feed);
        let under_way: u64 = (walker.pixel.iter().zip(&walker.taken))
            .filter(|(pixel, _)| **pixel < IDLE)
            .map(|(_, taken)| u64::from(*taken))
            .sum();
        shared.report(
            thread,
            feed.finished * u64::from(shared.job.steps) + under_way,
        );
        feed.check()?;
        if went < SLICE && !shared.share.wait()? {
            return Ok(());
        }
        // There may be pixels again: some that another device had, or that another process sent.
        walker.ask_again();
    }
}

/// Pixels of a batch that are drawn together and delivered together.
struct Batch {
    first: u64,
    times: Vec<u32>,
    /// Pixels not done.
    missing: u64,
    began: Instant,
}

/// Pixels from the queue in batches. A pixel's slot is the batch's number · [`MAX_BATCH`] and its place in the batch.
struct Batches<'a> {
    shared: &'a Shared<'a>,
    /// Batches with pixels not done; `None` for numbers that are free.
    open: Vec<Option<Batch>>,
    /// The next pixel of the last batch drawn, and its end.
    next: Pixel,
    end: u64,
    /// Pixels of the next batch.
    size: u64,
    finished: u64,
    failed: Option<EngineError>,
}

impl<'a> Batches<'a> {
    fn new(shared: &'a Shared<'a>) -> Self {
        Self {
            shared,
            open: Vec::new(),
            next: Pixel { number: 0, slot: 0 },
            end: 0,
            size: shared.lanes,
            finished: 0,
            failed: None,
        }
    }

    /// What went wrong in the meantime.
    fn check(&mut self) -> Result<(), EngineError> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.shared.share.check()
    }

    /// Draws the next batch; false if there is none.
    #[inline(never)]
    fn draw(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        // The pixels are begun one after the other, but soon.
        let pace = Pace {
            backlog: 0,
            rate: self.shared.rate(),
        };
        let threads = self.shared.threads();
        let grant = match self.shared.share.draw_for_thread(pace, self.size, threads) {
            Ok(grant) => grant,
            Err(error) => {
                self.failed = Some(error);
                return false;
            }
        };
        let Some(span) = grant else {
            return false;
        };
        let count = span.end - span.start;
        let number = match self.open.iter().position(Option::is_none) {
            Some(number) => number,
            None => {
                self.open.push(None);
                self.open.len() - 1
            }
        };
        self.open[number] = Some(Batch {
            first: span.start,
            times: vec![0; count as usize],
            missing: count,
            began: Instant::now(),
        });
        self.next = Pixel {
            number: span.start,
            slot: (number as u64 * MAX_BATCH) as u32,
        };
        self.end = span.end;
        true
    }

    /// Delivers a batch that is done.
    #[inline(never)]
    fn deliver(&mut self, number: usize) {
        let batch = self.open[number].take().expect("it was open");
        if batch.began.elapsed() < BATCH_TIME {
            self.size = (self.size * 2).min(MAX_BATCH);
        }
        if let Err(error) = self.shared.share.deliver(batch.first, &batch.times) {
            self.failed.get_or_insert(error);
        }
    }
}

impl Feed for Batches<'_> {
    const OWN_MASSES: bool = true;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        if self.next.number == self.end && !self.draw() {
            return None;
        }
        let pixel = self.next;
        self.next = Pixel {
            number: pixel.number + 1,
            slot: pixel.slot + 1,
        };
        Some(pixel)
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, times: u32) {
        self.finished += 1;
        let number = slot as usize / MAX_BATCH as usize;
        let batch = self.open[number].as_mut().expect("it is open");
        batch.times[slot as usize % MAX_BATCH as usize] = times;
        batch.missing -= 1;
        if batch.missing == 0 {
            self.deliver(number);
        }
    }
    #[inline(always)]
    fn twins<R: Real, M: by::Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        match self.shared.spec.point(number) {
            Some(point) => point.twins(job.grid.shift),
            None => job.grid.twins(number),
        }
    }

    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        self.shared.spec.masses(number)
    }
}
