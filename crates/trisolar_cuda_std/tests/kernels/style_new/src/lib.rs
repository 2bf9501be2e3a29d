//! Kernels in the current style of rust-cuda: no `no_std`, no features, one file for each kernel.

mod matrix;
mod saxpy;

pub use matrix::*;
pub use saxpy::*;
