//! The kernels on the CPU, under the emulator of the grid: slow, for tests of kernel code where there is no GPU.

use std::sync::atomic::AtomicU32;

use cuda_std::emulator::{EmulatorError, Launch};
use kernels_gpu::device::linear::{Linear, TOGETHER};
use kernels_gpu::device::steps::{Operation, State, Steps};
use kernels_gpu::device::sweep::Reduced;
use kernels_gpu::device::tile::Basic;
use kernels_gpu::device::{Body, DeviceNumber};
use kernels_gpu::integrator::System;
use kernels_gpu::integrator::system::{Combination, Pair};
use kernels_gpu::kernels::{
    nbody_atomic_f32, nbody_atomic_f64, nbody_combine_f32, nbody_combine_f64, nbody_combine_ff,
    nbody_drift_f32, nbody_drift_f64, nbody_drift_ff, nbody_equal_f32, nbody_equal_f64,
    nbody_gather_f32, nbody_gather_f64, nbody_gather_ff, nbody_kick_drift_f32,
    nbody_kick_drift_f64, nbody_kick_drift_ff, nbody_kick_f32, nbody_kick_f64, nbody_kick_ff,
    nbody_linear_f32, nbody_linear_f64, nbody_linear_ff, nbody_plain_f32, nbody_plain_f64,
    nbody_plain_ff, nbody_reduced_f32, nbody_reduced_f64, nbody_reduced_ff, nbody_steps_f32,
    nbody_steps_f64, nbody_steps_ff, nbody_tile_f32_k1, nbody_tile_f32_k2, nbody_tile_f32_k4,
    nbody_tile_f32_k4_u1, nbody_tile_f32_k4_u16, nbody_tile_f32_k8, nbody_tile_f64_k1,
    nbody_tile_f64_k2, nbody_tile_f64_k4, nbody_tile_ff_k1, nbody_tile_ff_k2,
};
use kernels_gpu::number::{FastF32, FloatFloat};
use kernels_gpu::physics::summation::all_pairs::chunk_length;

use super::engine::{Integration, LowerParts, Run, saved_pairs};
use super::kernel::{Arrays, NbodyKernel, Pairs, Plan, linear_jobs, operations};
use super::{Bodies, Engine, Precision, Validated};
use crate::run::{EngineError, Monitor};

/// Runs the kernels' code in emulated grids.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorEngine {
    /// Which kernel and how it is launched.
    pub plan: Plan,
    /// Runs the threads in a random order that this number decides.
    pub seed: Option<u64>,
}

impl Engine for EmulatorEngine {
    fn name(&self) -> &'static str {
        "emulator"
    }

    fn device(&self) -> String {
        format!("emulated grid, {}", crate::machine::cpu_name())
    }

    fn resume<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        self.plan.check(problem)?;
        Ok(match problem.specification().precision {
            Precision::F32 => Box::new(EmulatorRun::<FastF32>::new(self, problem, bodies, lower)?),
            Precision::F64 => Box::new(EmulatorRun::<f64>::new(self, problem, bodies, lower)?),
            Precision::FloatFloat => Box::new(EmulatorRun::<FloatFloat<f32>>::new(
                self, problem, bodies, lower,
            )?),
        })
    }
}

type Step<S> = unsafe fn(*mut Body<S>, *const Body<S>, S, u32);
type KickDrift<S> = unsafe fn(*mut Body<S>, *mut Body<S>, *const Body<S>, S, S, u32);
type Atomic<S> = unsafe fn(Reduced<S>, *const Body<S>, *mut Body<S>);
type Pull<S> = unsafe fn(Basic<S>, *const Body<S>, *mut Body<S>);

/// The kernels of a precision.
struct Kernels<S: DeviceNumber> {
    plain: Pull<S>,
    tiles: [Pull<S>; 6],
    combine: unsafe fn(*const Body<S>, *mut Body<S>, u32, u32),
    reduced: unsafe fn(Reduced<S>, *const Body<S>, *mut S, *mut S),
    gather: unsafe fn(Reduced<S>, *mut S, *mut S, *mut Body<S>, u32, u32),
    atomic: Option<Atomic<S>>,
    equal: Option<Atomic<S>>,
    steps: unsafe fn(Steps<S>, State<S>, *const Operation<S>, *const AtomicU32),
    kick: Step<S>,
    drift: Step<S>,
    kick_drift: KickDrift<S>,
    linear: unsafe fn(Linear<S>, Linear<S>, u32, u32),
}

