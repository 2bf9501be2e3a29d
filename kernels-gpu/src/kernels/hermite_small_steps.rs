//! Hermite integration: whole block steps of small systems, many in one launch.

use cuda_std::prelude::*;

use super::hermite_state::kernel_at_state;
use crate::device::hermite::Record;
use crate::device::hermite::problem::{State, Steps};
use crate::device::hermite::small_steps::small_steps;
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

kernel_at_state! {
    /// Takes block steps of order `P` with `D` = P / 2 forces, as [`hermite_steps`](super::hermite_steps) does, of a system whose stars fit into the
    /// shared memory of a thread block.
    ///
    /// # Parameters
    /// - `job`: the problem, by value
    /// - the others: the fields of [`State`]; `predicted`, `active`, `forces`, `partial` and `everywhere` are not used
    ///
    /// # Tiling
    /// Dynamic shared memory of [`shared_bytes`](crate::device::hermite::small_steps::shared_bytes)
    ///
    /// # Thread mapping
    /// Each block has all stars; active bodies are distributed cyclically over the blocks of a one-dimensional grid. Blocks must have as many
    /// threads as [`threads`](crate::device::hermite::small_steps::threads) says. All blocks must be resident at the same time, which requires a
    /// cooperative launch.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] describes, `moved` as for several devices; nothing else may use their memory during the launch. The
    /// job must have one device and one iteration, and no block that has begun.
    #[kernel(instances(
        4: <Plain<f64>, 4, 2>,
        6: <Plain<f64>, 6, 3>,
        8: <Plain<f64>, 8, 4>,
        4_split_f32: <SplitF32<f32>, 4, 2>,
        6_split_f32: <SplitF32<f32>, 6, 3>,
        8_split_f32: <SplitF32<f32>, 8, 4>,
    ))]
    pub unsafe fn hermite_small_steps[A: Record<D>, const P: usize, const D: usize](
        job: Steps,
        at: State,
        everywhere: *const u64,
    ) {
        let at = State { everywhere, ..at };
        // SAFETY: the caller guarantees the same.
        unsafe { small_steps::<A, P, D>(&job, &at) };
    }
}
