//! The arrays, kernels and work of one device.

use std::sync::Arc;

use kernels_gpu::device::Body;
use kernels_gpu::device::linear::COMBINATIONS_PER_LAUNCH;
use kernels_gpu::device::steps::{Operation, State};
use kernels_gpu::device::tile::Basic;
use kernels_gpu::integrator::system::{Combination, Pair};
use kernels_gpu::kernels::{
    NbodyCombine, NbodyDrift, NbodyGather, NbodyKick, NbodyKickDrift, NbodyLinear, NbodySteps,
};
use kernels_gpu::physics::summation::all_pairs::chunk_length;

use super::share::Rows;
use crate::engine::Integration;
use crate::kernel::{Accelerate, Arrays, LaunchPlan, NbodyKernel, Number, linear_jobs, operations};
use crate::{Precision, Validated};
use trisolar_device::{Buffer, Device, Entry, Grid, Residency};
use trisolar_run::EngineError;

/// Threads per block of kernels that move bodies or add up sums.
const MOVE_BLOCK_THREADS: u32 = 256;
/// Resident threads per multiprocessor for kernels that use many registers, for `f32` and `f64`: each `f32` thread then has up to
/// 128 registers; `f64` needs more.
const RESIDENT_THREADS: [u32; 2] = [512, 384];

/// Bodies from `first` on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
    pub count: u32,
}

