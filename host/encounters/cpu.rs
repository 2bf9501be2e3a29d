//! The CPU engine: threads × SIMD lanes, every lane refilled as soon as its run has ended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kernels_gpu::encounters::lanes::{Runs, integrate};
use kernels_gpu::encounters::step::KICK_OPERATIONS;
use kernels_gpu::encounters::{Pairs, Record, Start};

use super::Validated;
use super::engine::{Engine, room};
use trisolar_run::{EngineError, Monitor};
use trisolar_simd::{Simd, peak};

/// Integrates on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    threads: usize,
    simd: Simd,
}

/// How often progress is shown and a cancellation looked for.
const LOOK: Duration = Duration::from_millis(50);

impl CpuEngine {
    /// With this many threads (`None`: as many as the process may use) and the fastest lanes there are.
    ///
    /// # Errors
    /// [`EngineError::Threads`] for none.
    pub fn new(threads: Option<usize>) -> Result<Self, EngineError> {
        Self::with_simd(threads, Simd::best())
    }

    /// With lanes of the caller's choice, out of [`Simd::available`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// If the machine has no such lanes.
    pub fn with_simd(threads: Option<usize>, simd: Simd) -> Result<Self, EngineError> {
        assert!(
            Simd::available().contains(&simd),
            "{simd} is not available on this machine"
        );
        let threads = threads.unwrap_or_else(trisolar_run::machine::threads);
        if threads == 0 {
            return Err(EngineError::Threads {
                given: 0,
                reason: "must be at least 1".into(),
            });
        }
        Ok(Self { threads, simd })
    }

    /// Kicks per second at which the cores execute the `f64` operations of a kick as fast as any, measured for so long.
    pub fn kicks_limit(&self, length: Duration) -> f64 {
        peak::operations_per_second(self.simd, self.threads, length) / KICK_OPERATIONS
    }
}

/// What the threads share.
struct Shared<'a> {
    spec: &'a Validated,
    next: AtomicU64,
    ended: AtomicU64,
    stopped: AtomicBool,
}

/// The runs of a thread.
struct OfThread<'a> {
    shared: &'a Shared<'a>,
    records: Vec<(u64, Record)>,
}

impl Runs for OfThread<'_> {
    fn next(&mut self) -> Option<u64> {
        let run = self.shared.next.fetch_add(1, Ordering::Relaxed);
        (run < self.shared.spec.runs()).then_some(run)
    }

    fn start(&mut self, run: u64) -> Start {
        self.shared.spec.start(run)
    }

    fn ended(&mut self, run: u64, record: &Record, _: &Pairs<f64>) {
        self.records.push((run, *record));
        self.shared.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn stopped(&mut self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }
}

/// One number at a time, with the instruction for a fused multiply-add instead of a function's call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn scalar_fma(spec: &Validated, runs: &mut OfThread<'_>) {
    integrate::<f64, _>(spec.settings(), spec.stages(), runs);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(spec: &Validated, runs: &mut OfThread<'_>) {
    integrate::<trisolar_simd::F64x4, _>(spec.settings(), spec.stages(), runs);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(spec: &Validated, runs: &mut OfThread<'_>) {
    integrate::<trisolar_simd::F64x8, _>(spec.settings(), spec.stages(), runs);
}

fn work(simd: Simd, shared: &Shared<'_>) -> Vec<(u64, Record)> {
    let mut runs = OfThread {
        shared,
        records: Vec::new(),
    };
    let spec = shared.spec;
    match simd {
        // SAFETY: asked for just now.
        #[cfg(target_arch = "x86_64")]
        Simd::Scalar if trisolar_simd::has_fma() => unsafe { scalar_fma(spec, &mut runs) },
        Simd::Scalar => {
            integrate::<f64, _>(spec.settings(), spec.stages(), &mut runs);
        }
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2(spec, &mut runs) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512(spec, &mut runs) },
    }
    runs.records
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        let s = if self.threads == 1 { "" } else { "s" };
        let cpu = trisolar_run::machine::cpu_name();
        format!("{cpu}, {}, {} thread{s}", self.simd, self.threads)
    }

    fn integrate(
        &self,
        spec: &Validated,
        monitor: &dyn Monitor,
    ) -> Result<Vec<Record>, EngineError> {
        let mut records = room(spec.runs())?;
        let shared = Shared {
            spec,
            next: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let mut workers = Vec::new();
            let mut failed = None;
            for _ in 0..self.threads {
                let worker = thread::Builder::new()
                    .name("encounters".into())
                    .spawn_scoped(scope, || work(self.simd, &shared));
                match worker {
                    Ok(worker) => workers.push(worker),
                    Err(e) => {
                        failed = Some(EngineError::Threads {
                            given: self.threads,
                            reason: e.to_string(),
                        });
                        shared.stopped.store(true, Ordering::Relaxed);
                        break;
                    }
                }
            }
            let mut pause = Duration::from_millis(1);
            while failed.is_none() && !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
                monitor.progress(shared.ended.load(Ordering::Relaxed), spec.runs());
                if monitor.cancelled() {
                    shared.stopped.store(true, Ordering::Relaxed);
                }
                // Few runs end soon.
                thread::park_timeout(pause);
                pause = (2 * pause).min(LOOK);
            }
            for worker in workers {
                let of_thread = worker
                    .join()
                    .unwrap_or_else(|e| std::panic::resume_unwind(e));
                for (run, record) in of_thread {
                    records[run as usize] = record;
                }
            }
            failed.map_or(Ok(()), Err)
        })?;
        let ended = shared.ended.load(Ordering::Relaxed);
        monitor.progress(ended, spec.runs());
        if ended < spec.runs() {
            return Err(EngineError::Cancelled);
        }
        Ok(records)
    }
}
