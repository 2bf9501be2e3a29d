//! The GPU kernels of the all-pairs solvers: which there are, how they are launched, and the arrays they work on. What the GPU
//! engine and the emulator share.

use kernels_gpu::nbody::scalar::softening_floor_f32;
use kernels_gpu::nbody::sweep::Reduced;
use kernels_gpu::nbody::{Body, Scalar};

use super::{Bodies, Precision, Solver, Specification, Validated};
use crate::divergence::EngineError;

/// A kernel that computes accelerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbodyKernel {
    /// `basic`, straight from global memory.
    Plain,
    /// `basic`, tiles in shared memory, one body a thread.
    Tile1,
    /// Two bodies a thread.
    Tile2,
    /// Four bodies a thread.
    Tile4,
    /// Four bodies a thread, the inner loop not unrolled (`f32`; the same as [`Tile4`](Self::Tile4) in `f64`).
    Tile4Rolled,
    /// Four bodies a thread, the inner loop unrolled 16 times (`f32`; the same as [`Tile4`](Self::Tile4) in `f64`).
    Tile4Unrolled,
    /// `reduced`, bodies that travel through a warp, summed in a fixed order.
    Reduced,
    /// `reduced`, summed atomically: faster, but the last bits differ from run to run.
    Atomic,
}

/// A tile kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    /// Its place among the tile kernels.
    pub index: usize,
    /// Bodies a thread.
    pub bodies: u32,
}

impl NbodyKernel {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Tile1,
        Self::Tile2,
        Self::Tile4,
        Self::Tile4Rolled,
        Self::Tile4Unrolled,
        Self::Reduced,
        Self::Atomic,
    ];

    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tile1 => "tile-1",
            Self::Tile2 => "tile-2",
            Self::Tile4 => "tile-4",
            Self::Tile4Rolled => "tile-4-rolled",
            Self::Tile4Unrolled => "tile-4-unrolled",
            Self::Reduced => "reduced",
            Self::Atomic => "atomic",
        }
    }

    /// Whether each pair is evaluated once.
    pub fn is_reduced(self) -> bool {
        matches!(self, Self::Reduced | Self::Atomic)
    }

    /// Whether the same start always gives the same bits.
    pub fn is_deterministic(self) -> bool {
        self != Self::Atomic
    }

    pub(super) fn tile(self) -> Option<Tile> {
        let (index, bodies) = match self {
            Self::Tile1 => (0, 1),
            Self::Tile2 => (1, 2),
            Self::Tile4 => (2, 4),
            Self::Tile4Rolled => (3, 4),
            Self::Tile4Unrolled => (4, 4),
            Self::Plain | Self::Reduced | Self::Atomic => return None,
        };
        Some(Tile { index, bodies })
    }

    /// The name of the kernel's entry point.
    #[cfg(feature = "gpu")]
    pub(super) fn entry(self, precision: Precision) -> &'static str {
        match (precision, self) {
            (Precision::F32, Self::Plain) => "nbody_plain_f32",
            (Precision::F32, Self::Tile1) => "nbody_tile_f32_k1",
            (Precision::F32, Self::Tile2) => "nbody_tile_f32_k2",
            (Precision::F32, Self::Tile4) => "nbody_tile_f32_k4",
            (Precision::F32, Self::Tile4Rolled) => "nbody_tile_f32_k4_u1",
            (Precision::F32, Self::Tile4Unrolled) => "nbody_tile_f32_k4_u16",
            (Precision::F32, Self::Reduced) => "nbody_reduced_f32",
            (Precision::F32, Self::Atomic) => "nbody_atomic_f32",
            (Precision::F64, Self::Plain) => "nbody_plain_f64",
            (Precision::F64, Self::Tile1) => "nbody_tile_f64_k1",
            (Precision::F64, Self::Tile2) => "nbody_tile_f64_k2",
            (Precision::F64, Self::Tile4 | Self::Tile4Rolled | Self::Tile4Unrolled) => {
                "nbody_tile_f64_k4"
            }
            (Precision::F64, Self::Reduced) => "nbody_reduced_f64",
            (Precision::F64, Self::Atomic) => "nbody_atomic_f64",
            (Precision::FloatFloat, _) => unreachable!("refused by Plan::check"),
        }
    }
}

/// A kernel and how it is launched; nothing of the latter changes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The kernel.
    pub kernel: NbodyKernel,
    /// Threads of a block: 32 to 1024, a multiple of 32.
    pub block: u32,
    /// Parts into which the chunks of a tile kernel are dealt (at least 1; as many as there are chunks at most).
    pub splits: u32,
    /// Rows of [`NbodyKernel::Reduced`] in one launch at most (at least 1): bounds its memory.
    pub rows: u32,
}

impl Plan {
    /// Blocks of 128 threads, not split, all rows at once.
    pub fn new(kernel: NbodyKernel) -> Self {
        Self {
            kernel,
            block: 128,
            splits: 1,
            rows: u32::MAX,
        }
    }

    pub(super) fn rows_at_once(&self, rows: u32) -> u32 {
        self.rows.clamp(1, rows)
    }

    /// The kernel must be of the solver that the problem names, and the launch possible.
    pub(super) fn check(&self, problem: &Validated) -> Result<(), EngineError> {
        let solver = problem.specification().solver;
        let fail = |reason: String| {
            Err(EngineError::Gpu {
                device: "GPU".into(),
                call: self.kernel.name(),
                reason,
            })
        };
        if problem.specification().precision == Precision::FloatFloat {
            return fail("--precision float-float is computed on CPUs".into());
        }
        if (solver == Solver::Reduced) != self.kernel.is_reduced() {
            return fail(format!(
                "this kernel does not sum as the solver {solver} does"
            ));
        }
        if !(32..=1024).contains(&self.block) || !self.block.is_multiple_of(32) {
            let given = self.block;
            return fail(format!(
                "blocks of {given} threads: must be 32 to 1024, a multiple of 32"
            ));
        }
        if self.splits == 0 {
            return fail("0 splits: must be at least 1".into());
        }
        Ok(())
    }
}

/// Bodies as the kernels see them, filled up to whole rows.
#[derive(Debug)]
pub(super) struct Arrays<S> {
    /// Bodies.
    pub n: u32,
    /// n rounded up to whole rows.
    pub padded: u32,
    /// Positions and strengths.
    pub x: Vec<Body<S>>,
    /// Velocities.
    pub v: Vec<Body<S>>,
    /// Softening length squared, in `f32` with its floor.
    pub softening2: S,
}

impl<S: Scalar> Arrays<S> {
    pub(super) fn new(spec: &Specification, bodies: &Bodies) -> Self {
        let n = bodies.len() as u32;
        let row = Reduced::<S>::ROW;
        let padded = n.next_multiple_of(row);
        let body = |[x, y, z]: [f64; 3], g: f64| Body {
            x: S::from_f64(x),
            y: S::from_f64(y),
            z: S::from_f64(z),
            g: S::from_f64(g),
        };
        let far = bodies.farthest();
        // Bodies that fill up lie on the x axis beyond all others.
        let filling = (0..padded - n)
            .map(|p| body([far * (2.0 + f64::from(p) / f64::from(row)), 0.0, 0.0], 0.0));
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

    pub(super) fn bodies(&self, mass: &[f64]) -> Bodies {
        let vector = |b: &Body<S>| b.vector().map(S::to_f64);
        Bodies {
            mass: mass.to_vec(),
            position: self.x[..mass.len()].iter().map(vector).collect(),
            velocity: self.v[..mass.len()].iter().map(vector).collect(),
        }
    }
}
