//! Hermite integration: whole block steps with the stars divided among the blocks, many in one launch.

use cuda_std::prelude::*;

use super::hermite_state::kernel_at_state;
use crate::device::hermite::Record;
use crate::device::hermite::divided_steps::divided_steps;
use crate::device::hermite::problem::{State, Steps};
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

kernel_at_state! {
    /// Takes block steps of order `P` with `D` = P / 2 forces, as [`hermite_steps`](super::hermite_steps) does, of a system whose stars fit into the
    /// shared memory of all thread blocks together.
    ///
    /// # Parameters
    /// - `job`: the problem, by value
    /// - the others: the fields of [`State`]; `everywhere` is not used
    ///
    /// # Tiling
    /// Dynamic shared memory of [`shared_bytes`](crate::device::hermite::divided_steps::shared_bytes)
    ///
    /// # Thread mapping
    /// Each block of a one-dimensional grid has the bodies of a class of partial sums. There must be as many as
    /// [`blocks`](crate::device::hermite::divided_steps::blocks) says, of
    /// [`THREADS`](crate::device::hermite::divided_steps::THREADS) threads. All blocks must be resident at the same time, which requires a
    /// cooperative launch.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] describes; nothing else may use their memory during the launch. The job must have one device and
    /// one iteration.
    #[kernel(instances(
        4: <Plain<f64>, 4, 2>,
        6: <Plain<f64>, 6, 3>,
        8: <Plain<f64>, 8, 4>,
        4_split_f32: <SplitF32<f32>, 4, 2>,
        6_split_f32: <SplitF32<f32>, 6, 3>,
        8_split_f32: <SplitF32<f32>, 8, 4>,
    ))]
    pub unsafe fn hermite_divided_steps[A: Record<D>, const P: usize, const D: usize](
        job: Steps,
        at: State,
        everywhere: *const u64,
    ) {
        let at = State { everywhere, ..at };
        // SAFETY: the caller guarantees the same.
        unsafe { divided_steps::<A, P, D>(&job, &at) };
    }
}
