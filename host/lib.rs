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
//! - [`gpu`][]: devices

pub mod accuracy;
pub mod config;
pub mod divergence;
pub mod encounters;
pub mod hermite;
pub mod nbody;
pub mod output;
pub mod store;
pub mod zoom;

pub use trisolar_bodies as bodies;
pub use trisolar_device as gpu;
pub use trisolar_io as io;
pub use trisolar_run as run;
pub use trisolar_run::machine;
#[cfg(feature = "mpi")]
pub use trisolar_run::mpi;
pub use trisolar_simd as simd;
pub use trisolar_spec as spec;
pub use trisolar_spec::Integrator;

/// The kernels, which the build script has made of `kernels-gpu`.
#[cfg(feature = "gpu")]
#[trisolar_device::linkme::distributed_slice(trisolar_device::MODULES)]
#[linkme(crate = trisolar_device::linkme)]
static KERNELS: gpu::Module = gpu::Module {
    origin: env!("TRISOLAR_PTX_ORIGIN"),
    ptx: include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
};
