//! The crate `trisolar-cuda-std` under the name of rust-cuda's crate.
#![no_std]

extern crate cuda_std as kit;

pub use kit::*;
