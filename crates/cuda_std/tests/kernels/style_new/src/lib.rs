//! Kernels as one writes them for rust-cuda today: no `no_std`, no features, one file a kernel.

mod matrix;
mod saxpy;

pub use matrix::*;
pub use saxpy::*;
