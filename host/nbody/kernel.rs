//! The GPU kernels of the all-pairs solvers, their launches and their arrays.

use kernels_gpu::device::linear::{COMBINATIONS_PER_LAUNCH, Linear};
use kernels_gpu::device::steps::{ACCELERATE, DRIFT, KICK, Operation, Steps};
use kernels_gpu::device::sweep::Reduced;
use kernels_gpu::device::tile::Basic;
use kernels_gpu::device::{Body, DeviceNumber};
use kernels_gpu::integrator::System;
use kernels_gpu::integrator::system::{Combination, MAX_TERMS, Pair};
use kernels_gpu::kernels::{NbodyAtomic, NbodyEqual, NbodyPlain, NbodyReduced, NbodyTile};
use kernels_gpu::number::{FastF32, FloatFloat};
use kernels_gpu::physics::softening::softening_floor_f32;
use kernels_gpu::physics::summation::all_pairs::{CHUNK_UNIT, MAX_CHUNKS, chunk_length};

use super::engine::{Integration, LowerParts};
use super::{Bodies, Precision, Solver, Specification, Validated};
use trisolar_bodies::DVec3;
use trisolar_device::{Entry, Plain};
use trisolar_run::EngineError;

/// A kernel that computes accelerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbodyKernel {
    /// `basic`, straight from global memory.
    Plain,
    /// `basic`, many steps in one launch with barriers for the whole grid, for few bodies. Steps with operations other than kicks and
    /// drifts are taken as with [`Plain`](Self::Plain).
    Steps,
    /// `basic`, tiles in shared memory, one body a thread.
    Tile1,
    /// Two bodies per thread.
    Tile2,
    /// Four bodies a thread.
    Tile4,
    /// Four bodies a thread, the inner loop not unrolled (`f32`; the same as [`Tile4`](Self::Tile4) in `f64`).
    Tile4Rolled,
    /// Four bodies a thread, the inner loop unrolled 16 times (`f32`; the same as [`Tile4`](Self::Tile4) in `f64`).
    Tile4Unrolled,
    /// Eight bodies a thread (`f32`; the same as [`Tile4`](Self::Tile4) in `f64`).
    Tile8,
    /// `reduced`, bodies that travel through a warp, summed in a fixed order.
    Reduced,
    /// `reduced`, summed atomically: faster, but the last bits differ from run to run.
    Atomic,
    /// As [`Atomic`](Self::Atomic), for bodies of equal masses: it multiplies sums instead of single forces by the strength.
    Equal,
}

/// A tile kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Bodies per thread.
    pub bodies: u32,
}

impl NbodyKernel {
    /// All kernels.
    pub const ALL: [Self; 11] = [
        Self::Plain,
        Self::Steps,
        Self::Tile1,
        Self::Tile2,
        Self::Tile4,
        Self::Tile4Rolled,
        Self::Tile4Unrolled,
        Self::Tile8,
        Self::Reduced,
        Self::Atomic,
        Self::Equal,
    ];

    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Steps => "steps",
            Self::Tile1 => "tile-1",
            Self::Tile2 => "tile-2",
            Self::Tile4 => "tile-4",
            Self::Tile4Rolled => "tile-4-rolled",
            Self::Tile4Unrolled => "tile-4-unrolled",
            Self::Tile8 => "tile-8",
            Self::Reduced => "reduced",
            Self::Atomic => "atomic",
            Self::Equal => "equal-masses",
        }
    }

    /// Whether each pair is evaluated once.
    pub fn is_reduced(self) -> bool {
        matches!(self, Self::Reduced | Self::Atomic | Self::Equal)
    }

    /// Bodies per thread or lane, and unrolled steps of the inner loop, in `f32`.
    pub fn shape(self) -> [u32; 2] {
        match self {
            Self::Plain | Self::Steps => [1, 4],
            Self::Tile1 => [1, 16],
            Self::Tile2 => [2, 16],
            Self::Tile4 => [4, 8],
            Self::Tile4Rolled => [4, 1],
            Self::Tile4Unrolled => [4, 16],
            Self::Tile8 | Self::Reduced | Self::Atomic | Self::Equal => [8, 8],
        }
    }

    /// Whether the same start always gives the same bits.
    pub fn is_deterministic(self) -> bool {
        !self.is_atomic()
    }

    /// Whether it adds to the accelerations atomically.
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Equal)
    }

    /// The tile kernel in a precision.
    pub(super) fn tile_of(self, precision: Precision) -> Option<Tile> {
        let tile = self.tile()?;
        let most = match precision {
            Precision::F32 => 8,
            Precision::F64 => 4,
            Precision::FloatFloat => 2,
        };
        Some(Tile {
            bodies: tile.bodies.min(most),
        })
    }

    fn tile(self) -> Option<Tile> {
        let bodies = match self {
            Self::Tile1 => 1,
            Self::Tile2 => 2,
            Self::Tile4 | Self::Tile4Rolled | Self::Tile4Unrolled => 4,
            Self::Tile8 => 8,
            Self::Plain | Self::Steps | Self::Reduced | Self::Atomic | Self::Equal => return None,
        };
        Some(Tile { bodies })
    }
}

