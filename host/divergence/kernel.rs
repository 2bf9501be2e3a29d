//! The kernels that compute maps, by name.

use kernels_gpu::divergence::Walker;
use kernels_gpu::integrator::three_body as by;
use kernels_gpu::number::{Fast, Fixed, FloatFloat, Mixed};

use super::engine::EngineError;
use super::{Integrator, Precision, Specification};

/// Which kernel computes a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread a pixel.
    Plain,
    /// Threads that fetch the next pixel when theirs is done.
    #[default]
    Fetch,
}

impl DivergenceKernel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Fetch];

    /// The entry point's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "divergence_plain",
            Self::Fetch => "divergence_fetch",
        }
    }

    /// The entry point for a map's precision and integrator, and the bytes that each of its threads keeps between launches.
    pub(super) fn entry(
        self,
        spec: &Specification,
        device: &dyn Fn() -> String,
    ) -> Result<(&'static str, usize), EngineError> {
        if self == Self::Plain {
            let known = (Precision::Exact, Integrator::ExplicitEuler);
            if (spec.precision, spec.integrator) == known {
                return Ok((self.name(), 0));
            }
            return Err(EngineError::Gpu {
                device: device(),
                call: self.name(),
                reason: "it computes exact maps by explicit Euler only".into(),
            });
        }
        macro_rules! kept {
            ($number:ty, $integrator:ty) => {
                size_of::<Walker<$number, 1, $integrator>>()
            };
        }
        Ok(match (spec.precision, spec.integrator) {
            (Precision::Fast, _) => ("divergence_fetch_fast", kept!(Fast, by::ExplicitEuler)),
            (Precision::Mixed, _) => (
                "divergence_fetch_mixed",
                kept!(Mixed<f64>, by::ExplicitEuler),
            ),
            (Precision::F32, _) => ("divergence_fetch_f32", kept!(f32, by::ExplicitEuler)),
            (Precision::Fixed { .. }, _) => {
                ("divergence_fetch_fixed", kept!(Fixed, by::FixedEuler))
            }
            (Precision::FloatFloat, _) => (
                "divergence_fetch_float_float",
                kept!(FloatFloat<f32>, by::ExplicitEuler),
            ),
            (Precision::Exact, integrator) => match integrator {
                Integrator::ExplicitEuler => (self.name(), kept!(f64, by::ExplicitEuler)),
                Integrator::SemiImplicitEuler => (
                    "divergence_fetch_semi_implicit_euler",
                    kept!(f64, by::SemiImplicitEuler),
                ),
                Integrator::Leapfrog => ("divergence_fetch_leapfrog", kept!(f64, by::Leapfrog)),
                Integrator::AdamsBashforth2 => (
                    "divergence_fetch_adams_bashforth_2",
                    kept!(f64, by::AdamsBashforth2),
                ),
                Integrator::AdamsBashforth4 => (
                    "divergence_fetch_adams_bashforth_4",
                    kept!(f64, by::AdamsBashforth4),
                ),
                Integrator::RungeKutta4 => (
                    "divergence_fetch_runge_kutta_4",
                    kept!(f64, by::RungeKutta4),
                ),
                Integrator::Hermite4 => ("divergence_fetch_hermite_4", kept!(f64, by::Hermite4)),
            },
        })
    }
}
