//! The kernels' entry points, one file a kernel; the plain version beside the tuned one.

mod divergence_ladder;
mod divergence_plain;
mod encounters;
mod hermite_force;
mod hermite_neighbours;
mod hermite_predict;
mod hermite_steps;
mod map;
mod nbody_combine;
mod nbody_move;
mod nbody_plain;
mod nbody_reduced;
mod nbody_steps;
mod nbody_tile;

pub use divergence_ladder::{
    STATE as LADDER_STATE, divergence_ladder_early_exit, divergence_ladder_fetch,
    divergence_ladder_memory, divergence_ladder_products, divergence_ladder_registers,
    divergence_ladder_single_root,
};
pub use divergence_plain::divergence_plain;
pub use encounters::encounters;
pub use hermite_force::{
    hermite_fold, hermite_lanes_4, hermite_lanes_4_split_f32, hermite_lanes_6,
    hermite_lanes_6_split_f32, hermite_lanes_8, hermite_lanes_8_split_f32, hermite_potential,
    hermite_tiles_4, hermite_tiles_4_split_f32, hermite_tiles_6, hermite_tiles_6_split_f32,
    hermite_tiles_8, hermite_tiles_8_split_f32,
};
pub use hermite_neighbours::hermite_neighbours;
pub use hermite_predict::{
    hermite_predict_4, hermite_predict_6, hermite_predict_8, hermite_scatter,
};
pub use hermite_steps::{
    hermite_steps_4, hermite_steps_4_split_f32, hermite_steps_6, hermite_steps_6_split_f32,
    hermite_steps_8, hermite_steps_8_split_f32,
};
pub use map::*;
pub use nbody_combine::{nbody_combine_f32, nbody_combine_f64, nbody_combine_ff};
pub use nbody_move::{
    nbody_drift_f32, nbody_drift_f64, nbody_drift_ff, nbody_kick_drift_f32, nbody_kick_drift_f64,
    nbody_kick_drift_ff, nbody_kick_f32, nbody_kick_f64, nbody_kick_ff, nbody_linear_f32,
    nbody_linear_f64, nbody_linear_ff,
};
pub use nbody_plain::{nbody_plain_f32, nbody_plain_f64, nbody_plain_ff};
pub use nbody_reduced::{
    nbody_atomic_f32, nbody_atomic_f64, nbody_equal_f32, nbody_equal_f64, nbody_gather_f32,
    nbody_gather_f64, nbody_gather_ff, nbody_reduced_f32, nbody_reduced_f64, nbody_reduced_ff,
};
pub use nbody_steps::{nbody_steps_f32, nbody_steps_f64, nbody_steps_ff};
pub use nbody_tile::{
    nbody_tile_f32_k1, nbody_tile_f32_k2, nbody_tile_f32_k4, nbody_tile_f32_k4_u1,
    nbody_tile_f32_k4_u16, nbody_tile_f32_k8, nbody_tile_f64_k1, nbody_tile_f64_k2,
    nbody_tile_f64_k4, nbody_tile_ff_k1, nbody_tile_ff_k2,
};
