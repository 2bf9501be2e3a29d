//! The GPU engine: one stream, everything queued in order; the host only waits so that it can be stopped.

use std::time::Duration;

use kernels_gpu::integrator::System;
use kernels_gpu::kernels::Stages;
use kernels_gpu::nbody::order::chunk_length;
use kernels_gpu::nbody::sweep::Reduced;
use kernels_gpu::nbody::tile::Basic;
use kernels_gpu::nbody::{Body, Scalar};

use super::engine::{Run, start};
use super::kernel::{Arrays, NbodyKernel, Plan};
use super::{Bodies, Engine, Integrator, Precision, Solver, Validated};
use crate::divergence::{EngineError, Monitor};
use crate::gpu::{Argument, DeviceMemory, Gpu, Kernel, Mark, Plain};

// SAFETY: repr(C) of numbers, without padding.
unsafe impl Plain for Body<f32> {}
// SAFETY: as above.
unsafe impl Plain for Body<f64> {}

/// Memory for the partial sums of the reduced solver's rows, unless all of them need less.
const ROWS_BYTES: u64 = 8 << 30;
/// Threads of a block that moves bodies or adds up sums.
const MOVING: u32 = 256;
/// Interactions that are queued before the host looks whether to stop: some hundredths of a second.
const QUEUED: u64 = 50_000_000_000;

/// Integrates on a GPU.
#[derive(Debug)]
pub struct GpuEngine {
    gpu: Gpu,
    plan: Option<Plan>,
}

impl GpuEngine {
    /// On the GPU of this number, with the kernel that suits the number of bodies.
    ///
    /// # Errors
    /// [`EngineError::NoGpu`] or [`EngineError::Gpu`].
    pub fn new(device: u32) -> Result<Self, EngineError> {
        Ok(Self {
            gpu: Gpu::open(device)?,
            plan: None,
        })
    }

    /// With a kernel and a launch of the caller's choice.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_plan(device: u32, plan: Plan) -> Result<Self, EngineError> {
        Ok(Self {
            gpu: Gpu::open(device)?,
            plan: Some(plan),
        })
    }

    /// From now on this kernel and launch; `None` for what suits.
    pub fn set_plan(&mut self, plan: Option<Plan>) {
        self.plan = plan;
    }

    /// What this engine uses for `n` bodies.
    pub fn plan(&self, solver: Solver, n: usize) -> Plan {
        self.plan
            .unwrap_or_else(|| suitable(solver, n, self.gpu.info().multiprocessors))
    }
}

/// The kernel and launch for a number of bodies.
fn suitable(solver: Solver, n: usize, multiprocessors: u32) -> Plan {
    match solver {
        Solver::Reduced => Plan::new(NbodyKernel::Reduced),
        Solver::Basic => {
            let kernel = match n {
                0..4096 => NbodyKernel::Tile1,
                4096..16384 => NbodyKernel::Tile2,
                _ => NbodyKernel::Tile4,
            };
            let plan = Plan::new(kernel);
            let bodies = kernel.tile().map_or(1, |t| t.bodies);
            let blocks = (n as u32).div_ceil(plan.block * bodies);
            // Enough blocks for several waves; then the last one, which is not full, hardly counts.
            Plan {
                splits: (multiprocessors * 32).div_ceil(blocks),
                ..plan
            }
        }
    }
}

impl Engine for GpuEngine {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn device(&self) -> String {
        self.gpu.info().name.clone()
    }

    fn start<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        self.gpu.enter()?;
        let mut plan = self.plan(problem.specification().solver, bodies.len());
        plan.check(problem)?;
        let chunk = chunk_length(bodies.len() as u32);
        plan.splits = plan.splits.min((bodies.len() as u32).div_ceil(chunk));
        Ok(match problem.specification().precision {
            Precision::F32 => Box::new(GpuRun::<f32>::new(&self.gpu, plan, problem, bodies)?),
            Precision::F64 => Box::new(GpuRun::<f64>::new(&self.gpu, plan, problem, bodies)?),
            Precision::FloatFloat => unreachable!("refused by Plan::check"),
        })
    }
}

/// The names of a precision's kernels.
trait Names: Scalar + Plain {
    const COMBINE: &'static str;
    const GATHER: &'static str;
    const KICK: &'static str;
    const DRIFT: &'static str;
    const KICK_DRIFT: &'static str;
    const RK_STAGE: &'static str;
    const RK_END: &'static str;
    const PRECISION: Precision;
}