trait HasKernels: Pairs {
    const PRECISION: Precision;
    const KERNELS: Kernels<Self>;
}

impl HasKernels for FastF32 {
    const PRECISION: Precision = Precision::F32;
    const KERNELS: Kernels<Self> = Kernels {
        plain: nbody_plain_f32,
        tiles: [
            nbody_tile_f32_k1,
            nbody_tile_f32_k2,
            nbody_tile_f32_k4,
            nbody_tile_f32_k4_u1,
            nbody_tile_f32_k4_u16,
            nbody_tile_f32_k8,
        ],
        combine: nbody_combine_f32,
        reduced: nbody_reduced_f32,
        gather: nbody_gather_f32,
        atomic: Some(nbody_atomic_f32),
        equal: Some(nbody_equal_f32),
        steps: nbody_steps_f32,
        kick: nbody_kick_f32,
        drift: nbody_drift_f32,
        kick_drift: nbody_kick_drift_f32,
        linear: nbody_linear_f32,
    };
}

impl HasKernels for f64 {
    const PRECISION: Precision = Precision::F64;
    const KERNELS: Kernels<f64> = Kernels {
        plain: nbody_plain_f64,
        tiles: [
            nbody_tile_f64_k1,
            nbody_tile_f64_k2,
            nbody_tile_f64_k4,
            // Unrolled differently in f32 only.
            nbody_tile_f64_k4,
            nbody_tile_f64_k4,
            nbody_tile_f64_k4,
        ],
        combine: nbody_combine_f64,
        reduced: nbody_reduced_f64,
        gather: nbody_gather_f64,
        atomic: Some(nbody_atomic_f64),
        equal: Some(nbody_equal_f64),
        steps: nbody_steps_f64,
        kick: nbody_kick_f64,
        drift: nbody_drift_f64,
        kick_drift: nbody_kick_drift_f64,
        linear: nbody_linear_f64,
    };
}

impl HasKernels for FloatFloat<f32> {
    const PRECISION: Precision = Precision::FloatFloat;
    const KERNELS: Kernels<Self> = Kernels {
        plain: nbody_plain_ff,
        tiles: [
            nbody_tile_ff_k1,
            nbody_tile_ff_k2,
            nbody_tile_ff_k2,
            nbody_tile_ff_k2,
            nbody_tile_ff_k2,
            nbody_tile_ff_k2,
        ],
        combine: nbody_combine_ff,
        reduced: nbody_reduced_ff,
        gather: nbody_gather_ff,
        atomic: None,
        equal: None,
        steps: nbody_steps_ff,
        kick: nbody_kick_ff,
        drift: nbody_drift_ff,
        kick_drift: nbody_kick_drift_ff,
        linear: nbody_linear_ff,
    };
}

struct EmulatorRun<'a, S: Pairs> {
    engine: &'a EmulatorEngine,
    integration: Integration,
    mass: Vec<f64>,
    arrays: Arrays<S>,
    accelerations: Vec<Body<S>>,
    /// What the integrator saves.
    saved: Vec<[Vec<Body<S>>; 2]>,
    sums: Vec<Body<S>>,
    p: Vec<S>,
    q: Vec<S>,
}

impl<'a, S: HasKernels> EmulatorRun<'a, S> {
    fn new(
        engine: &'a EmulatorEngine,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Self, EngineError> {
        let spec = problem.specification();
        let arrays = Arrays::<S>::new(spec, bodies, lower, engine.plan.kernel);
        let zero = || vec![Body::default(); arrays.padded as usize];
        let rows = engine.plan.rows_at_once(arrays.padded / S::ROW);
        let planes = 3 * arrays.padded as usize;
        let chunks = arrays.n.div_ceil(chunk_length(arrays.n)) as usize;
        let two_passes = engine.plan.kernel == NbodyKernel::Reduced;
        let mut run = Self {
            engine,
            integration: Integration::new(spec),
            mass: bodies.mass.clone(),
            accelerations: zero(),
            saved: (0..saved_pairs(spec.integrator))
                .map(|_| [zero(), zero()])
                .collect(),
            sums: vec![Body::default(); chunks * arrays.n as usize],
            p: if two_passes {
                vec![S::default(); rows as usize * planes]
            } else {
                Vec::new()
            },
            q: if two_passes {
                vec![S::default(); chunks * planes]
            } else {
                Vec::new()
            },
            arrays,
        };
        run.integration.prepare(&mut run)?;
        Ok(run)
    }

