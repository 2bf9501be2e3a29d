//! What one GPU does: its arrays, its kernels, its part of the work.

use kernels_gpu::device::Body;
use kernels_gpu::device::linear::TOGETHER;
use kernels_gpu::device::steps::{Operation, State};
use kernels_gpu::device::tile::Basic;
use kernels_gpu::integrator::system::{Combination, Pair};
use kernels_gpu::physics::summation::all_pairs::chunk_length;

use super::names::Names;
use super::share::Rows;
use crate::gpu::{Argument, DeviceMemory, Gpu, Kernel, Residency};
use crate::nbody::engine::{Integration, saved_pairs};
use crate::nbody::kernel::{Arrays, NbodyKernel, Plan, linear_jobs, operations};
use crate::nbody::{Precision, Validated};
use crate::run::EngineError;

/// Threads of a block that moves bodies or adds up sums.
const MOVING: u32 = 256;
/// Threads that a multiprocessor shall hold of a kernel that fills the registers: each then has up to 128 of them. `f64`
/// needs more.
const RESIDENT: [u32; 2] = [512, 384];

/// Bodies from `first` on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub count: u32,
}

/// The kernels of a run.
struct Kernels<'a> {
    accelerate: Kernel<'a>,
    combine: Kernel<'a>,
    gather: Kernel<'a>,
    kick: Kernel<'a>,
    drift: Kernel<'a>,
    kick_drift: Kernel<'a>,
    linear: Kernel<'a>,
}

/// What takes many steps in one launch.
struct Steps<'a, S: Names> {
    kernel: Kernel<'a>,
    operations: DeviceMemory<'a, Operation<S>>,
    arrived: DeviceMemory<'a, u32>,
    blocks: u32,
}

