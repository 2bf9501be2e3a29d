//! Divergence maps: [`Specification`] -> an [`Engine`] -> a [`DivergenceMap`].

#[macro_use]
mod value;

mod batches;
mod certificate;
mod colours;
mod comparison;
pub mod config;
mod cpu;
pub mod dataset;
mod device;
mod emulator;
mod kernel;
mod ladder;
mod map;
mod method;
mod orbit;
pub mod output;
mod parameter;
mod preset;
mod quantity;
mod resolution;
mod rungs;
mod spec;
mod step_check;
pub mod store;
mod tiles;
pub mod yardstick;

pub use certificate::{Certificate, Predicted};
pub use comparison::{Comparison, grain};
pub(crate) use config::json as specification_json;
pub use cpu::cpu_warning;
pub use device::DeviceEngine;
pub use emulator::EmulatorEngine;
pub use kernel::DivergenceKernel;
pub use ladder::{Climbed, Rung, climb};
pub use map::{DivergenceMap, run, run_on};
pub use method::{Precision, Start};
pub use orbit::{TwinOrbits, twin_orbits};
pub use parameter::Parameter;
pub use preset::Preset;
pub use quantity::{Quantity, Scale, Statistics};
pub use resolution::{Resolution, UNRESOLVED_LIMIT, beside, of as resolution_of};
pub use rungs::{AccuracyLadder, AccuracyRung, accuracy_ladder};
pub use spec::{
    Center, MAX_PIXELS, MAX_STEPS, MapAxis, OneOrThree, OneOrTwo, Overrides, Plane, Specification,
    Validated, differences, steps,
};
pub use step_check::{Again, Checks, StepCheck, step_check};
pub use trisolar_bodies::Points;
pub use trisolar_ensemble::{Engine, Executor, Sink};
pub use trisolar_run::{
    Backend, EngineError, GpuChoice, MapBackend, Monitor, RunOptions, Unattended, gpu_count,
    max_error, threads,
};
pub use trisolar_spec::Integrator;
pub use trisolar_spec::SpecError;
pub use value::{Value, ValueSlice, ValueType, ValueVec};

/// Computes maps on the CPU.
pub type CpuEngine = trisolar_ensemble::CpuEngine<Validated>;
/// Devices that stay open from one map to the next.
pub type Devices = trisolar_ensemble::Devices<Validated>;
/// Computes maps on several GPUs, with or without the CPU.
pub type MultiDeviceEngine = trisolar_ensemble::MultiDeviceEngine<Validated>;
/// Pixels to compute.
pub type Task<'a> = trisolar_ensemble::Task<'a, Validated>;