    fn launch(
        &self,
        blocks: u32,
        threads: u32,
        shared: usize,
        kernel: impl Fn(),
    ) -> Result<(), EngineError> {
        let mut launch = Launch::new(blocks, threads).shared_bytes(shared);
        if let Some(seed) = self.engine.seed {
            launch = launch.seed(seed);
        }
        // SAFETY: the kernels below may run on several threads at once: what they write is written by one thread only, or
        // atomically.
        let outcome = unsafe { launch.run(kernel) };
        outcome
            .map(|_| ())
            .map_err(|e: EmulatorError| EngineError::Gpu {
                device: self.engine.device(),
                call: self.engine.plan.kernel.name(),
                reason: e.to_string(),
            })
    }

    fn basic(&mut self) -> Result<(), EngineError> {
        let plan = self.engine.plan;
        let n = self.arrays.n;
        let chunk = chunk_length(n);
        let chunks = n.div_ceil(chunk);
        let splits = plan.splits.min(chunks);
        let job = Basic {
            softening2: self.arrays.softening2,
            n,
            chunk,
            splits,
            first: 0,
            count: n,
        };
        let bodies = self.arrays.x.as_ptr();
        let accelerations = self.accelerations.as_mut_ptr();
        let k = S::KERNELS;
        let Some(tile) = plan.kernel.tile_of(S::PRECISION) else {
            return self.launch(n.div_ceil(plan.block), plan.block, 0, || {
                // SAFETY: n bodies and n accelerations.
                unsafe { (k.plain)(job, bodies, accelerations) }
            });
        };
        let groups = n.div_ceil(plan.block * tile.bodies);
        let shared = plan.block as usize * size_of::<Body<S>>();
        let sums = if splits == 1 {
            accelerations
        } else {
            self.sums.as_mut_ptr()
        };
        self.launch(groups * splits, plan.block, shared, || {
            // SAFETY: n bodies; n sums with one part, chunks × n with more.
            unsafe { (k.tiles[tile.index])(job, bodies, sums) }
        })?;
        if splits > 1 {
            self.launch(n.div_ceil(plan.block), plan.block, 0, || {
                // SAFETY: as above.
                unsafe { (k.combine)(sums, accelerations, n, chunks) }
            })?;
        }
        Ok(())
    }

    fn reduced(&mut self) -> Result<(), EngineError> {
        let plan = self.engine.plan;
        let n = self.arrays.n;
        let rows = self.arrays.padded / S::ROW;
        let at_once = plan.rows_at_once(rows);
        let bodies = self.arrays.x.as_ptr();
        let accelerations = self.accelerations.as_mut_ptr();
        let (p, q) = (self.p.as_mut_ptr(), self.q.as_mut_ptr());
        let k = S::KERNELS;
        if plan.kernel.is_atomic() {
            self.accelerations.fill(Body::default());
            let job = self.arrays.rows(plan.kernel, 0, rows);
            let kernel = if plan.kernel == NbodyKernel::Equal {
                k.equal
            } else {
                k.atomic
            };
            let kernel = kernel.expect("a plan without such a kernel is refused");
            return self.launch(
                (job.units() * 32).div_ceil(plan.block),
                plan.block,
                0,
                || {
                    // SAFETY: whole rows of bodies and accelerations, which are zero.
                    unsafe { kernel(job, bodies, accelerations) }
                },
            );
        }
        let mut row = 0;
        while row < rows {
            let job = self.arrays.rows(plan.kernel, row, at_once.min(rows - row));
            self.launch(
                (job.units() * 32).div_ceil(plan.block),
                plan.block,
                0,
                || {
                    // SAFETY: whole rows of bodies; planes for at_once rows and all chunks.
                    unsafe { (k.reduced)(job, bodies, p, q) }
                },
            )?;
            // In two parts, as several devices do it.
            let first = job.first();
            let half = (n - first) / 2;
            for (first, count) in [(first, half), (first + half, n - first - half)] {
                self.launch(
                    (3 * count).div_ceil(plan.block).max(1),
                    plan.block,
                    0,
                    || {
                        // SAFETY: as above.
                        unsafe { (k.gather)(job, p, q, accelerations, first, count) }
                    },
                )?;
            }
            row += job.rows;
        }
        Ok(())
    }

