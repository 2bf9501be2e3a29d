//! Integrators: one a file, pure functions of a state.

pub mod euler;
