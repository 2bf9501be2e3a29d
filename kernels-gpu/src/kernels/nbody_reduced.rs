//! All-pairs accelerations with each pair evaluated once: bodies that travel through a warp.

use cuda_std::prelude::*;

use crate::nbody::sweep::{Atomics, Partials, Reduced, gather, sweep};
use crate::nbody::{Body, Scalar};

/// The row and chunk of this thread's warp, if it has one.
#[inline(always)]
fn unit<S: Scalar>(job: &Reduced<S>) -> Option<(u32, u32)> {
    let warp = thread::index_1d() / 32;
    let (row, chunk) = (job.row + warp % job.rows, warp / job.rows);
    (chunk < job.chunks()).then_some((row, chunk))
}

macro_rules! reduced {
    ($($ty:ty: $reduced:ident, $gather:ident, $atomic:ident;)*) => {$(
        #[doc = concat!("The sums of each pair of row and chunk of a launch, in `", stringify!($ty), "`; [`", stringify!($gather), "`] adds them up.")]
        ///
        /// # Parameters
        /// - `job`: what to compute, by value
        /// - `bodies`: `job.n` bodies, filled up to whole rows with bodies of strength 0 that lie apart from each other and
        ///   from all others
        /// - `p`: rows × 3 × stride numbers
        /// - `q`: chunks × 3 × stride numbers
        ///
        /// # Thread mapping
        /// A warp for each row and chunk, the rows of a chunk side by side: rows · chunks warps, in one-dimensional
        /// blocks of whole warps. Pairs of row and chunk that another warp has mirrored return at once.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `p` and `q` meanwhile.
        #[kernel]
        pub unsafe fn $reduced(job: Reduced<$ty>, bodies: *const Body<$ty>, p: *mut $ty, q: *mut $ty) {
            if let Some((row, chunk)) = unit(&job) {
                let sink = Partials { p, q, row: job.row, stride: job.stride };
                // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
                unsafe { sweep::<$ty, { <$ty as Scalar>::LANE_BODIES }>(&job, bodies, row, chunk, &sink) };
            }
        }

        #[doc = concat!("Adds up what [`", stringify!($reduced), "`] left, in a fixed order. Launched after it for the same rows; rows ascend from launch to launch.")]
        ///
        /// # Parameters
        /// - `job`, `p`, `q`: those of that launch
        /// - `accelerations`: `job.n` values; those of the rows so far are complete
        ///
        /// # Thread mapping
        /// Thread i of a one-dimensional grid adds up for body i; surplus threads return at once.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `accelerations` meanwhile.
        #[kernel]
        pub unsafe fn $gather(job: Reduced<$ty>, p: *mut $ty, q: *mut $ty, accelerations: *mut Body<$ty>) {
            let i = thread::index_1d();
            if i < job.n {
                let from = Partials { p, q, row: job.row, stride: job.stride };
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe { gather(&job, &from, accelerations, i) };
            }
        }

        #[doc = concat!("As [`", stringify!($reduced), "`], but adds to the accelerations atomically: no second pass and no memory for it, ")]
        /// but the order of the sums, and with it their last bits, differ from launch to launch.
        ///
        /// # Parameters
        /// - `job`, `bodies`: as there
        /// - `accelerations`: stride values, zero before the launch
        ///
        /// # Thread mapping
        /// As there.
        ///
        /// # Safety
        /// As there.
        #[kernel]
        pub unsafe fn $atomic(job: Reduced<$ty>, bodies: *const Body<$ty>, accelerations: *mut Body<$ty>) {
            if let Some((row, chunk)) = unit(&job) {
                let sink = Atomics { sums: accelerations };
                // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
                unsafe { sweep::<$ty, { <$ty as Scalar>::LANE_BODIES }>(&job, bodies, row, chunk, &sink) };
            }
        }
    )*};
}

reduced! {
    f32: nbody_reduced_f32, nbody_gather_f32, nbody_atomic_f32;
    f64: nbody_reduced_f64, nbody_gather_f64, nbody_atomic_f64;
}
