//! The kernels that compute maps, by name.

use kernels_gpu::divergence::Walker;
use kernels_gpu::integrator::three_body as by;
use kernels_gpu::kernels::Weighted;
use kernels_gpu::number::{Fast, Fixed, FloatFloat, Mixed};

use super::engine::EngineError;
use super::{Integrator, Precision, Validated};

/// Which kernel computes a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread a pixel.
    Plain,
    /// Threads that fetch the next pixel when theirs is done.
    #[default]
    Fetch,
}

/// The entry points of fetching threads for a precision and an integrator.
struct Entry {
    /// For the pixels of a grid.
    grid: &'static str,
    /// For points.
    points: &'static str,
    /// For points with masses of their own.
    masses: &'static str,
    /// Bytes that each thread keeps between launches; with masses of their own.
    kept: [usize; 2],
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
        valid: &Validated,
        device: &dyn Fn() -> String,
    ) -> Result<(&'static str, usize), EngineError> {
        let (spec, points) = (valid.specification(), valid.points().is_some());
        if self == Self::Plain {
            let known = (Precision::F64, Integrator::ExplicitEuler);
            if (spec.precision, spec.integrator) == known && !points {
                return Ok((self.name(), 0));
            }
            return Err(EngineError::Gpu {
                device: device(),
                call: self.name(),
                reason: "it computes f64 maps of a grid by explicit Euler only".into(),
            });
        }
        macro_rules! entry {
            ($suffix:literal, $number:ty, $integrator:ty) => {
                Entry {
                    grid: concat!("divergence_fetch", $suffix),
                    points: concat!("divergence_points", $suffix),
                    masses: concat!("divergence_masses", $suffix),
                    kept: [
                        size_of::<Walker<$number, 1, $integrator>>(),
                        size_of::<Weighted<$number, $integrator>>(),
                    ],
                }
            };
        }
        let entry = match (spec.precision, spec.integrator) {
            (Precision::Fast, _) => entry!("_fast", Fast, by::ExplicitEuler),
            (Precision::Mixed, _) => entry!("_mixed", Mixed<f64>, by::ExplicitEuler),
            (Precision::F32, _) => entry!("_f32", f32, by::ExplicitEuler),
            (Precision::Fixed { .. }, _) => entry!("_fixed", Fixed, by::FixedEuler),
            (Precision::FloatFloat, _) => {
                entry!("_float_float", FloatFloat<f32>, by::ExplicitEuler)
            }
            (Precision::F64, integrator) => match integrator {
                Integrator::ExplicitEuler => entry!("", f64, by::ExplicitEuler),
                Integrator::SemiImplicitEuler => {
                    entry!("_semi_implicit_euler", f64, by::SemiImplicitEuler)
                }
                Integrator::Leapfrog => entry!("_leapfrog", f64, by::Leapfrog),
                Integrator::AdamsBashforth2 => {
                    entry!("_adams_bashforth_2", f64, by::AdamsBashforth2)
                }
                Integrator::AdamsBashforth4 => {
                    entry!("_adams_bashforth_4", f64, by::AdamsBashforth4)
                }
                Integrator::RungeKutta4 => entry!("_runge_kutta_4", f64, by::RungeKutta4),
                Integrator::Hermite4 => entry!("_hermite_4", f64, by::Hermite4),
            },
        };
        Ok(if valid.masses(0).is_some() {
            (entry.masses, entry.kept[1])
        } else if points {
            (entry.points, entry.kept[0])
        } else {
            (entry.grid, entry.kept[0])
        })
    }
}
