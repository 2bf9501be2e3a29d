//! The CPU engine: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use kernels_gpu::Lanes;
use kernels_gpu::divergence::{Feed, IDLE, Job, Walker};
use kernels_gpu::integrator::three_body as by;
use kernels_gpu::number::{Fixed, FloatFloat, Mixed};

use super::engine::{Computed, Engine, EngineError, Monitor, timed};
use super::{Integrator, Precision, Specification, Validated, spec::MAX_PIXELS};
use crate::simd::Simd;

/// Pairs of steps a thread goes between looking for a cancellation and reporting progress: some milliseconds.
const SLICE: u32 = 1 << 13;
/// Pixels of a job at most: pixel numbers from [`IDLE`] on have another meaning.
const MAX_JOB: u64 = MAX_PIXELS / 4;

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

    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError> {
        let pixels = spec.pixels();
        let mut times = zeroed(pixels)?;
        let total = pixels * spec.specification().steps;
        let (result, elapsed): (Result<(), EngineError>, Duration) = timed(|| {
            let mut done = 0;
            for part in times.chunks_mut(MAX_JOB as usize) {
                let job = spec.job(done, part.len() as u32);
                let before = done * u64::from(job.steps);
                self.run(
                    spec.specification(),
                    &job,
                    part,
                    &|steps| monitor.progress(before + steps, total),
                    monitor,
                )?;
                done += part.len() as u64;
            }
            Ok(())
        });
        result?;
        monitor.progress(total, total);
        Ok(Computed { times, elapsed })
    }
}

/// Memory for the results, or an error if there is not enough.
pub(super) fn zeroed(pixels: u64) -> Result<Vec<u32>, EngineError> {
    let (needed, available) = (pixels * 4, crate::machine::available_memory());
    let out_of_memory = EngineError::OutOfMemory {
        device: "host".into(),
        needed,
        available,
    };
    // The system may promise memory that it has not, and end the program when it is used.
    if available > 0 && needed > available {
        return Err(out_of_memory);
    }
    let mut times = Vec::new();
    let length = usize::try_from(pixels).unwrap_or(usize::MAX);
    times.try_reserve_exact(length).map_err(|_| out_of_memory)?;
    times.resize(length, 0);
    Ok(times)
}

/// What the threads of a job share.
struct Shared<'a> {
    job: &'a Job,
    times: &'a [AtomicU32],
    next: AtomicU32,
    /// Pixels handed out at a time.
    batch: u32,
    /// Steps each thread has accounted for.
    steps: Vec<AtomicU64>,
    cancelled: AtomicBool,
}

impl CpuEngine {
    fn run(
        &self,
        method: &Specification,
        job: &Job,
        times: &mut [u32],
        progress: &(dyn Fn(u64) + Sync),
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let threads = self.pool.current_num_threads();
        // Small enough that the last batches end together, large enough that the counter is no bottleneck.
        let batch = (job.count / (threads * self.simd.lanes() * 16) as u32).clamp(1, 64);
        // SAFETY: AtomicU32 has the layout of u32, and the exclusive borrow lasts for the whole job.
        let times = unsafe { &*(std::ptr::from_mut(times) as *const [AtomicU32]) };
        let shared = Shared {
            job,
            times,
            next: AtomicU32::new(0),
            batch,
            steps: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            cancelled: AtomicBool::new(false),
        };
        self.pool.broadcast(|context| {
            let thread = context.index();
            // The first thread speaks for all.
            let report = |steps: u64| {
                shared.steps[thread].store(steps, Ordering::Relaxed);
                if thread == 0 {
                    progress(shared.steps.iter().map(|s| s.load(Ordering::Relaxed)).sum());
                }
                if monitor.cancelled() {
                    shared.cancelled.store(true, Ordering::Relaxed);
                }
            };
            work(self.simd, method, &shared, &report);
        });
        if shared.cancelled.into_inner() {
            Err(EngineError::Cancelled)
        } else {
            Ok(())
        }
    }
}

/// The worker of a map's precision and integrator, on the lanes asked for.
fn work(simd: Simd, method: &Specification, shared: &Shared<'_>, report: &dyn Fn(u64)) {
    /// Number and lanes of each instruction set, and the integrator.
    macro_rules! on_lanes {
        ($one:ty, $four:ty: $n4:literal, $eight:ty: $n8:literal, $integrator:ty) => {
            match simd {
                Simd::Scalar => worker::<$one, 1, $integrator>(shared, report),
                // SAFETY: a CpuEngine holds only instruction sets that the machine has.
                #[cfg(target_arch = "x86_64")]
                Simd::Avx2 => unsafe { worker_avx2::<$four, $n4, $integrator>(shared, report) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Simd::Avx512 => unsafe {
                    worker_avx512::<$eight, $n8, $integrator>(shared, report)
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    report: &dyn Fn(u64),
) {
    worker::<R, N, I>(shared, report);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    report: &dyn Fn(u64),
) {
    worker::<R, N, I>(shared, report);
}

/// Steps pixels until none is left. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Lanes, const N: usize, I: by::Integrator<R>>(
    shared: &Shared<'_>,
    report: &dyn Fn(u64),
) {
    let mut walker = Walker::<R, N, I>::fresh();
    let mut feed = Batches {
        shared,
        next: 0,
        end: 0,
        finished: 0,
    };
    loop {
        let went = walker.walk(shared.job, SLICE, &mut feed);
        let under_way: u64 = (walker.pixel.iter().zip(&walker.taken))
            .filter(|(pixel, _)| **pixel < IDLE)
            .map(|(_, taken)| u64::from(*taken))
            .sum();
        report(feed.finished * u64::from(shared.job.steps) + under_way);
        if went < SLICE || shared.cancelled.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Pixels in batches from the shared counter.
struct Batches<'a> {
    shared: &'a Shared<'a>,
    next: u32,
    end: u32,
    finished: u64,
}

impl Feed for Batches<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if self.next == self.end {
            let (count, batch) = (self.shared.job.count, self.shared.batch);
            let take = |next: u32| (next < count).then(|| next + batch.min(count - next));
            self.next = self
                .shared
                .next
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .ok()?;
            self.end = self.next + batch.min(count - self.next);
        }
        self.next += 1;
        Some(self.next - 1)
    }

    #[inline(always)]
    fn done(&mut self, pixel: u32, times: u32) {
        self.finished += 1;
        self.shared.times[pixel as usize].store(times, Ordering::Relaxed);
    }
}
