//! All-pairs accelerations by tiles in shared memory.

use cuda_std::prelude::*;

use crate::device::Body;
use crate::device::tile::{Basic, basic};
use crate::number::{FastF32, FloatFloat};

macro_rules! tile {
    ($($(#[$doc:meta])* $name:ident: $ty:ty, $k:literal, $unroll:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Parameters
        /// - `job`: what to compute, by value
        /// - `bodies`: `job.n` bodies
        /// - `sums`: with `job.splits` = 1, `job.count` accelerations; otherwise the sums of each chunk (chunks × count), for the
        ///   second pass
        ///
        /// # Tiling
        /// A block stages as many bodies as it has threads in dynamic shared memory (a `Body` a thread), meets them, and goes
        /// on to the next; tiles end with their chunk.
        ///
        /// # Thread mapping
        /// One-dimensional; blocks of any size. The blocks of a part sum the pulls on (threads × bodies a thread) bodies each;
        /// parts follow each other: the grid has ⌈count / (threads · bodies)⌉ · splits blocks.
        ///
        /// # Safety
        /// The pointers must be valid for what is said above; nobody else may use `sums` meanwhile.
        #[kernel]
        pub unsafe fn $name(job: Basic<$ty>, bodies: *const Body<$ty>, sums: *mut Body<$ty>) {
            // SAFETY: the caller's promise is the same.
            unsafe { basic::<$ty, $k, $unroll>(&job, bodies, sums) };
        }
    )*};
}

tile! {
    /// `f32`, one body a thread: for few bodies.
    nbody_tile_f32_k1: FastF32, 1, 16;
    /// `f32`, two bodies a thread.
    nbody_tile_f32_k2: FastF32, 2, 16;
    /// `f32`, four bodies a thread: a body that is read from shared memory serves four pairs.
    nbody_tile_f32_k4: FastF32, 4, 8;
    /// `f32`, four bodies a thread, the loop not unrolled: to see what unrolling is worth.
    nbody_tile_f32_k4_u1: FastF32, 4, 1;
    /// `f32`, four bodies a thread, the loop unrolled 16 times.
    nbody_tile_f32_k4_u16: FastF32, 4, 16;
    /// `f32`, eight bodies a thread, the loop unrolled eight times: for many bodies.
    nbody_tile_f32_k8: FastF32, 8, 8;
    /// `f64`, one body a thread.
    nbody_tile_f64_k1: f64, 1, 4;
    /// `f64`, two bodies a thread.
    nbody_tile_f64_k2: f64, 2, 4;
    /// `f64`, four bodies a thread.
    nbody_tile_f64_k4: f64, 4, 2;
    /// Float-float, one body a thread.
    nbody_tile_ff_k1: FloatFloat<f32>, 1, 2;
    /// Float-float, two bodies a thread.
    nbody_tile_ff_k2: FloatFloat<f32>, 2, 1;
}
