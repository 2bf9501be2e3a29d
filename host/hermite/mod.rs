//! Star clusters by Hermite integration with individual block time steps: [`Specification`] and [`Star`]s -> an
//! [`Engine`] -> a [`Cluster`] that is advanced block by block.
//!
//! Units: G = 1.

mod aosoa;
mod cluster;
mod cpu;
mod cpu_force;
mod cpu_single;
mod device;
mod engine;
pub mod files;
mod followed;
mod line;
mod overrides;
mod pair;
mod parts;
mod ranks;
mod recorded;
mod schedule;
mod selection;
mod spec;
mod step_check;

pub use cluster::{Abrupt, BlockStep, BlockSteps, Cluster, Counters};
pub use cpu::CpuEngine;
pub use device::{emulator, on_devices, resident_emulator};
pub use engine::{
    BlockStepOutcome, BlockStepRequest, Ended, Engine, Forces, HermiteError, HostParticles, Lists,
    Motion, Split, SubsetSums, SumSubset,
};
pub use line::Line;
pub use overrides::{
    CloseEncounters, Overrides, OverridesError, Scheme, StartModel, Times, order, particles,
};
pub use pair::Pair;
pub use parts::Parts;
pub use recorded::{CheckOptions, ClusterRun, InitialState, PreparedCluster};
pub use schedule::Schedule;
pub use selection::{OpenDevices, Options};
pub use spec::{AhmadCohen, ClosePairs, Order, Precision, SpecError, Specification, Validated};
pub use step_check::StepCheck;

pub use trisolar_bodies::{Energies, SHAPE_FRACTIONS, Shape};

use kernels_gpu::Vec3;
use kernels_gpu::hermite::{TERMS, Taylor};
use trisolar_bodies::{Bodies, DVec3};

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

impl Star {
    /// A particle at time 0 whose forces and step are not known yet.
    pub fn new(mass: f64, position: DVec3, velocity: DVec3) -> Self {
        let mut taylor = [Vec3::zero(); TERMS];
        for (term, DVec3 { x, y, z }) in taylor.iter_mut().zip([position, velocity]) {
            *term = Vec3 { x, y, z };
        }
        Self {
            mass,
            time: 0.0,
            step: 0.0,
            taylor,
        }
    }

    /// Particles at time 0 with the masses, positions and velocities of these bodies.
    pub fn of(bodies: &Bodies) -> Vec<Self> {
        (0..bodies.len())
            .map(|i| Self::new(bodies.mass[i], bodies.position[i], bodies.velocity[i]))
            .collect()
    }

    /// Turns its velocity round.
    fn reverse(&mut self) {
        let Vec3 { x, y, z } = self.taylor[1];
        self.taylor[1] = Vec3 {
            x: -x,
            y: -y,
            z: -z,
        };
    }

    /// Position at its time (length).
    pub fn position(&self) -> DVec3 {
        dvec3(self.taylor[0])
    }

    /// Velocity at its time (length / time).
    pub fn velocity(&self) -> DVec3 {
        dvec3(self.taylor[1])
    }

    /// Acceleration at its time (length / time²).
    pub fn acceleration(&self) -> DVec3 {
        dvec3(self.taylor[2])
    }
}

/// The binaries of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Binaries {
    /// Their number.
    pub number: usize,
    /// Semi-major axis (length) and eccentricity of the most strongly bound one.
    pub hardest: Option<(f64, f64)>,
}

fn dvec3(Vec3 { x, y, z }: Vec3<f64>) -> DVec3 {
    DVec3 { x, y, z }
}

/// Particles at one time as bodies.
pub fn bodies_of(stars: &[Star]) -> Bodies {
    Bodies {
        mass: stars.iter().map(|s| s.mass).collect(),
        position: stars.iter().map(Star::position).collect(),
        velocity: stars.iter().map(Star::velocity).collect(),
    }
}
