//! Hermite integration: whole block steps, many in one launch.

use cuda_std::prelude::*;

use super::hermite_state::kernel_at_state;
use crate::device::hermite::Record;
use crate::device::hermite::problem::{State, Steps};
use crate::device::hermite::steps::steps;
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

kernel_at_state! {
    /// Takes block steps of order `P` with `D` = P / 2 forces, until a given time, for a number of blocks or pairs, or until a block that
    /// the host has to perform. With `MANY`, the devices of the job do so together, each with its share of the active bodies; a single device has
    /// instances of its own, which need fewer registers.
    ///
    /// # Parameters
    /// - `job`: the problem, by value
    /// - the others: the fields of [`State`]
    ///
    /// # Tiling
    /// Dynamic shared memory of [`shared_bytes`](crate::device::hermite::chains::shared_bytes), or of
    /// [`few_bytes`](crate::device::hermite::steps::few_bytes) if that is more
    ///
    /// # Thread mapping
    /// Places, active bodies, groups and parts are distributed cyclically over the threads and blocks of a one-dimensional grid. Blocks
    /// must be whole warps, with at least one thread for each partial sum. All blocks must be resident at the same time, which requires a
    /// cooperative launch. With `MANY`, the grids of all devices must run at the same time.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] describes; nothing else may use their memory during the launch. With `MANY`, each device must
    /// reach the memory of the others.
    #[kernel(instances(
        4: <Plain<f64>, 4, 2, false>,
        6: <Plain<f64>, 6, 3, false>,
        8: <Plain<f64>, 8, 4, false>,
        4_split_f32: <SplitF32<f32>, 4, 2, false>,
        6_split_f32: <SplitF32<f32>, 6, 3, false>,
        8_split_f32: <SplitF32<f32>, 8, 4, false>,
        together_4: <Plain<f64>, 4, 2, true>,
        together_6: <Plain<f64>, 6, 3, true>,
        together_8: <Plain<f64>, 8, 4, true>,
        together_4_split_f32: <SplitF32<f32>, 4, 2, true>,
        together_6_split_f32: <SplitF32<f32>, 6, 3, true>,
        together_8_split_f32: <SplitF32<f32>, 8, 4, true>,
    ))]
    pub unsafe fn hermite_steps[A: Record<D>, const P: usize, const D: usize, const MANY: bool](
        job: Steps,
        at: State,
        everywhere: *const u64,
    ) {
        let at = State { everywhere, ..at };
        // SAFETY: the caller guarantees the same.
        unsafe { steps::<A, P, D, MANY>(&job, &at) };
    }
}
