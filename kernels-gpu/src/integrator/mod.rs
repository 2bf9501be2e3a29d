//! Integrators: one a file, pure functions of a state.

pub mod euler;
pub mod explicit_euler;
pub mod forest_ruth;
pub mod leapfrog;
pub mod runge_kutta_4;
pub mod symplectic_euler;
pub mod system;
pub mod velocity_verlet;

pub use system::System;