/// A GPU with all bodies, some of which are its own to pull and move.
pub(super) struct Part<'a, S: Names> {
    pub gpu: &'a Gpu,
    plan: Plan,
    kernels: Kernels<'a>,
    pub x: DeviceMemory<'a, Body<S>>,
    pub v: DeviceMemory<'a, Body<S>>,
    a: DeviceMemory<'a, Body<S>>,
    /// What the integrator saves.
    saved: Vec<[DeviceMemory<'a, Body<S>>; 2]>,
    /// Sums of each chunk.
    sums: Option<DeviceMemory<'a, Body<S>>>,
    /// P and Q of the reduced solver.
    partials: Option<[DeviceMemory<'a, S>; 2]>,
    steps: Option<Steps<'a, S>>,
    /// The bodies it moves.
    pub own: Vec<Range>,
    /// Its rows, round by round.
    rounds: Vec<Rows>,
}

impl<'a, S: Names> Part<'a, S> {
    pub fn new(
        gpu: &'a Gpu,
        plan: Plan,
        problem: &Validated,
        host: &Arrays<S>,
        own: Vec<Range>,
        rounds: Vec<Rows>,
    ) -> Result<Self, EngineError> {
        gpu.enter()?;
        let padded = host.padded as usize;
        let memory = || DeviceMemory::<Body<S>>::filled(gpu, padded, 0);
        let chunks = host.n.div_ceil(chunk_length(host.n)) as usize;
        let mine: usize = own.iter().map(|r| r.count as usize).sum();
        let steps = Self::for_steps(gpu, &plan, problem, host.n * chunks as u32)?;
        let in_parts = plan.kernel.tile_of(S::PRECISION).is_some() && plan.splits > 1;
        let sums = (in_parts || steps.is_some())
            .then(|| DeviceMemory::filled(gpu, chunks * mine, 0))
            .transpose()?;
        let partials = if plan.kernel == NbodyKernel::Reduced {
            let jobs = rounds.iter().map(|r| host.rows(plan.kernel, r.row, r.rows));
            let most = |of: &dyn Fn(u32, u32) -> usize| {
                let sizes = jobs
                    .clone()
                    .map(|j| of(j.rows, j.chunks()) * 3 * j.stride as usize);
                sizes.max().unwrap_or(0).max(1)
            };
            Some([
                DeviceMemory::filled(gpu, most(&|rows, _| rows as usize), 0)?,
                DeviceMemory::filled(gpu, most(&|_, chunks| chunks as usize), 0)?,
            ])
        } else {
            None
        };
        let saved = (0..saved_pairs(problem.specification().integrator))
            .map(|_| Ok([memory()?, memory()?]))
            .collect::<Result<_, EngineError>>()?;
        let name = plan.kernel.entry(S::PRECISION);
        let fills = plan.kernel.is_reduced() || plan.kernel == NbodyKernel::Tile8;
        let accelerate = if fills && S::PRECISION != Precision::FloatFloat {
            let residency = residency(&plan, size_of::<S>());
            gpu.kernel_for(name, residency)?
        } else {
            gpu.kernel(name)?
        };
        let kernels = Kernels {
            accelerate,
            combine: gpu.kernel(S::COMBINE)?,
            gather: gpu.kernel(S::GATHER)?,
            kick: gpu.kernel(S::KICK)?,
            drift: gpu.kernel(S::DRIFT)?,
            kick_drift: gpu.kernel(S::KICK_DRIFT)?,
            linear: gpu.kernel(S::LINEAR)?,
        };
        let mut part = Self {
            gpu,
            plan,
            kernels,
            x: memory()?,
            v: memory()?,
            a: memory()?,
            saved,
            sums,
            partials,
            steps,
            own,
            rounds,
        };
        part.x.upload(&host.x)?;
        part.v.upload(&host.v)?;
        Ok(part)
    }

    /// What is needed to take many steps in one launch, if that is asked for and possible.
    fn for_steps(
        gpu: &'a Gpu,
        plan: &Plan,
        problem: &Validated,
        units: u32,
    ) -> Result<Option<Steps<'a, S>>, EngineError> {
        if plan.kernel != NbodyKernel::Steps || !gpu.is_cooperative()? {
            return Ok(None);
        }
        let Some(list) = operations::<S>(Integration::new(problem.specification())) else {
            return Ok(None);
        };
        let kernel = gpu.kernel(S::STEPS)?;
        let resident = kernel.resident_blocks(plan.block, 0)? * gpu.info().multiprocessors;
        let mut operations = DeviceMemory::filled(gpu, list.len(), 0)?;
        operations.upload(&list)?;
        Ok(Some(Steps {
            kernel,
            operations,
            arrived: DeviceMemory::filled(gpu, 1, 0)?,
            blocks: units.div_ceil(plan.block).min(resident),
        }))
    }

    /// Whether it can take many steps in one launch.
    pub fn takes_many(&self) -> bool {
        self.steps.is_some()
    }

    /// Takes steps in one launch.
    pub fn many(&mut self, host: &Arrays<S>, count: u32) -> Result<(), EngineError> {
        let (Some(steps), Some(sums)) = (&mut self.steps, &self.sums) else {
            return Ok(());
        };
        self.gpu.enter()?;
        steps.arrived.fill(0)?;
        let job = host.steps(steps.operations.len(), count);
        let state = State {
            x: self.x.address() as *mut Body<S>,
            v: self.v.address() as *mut Body<S>,
            a: self.a.address() as *mut Body<S>,
            sums: sums.address() as *mut Body<S>,
        };
        let (operations, arrived) = (steps.operations.address(), steps.arrived.address());
        let arguments = [
            Argument::new(&job),
            Argument::new(&state),
            Argument::new(&operations),
            Argument::new(&arrived),
        ];
        // SAFETY: the kernel's parameters; n values each and chunks × n sums; a counter of 0, and all blocks resident.
        unsafe {
            steps
                .kernel
                .launch_cooperative(steps.blocks, self.plan.block, 0, &arguments)?
        };
        Ok(())
    }

    /// The pulls on its own bodies by the basic solver.
    pub fn basic(&mut self, host: &Arrays<S>) -> Result<(), EngineError> {
        self.gpu.enter()?;
        let n = host.n;
        let chunk = chunk_length(n);
        let chunks = n.div_ceil(chunk);
        let Plan {
            kernel,
            block,
            splits,
            ..
        } = self.plan;
        let x = self.x.address();
        let tile = kernel.tile_of(S::PRECISION);
        for &Range { first, count } in &self.own {
            let job = Basic {
                softening2: host.softening2,
                n,
                chunk,
                splits,
                first,
                count,
            };
            let a = at(&self.a, first);
            let in_parts = self.sums.as_ref().filter(|_| tile.is_some());
            let to = in_parts.map_or(a, DeviceMemory::address);
            let (blocks, shared) = match tile {
                Some(tile) => {
                    let shared = block * size_of::<Body<S>>() as u32;
                    (count.div_ceil(block * tile.bodies) * splits, shared)
                }
                None => (count.div_ceil(block), 0),
            };
            let arguments = [Argument::new(&job), Argument::new(&x), Argument::new(&to)];
            // SAFETY: the kernels' parameters; n bodies; count sums with one part, chunks × count with more; shared memory
            // for a body a thread.
            unsafe {
                self.kernels
                    .accelerate
                    .launch(blocks, block, shared, &arguments)?
            };
            if in_parts.is_some() {
                let arguments = [
                    Argument::new(&to),
                    Argument::new(&a),
                    Argument::new(&count),
                    Argument::new(&chunks),
                ];
                // SAFETY: the kernel's parameters; chunks × count sums and count accelerations.
                unsafe { launch(&self.kernels.combine, count, &arguments)? };
            }
        }
        Ok(())
    }

    /// The pulls on all bodies by the kernels that add atomically.
    pub fn atomic(&mut self, host: &Arrays<S>) -> Result<(), EngineError> {
        self.gpu.enter()?;
        self.a.fill(0)?;
        let job = host.rows(self.plan.kernel, 0, host.padded / S::ROW);
        let (x, a) = (self.x.address(), self.a.address());
        let arguments = [Argument::new(&job), Argument::new(&x), Argument::new(&a)];
        let (blocks, block) = (job.units().div_ceil(self.plan.block / 32), self.plan.block);
        // SAFETY: the kernel's parameters; whole rows of bodies and of accelerations, which are zero.
        unsafe {
            self.kernels
                .accelerate
                .launch(blocks, block, 0, &arguments)?
        };
        Ok(())
    }

    /// The first body of its rows of a round.
    pub fn first(&self, round: usize) -> u32 {
        self.rounds[round].row * S::ROW
    }

    /// The partial sums of its rows of a round.
    pub fn sweep(&mut self, host: &Arrays<S>, round: usize) -> Result<(), EngineError> {
        let Rows { row, rows } = self.rounds[round];
        let Some([p, q]) = &self.partials else {
            return Ok(());
        };
        if rows == 0 {
            return Ok(());
        }
        self.gpu.enter()?;
        let job = host.rows(self.plan.kernel, row, rows);
        let (x, p, q) = (self.x.address(), p.address(), q.address());
        let arguments = [
            Argument::new(&job),
            Argument::new(&x),
            Argument::new(&p),
            Argument::new(&q),
        ];
        let (blocks, block) = (job.units().div_ceil(self.plan.block / 32), self.plan.block);
        // SAFETY: the kernel's parameters; whole rows of bodies, planes for these rows and all chunks.
        unsafe {
            self.kernels
                .accelerate
                .launch(blocks, block, 0, &arguments)?
        };
        Ok(())
    }

    /// Adds up what its rows of a round did to the bodies of a range; sums of rows before are first taken from the device that has
    /// them. Bodies of rows before are left alone.
    pub fn gather(
        &mut self,
        host: &Arrays<S>,
        round: usize,
        before: Option<&Self>,
        range: Range,
    ) -> Result<(), EngineError> {
        let Rows { row, rows } = self.rounds[round];
        let first = range.first.max(row * S::ROW);
        let end = range.first + range.count;
        let Some([p, q]) = &self.partials else {
            return Ok(());
        };
        if first >= end {
            return Ok(());
        }
        let count = end - first;
        if let Some(before) = before {
            self.a
                .copy_from_peer(&before.a, first as usize, count as usize)?;
        }
        self.gpu.enter()?;
        let job = host.rows(self.plan.kernel, row, rows);
        let (p, q, a) = (p.address(), q.address(), self.a.address());
        let arguments = [
            Argument::new(&job),
            Argument::new(&p),
            Argument::new(&q),
            Argument::new(&a),
            Argument::new(&first),
            Argument::new(&count),
        ];
        // SAFETY: the kernel's parameters; the planes are those of the sweep before, the accelerations n.
        unsafe { launch(&self.kernels.gather, 3 * count, &arguments) }
    }

    /// v += h · a.
    pub fn kick(&self, h: S) -> Result<(), EngineError> {
        self.each(|range| {
            let (v, a) = (at(&self.v, range.first), at(&self.a, range.first));
            let arguments = [
                Argument::new(&v),
                Argument::new(&a),
                Argument::new(&h),
                Argument::new(&range.count),
            ];
            // SAFETY: the kernel's parameters; count values each.
            unsafe { launch(&self.kernels.kick, range.count, &arguments) }
        })
    }

    /// x += h · v.
    pub fn drift(&self, h: S) -> Result<(), EngineError> {
        self.each(|range| {
            let (x, v) = (at(&self.x, range.first), at(&self.v, range.first));
            let arguments = [
                Argument::new(&x),
                Argument::new(&v),
                Argument::new(&h),
                Argument::new(&range.count),
            ];
            // SAFETY: as above.
            unsafe { launch(&self.kernels.drift, range.count, &arguments) }
        })
    }

    /// v += h · a, x += h_x · v.
    pub fn kick_drift(&self, h: S, h_x: S) -> Result<(), EngineError> {
        self.each(|range| {
            let (x, v) = (at(&self.x, range.first), at(&self.v, range.first));
            let a = at(&self.a, range.first);
            let arguments = [
                Argument::new(&x),
                Argument::new(&v),
                Argument::new(&a),
                Argument::new(&h),
                Argument::new(&h_x),
                Argument::new(&range.count),
            ];
            // SAFETY: as above.
            unsafe { launch(&self.kernels.kick_drift, range.count, &arguments) }
        })
    }

    /// Linear combinations, one after the other.
    pub fn combine(&self, combinations: &[Combination<'_>]) -> Result<(), EngineError> {
        self.each(|range| {
            for combinations in combinations.chunks(TOGETHER) {
                let place = |pair| self.place(pair, range.first);
                let ([first, second], both) = linear_jobs(combinations, place);
                let arguments = [
                    Argument::new(&first),
                    Argument::new(&second),
                    Argument::new(&both),
                    Argument::new(&range.count),
                ];
                // SAFETY: as above.
                unsafe { launch(&self.kernels.linear, range.count, &arguments)? };
            }
            Ok(())
        })
    }

    /// Where the vectors of a pair have a body.
    fn place(&self, pair: Pair, first: u32) -> [*mut Body<S>; 2] {
        match pair {
            Pair::State => [&self.x, &self.v],
            Pair::Rates => [&self.v, &self.a],
            Pair::Saved(number) => self.saved[number].each_ref(),
            Pair::Zero => return [std::ptr::null_mut(); 2],
        }
        .map(|vector| at(vector, first) as *mut Body<S>)
    }

    fn each(
        &self,
        mut what: impl FnMut(Range) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.gpu.enter()?;
        self.own
            .iter()
            .filter(|range| range.count > 0)
            .try_for_each(|range| what(*range))
    }
}

/// How many blocks of a plan a multiprocessor shall hold.
fn residency(plan: &Plan, scalar: usize) -> Residency {
    let resident = RESIDENT[usize::from(scalar > 4)];
    Residency {
        threads: plan.block,
        blocks: (resident / plan.block).max(1),
    }
}

/// The address of a body in an array.
fn at<S: Names>(of: &DeviceMemory<'_, Body<S>>, first: u32) -> u64 {
    of.address() + u64::from(first) * size_of::<Body<S>>() as u64
}

/// # Safety
/// As [`Kernel::launch`].
unsafe fn launch(
    kernel: &Kernel<'_>,
    threads: u32,
    arguments: &[Argument<'_>],
) -> Result<(), EngineError> {
    // SAFETY: the caller's promise.
    unsafe { kernel.launch(threads.div_ceil(MOVING), MOVING, 0, arguments)? };
    Ok(())
}
