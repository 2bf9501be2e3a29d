//! All-pairs accelerations with each pair evaluated once: bodies that travel through a warp.

use cuda_std::prelude::*;

use crate::device::sweep::{Atomics, Partials, Reduced, gather, sweep};
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

macro_rules! reduced {
    ($($ty:ty, $unroll:literal: $name:ident;)*) => {$(
        #[doc = concat!("The sums of each pair of row and chunk of a launch, in `", stringify!($ty), "`. A gather kernel adds them up.")]
        ///
        /// # Parameters
        /// - `job`: what to compute, by value; a row has 32 · [`LANE_BODIES`](DeviceNumber::LANE_BODIES) bodies
        /// - `bodies`: `job.n` bodies, filled up to whole rows with bodies of strength 0 that lie apart from each other and
        ///   from all others
        /// - `p`: rows × 3 × stride numbers
        /// - `q`: chunks × 3 × stride numbers
        ///
        /// # Thread mapping
        /// A warp for each [unit](Reduced::unit) of row and chunk, in one-dimensional blocks of whole warps. Warps beyond the last
        /// unit return at once.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `p` and `q` meanwhile.
        #[kernel]
        pub unsafe fn $name(job: Reduced<$ty>, bodies: *const Body<$ty>, p: *mut $ty, q: *mut $ty) {
            if let Some((row, chunk)) = job.unit(thread::index_1d() / 32) {
                let sink = Partials::new(&job, p, q);
                // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
                unsafe {
                    sweep::<$ty, { <$ty as DeviceNumber>::LANE_BODIES }, $unroll, false>(&job, bodies, row, chunk, &sink)
                };
            }
        }
    )*};
}

reduced! {
    FastF32, 8: nbody_reduced_f32;
    f64, 4: nbody_reduced_f64;
    FloatFloat<f32>, 1: nbody_reduced_ff;
}

macro_rules! atomic {
    ($($(#[$doc:meta])* $ty:ty, $unroll:literal, $equal:literal: $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Parameters
        /// - `job`: what to compute, by value; its chunk and first row can be any
        /// - `bodies`: as those of the reduced kernels; where equal strengths are asked for, those that fill up the last row lie so
        ///   far away that they do not pull
        /// - `accelerations`: whole rows of values, zero before the launch
        ///
        /// # Thread mapping
        /// As that of the reduced kernels.
        ///
        /// # Safety
        /// As there.
        #[kernel]
        pub unsafe fn $name(job: Reduced<$ty>, bodies: *const Body<$ty>, accelerations: *mut Body<$ty>) {
            if let Some((row, chunk)) = job.unit(thread::index_1d() / 32) {
                // SAFETY: there is at least one body.
                let scale = if $equal { Some(unsafe { (*bodies).g }) } else { None };
                let sink = Atomics { sums: accelerations, scale };
                // SAFETY: the caller's promise; a warp's lanes have the same row and chunk.
                unsafe {
                    sweep::<$ty, { <$ty as DeviceNumber>::LANE_BODIES }, $unroll, $equal>(&job, bodies, row, chunk, &sink)
                };
            }
        }
    )*};
}

atomic! {
    /// As [`nbody_reduced_f32`], but adds to the accelerations atomically: no second pass and no memory for it, but the order of
    /// the sums, and with it their last bits, differ from launch to launch.
    FastF32, 8, false: nbody_atomic_f32;
    /// As [`nbody_atomic_f32`], for bodies that all have the strength of the first: it is multiplied into sums, not into
    /// pulls.
    FastF32, 8, true: nbody_equal_f32;
    /// [`nbody_atomic_f32`] in `f64`.
    f64, 4, false: nbody_atomic_f64;
    /// [`nbody_equal_f32`] in `f64`.
    f64, 4, true: nbody_equal_f64;
}

macro_rules! gathers {
    ($($ty:ty: $gather:ident;)*) => {$(
        #[doc = concat!("Adds up what a reduced kernel in `", stringify!($ty), "` left, in a fixed order.")]
        /// Launched after it for the same rows; rows ascend from launch to launch.
        ///
        /// # Parameters
        /// - `job`, `p`, `q`: those of that launch
        /// - `accelerations`: `job.n` values; those of the rows so far are complete
        /// - `first`, `count`: the bodies to add up for, from the first row of the launch on
        ///
        /// # Thread mapping
        /// Threads 3 · count of a one-dimensional grid: those of a component side by side. Surplus threads return at once.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `accelerations` meanwhile.
        #[kernel]
        pub unsafe fn $gather(
            job: Reduced<$ty>,
            p: *mut $ty,
            q: *mut $ty,
            accelerations: *mut Body<$ty>,
            first: u32,
            count: u32,
        ) {
            let i = thread::index_1d();
            if i < 3 * count {
                let from = Partials::new(&job, p, q);
                // SAFETY: the caller's promise; each thread has a body and component of its own.
                unsafe { gather(&job, &from, accelerations, first + i % count, i / count) };
            }
        }
    )*};
}

gathers! {
    FastF32: nbody_gather_f32;
    f64: nbody_gather_f64;
    FloatFloat<f32>: nbody_gather_ff;
}