/// A kernel that computes accelerations, in a precision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accelerate<S: DeviceNumber> {
    Basic(Entry<(Basic<S>, *const Body<S>, *mut Body<S>)>),
    Reduced(Entry<(Reduced<S>, *const Body<S>, *mut S, *mut S)>),
    Atomic(Entry<(Reduced<S>, *const Body<S>, *mut Body<S>)>),
}

/// A precision of the kernels.
pub(super) trait Number: Pairs + Plain {
    const PRECISION: Precision;

    /// The kernel that computes accelerations. A kernel that does not exist in this precision is refused before, or replaced by another one that
    /// is as fast.
    fn accelerate(kernel: NbodyKernel) -> Accelerate<Self>;
}

impl Number for FastF32 {
    const PRECISION: Precision = Precision::F32;

    fn accelerate(kernel: NbodyKernel) -> Accelerate<Self> {
        use Accelerate::{Atomic, Basic, Reduced};
        match kernel {
            NbodyKernel::Plain | NbodyKernel::Steps => Basic(Entry::of::<NbodyPlain<Self>>()),
            NbodyKernel::Tile1 => Basic(Entry::of::<NbodyTile<Self, 1, 16>>()),
            NbodyKernel::Tile2 => Basic(Entry::of::<NbodyTile<Self, 2, 16>>()),
            NbodyKernel::Tile4 => Basic(Entry::of::<NbodyTile<Self, 4, 8>>()),
            NbodyKernel::Tile4Rolled => Basic(Entry::of::<NbodyTile<Self, 4, 1>>()),
            NbodyKernel::Tile4Unrolled => Basic(Entry::of::<NbodyTile<Self, 4, 16>>()),
            NbodyKernel::Tile8 => Basic(Entry::of::<NbodyTile<Self, 8, 8>>()),
            NbodyKernel::Reduced => Reduced(Entry::of::<NbodyReduced<Self, 8, 8>>()),
            NbodyKernel::Atomic => Atomic(Entry::of::<NbodyAtomic<Self, 8, 8>>()),
            NbodyKernel::Equal => Atomic(Entry::of::<NbodyEqual<Self, 8, 8>>()),
        }
    }
}

impl Number for f64 {
    const PRECISION: Precision = Precision::F64;

    fn accelerate(kernel: NbodyKernel) -> Accelerate<Self> {
        use Accelerate::{Atomic, Basic, Reduced};
        match kernel {
            NbodyKernel::Plain | NbodyKernel::Steps => Basic(Entry::of::<NbodyPlain<Self>>()),
            NbodyKernel::Tile1 => Basic(Entry::of::<NbodyTile<Self, 1, 4>>()),
            NbodyKernel::Tile2 => Basic(Entry::of::<NbodyTile<Self, 2, 4>>()),
            NbodyKernel::Tile4
            | NbodyKernel::Tile4Rolled
            | NbodyKernel::Tile4Unrolled
            | NbodyKernel::Tile8 => Basic(Entry::of::<NbodyTile<Self, 4, 2>>()),
            NbodyKernel::Reduced => Reduced(Entry::of::<NbodyReduced<Self, 4, 4>>()),
            NbodyKernel::Atomic => Atomic(Entry::of::<NbodyAtomic<Self, 4, 4>>()),
            NbodyKernel::Equal => Atomic(Entry::of::<NbodyEqual<Self, 4, 4>>()),
        }
    }
}

