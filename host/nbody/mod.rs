//! All-pairs N-body: [`Specification`] -> [`Validated`] start -> an [`Engine`] -> [`Bodies`] and their [`Diagnostics`].

mod bodies;
mod choose;
mod cpu;
mod diagnostics;
mod emulator;
mod engine;
pub mod files;
mod given;
#[cfg(feature = "gpu")]
mod gpu;
mod kernel;
mod models;
mod run;
mod spec;

pub use crate::Integrator;
pub use crate::run::Ranks;
pub use bodies::Bodies;
pub use choose::{FEW, Options, engine, engine_on_ranks};
pub use cpu::CpuEngine;
pub use diagnostics::{Diagnostics, LAGRANGE_FRACTIONS, relative_change, relative_error};
pub use emulator::EmulatorEngine;
pub use engine::{Engine, LowerParts, Run};
pub use given::{Given, GivenError, ModelName};
#[cfg(feature = "gpu")]
pub use gpu::GpuEngine;
pub use kernel::{NbodyKernel, Plan};
pub use models::Model;
pub use run::{NotFinite, Pause, RunError, Snapshot, integrate, integrate_with_pauses};
pub use spec::{
    EnergyLooks, MAX_BODIES, MAX_STEPS, Partials, Precision, Schedule, Solver, SpecError,
    Specification, Validated,
};
