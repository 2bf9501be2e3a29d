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
//! - [`simd`]: the lanes of the CPU engines
//! - [`run`]: outputs, locks and checkpoints of any run
//! - [`gpu`][]: devices
//! - [`workers`]: the CPU threads of a run

pub mod accuracy;
pub mod config;
pub mod divergence;
pub mod encounters;
pub mod gpu;
pub mod hermite;
mod integrator;
pub mod io;
pub mod machine;
mod memory;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod nbody;
mod near;
pub mod output;
pub mod run;
pub mod simd;
pub mod store;
pub mod workers;
pub mod zoom;

pub use integrator::Integrator;
