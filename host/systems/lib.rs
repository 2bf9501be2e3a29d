//! Gravitational dynamics on CPUs and GPUs from one Rust source.
//!
//! A specification (plain data, validated once) goes to an engine (CPU or GPU, chosen at run time), which returns
//! a result (plain arrays with the specification that made them); [`io`] turns results into files and pictures.
//!
//! - [`divergence`]: three-body divergence maps
//! - [`zoom`]: sequences of such maps
//! - [`nbody`]: all-pairs N-body
//! - [`hermite`]: star clusters by Hermite integration with block time steps
//! - [`accuracy`]: errors of results, and the limits above which they are reported
//! - [`encounters`]: complete three-body encounters by a regularised integrator
//! - [`planets`]: planetary systems by a Wisdom-Holman integrator, with indicators of chaos
//! - [`atlas`]: analyses of maps of outcomes
//! - [`equation_text`]: equations as text, and [`system`]: ensembles of own equations in any form
//! - [`own_program`]: the files of a program for equations in Rust
//! - [`ensemble`]: what maps, encounters and planetary systems have in common
//! - [`bodies`]: bodies, start models, files and diagnostics
//! - [`spec`]: what all specifications have in common
//! - [`simd`]: the lanes of the CPU engines
//! - `mpi` (only with the feature `mpi`): the processes that `mpirun` started
//! - [`run`]: outputs, locks and checkpoints of any run
//! - [`time_run`]: what N-body runs and clusters have in common: series, snapshots, checks of steps
//! - [`gpu`][]: devices
//! - [`workers`]: the CPU threads of a run

pub mod accuracy;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod own_program;

pub use trisolar_atlas as atlas;
pub use trisolar_bodies as bodies;
pub use trisolar_cluster as hermite;
pub use trisolar_device as gpu;
pub use trisolar_encounters as encounters;
pub use trisolar_ensemble as ensemble;
pub use trisolar_equation_text as equation_text;
pub use trisolar_io as io;
pub use trisolar_map as divergence;
pub use trisolar_map::{config, output, store};
pub use trisolar_nbody as nbody;
pub use trisolar_planets as planets;
pub use trisolar_run as run;
pub use trisolar_run::{machine, workers};
pub use trisolar_simd as simd;
pub use trisolar_spec as spec;
pub use trisolar_spec::Integrator;
pub use trisolar_system as system;
pub use trisolar_time_run as time_run;
pub use trisolar_zoom as zoom;
