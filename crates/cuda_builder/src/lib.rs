//! The crate `trisolar-cuda-builder` under the name of rust-cuda's crate.

extern crate cuda_builder as kit;

pub use kit::*;
