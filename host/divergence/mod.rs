//! Divergence maps: [`Specification`] -> an [`Engine`] -> a [`DivergenceMap`].

mod single_driver;
#[macro_use]
mod value;

mod batches;
mod comparison;
pub mod config;
mod cpu;
pub mod dataset;
mod device;
mod devices;
mod emulator;
mod engine;
mod executor;
mod kernel;
mod ladder;
mod method;
mod multi_device;
mod orbit;
pub mod output;
mod parameter;
mod preset;
mod quantity;
mod queue;
mod ranks;
mod resolution;
mod run;
mod scheduler;
mod select;
mod sink;
mod spec;
mod static_split;
mod step_check;
pub mod store;
mod tiles;
pub mod yardstick;

pub use comparison::{Comparison, grain};
pub(crate) use config::json as specification_json;
pub use cpu::{CpuEngine, cpu_warning};
pub use device::DeviceEngine;
pub use devices::Devices;
pub use emulator::EmulatorEngine;
pub use engine::{Computed, DivergenceMap, Engine, Portion, Ran, Streamed, Task};
pub use executor::{Executor, run_on, values_on};
pub use kernel::DivergenceKernel;
pub use ladder::{Climbed, Rung, climb};
pub use method::{Precision, Start};
pub use multi_device::MultiDeviceEngine;
pub use orbit::{TwinOrbits, twin_orbits};
pub use parameter::Parameter;
pub use preset::Preset;
pub use quantity::{Quantity, Scale, Statistics};
pub use ranks::{Leader, Local, lead, serve, share, shutdown};
pub use resolution::{Resolution, UNRESOLVED_LIMIT, beside, of as resolution_of};
pub use run::{run, stream};
pub use sink::Sink;
pub use spec::{
    MAX_PIXELS, MAX_STEPS, OneOrThree, OneOrTwo, Overrides, Plane, Specification, Validated,
    differences, steps,
};
pub use step_check::{StepCheck, step_check};
pub use trisolar_bodies::Points;
pub use trisolar_run::{
    Backend, Driver, EngineError, GpuChoice, MapBackend, Monitor, RunOptions, Unattended,
    gpu_count, max_error, threads,
};
pub use trisolar_spec::Integrator;
pub use trisolar_spec::SpecError;
pub use value::{Value, ValueSlice, ValueType, ValueVec};
