//! Star clusters by Hermite integration with individual block time steps: [`Specification`] and [`Star`]s -> an
//! [`Engine`] -> a [`Cluster`] that is advanced block by block.
//!
//! Units: G = 1.

mod analysis;
mod aosoa;
mod cluster;
mod cpu;
mod cpu_force;
mod cpu_single;
mod device;
mod engine;
pub mod files;
pub mod models;
mod overrides;
mod run;
mod schedule;
mod selection;
mod spec;

pub use analysis::{LAGRANGE_FRACTIONS, Shape};
pub use cluster::{Abrupt, BlockStep, BlockSteps, Cluster, Counters, Energy, Parts};
pub use cpu::CpuEngine;
pub use device::{emulator, on_devices, resident_emulator};
pub use engine::{
    BlockStepOutcome, BlockStepRequest, Ended, Engine, Forces, HermiteError, Lists, Motion, Split,
};
pub use overrides::{Overrides, OverridesError, Scheme, StartModel, Times, order, particles};
pub use run::{RunError, Snapshot, integrate};
pub use schedule::Schedule;
pub use selection::{OpenDevices, Options};
pub use spec::{AhmadCohen, Body, Order, Precision, SpecError, Specification, Validated};

use kernels_gpu::hermite::Taylor;

/// A particle at the time of its last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Star {
    /// G·m.
    pub mass: f64,
    /// Time of its last step.
    pub time: f64,
    /// Length of its next step, a power of two.
    pub step: f64,
    /// Position and derivatives at `time`.
    pub taylor: Taylor<f64>,
}
