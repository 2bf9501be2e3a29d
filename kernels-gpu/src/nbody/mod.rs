//! All-pairs gravity: the pair, the order in which pairs are summed, and the parts that kernels are made of.
//!
//! - [`order`]: the order of summation, which decides the bits of a result
//! - [`pull`]: one pair, of one number or of lanes side by side
//! - [`scalar`]: numbers that threads exchange, and bodies made of them
//! - [`tile`]: `basic`, tiles of bodies in shared memory
//! - [`steps`]: many steps of few bodies in one launch
//! - [`sweep`]: `reduced`, each pair once, bodies that travel through a warp

pub mod order;
pub mod pull;
pub mod scalar;
pub mod steps;
pub mod sweep;
pub mod tile;

pub use scalar::{AtomicSum, Body, DeviceNumber};
