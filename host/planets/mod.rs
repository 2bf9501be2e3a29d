//! Planetary systems: a star and planets, followed for a time by a Wisdom-Holman or an adaptive integrator, and whether they are stable.
//!
//! A [`Specification`] says how the starts of all systems come about: each number of the star and of the planets is fixed, drawn or an axis of
//! a map. Validated, an [`Engine`] follows every system until a limit ends it and brings back a [`Record`] for each, which [`files`] writes.
//! System i depends on the seed and i alone; all engines give the same bits.

mod angle;
mod corrector;
mod course;
mod device;
mod ensemble;
pub mod files;
mod number;
mod observable;
mod overrides;
mod preset;
mod spec;
mod step_check;
mod summary;

pub use angle::Angle;
pub use course::{Course, Place};
pub use device::DeviceEngine;
pub use ensemble::PlanetContents;
pub use kernels_gpu::planets::{Outcome, Record};
pub use number::{
    ELEMENTS, Number, NumberForms, PROPERTIES, PlanetText, Setting, YEAR, element_of_planet,
};
pub use observable::Observable;
pub use overrides::Overrides;
pub use preset::Preset;
pub use spec::{Elements, Form, Integrator, Relativity, Specification, Step, Stop, Validated};
pub use step_check::{CHECKED, StepCheck, step_check, with_half_the_step};
pub use summary::Summary;
pub use trisolar_ensemble::{Engine, Executor};

/// Follows systems on the CPU.
pub type CpuEngine = trisolar_ensemble::CpuEngine<Validated>;
/// Devices that stay open from one ensemble to the next.
pub type Devices = trisolar_ensemble::Devices<Validated>;
/// Systems to follow.
pub type Task<'a> = trisolar_ensemble::Task<'a, Validated>;
