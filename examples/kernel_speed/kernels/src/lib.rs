//! Kernels whose rates are known: how they use shared memory, asynchronous copies, matrix instructions and warps is what makes them fast.

mod check;
mod copy;
mod functions;
mod product;
mod scan;
mod sum;
mod tiled;

pub use check::*;
pub use copy::*;
pub use functions::*;
pub use product::*;
pub use scan::*;
pub use sum::*;
pub use tiled::*;

/// Four numbers that one instruction loads or stores.
pub type Four = cuda_std::shared::U4;
