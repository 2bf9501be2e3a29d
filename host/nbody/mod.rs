//! All-pairs N-body: [`Specification`] -> [`Validated`] start -> an [`Engine`] -> [`Bodies`] and their [`Diagnostics`].

mod cpu;
mod device;
mod engine;
pub mod files;
mod kernel;
mod method;
mod overrides;
mod recorded;
mod run;
mod scaled;
mod selection;
mod spec;
mod step_check;
mod unit_system;
mod units;

pub use cpu::CpuEngine;
pub use device::DeviceEngine;
pub use engine::{Engine, LowerParts, Run};
pub use kernel::{LaunchPlan, NbodyKernel};
pub use method::{Method, Methods};
pub use overrides::{ModelName, Overrides, OverridesError, steps};
pub use recorded::{
    BitOptions, EnergyErrors, NbodyRun, PreparedNbody, RunOptionsOfCheckpoint, Watch,
};
pub use run::{NotFinite, RunError, Snapshot, integrate};
pub use selection::{MIN_BODIES_FOR_THREADS, Options, engine, engine_on_ranks};
pub use spec::{
    EnergyLooks, MAX_STEPS, Partials, Precision, Schedule, Solver, SpecError, Specification,
    Validated,
};
pub use step_check::StepCheck;
pub use trisolar_bodies::{
    Bodies, Diagnostics, Energies, LAGRANGE_FRACTIONS, MAX_BODIES, Model, ModelError,
};
pub use trisolar_run::Ranks;
pub use trisolar_spec::Integrator;
pub use unit_system::UnitSystem;
