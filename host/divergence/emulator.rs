//! The kernels on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use cuda_std::emulator::{EmulatorError, Launch};
use kernels_gpu::Lanes;
use kernels_gpu::divergence::{Job, Walker};
use kernels_gpu::integrator::three_body::Integrator as Stepper;
use kernels_gpu::kernels::{self, Shared, divergence_plain};

use super::cpu::zeroed;
use super::engine::{Computed, Engine, EngineError, Monitor};
use super::{DivergenceKernel, Integrator, Precision, Validated};

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

    fn launch(&self, blocks: u32, kernel: impl Fn()) -> Result<(), EngineError> {
        let mut launch = Launch::new(blocks, self.block);
        if let Some(seed) = self.seed {
            launch = launch.seed(seed);
        }
        // SAFETY: both kernels below may run on several threads at once: each pixel and each thread's slot is
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

    /// Launches a kernel of fetching threads until the job is done.
    fn fetch<R: Lanes, I: Stepper<R>>(
        &self,
        job: Job,
        times: *mut u32,
        monitor: &dyn Monitor,
        kernel: unsafe fn(Job, u64, *mut u32, *mut Walker<R, 1, I>, *const Shared),
    ) -> Result<(), EngineError> {
        let count = self.blocks * self.block;
        let mut threads = vec![Walker::fresh(); count as usize];
        let threads = threads.as_mut_ptr();
        let shared = Shared {
            steps: AtomicU64::new(0),
            next: AtomicU32::new(0),
            idle: AtomicU32::new(0),
        };
        while shared.idle.load(Ordering::Relaxed) < count {
            self.launch(self.blocks, || {
                // SAFETY: room for every pixel of the job and for every thread of the grid.
                unsafe { kernel(job, self.slice_ns, times, threads, &shared) }
            })?;
            if monitor.cancelled() {
                return Err(EngineError::Cancelled);
            }
            monitor.progress(
                shared.steps.load(Ordering::Relaxed),
                u64::from(job.count) * u64::from(job.steps),
            );
        }
        Ok(())
    }
}

impl Engine for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", crate::machine::cpu_name())
    }

    fn compute(&self, spec: &Validated, monitor: &dyn Monitor) -> Result<Computed, EngineError> {
        let mut times = zeroed(spec.pixels())?;
        let start = Instant::now();
        // A job's pixel numbers are below 2^30; an emulated map is far smaller.
        let mut first = 0;
        for part in times.chunks_mut(1 << 26) {
            let job = spec.job(first, part.len() as u32);
            first += part.len() as u64;
            let pointer = part.as_mut_ptr();
            let job_of = spec.specification();
            // Refuses what the kernel has no entry for.
            self.kernel.entry(job_of, &|| self.device())?;
            if self.kernel == DivergenceKernel::Plain {
                self.launch(job.count.div_ceil(self.block), || {
                    // SAFETY: room for every pixel of the job.
                    unsafe { divergence_plain(job, pointer) }
                })?;
                continue;
            }
            macro_rules! fetch {
                ($kernel:ident) => {
                    self.fetch(job, pointer, monitor, kernels::$kernel)
                };
            }
            match (job_of.precision, job_of.integrator) {
                (Precision::Fast, _) => fetch!(divergence_fetch_fast),
                (Precision::Mixed, _) => fetch!(divergence_fetch_mixed),
                (Precision::F32, _) => fetch!(divergence_fetch_f32),
                (Precision::Fixed { .. }, _) => fetch!(divergence_fetch_fixed),
                (Precision::FloatFloat, _) => fetch!(divergence_fetch_float_float),
                (Precision::Exact, integrator) => match integrator {
                    Integrator::ExplicitEuler => fetch!(divergence_fetch),
                    Integrator::SemiImplicitEuler => fetch!(divergence_fetch_semi_implicit_euler),
                    Integrator::Leapfrog => fetch!(divergence_fetch_leapfrog),
                    Integrator::AdamsBashforth2 => fetch!(divergence_fetch_adams_bashforth_2),
                    Integrator::AdamsBashforth4 => fetch!(divergence_fetch_adams_bashforth_4),
                    Integrator::RungeKutta4 => fetch!(divergence_fetch_runge_kutta_4),
                    Integrator::Hermite4 => fetch!(divergence_fetch_hermite_4),
                },
            }?;
        }
        Ok(Computed {
            times,
            elapsed: start.elapsed(),
        })
    }
}
