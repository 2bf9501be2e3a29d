//! Trisolar's physics, written once, and the GPU kernels that run it.
//!
//! The same generic code is compiled three times: to PTX for a GPU, to SIMD lanes for the CPU engines, and to ordinary CPU code under
//! `cuda_std`'s emulator of the grid. With `f64` as [`Real`], it uses only IEEE operations in a fixed order, so that all three give
//! the same bits.
//!
//! Each module uses only those listed before it:
//!
//! - [`number`]: the scalar type, and every precision of it
//! - [`physics`]: gravity of pairs and of three bodies, derivatives, orders of summation
//! - [`integrator`]: integrators, one in each file
//! - [`map`]: maps as plain data
//! - [`quantity`]: the quantities that maps compute for each pixel, one in each file
//! - [`lanes`]: pixels in progress side by side
//! - [`mod@methods`]: the compiled combinations of quantity, precision and integrator
//! - [`encounters`]: complete three-body encounters with a regularised integrator
//! - [`planets`]: planetary systems with a Wisdom-Holman integrator and a tangent vector
//! - [`device`]: the building blocks of kernels: fetching threads, tiles, sweeps through a warp, barriers for a grid
//! - [`kernels`]: the entry points
//! - [`ladder`]: the divergence loop in the steps that made it fast; a reference with its own formulas
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, asm_experimental_arch, core_float_math)
)]

#[cfg(feature = "kernels")]
pub mod device;
#[cfg(feature = "kernels")]
pub mod encounters;
#[cfg(feature = "kernels")]
pub mod integrator;
#[cfg(feature = "kernels")]
pub mod kernels;
#[cfg(feature = "kernels")]
pub mod ladder;
#[cfg(feature = "kernels")]
pub mod lanes;
pub mod map;
#[cfg(feature = "kernels")]
pub mod methods;
pub mod number;
pub mod physics;
#[cfg(feature = "kernels")]
mod plain;
#[cfg(feature = "kernels")]
pub mod planets;
#[cfg(feature = "kernels")]
pub mod quantity;

pub use number::{Mask, PerLane, Real};
pub use physics::hermite;
pub use physics::vec3::Vec3;
