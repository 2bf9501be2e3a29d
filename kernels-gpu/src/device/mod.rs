//! The parts of kernels that use threads, blocks and grids.
//!
//! - [`fetch`]: maps: threads that fetch the next pixel when theirs is done
//! - [`encounters`]: three-body encounters: threads that fetch the next run when one of theirs has ended
//! - [`number`]: numbers that threads exchange, and bodies made of them
//! - [`tile`]: N-body, `basic`: tiles of bodies in shared memory
//! - [`linear`]: N-body: linear combinations of vectors of bodies
//! - [`sweep`]: N-body, `reduced`: each pair is evaluated once, and bodies travel through a warp
//! - [`steps`]: N-body: many steps of few bodies in one launch
//! - [`hermite`]: star clusters: forces with derivatives, and whole block steps

mod clock;
pub mod encounters;
pub mod fetch;
pub mod hermite;
pub mod linear;
pub mod number;
pub mod steps;
pub mod sweep;
pub mod tile;

pub(crate) use clock::timer_ns;
pub use number::{AtomicSum, Body, DeviceNumber};
