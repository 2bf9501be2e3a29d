//! Trisolar's physics, written once, and the GPU kernels that run it.
//!
//! The same generic code is compiled three times: to PTX for a GPU, to SIMD lanes for the CPU engine, and as
//! plain CPU code under `cuda_std`'s emulator of the grid. In [`Real`] `f64` it uses only IEEE operations in a
//! fixed order, so that the three give the same bits.
//!
//! - [`number`]: the scalar, and every precision of it; [`vec3`]: vectors of it
//! - [`gravity`]: pair interactions
//! - [`integrator`]: one integrator a file
//! - [`hermite`]: forces with derivatives, predictor, corrector and steps of star clusters
//! - [`divergence`]: the twin-trajectory state machine of one pixel
//! - [`ladder`]: the divergence loop in the steps by which one makes it fast
//! - [`nbody`]: all-pairs gravity
//! - [`kernels`]: the entry points
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, asm_experimental_arch, core_float_math)
)]

pub mod clock;
pub mod divergence;
pub mod gravity;
mod grid_barrier;
pub mod hermite;
pub mod integrator;
pub mod kernels;
pub mod ladder;
pub mod nbody;
pub mod number;
pub mod vec3;

pub use number::{Mask, PerLane, Real};
pub use vec3::Vec3;
