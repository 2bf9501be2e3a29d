//! Integrators: one a file, pure functions of a state. Those of many bodies work on a [`System`]; those of the three
//! bodies of a divergence map are in [`three_body`].

pub mod explicit_euler;
pub mod forest_ruth;
pub mod leapfrog;
pub mod runge_kutta_4;
pub mod symplectic_euler;
pub mod system;
pub mod three_body;
pub mod velocity_verlet;

pub use system::System;