impl Names for f32 {
    const COMBINE: &'static str = "nbody_combine_f32";
    const GATHER: &'static str = "nbody_gather_f32";
    const KICK: &'static str = "nbody_kick_f32";
    const DRIFT: &'static str = "nbody_drift_f32";
    const KICK_DRIFT: &'static str = "nbody_kick_drift_f32";
    const RK_STAGE: &'static str = "nbody_rk_stage_f32";
    const RK_END: &'static str = "nbody_rk_end_f32";
    const PRECISION: Precision = Precision::F32;
}

impl Names for f64 {
    const COMBINE: &'static str = "nbody_combine_f64";
    const GATHER: &'static str = "nbody_gather_f64";
    const KICK: &'static str = "nbody_kick_f64";
    const DRIFT: &'static str = "nbody_drift_f64";
    const KICK_DRIFT: &'static str = "nbody_kick_drift_f64";
    const RK_STAGE: &'static str = "nbody_rk_stage_f64";
    const RK_END: &'static str = "nbody_rk_end_f64";
    const PRECISION: Precision = Precision::F64;
}

/// The kernels of a run.
struct Kernels<'a> {
    accelerate: Kernel<'a>,
    combine: Kernel<'a>,
    gather: Kernel<'a>,
    kick: Kernel<'a>,
    drift: Kernel<'a>,
    kick_drift: Kernel<'a>,
    rk_stage: Kernel<'a>,
    rk_end: Kernel<'a>,
}

