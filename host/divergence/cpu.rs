//! The CPU engine: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kernels_gpu::Real;
use kernels_gpu::divergence::{Feed, Job, Masses, Pixel, Twins, Walker, Weights};
use kernels_gpu::integrator::three_body as by;
use kernels_gpu::number::{Fixed, FloatFloat, Mixed};

use super::batches::{Batches, SLICE, Work};
use super::engine::{Engine, EngineError, Monitor, Ran, Task};
use super::queue::Share;
use super::team::{self, Worker};
use super::{Integrator, Precision, Specification, Validated};
use crate::simd::Simd;

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
    macro_rules! in_f64 {
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
        // Fast is f64 where there is no approximate instruction of a GPU.
        (Precision::F64 | Precision::Fast, integrator) => match integrator {
            Integrator::ExplicitEuler => in_f64!(Euler),
            Integrator::SemiImplicitEuler => in_f64!(by::SemiImplicitEuler),
            Integrator::Leapfrog => in_f64!(by::Leapfrog),
            Integrator::AdamsBashforth2 => in_f64!(by::AdamsBashforth2),
            Integrator::AdamsBashforth4 => in_f64!(by::AdamsBashforth4),
            Integrator::RungeKutta4 => in_f64!(by::RungeKutta4),
            Integrator::Hermite4 => in_f64!(by::Hermite4),
        },
    }
}

/// Not inlined: all of them in one function take the compiler twice as long.
#[inline(never)]
fn worker_scalar<R: Real, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, 1, I>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2<R: Real, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, N, I>(shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512<R: Real, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<R, N, I>(shared, thread)
}

/// Steps pixels until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Real, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let mut weights = Weights::spread(&shared.job.masses());
    let mut walker = Walker::<R, N, I>::fresh();
    let mut feed = Batches::new(shared, FromStart);
    loop {
        let went = walker.walk_weighted(shared.job, SLICE, &mut weights, &mut feed);
        if !feed.go_on(thread, &mut walker, went)? {
            return Ok(());
        }
    }
}

/// Pixels from their start; what is kept of one is its number of steps.
struct FromStart;

impl Work for FromStart {
    type Value = u32;

    fn begin(&self, span: Range<u64>) -> Vec<u32> {
        vec![0; (span.end - span.start) as usize]
    }

    fn deliver(&self, share: Share<'_>, first: u64, times: &[u32]) -> Result<(), EngineError> {
        share.deliver(first, times)
    }
}

impl Feed for Batches<'_, FromStart> {
    const OWN_MASSES: bool = true;

    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        self.next_pixel()
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, times: u32) {
        *self.value(slot) = times;
        self.count(slot);
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
