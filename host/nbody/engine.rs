//! The engines that integrate: one trait, selected at run time.

use std::sync::Arc;

use kernels_gpu::integrator::{System, SystemIntegrator as _};

use super::{Bodies, Method, Specification, Validated};
use trisolar_device::Device;
use trisolar_run::{EngineError, Monitor};
use trisolar_spec::Integrator;

/// The lower parts of coordinates that are pairs of `f32` and do not fit into the `f64` of [`Bodies`]. Subtracting the lower part
/// from the `f64` gives the upper part. An interrupted run needs them to continue with the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct LowerParts {
    /// Lower parts of the positions: n × 3.
    pub position: Vec<[f32; 3]>,
    /// Lower parts of the velocities: n × 3.
    pub velocity: Vec<[f32; 3]>,
}

/// Integrates bodies.
pub trait Engine {
    /// `cpu`, `gpu` or `emulator`.
    fn name(&self) -> &'static str;
    /// The device in words, for reports.
    fn device(&self) -> String;
    /// The first GPU that it computes on, if it does.
    fn gpu(&self) -> Option<&Arc<dyn Device>> {
        None
    }
    /// Begins a run with these bodies (those of the problem's start or of a later time), integrated as the problem specifies.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] or another failure.
    fn start<'a>(
        &'a self,
        problem: &Validated,
        bodies: &Bodies,
    ) -> Result<Box<dyn Run + 'a>, EngineError> {
        self.resume(problem, bodies, None)
    }

    /// As [`start`](Self::start), for an interrupted run that had these [`lower_parts`](Run::lower_parts).
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

/// A run in an engine.
pub trait Run {
    /// Takes this many steps. Returns the number taken.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] if the monitor ended the run (the bodies are then those after some step); otherwise
    /// what failed.
    fn advance(&mut self, steps: u64, monitor: &dyn Monitor) -> Result<u64, EngineError>;
    /// The current state of the bodies.
    ///
    /// # Errors
    /// What failed.
    fn bodies(&mut self) -> Result<Bodies, EngineError>;
    /// The steps of their own length that were taken and those that were tried, by [`Method::Adaptive`].
    fn own_steps(&self) -> Option<[u64; 2]> {
        None
    }
    /// The lower parts that the last [`bodies`](Self::bodies) could not hold, if there are any.
    fn lower_parts(&self) -> Option<LowerParts> {
        None
    }
}

/// Evaluates an expression for the type of an integrator.
macro_rules! by_integrator {
    ([$integrator:expr, |$type:ident| $what:expr] $($name:ident $entry:ident $bodies:ident,)*) => {
        match $integrator {
            $(Integrator::$name => by_integrator!(@$bodies $name $type $what),)*
        }
    };
    (@any $name:ident $type:ident $what:expr) => {{
        type $type = kernels_gpu::integrator::$name;
        $what
    }};
    (@$other:ident $name:ident $type:ident $what:expr) => {
        unreachable!("a validated problem has an integrator of any number of bodies")
    };
}

/// An integrator with its progress in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integration {
    integrator: Integrator,
    dt: f64,
    /// Number of starting steps that remain.
    starts: u32,
}

impl Integration {
    /// Of a run by steps of one length.
    ///
    /// # Errors
    /// [`EngineError::Refused`] for steps of their own.
    pub fn new(specification: &Specification) -> Result<Self, EngineError> {
        let Method::Fixed(integrator) = specification.integrator else {
            let reason = "is integrated by CPUs; leave out --backend gpu and the numbers of GPUs";
            return Err(EngineError::refused("integrator", Method::Adaptive, reason));
        };
        Ok(Self {
            integrator,
            dt: specification.dt,
            starts: kernels_gpu::integrators!({by_integrator} [integrator, |I| I::STARTS]),
        })
    }

    /// Pairs of vectors that the integrator saves.
    pub fn saved_pairs(self) -> usize {
        kernels_gpu::integrators!({by_integrator} [self.integrator, |I| I::SAVED])
    }

    /// Prepares the system before the first step.
    pub fn prepare<S: System>(self, s: &mut S) -> Result<(), S::Error> {
        kernels_gpu::integrators!({by_integrator} [self.integrator, |I| I::prepare(s)])
    }

    /// Takes the next step.
    pub fn step<S: System>(&mut self, s: &mut S) -> Result<(), S::Error> {
        let (integrator, dt) = (self.integrator, self.dt);
        if self.is_uniform() {
            return kernels_gpu::integrators!({by_integrator} [integrator, |I| I::step(s, dt)]);
        }
        self.starts -= 1;
        kernels_gpu::integrators!({by_integrator} [integrator, |I| I::start(s, dt)])
    }

    /// Whether all remaining steps consist of the same operations.
    pub fn is_uniform(self) -> bool {
        self.starts == 0
    }
}
