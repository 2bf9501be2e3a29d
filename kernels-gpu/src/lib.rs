//! Trisolar's physics, written once, and the GPU kernels that run it.
//!
//! The same generic code is compiled three times: to PTX for a GPU, to SIMD lanes for the CPU engine, and as
//! plain CPU code under `cuda_std`'s emulator of the grid. In [`Real`] `f64` it uses only IEEE operations in a
//! fixed order, so that the three give the same bits.
//!
//! Each layer knows only those before it:
//!
//! - [`number`]: the scalar, and every precision of it
//! - [`physics`]: gravity of pairs and of three bodies, derivatives, orders of summation
//! - [`integrator`]: one integrator a file
//! - [`map`]: maps as plain data
//! - [`quantity`]: what is computed of a pixel, one quantity a file
//! - [`lanes`]: pixels under way side by side
//! - [`mod@methods`]: which quantity, precision and integrator are compiled together
//! - [`encounters`]: complete three-body encounters by a regularised integrator
//! - [`device`]: what kernels are made of: fetching threads, tiles, sweeps through a warp, barriers for a grid
//! - [`kernels`]: the entry points
//! - [`ladder`]: the divergence loop in the steps by which one makes it fast, a yardstick with formulae of its own
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, asm_experimental_arch, core_float_math)
)]

pub mod device;
pub mod encounters;
pub mod integrator;
pub mod kernels;
pub mod ladder;
pub mod lanes;
pub mod map;
pub mod methods;
pub mod number;
pub mod physics;
mod plain;
pub mod quantity;

pub use number::{Mask, PerLane, Real};
pub use physics::hermite;
pub use physics::vec3::Vec3;
