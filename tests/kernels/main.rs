//! Tests of the PTX that is compiled from the kernels.
#![cfg(feature = "gpu")]

mod prebuilt;
mod ptx;