impl Number for FloatFloat<f32> {
    const PRECISION: Precision = Precision::FloatFloat;

    fn accelerate(kernel: NbodyKernel) -> Accelerate<Self> {
        use Accelerate::{Basic, Reduced};
        match kernel {
            NbodyKernel::Plain | NbodyKernel::Steps => Basic(Entry::of::<NbodyPlain<Self>>()),
            NbodyKernel::Tile1 => Basic(Entry::of::<NbodyTile<Self, 1, 2>>()),
            NbodyKernel::Tile2
            | NbodyKernel::Tile4
            | NbodyKernel::Tile4Rolled
            | NbodyKernel::Tile4Unrolled
            | NbodyKernel::Tile8 => Basic(Entry::of::<NbodyTile<Self, 2, 1>>()),
            NbodyKernel::Reduced | NbodyKernel::Atomic | NbodyKernel::Equal => {
                Reduced(Entry::of::<NbodyReduced<Self, 2, 1>>())
            }
        }
    }
}

/// A kernel and its launch parameters, which do not change a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    /// The kernel.
    pub kernel: NbodyKernel,
    /// Threads per block: 32 to 1024, a multiple of 32.
    pub block: u32,
    /// Parts into which the chunks of a tile kernel are divided (at least 1, at most the number of chunks).
    pub splits: u32,
    /// Largest number of rows of [`NbodyKernel::Reduced`] in one launch (at least 1), which limits its memory.
    pub rows: u32,
}

impl LaunchPlan {
    /// A plan with blocks of 128 threads, one part, and all rows in one launch.
    pub fn new(kernel: NbodyKernel) -> Self {
        Self {
            kernel,
            block: 128,
            splits: 1,
            rows: u32::MAX,
        }
    }

    /// Checks that the kernel belongs to the solver of the problem, and that the launch is possible.
    pub(super) fn check(&self, problem: &Validated) -> Result<(), EngineError> {
        let solver = problem.specification().solver;
        let fail = |reason: String| {
            Err(EngineError::Gpu {
                device: "GPU".into(),
                call: self.kernel.name(),
                reason,
            })
        };
        // In a single row both solvers sum in the same order.
        let row = row_length(problem.specification().precision);
        let same = self.kernel == NbodyKernel::Steps && problem.bodies().len() <= row as usize;
        if (solver == Solver::Reduced) != self.kernel.is_reduced() && !same {
            return fail(format!(
                "this kernel does not sum as the solver {solver} does"
            ));
        }
        if self.kernel.is_atomic() && problem.specification().precision == Precision::FloatFloat {
            return fail("there are no atomic sums in float-float".into());
        }
        // Kernels with many registers do not fit into the largest blocks.
        let most = match self.kernel {
            NbodyKernel::Tile8 | NbodyKernel::Steps => 512,
            kernel if kernel.is_reduced() => 256,
            _ => 1024,
        };
        if !(32..=most).contains(&self.block) || !self.block.is_multiple_of(32) {
            let given = self.block;
            return fail(format!(
                "blocks of {given} threads: must be 32 to {most}, a multiple of 32"
            ));
        }
        if self.kernel == NbodyKernel::Equal {
            let mass = &problem.bodies().mass;
            if let Some(other) = mass.iter().position(|m| *m != mass[0]) {
                return fail(format!(
                    "the mass of body {} differs from that of body 1",
                    other + 1
                ));
            }
        }
        if self.splits == 0 {
            return fail("0 splits: must be at least 1".into());
        }
        Ok(())
    }
}

/// Bodies per row.
pub(super) fn row_length(precision: Precision) -> u32 {
    match precision {
        Precision::F32 => FastF32::ROW,
        Precision::F64 => f64::ROW,
        Precision::FloatFloat => FloatFloat::<f32>::ROW,
    }
}

/// Records the operations of an integrator in a step.
#[derive(Default)]
struct Notes {
    operations: Vec<(u32, f64)>,
    /// Whether something that is not an [`Operation`] was requested.
    beyond: bool,
}

impl System for Notes {
    type Error = std::convert::Infallible;

    fn accelerate(&mut self) -> Result<(), Self::Error> {
        self.operations.push((ACCELERATE, 0.0));
        Ok(())
    }

    fn kick(&mut self, h: f64) -> Result<(), Self::Error> {
        self.operations.push((KICK, h));
        Ok(())
    }