/// Bodies under way on a GPU.
struct GpuRun<'a, S: Scalar + Plain>
where
    Body<S>: Plain,
{
    gpu: &'a Gpu,
    plan: Plan,
    kernels: Kernels<'a>,
    integrator: Integrator,
    dt: f64,
    mass: Vec<f64>,
    host: Arrays<S>,
    x: DeviceMemory<'a, Body<S>>,
    v: DeviceMemory<'a, Body<S>>,
    a: DeviceMemory<'a, Body<S>>,
    /// x₀, v₀, Σx, Σv of a Runge–Kutta step.
    stages: Option<[DeviceMemory<'a, Body<S>>; 4]>,
    /// Sums of each chunk.
    sums: Option<DeviceMemory<'a, Body<S>>>,
    /// P and Q of the reduced solver, and the rows that P holds.
    partials: Option<(DeviceMemory<'a, S>, DeviceMemory<'a, S>, u32)>,
}

impl<'a, S: Names> GpuRun<'a, S>
where
    Body<S>: Plain,
{
    fn new(
        gpu: &'a Gpu,
        plan: Plan,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Self, EngineError> {
        let spec = problem.specification();
        let host = Arrays::<S>::new(spec, bodies);
        let padded = host.padded as usize;
        let memory = || DeviceMemory::<Body<S>>::filled(gpu, padded, 0);
        let chunks = host.n.div_ceil(chunk_length(host.n)) as usize;
        let sums = if plan.kernel.tile().is_some() && plan.splits > 1 {
            Some(DeviceMemory::filled(gpu, chunks * host.n as usize, 0)?)
        } else {
            None
        };
        let partials = if plan.kernel == NbodyKernel::Reduced {
            let rows = host.padded / Reduced::<S>::ROW;
            let row = (3 * padded * size_of::<S>()) as u64;
            let most = ROWS_BYTES.min(gpu.info().memory_bytes / 4) / row;
            let at_once = plan.rows_at_once(rows).min((most as u32).max(1));
            Some((
                DeviceMemory::filled(gpu, at_once as usize * 3 * padded, 0)?,
                DeviceMemory::filled(gpu, chunks * 3 * padded, 0)?,
                at_once,
            ))
        } else {
            None
        };
        let stages = match spec.integrator {
            Integrator::RungeKutta4 => Some([memory()?, memory()?, memory()?, memory()?]),
            _ => None,
        };
        let kernels = Kernels {
            accelerate: gpu.kernel(plan.kernel.entry(S::PRECISION))?,
            combine: gpu.kernel(S::COMBINE)?,
            gather: gpu.kernel(S::GATHER)?,
            kick: gpu.kernel(S::KICK)?,
            drift: gpu.kernel(S::DRIFT)?,
            kick_drift: gpu.kernel(S::KICK_DRIFT)?,
            rk_stage: gpu.kernel(S::RK_STAGE)?,
            rk_end: gpu.kernel(S::RK_END)?,
        };
        let mut run = Self {
            gpu,
            plan,
            kernels,
            integrator: spec.integrator,
            dt: spec.dt,
            mass: bodies.mass.clone(),
            x: memory()?,
            v: memory()?,
            a: memory()?,
            stages,
            sums,
            partials,
            host,
        };
        run.x.upload(&run.host.x)?;
        run.v.upload(&run.host.v)?;
        start(spec.integrator, &mut run)?;
        gpu.synchronise()?;
        Ok(run)
    }

    fn basic(&mut self) -> Result<(), EngineError> {
        let n = self.host.n;
        let chunk = chunk_length(n);
        let chunks = n.div_ceil(chunk);
        let Plan {
            kernel,
            block,
            splits,
            ..
        } = self.plan;
        let job = Basic {
            softening2: self.host.softening2,
            n,
            chunk,
            splits,
            first: 0,
            count: n,
        };
        let (x, a) = (self.x.address(), self.a.address());
        let to = self.sums.as_ref().map_or(a, DeviceMemory::address);
        let (blocks, shared) = match kernel.tile() {
            Some(tile) => {
                let shared = block * size_of::<Body<S>>() as u32;
                (n.div_ceil(block * tile.bodies) * splits, shared)
            }
            None => (n.div_ceil(block), 0),
        };
        let arguments = [Argument::new(&job), Argument::new(&x), Argument::new(&to)];
        // SAFETY: the kernels' parameters; n bodies; n sums with one part, chunks × n with more; shared memory for a body a
        // thread.
        unsafe {
            self.kernels
                .accelerate
                .launch(blocks, block, shared, &arguments)?
        };
        if self.sums.is_some() {
            let arguments = [
                Argument::new(&to),
                Argument::new(&a),
                Argument::new(&n),
                Argument::new(&chunks),
            ];
            // SAFETY: the kernel's parameters; chunks × n sums and n accelerations.
            unsafe {
                self.kernels
                    .combine
                    .launch(n.div_ceil(MOVING), MOVING, 0, &arguments)?
            };
        }
        Ok(())
    }

    fn reduced(&mut self) -> Result<(), EngineError> {
        let (n, stride) = (self.host.n, self.host.padded);
        let rows = stride / Reduced::<S>::ROW;
        let block = self.plan.block;
        let mut job = Reduced {
            softening2: self.host.softening2,
            n,
            chunk: chunk_length(n),
            row: 0,
            rows,
            stride,
        };
        let (x, a) = (self.x.address(), self.a.address());
        let Some((p, q, at_once)) = &self.partials else {
            self.a.fill(0)?;
            let blocks = (rows * job.chunks()).div_ceil(block / 32);
            let arguments = [Argument::new(&job), Argument::new(&x), Argument::new(&a)];
            // SAFETY: the kernel's parameters; whole rows of bodies and of accelerations, which are zero.
            unsafe {
                self.kernels
                    .accelerate
                    .launch(blocks, block, 0, &arguments)?
            };
            return Ok(());
        };
        let (p, q) = (p.address(), q.address());
        while job.row < rows {
            job.rows = (*at_once).min(rows - job.row);
            let blocks = (job.rows * job.chunks()).div_ceil(block / 32);
            let arguments = [
                Argument::new(&job),
                Argument::new(&x),
                Argument::new(&p),
                Argument::new(&q),
            ];
            // SAFETY: the kernel's parameters; whole rows of bodies, planes for these rows and all chunks.
            unsafe {
                self.kernels
                    .accelerate
                    .launch(blocks, block, 0, &arguments)?
            };
            let arguments = [
                Argument::new(&job),
                Argument::new(&p),
                Argument::new(&q),
                Argument::new(&a),
            ];
            // SAFETY: as above; n accelerations.
            unsafe {
                self.kernels
                    .gather
                    .launch(n.div_ceil(MOVING), MOVING, 0, &arguments)?
            };
            job.row += job.rows;
        }
        Ok(())
    }

    fn each(&self, kernel: &Kernel<'_>, arguments: &[Argument]) -> Result<(), EngineError> {
        // SAFETY: the callers give the kernel's parameters: n values each.
        unsafe { kernel.launch(self.host.n.div_ceil(MOVING), MOVING, 0, arguments)? };
        Ok(())
    }

    fn saved(&self) -> Stages<S> {
        let at = |i: usize| {
            let stages = self.stages.as_ref().expect("made for this integrator");
            stages[i].address() as *mut Body<S>
        };
        Stages {
            x0: at(0),
            v0: at(1),
            sum_x: at(2),
            sum_v: at(3),
        }
    }
}

impl<S: Names> System for GpuRun<'_, S>
where
    Body<S>: Plain,
{
    type Error = EngineError;

    fn accelerate(&mut self) -> Result<(), EngineError> {
        if self.plan.kernel.is_reduced() {
            self.reduced()
        } else {
            self.basic()
        }
    }

    fn kick(&mut self, h: f64) -> Result<(), EngineError> {
        let (v, a, h) = (self.v.address(), self.a.address(), S::from_f64(h));
        let n = self.host.n;
        let arguments = [
            Argument::new(&v),
            Argument::new(&a),
            Argument::new(&h),
            Argument::new(&n),
        ];
        self.each(&self.kernels.kick, &arguments)
    }

    fn drift(&mut self, h: f64) -> Result<(), EngineError> {
        let (x, v, h) = (self.x.address(), self.v.address(), S::from_f64(h));
        let n = self.host.n;
        let arguments = [
            Argument::new(&x),
            Argument::new(&v),
            Argument::new(&h),
            Argument::new(&n),
        ];
        self.each(&self.kernels.drift, &arguments)
    }

    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), EngineError> {
        let (x, v, a) = (self.x.address(), self.v.address(), self.a.address());
        let (h, h_x, n) = (S::from_f64(h), S::from_f64(h_x), self.host.n);
        let arguments = [
            Argument::new(&x),
            Argument::new(&v),
            Argument::new(&a),
            Argument::new(&h),
            Argument::new(&h_x),
            Argument::new(&n),
        ];
        self.each(&self.kernels.kick_drift, &arguments)
    }

    fn rk_begin(&mut self) -> Result<(), EngineError> {
        let stages = self.stages.as_mut().expect("made for this integrator");
        stages[2].fill(0)?;
        stages[3].fill(0)?;
        stages[0].copy_from(&self.x)?;
        stages[1].copy_from(&self.v)?;
        Ok(())
    }

    fn rk_stage(&mut self, weight: f64, h: f64) -> Result<(), EngineError> {
        let (x, v, a) = (self.x.address(), self.v.address(), self.a.address());
        let stages = self.saved();
        let (weight, h, n) = (S::from_f64(weight), S::from_f64(h), self.host.n);
        let arguments = [
            Argument::new(&x),
            Argument::new(&v),
            Argument::new(&a),
            Argument::new(&stages),
            Argument::new(&weight),
            Argument::new(&h),
            Argument::new(&n),
        ];
        self.each(&self.kernels.rk_stage, &arguments)
    }

    fn rk_end(&mut self, h: f64) -> Result<(), EngineError> {
        let (x, v) = (self.x.address(), self.v.address());
        let stages = self.saved();
        let (h, n) = (S::from_f64(h), self.host.n);
        let arguments = [
            Argument::new(&x),
            Argument::new(&v),
            Argument::new(&stages),
            Argument::new(&h),
            Argument::new(&n),
        ];
        self.each(&self.kernels.rk_end, &arguments)
    }
}

impl<S: Names> Run for GpuRun<'_, S>
where
    Body<S>: Plain,
{
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        let (integrator, dt) = (self.integrator, self.dt);
        let pairs = u64::from(self.host.n) * u64::from(self.host.n);
        let stride = (QUEUED / pairs).clamp(1, 4096);
        let mut queued = 0;
        let mut done = 0;
        // One part is always queued behind the one that runs, so the device does not wait for the host.
        let mut running: Option<(Mark<'_>, u64)> = None;
        while done < steps {
            let count = stride.min(steps - queued);
            for _ in 0..count {
                integrator.step(self, dt)?;
            }
            queued += count;
            let next = (count > 0)
                .then(|| self.gpu.mark())
                .transpose()?
                .map(|m| (m, queued));
            if let Some((mark, until)) = std::mem::replace(&mut running, next) {
                wait(&mark, monitor)?;
                done = until;
                monitor.progress(done, steps);
            }
        }
        Ok(steps)
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        self.x.download(&mut self.host.x)?;
        self.v.download(&mut self.host.v)?;
        Ok(self.host.bodies(&self.mass))
    }
}

/// Waits for a mark without holding a core, asking the monitor meanwhile.
fn wait(mark: &Mark<'_>, monitor: &dyn Monitor) -> Result<(), EngineError> {
    while !mark.reached()? {
        if monitor.cancelled() {
            return Err(EngineError::Cancelled);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}