impl Range {
    /// The bodies as places of an array.
    pub fn places(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// The data of launches with many steps.
struct ManySteps<S: Number> {
    operations: Buffer<Operation<S>>,
    arrived: Buffer<u32>,
    blocks: u32,
}

/// A device with all bodies, which accelerates and moves some of them.
pub(super) struct DevicePart<S: Number> {
    pub device: Arc<dyn Device>,
    plan: LaunchPlan,
    accelerate: Accelerate<S>,
    /// The launches for which the kernel of accelerations is compiled.
    residency: Option<Residency>,
    pub x: Buffer<Body<S>>,
    pub v: Buffer<Body<S>>,
    pub a: Buffer<Body<S>>,
    /// What the integrator saves.
    saved: Vec<[Buffer<Body<S>>; 2]>,
    /// Sums of each chunk.
    sums: Option<Buffer<Body<S>>>,
    /// P and Q of the reduced solver.
    partials: Option<[Buffer<S>; 2]>,
    steps: Option<ManySteps<S>>,
    /// The bodies it moves.
    pub own: Vec<Range>,
    /// Its rows, round by round.
    rounds: Vec<Rows>,
}

impl<S: Number> DevicePart<S> {
    pub fn new(
        device: &Arc<dyn Device>,
        plan: LaunchPlan,
        problem: &Validated,
        host: &Arrays<S>,
        own: Vec<Range>,
        rounds: Vec<Rows>,
    ) -> Result<Self, EngineError> {
        let padded = host.padded as usize;
        let memory = || Buffer::<Body<S>>::filled(device, padded, 0);
        let chunks = host.n.div_ceil(chunk_length(host.n)) as usize;
        let mine: usize = own.iter().map(|r| r.count as usize).sum();
        let steps = Self::for_steps(device, &plan, problem, host.n * chunks as u32)?;
        let in_parts = plan.kernel.tile_of(S::PRECISION).is_some() && plan.splits > 1;
        let sums = (in_parts || steps.is_some())
            .then(|| Buffer::filled(device, chunks * mine, 0))
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
                Buffer::filled(device, most(&|rows, _| rows as usize), 0)?,
                Buffer::filled(device, most(&|_, chunks| chunks as usize), 0)?,
            ])
        } else {
            None
        };
        let saved = (0..Integration::new(problem.specification())?.saved_pairs())
            .map(|_| Ok([memory()?, memory()?]))
            .collect::<Result<_, EngineError>>()?;
        let fills = plan.kernel.is_reduced() || plan.kernel == NbodyKernel::Tile8;
        let residency = (fills && S::PRECISION != Precision::FloatFloat)
            .then(|| residency(&plan, size_of::<S>()));
        let accelerate = S::accelerate(plan.kernel);
        // Loaded here, so that the driver compiles no kernel during a run.
        let force = match accelerate {
            Accelerate::Basic(entry) => entry.code(),
            Accelerate::Reduced(entry) => entry.code(),
            Accelerate::Atomic(entry) => entry.code(),
        };
        device.prepare_all(&[
            (force, residency),
            (Entry::of::<NbodyCombine<S>>().code(), None),
            (Entry::of::<NbodyGather<S>>().code(), None),
            (Entry::of::<NbodyKick<S>>().code(), None),
            (Entry::of::<NbodyDrift<S>>().code(), None),
            (Entry::of::<NbodyKickDrift<S>>().code(), None),
            (Entry::of::<NbodyLinear<S>>().code(), None),
        ])?;
        let mut part = Self {
            device: device.clone(),
            plan,
            accelerate,
            residency,
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

    /// The data of launches with many steps, if they are requested and possible.
    fn for_steps(
        device: &Arc<dyn Device>,
        plan: &LaunchPlan,
        problem: &Validated,
        units: u32,
    ) -> Result<Option<ManySteps<S>>, EngineError> {
        if plan.kernel != NbodyKernel::Steps || !device.is_cooperative()? {
            return Ok(None);
        }
        let Some(list) = operations::<S>(Integration::new(problem.specification())?) else {
            return Ok(None);
        };
        let resident =
            device.resident_blocks(Entry::of::<NbodySteps<S>>(), Grid::new(1, plan.block))?;
        Ok(Some(ManySteps {
            operations: Buffer::of(device, &list)?,
            arrived: Buffer::filled(device, 1, 0)?,
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
        steps.arrived.fill(0)?;
        let job = host.steps(steps.operations.len(), count);
        let state = State {
            x: self.x.as_mut_ptr(),
            v: self.v.as_mut_ptr(),
            a: self.a.as_mut_ptr(),
            sums: sums.as_mut_ptr(),
        };
        let grid = Grid::new(steps.blocks, self.plan.block).cooperative();
        let (operations, arrived) = (steps.operations.as_ptr(), steps.arrived.as_ptr().cast());
        // SAFETY: n values each and chunks × n sums; a counter of 0, and all blocks resident.
        unsafe {
            self.device
                .launch::<NbodySteps<S>>(grid, (job, state, operations, arrived))?
        };
        Ok(())
    }

    /// Computes the accelerations of its own bodies by the basic solver.
    pub fn basic(&mut self, host: &Arrays<S>) -> Result<(), EngineError> {
        let Accelerate::Basic(entry) = self.accelerate else {
            unreachable!("a plan of another solver is refused")
        };
        let n = host.n;
        let chunk = chunk_length(n);
        let chunks = n.div_ceil(chunk);
        let LaunchPlan {
            kernel,
            block,
            splits,
            ..
        } = self.plan;
        let x = self.x.as_ptr();
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
            let to = in_parts.map_or(a, Buffer::as_mut_ptr);
            let grid = match tile {
                Some(tile) => {
                    let shared = block * size_of::<Body<S>>() as u32;
                    Grid::new(count.div_ceil(block * tile.bodies) * splits, block).shared(shared)
                }
                None => Grid::covering(count, block),
            };
            // SAFETY: n bodies; count sums with one part, chunks × count with more; shared memory for a body a thread.
            unsafe {
                self.device
                    .launch_entry(entry, grid.residency(self.residency), (job, x, to))?
            };
            if in_parts.is_some() {
                let grid = Grid::covering(count, MOVE_BLOCK_THREADS);
                // SAFETY: chunks × count sums and count accelerations.
                unsafe {
                    self.device
                        .launch::<NbodyCombine<S>>(grid, (to, a, count, chunks))?
                };
            }
        }
        Ok(())
    }

    /// Computes the accelerations of all bodies by the kernels that add atomically.
    pub fn atomic(&mut self, host: &Arrays<S>) -> Result<(), EngineError> {
        let Accelerate::Atomic(entry) = self.accelerate else {
            unreachable!("a plan of another solver is refused")
        };
        self.a.fill(0)?;
        let job = host.rows(self.plan.kernel, 0, host.padded / S::ROW);
        let arguments = (job, self.x.as_ptr(), self.a.as_mut_ptr());
        let grid = self.warps(job.units());
        // SAFETY: whole rows of bodies and of accelerations, which are zero.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        Ok(())
    }

    /// A grid with this many warps of the kernel of accelerations.
    fn warps(&self, warps: u32) -> Grid {
        let block = self.plan.block;
        Grid::new(warps.div_ceil(block / 32), block).residency(self.residency)
    }

    /// The partial sums of its rows of a round.
    pub fn sweep(&mut self, host: &Arrays<S>, round: usize) -> Result<(), EngineError> {
        let Rows { row, rows } = self.rounds[round];
        let (Some([p, q]), Accelerate::Reduced(entry)) = (&self.partials, self.accelerate) else {
            return Ok(());
        };
        if rows == 0 {
            return Ok(());
        }
        let job = host.rows(self.plan.kernel, row, rows);
        let arguments = (job, self.x.as_ptr(), p.as_mut_ptr(), q.as_mut_ptr());
        let grid = self.warps(job.units());
        // SAFETY: whole rows of bodies, planes for these rows and all chunks.
        unsafe { self.device.launch_entry(entry, grid, arguments)? };
        Ok(())
    }

    /// Adds up the forces of its rows of a round on the bodies of a range. The sums of previous rows are first copied from the device
    /// that has them. Bodies of previous rows do not change.
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
        let job = host.rows(self.plan.kernel, row, rows);
        let (p, q, a) = (p.as_mut_ptr(), q.as_mut_ptr(), self.a.as_mut_ptr());
        let grid = Grid::covering(3 * count, MOVE_BLOCK_THREADS);
        // SAFETY: the planes are those of the sweep before, the accelerations n.
        unsafe {
            self.device
                .launch::<NbodyGather<S>>(grid, (job, p, q, a, first, count))?
        };
        Ok(())
    }

    /// v += h · a.
    pub fn kick(&self, h: S) -> Result<(), EngineError> {
        self.each(|Range { first, count }, grid| {
            let arguments = (
                at(&self.v, first),
                at(&self.a, first).cast_const(),
                h,
                count,
            );
            // SAFETY: count values each.
            unsafe { Ok(self.device.launch::<NbodyKick<S>>(grid, arguments)?) }
        })
    }

    /// x += h · v.
    pub fn drift(&self, h: S) -> Result<(), EngineError> {
        self.each(|Range { first, count }, grid| {
            let arguments = (
                at(&self.x, first),
                at(&self.v, first).cast_const(),
                h,
                count,
            );
            // SAFETY: count values each.
            unsafe { Ok(self.device.launch::<NbodyDrift<S>>(grid, arguments)?) }
        })
    }

    /// v += h · a, x += h_x · v.
    pub fn kick_drift(&self, h: S, h_x: S) -> Result<(), EngineError> {
        self.each(|Range { first, count }, grid| {
            let (x, v) = (at(&self.x, first), at(&self.v, first));
            let arguments = (x, v, at(&self.a, first).cast_const(), h, h_x, count);
            // SAFETY: count values each.
            unsafe { Ok(self.device.launch::<NbodyKickDrift<S>>(grid, arguments)?) }
        })
    }

    /// Linear combinations, one after the other.
    pub fn combine(&self, combinations: &[Combination<'_>]) -> Result<(), EngineError> {
        self.each(|range, grid| {
            for combinations in combinations.chunks(COMBINATIONS_PER_LAUNCH) {
                let place = |pair| self.place(pair, range.first);
                let ([first, second], both) = linear_jobs(combinations, place);
                let arguments = (first, second, both, range.count);
                // SAFETY: count values each.
                unsafe { self.device.launch::<NbodyLinear<S>>(grid, arguments)? };
            }
            Ok(())
        })
    }

    /// The addresses of a body in the vectors of a pair.
    fn place(&self, pair: Pair, first: u32) -> [*mut Body<S>; 2] {
        match pair {
            Pair::State => [&self.x, &self.v],
            Pair::Rates => [&self.v, &self.a],
            Pair::Saved(number) => self.saved[number].each_ref(),
            Pair::Zero => return [std::ptr::null_mut(); 2],
        }
        .map(|vector| at(vector, first))
    }

    /// Calls a function for each range of its own bodies, with a grid of one thread per body.
    fn each(
        &self,
        mut what: impl FnMut(Range, Grid) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.own
            .iter()
            .filter(|range| range.count > 0)
            .try_for_each(|range| what(*range, Grid::covering(range.count, MOVE_BLOCK_THREADS)))
    }
}

/// The residency of the launches of a plan.
fn residency(plan: &LaunchPlan, scalar: usize) -> Residency {
    let resident = RESIDENT_THREADS[usize::from(scalar > 4)];
    Residency {
        threads: plan.block,
        blocks: (resident / plan.block).max(1),
    }
}

/// A body in an array.
fn at<S: Number>(of: &Buffer<Body<S>>, first: u32) -> *mut Body<S> {
    of.as_mut_ptr().wrapping_add(first as usize)
}
