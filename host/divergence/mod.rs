//! Divergence maps: [`Specification`] -> an [`Engine`] -> a [`DivergenceMap`].

mod comparison;
mod cpu;
mod emulator;
mod engine;
#[cfg(feature = "gpu")]
mod gpu;
mod kernel;
mod ladder;
mod method;
mod parameter;
mod resume;
mod spec;

pub use comparison::{Comparison, grain};
pub use cpu::CpuEngine;
pub use emulator::EmulatorEngine;
pub use engine::{
    Backend, Computed, DivergenceMap, Engine, EngineError, Monitor, RunOptions, Unattended, run,
};
#[cfg(feature = "gpu")]
pub use gpu::GpuEngine;
pub use kernel::DivergenceKernel;
pub use ladder::Rung;
#[cfg(feature = "gpu")]
pub use ladder::{Climbed, climb};
pub use method::{Integrator, Precision, Start};
pub use parameter::Parameter;
pub use resume::{Item, Resumed, can_resume, resume};
pub use spec::{
    Given, MAX_PIXELS, MAX_STEPS, OneOrThree, OneOrTwo, Plane, SpecError, Specification, Validated,
};
