//! What integrates: one trait, chosen at run time.

use kernels_gpu::integrator::{
    System, explicit_euler, forest_ruth, leapfrog, runge_kutta_4, symplectic_euler, velocity_verlet,
};

use super::{Bodies, Integrator, Validated};
use crate::divergence::{EngineError, Monitor};

/// What the numbers of [`Bodies`] cannot hold of bodies that are pairs of `f32`: the lower part of each pair, whose upper part is
/// found again by taking it off. A run that is interrupted needs it to go on to the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct LowerParts {
    /// Of the positions: n × 3.
    pub position: Vec<[f32; 3]>,
    /// Of the velocities: n × 3.
    pub velocity: Vec<[f32; 3]>,
}

/// Integrates bodies.
pub trait Engine {
    /// `cpu`, `gpu` or `emulator`.
    fn name(&self) -> &'static str;
    /// The device in words, for reports.
    fn device(&self) -> String;
    /// The first GPU that it computes on, if it does.
    #[cfg(feature = "gpu")]
    fn gpu(&self) -> Option<&crate::gpu::Gpu> {
        None
    }
    /// Takes up the bodies (of the problem's start, or of a later time) to be integrated as the problem says.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] or what failed.
    fn start<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        self.resume(problem, bodies, None)
    }

    /// The same of an interrupted run, which had these [`lower_parts`](Run::lower_parts).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    fn resume<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
        lower: Option<&LowerParts>,
    ) -> Result<Box<dyn Run + 'a>, EngineError>;
}

/// Bodies under way in an engine.
pub trait Run {
    /// Takes this many steps. Returns the number taken.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run (the bodies are then those after some step); otherwise
    /// what failed.
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError>;
    /// The bodies as they are now.
    ///
    /// # Errors
    /// What failed.
    fn bodies(&mut self) -> Result<Bodies, EngineError>;
    /// What the last [`bodies`](Self::bodies) could not hold of them, if there is such.
    fn lower_parts(&self) -> Option<LowerParts> {
        None
    }
}

/// What an integrator does before its first step.
pub(super) fn start<S: System>(integrator: Integrator, s: &mut S) -> Result<(), S::Error> {
    match integrator {
        Integrator::VelocityVerlet => velocity_verlet::start(s),
        _ => Ok(()),
    }
}

impl Integrator {
    /// One step of a system.
    pub(super) fn step<S: System>(self, s: &mut S, dt: f64) -> Result<(), S::Error> {
        match self {
            Self::ExplicitEuler => explicit_euler::step(s, dt),
            Self::SymplecticEuler => symplectic_euler::step(s, dt),
            Self::Leapfrog => leapfrog::step(s, dt),
            Self::VelocityVerlet => velocity_verlet::step(s, dt),
            Self::RungeKutta4 => runge_kutta_4::step(s, dt),
            Self::ForestRuth => forest_ruth::step(s, dt),
        }
    }
}
