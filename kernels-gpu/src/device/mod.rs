//! What kernels are made of: the parts of them that know of threads, blocks and grids.
//!
//! - [`number`]: numbers that threads exchange, and bodies made of them
//! - [`tile`]: N-body, `basic`: tiles of bodies in shared memory
//! - [`sweep`]: N-body, `reduced`: each pair once, bodies that travel through a warp
//! - [`steps`]: N-body: many steps of few bodies in one launch
//! - [`hermite`]: forces with derivatives and whole block steps of star clusters

mod clock;
mod grid_barrier;
pub mod hermite;
pub mod number;
pub mod steps;
pub mod sweep;
pub mod tile;

pub(crate) use clock::timer_ns;
pub use number::{AtomicSum, Body, DeviceNumber};