    fn drift(&mut self, h: f64) -> Result<(), Self::Error> {
        self.operations.push((DRIFT, h));
        Ok(())
    }

    fn combine(&mut self, _: &[Combination<'_>]) -> Result<(), Self::Error> {
        self.beyond = true;
        Ok(())
    }
}

/// The operations of a step, if all steps are made of the same kicks and drifts.
pub(super) fn operations<S: DeviceNumber>(
    mut integration: Integration,
) -> Option<Vec<Operation<S>>> {
    let mut notes = Notes {
        beyond: !integration.is_uniform(),
        ..Notes::default()
    };
    let Ok(()) = integration.step(&mut notes);
    let operation = |(kind, h): &(u32, f64)| Operation {
        kind: *kind,
        unused: 0,
        h: S::from_f64(*h),
    };
    (!notes.beyond).then(|| notes.operations.iter().map(operation).collect())
}

/// One or two combinations for a launch of the linear kernels, and whether there are two; `place` returns the addresses of the vectors of a pair.
pub(super) fn linear_jobs<S: DeviceNumber>(
    combinations: &[Combination<'_>],
    mut place: impl FnMut(Pair) -> [*mut Body<S>; 2],
) -> ([Linear<S>; COMBINATIONS_PER_LAUNCH], u32) {
    let mut job = |combination: &Combination<'_>| {
        let mut job = Linear {
            to: place(combination.to.into()),
            from: place(combination.from).map(<*mut _>::cast_const),
            terms: [[std::ptr::null(); 2]; MAX_TERMS],
            coefficients: [S::default(); MAX_TERMS],
            count: combination.terms.len() as u32,
            unused: 0,
        };
        for (k, (pair, h)) in combination.terms.iter().enumerate() {
            job.terms[k] = place(*pair).map(<*mut _>::cast_const);
            job.coefficients[k] = S::from_f64(*h);
        }
        job
    };
    let first = job(&combinations[0]);
    let second = combinations.get(1).map(job);
    (
        [first, second.unwrap_or(first)],
        u32::from(second.is_some()),
    )
}

/// Bodies per chunk of a kernel. It is fixed for kernels that sum in a fixed order; the others use more chunks.
fn chunk_of(kernel: NbodyKernel, n: u32) -> u32 {
    if kernel.is_atomic() {
        n.div_ceil(2 * MAX_CHUNKS).next_multiple_of(CHUNK_UNIT)
    } else {
        chunk_length(n)
    }
}

/// A precision, the numbers of which may be pairs: see [`LowerParts`].
pub(super) trait Pairs: DeviceNumber {
    /// The lower part, if it has one.
    fn lower(self) -> Option<f32>;

    /// Restores the number that was `x` in 64 bits and had this lower part.
    fn with_lower(x: f64, lower: f32) -> Self;
}

impl Pairs for FastF32 {
    fn lower(self) -> Option<f32> {
        None
    }

    fn with_lower(x: f64, _: f32) -> Self {
        Self(x as f32)
    }
}

impl Pairs for f64 {
    fn lower(self) -> Option<f32> {
        None
    }

    fn with_lower(x: f64, _: f32) -> Self {
        x
    }
}

impl Pairs for FloatFloat<f32> {
    fn lower(self) -> Option<f32> {
        Some(self.parts().1)
    }

    fn with_lower(x: f64, lower: f32) -> Self {
        // x is the rounded sum of both; the rounding error is far less than half a unit of the upper part.
        let upper = if x == 0.0 { x } else { x - f64::from(lower) };
        Self::from_parts(upper as f32, lower)
    }
}

/// Bodies in the form of the kernels, padded to whole rows.
#[derive(Debug)]
pub(super) struct Arrays<S> {
    /// Bodies.
    pub n: u32,
    /// n rounded up to whole rows.
    pub padded: u32,
    /// Positions and G·m.
    pub x: Vec<Body<S>>,
    /// Velocities.
    pub v: Vec<Body<S>>,
    /// Softening length squared, in `f32` with its floor.
    pub softening2: S,
}

impl<S: Pairs> Arrays<S> {
    /// Arrays of the bodies and of the lower parts of an interrupted run.
    pub(super) fn new(
        spec: &Specification,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
        kernel: NbodyKernel,
    ) -> Self {
        let mut arrays = Self::of(spec, bodies, kernel);
        if let Some(LowerParts { position, velocity }) = lower {
            let add = |b: &mut Body<S>, DVec3 { x, y, z }: DVec3, lower: &[f32; 3]| {
                b.x = S::with_lower(x, lower[0]);
                b.y = S::with_lower(y, lower[1]);
                b.z = S::with_lower(z, lower[2]);
            };
            let positions = bodies.position.iter().zip(position);
            for (b, (x, lower)) in arrays.x.iter_mut().zip(positions) {
                add(b, *x, lower);
            }
            let velocities = bodies.velocity.iter().zip(velocity);
            for (b, (v, lower)) in arrays.v.iter_mut().zip(velocities) {
                add(b, *v, lower);
            }
        }
        arrays
    }

