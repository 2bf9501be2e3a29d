//! Hermite integration: whole block steps of the Ahmad–Cohen scheme.

use cuda_std::prelude::*;

use super::hermite_state::kernel_at_state;
use crate::device::hermite::Record;
use crate::device::hermite::neighbour_steps::{NeighbourState, NeighbourSteps, neighbour_steps};
#[cfg(doc)]
use crate::device::hermite::problem::State;
use crate::physics::hermite::arithmetic::{Plain, SplitF32};

kernel_at_state! {
    /// Takes block steps of the Ahmad–Cohen scheme of order 4, until a given time, for a number of blocks or pairs, or until a block that the
    /// host has to perform. Only forces of all bodies are computed in the precision `A`. A thread handles `BODIES` of the bodies whose
    /// regular steps end, which must equal [`Record::BODIES`].
    ///
    /// # Parameters
    /// - `job`: the problem, by value
    /// - the others: the fields of [`State`] and of [`NeighbourState`]
    ///
    /// # Tiling
    /// For the forces of all bodies, the same as for `hermite_tiles`
    ///
    /// # Thread mapping
    /// Bodies, groups and parts are distributed cyclically over the threads, warps and blocks of a one-dimensional grid; a warp sums the
    /// force of a body's neighbours. Blocks must be whole warps. All blocks must be resident at the same time, which requires a cooperative
    /// launch.
    ///
    /// # Safety
    /// The pointers must be valid as [`State`] and [`NeighbourState`] describe; nothing else may use their memory during the launch.
    #[kernel(instances(
        4: <Plain<f64>, 2>,
        4_split_f32: <SplitF32<f32>, 4>,
    ))]
    pub unsafe fn hermite_neighbour_steps[A: Record<2>, const BODIES: usize](
        job: NeighbourSteps,
        at: State,
        next: *mut f64,
        parts: *mut f64,
        radii: *mut f64,
        lists: *mut u32,
        lengths: *mut u32,
        due: *mut u32,
        marks: *mut u32,
        regular_levels: *const core::sync::atomic::AtomicU32,
    ) {
        let split = NeighbourState {
            next,
            parts,
            radii,
            lists,
            lengths,
            due,
            marks,
            levels: regular_levels,
        };
        // SAFETY: the caller guarantees the same.
        unsafe { neighbour_steps::<A, BODIES>(&job, &at, &split) };
    }
}