    /// Steps of kicks and drifts in one launch; a single block, as blocks of the emulator do not wait for each other.
    fn in_one_launch(
        &mut self,
        operations: &[Operation<S>],
        steps: u32,
    ) -> Result<(), EngineError> {
        let job = self.arrays.steps(operations.len(), steps);
        let state = State {
            x: self.arrays.x.as_mut_ptr(),
            v: self.arrays.v.as_mut_ptr(),
            a: self.accelerations.as_mut_ptr(),
            sums: self.sums.as_mut_ptr(),
        };
        let (operations, arrived) = (operations.as_ptr(), AtomicU32::new(0));
        self.launch(1, self.engine.plan.block, 0, || {
            // SAFETY: n values each, chunks × n sums, one block.
            unsafe { (S::KERNELS.steps)(job, state, operations, &raw const arrived) }
        })
    }

    fn each(&self, kernel: impl Fn()) -> Result<(), EngineError> {
        let block = self.engine.plan.block;
        self.launch(self.arrays.n.div_ceil(block), block, 0, kernel)
    }

    /// Where a pair is.
    fn pair(&mut self, pair: Pair) -> [*mut Body<S>; 2] {
        let Arrays { x, v, .. } = &mut self.arrays;
        match pair {
            Pair::State => [x, v],
            Pair::Rates => [v, &mut self.accelerations],
            Pair::Saved(number) => self.saved[number].each_mut(),
            Pair::Zero => return [std::ptr::null_mut(); 2],
        }
        .map(|vector| vector.as_mut_ptr())
    }
}

impl<S: HasKernels> System for EmulatorRun<'_, S> {
    type Error = EngineError;

    fn accelerate(&mut self) -> Result<(), EngineError> {
        if self.engine.plan.kernel.is_reduced() {
            self.reduced()
        } else {
            self.basic()
        }
    }

    fn kick(&mut self, h: f64) -> Result<(), EngineError> {
        let (v, a) = (self.arrays.v.as_mut_ptr(), self.accelerations.as_ptr());
        let (h, n) = (S::from_f64(h), self.arrays.n);
        // SAFETY: n values each.
        self.each(|| unsafe { (S::KERNELS.kick)(v, a, h, n) })
    }

    fn drift(&mut self, h: f64) -> Result<(), EngineError> {
        let (x, v) = (self.arrays.x.as_mut_ptr(), self.arrays.v.as_ptr());
        let (h, n) = (S::from_f64(h), self.arrays.n);
        // SAFETY: n values each.
        self.each(|| unsafe { (S::KERNELS.drift)(x, v, h, n) })
    }

    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), EngineError> {
        let (x, v) = (self.arrays.x.as_mut_ptr(), self.arrays.v.as_mut_ptr());
        let a = self.accelerations.as_ptr();
        let (h, h_x, n) = (S::from_f64(h), S::from_f64(h_x), self.arrays.n);
        // SAFETY: n values each.
        self.each(|| unsafe { (S::KERNELS.kick_drift)(x, v, a, h, h_x, n) })
    }

    fn combine(&mut self, combinations: &[Combination<'_>]) -> Result<(), EngineError> {
        let n = self.arrays.n;
        for combinations in combinations.chunks(TOGETHER) {
            let (jobs, both) = linear_jobs(combinations, |pair| self.pair(pair));
            let [first, second] = jobs;
            // SAFETY: n values each.
            self.each(|| unsafe { (S::KERNELS.linear)(first, second, both, n) })?;
        }
        Ok(())
    }
}

impl<S: HasKernels> Run for EmulatorRun<'_, S> {
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError> {
        let operations = operations::<S>(self.integration);
        for done in 0..steps {
            if monitor.cancelled() {
                return Err(EngineError::Cancelled);
            }
            match &operations {
                Some(list) if self.engine.plan.kernel == NbodyKernel::Steps => {
                    self.in_one_launch(list, 1)?;
                }
                _ => {
                    let mut integration = self.integration;
                    integration.step(self)?;
                    self.integration = integration;
                }
            }
            monitor.progress(done + 1, steps);
        }
        Ok(steps)
    }

    fn bodies(&mut self) -> Result<Bodies, EngineError> {
        Ok(self.arrays.bodies(&self.mass))
    }

    fn lower_parts(&self) -> Option<LowerParts> {
        self.arrays.lower_parts()
    }
}