    fn of(spec: &Specification, bodies: &Bodies, kernel: NbodyKernel) -> Self {
        let n = bodies.len() as u32;
        let row = S::ROW;
        let padded = n.next_multiple_of(row);
        let body = |DVec3 { x, y, z }: DVec3, g: f64| Body {
            x: S::from_f64(x),
            y: S::from_f64(y),
            z: S::from_f64(z),
            g: S::from_f64(g),
        };
        // Padding bodies lie on the x axis beyond all others, so far that r⁻³ is 0 for kernels that ignore the mass.
        let far = if kernel == NbodyKernel::Equal {
            match spec.precision {
                Precision::F64 => 1.0e120,
                Precision::F32 | Precision::FloatFloat => 1.0e18,
            }
        } else {
            bodies.farthest()
        };
        let filling = (0..padded - n)
            .map(|p| far * (2.0 + f64::from(p) / f64::from(row)))
            .map(|x| body(DVec3::new(x, 0.0, 0.0), 0.0));
        let x = bodies
            .position
            .iter()
            .zip(&bodies.mass)
            .map(|(x, m)| body(*x, spec.g * m));
        let rest = (0..padded - n).map(|_| Body::default());
        let mut softening2 = spec.softening * spec.softening;
        if spec.precision == Precision::F32 {
            let g_max = bodies
                .mass
                .iter()
                .fold(0.0_f64, |most, m| most.max((spec.g * m).abs()));
            softening2 = softening2.max(softening_floor_f32(g_max));
        }
        Self {
            n,
            padded,
            x: x.chain(filling).collect(),
            v: bodies
                .velocity
                .iter()
                .map(|v| body(*v, 0.0))
                .chain(rest)
                .collect(),
            softening2: S::from_f64(softening2),
        }
    }

    /// The problem of launches with this many steps and operations.
    pub(super) fn steps(&self, operations: usize, steps: u32) -> Steps<S> {
        Steps {
            softening2: self.softening2,
            n: self.n,
            chunk: chunk_length(self.n),
            operations: operations as u32,
            steps,
        }
    }

    /// The problem of launches for `rows` rows from `row` on.
    pub(super) fn rows(&self, kernel: NbodyKernel, row: u32, rows: u32) -> Reduced<S> {
        Reduced {
            softening2: self.softening2,
            n: self.n,
            length: S::ROW,
            chunk: chunk_of(kernel, self.n),
            row,
            rows,
            stride: self.padded - row * S::ROW,
        }
    }

    /// The parts that [`bodies`](Self::bodies) cannot hold.
    pub(super) fn lower_parts(&self) -> Option<LowerParts> {
        let lower = |all: &[Body<S>]| -> Option<Vec<[f32; 3]>> {
            let parts = |b: &Body<S>| {
                let [x, y, z] = [b.x, b.y, b.z].map(S::lower);
                Some([x?, y?, z?])
            };
            all[..self.n as usize].iter().map(parts).collect()
        };
        Some(LowerParts {
            position: lower(&self.x)?,
            velocity: lower(&self.v)?,
        })
    }

    pub(super) fn bodies(&self, mass: &[f64]) -> Bodies {
        let vector = |b: &Body<S>| DVec3::from([b.x, b.y, b.z].map(|x| x.to_f64(0)));
        Bodies {
            mass: mass.to_vec(),
            position: self.x[..mass.len()].iter().map(vector).collect(),
            velocity: self.v[..mass.len()].iter().map(vector).collect(),
        }
    }
}
