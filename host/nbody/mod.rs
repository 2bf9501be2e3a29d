//! All-pairs N-body: [`Specification`] -> [`Validated`] start -> an [`Engine`] -> [`Bodies`] and their [`Diagnostics`].

mod bodies;
mod choose;
mod cpu;
mod device;
mod diagnostics;
mod engine;
pub mod files;
mod given;
mod kernel;
mod models;
mod run;
mod spec;

pub use crate::Integrator;
pub use crate::run::Ranks;
pub use bodies::Bodies;
pub use choose::{FEW, Options, engine, engine_on_ranks};
pub use cpu::CpuEngine;
pub use device::DeviceEngine;
pub use diagnostics::{Diagnostics, LAGRANGE_FRACTIONS, relative_change, relative_error};
pub use engine::{Engine, LowerParts, Run};
pub use given::{Given, GivenError, ModelName};
pub use kernel::{NbodyKernel, Plan};
pub use models::Model;
pub use run::{NotFinite, Pause, RunError, Snapshot, integrate, integrate_with_pauses};
pub use spec::{
    EnergyLooks, MAX_BODIES, MAX_STEPS, Partials, Precision, Schedule, Solver, SpecError,
    Specification, Validated,
};
