//! Gravitational dynamics on CPUs and GPUs from one Rust source.
//!
//! A specification (plain data, validated once) goes to an engine (CPU or GPU, chosen at run time), which brings back
//! a result (plain arrays with the specification that made them); [`io`] turns results into files and pictures.
//!
//! - [`divergence`]: three-body divergence maps
//! - [`zoom`]: sequences of such maps
//! - [`nbody`]: all-pairs N-body
//! - [`hermite`]: star clusters by Hermite integration with block time steps
//! - [`accuracy`]: how far results are off, and when that is said
//! - [`encounters`]: complete three-body encounters by a regularised integrator
//! - [`bodies`]: bodies, start models, files and diagnostics
//! - [`spec`]: what all specifications have in common
//! - [`simd`]: the lanes of the CPU engines
//! - [`run`]: outputs, locks and checkpoints of any run
//! - [`time_run`]: what N-body runs and clusters have in common: series, snapshots, checks of steps
//! - [`gpu`][]: devices
#![cfg_attr(
    all(doc, not(doctest)),
    doc = "- [`guide`]: the pages of the documentation"
)]

#[doc(inline)]
pub use trisolar_systems::*;

#[cfg(all(doc, not(doctest)))]
trisolar_guide::guide!();
#[cfg(doctest)]
trisolar_guide::guide_code!();

/// The kernels, which the build script has made of `kernels-gpu`. A program has them without naming them; a static library for another
/// language, from which linkers take only what is referred to, must refer to them.
#[cfg(feature = "gpu")]
#[trisolar_systems::gpu::linkme::distributed_slice(trisolar_systems::gpu::MODULES)]
#[linkme(crate = trisolar_systems::gpu::linkme)]
pub static KERNELS: gpu::Module = gpu::Module {
    origin: env!("TRISOLAR_PTX_ORIGIN"),
    text: gpu::Text::Zlib(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.modules"))),
};
