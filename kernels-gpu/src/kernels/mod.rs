//! The entry points of the kernels, each in a file of its own, in plain and tuned versions.

mod divergence_ladder;
mod divergence_plain;
mod encounters;
mod hermite_divided_steps;
mod hermite_force;
mod hermite_neighbour_steps;
mod hermite_neighbours;
mod hermite_predict;
mod hermite_small_steps;
mod hermite_state;
mod hermite_steps;
mod map;
mod nbody_combine;
mod nbody_move;
mod nbody_plain;
mod nbody_reduced;
mod nbody_steps;
mod nbody_tile;

pub use divergence_ladder::*;
pub use divergence_plain::*;
pub use encounters::*;
pub use hermite_divided_steps::*;
pub use hermite_force::*;
pub use hermite_neighbour_steps::*;
pub use hermite_neighbours::*;
pub use hermite_predict::*;
pub use hermite_small_steps::*;
pub use hermite_steps::*;
pub use map::*;
pub use nbody_combine::*;
pub use nbody_move::*;
pub use nbody_plain::*;
pub use nbody_reduced::*;
pub use nbody_steps::*;
pub use nbody_tile::*;
