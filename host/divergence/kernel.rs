//! The kernels that compute maps, by name.

use kernels_gpu::device::fetch::{MassiveThread, Thread};
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::methods::{Compiled, Entries, Visitor};
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::{Divergence, Quantity};

use super::{Precision, Validated};
use crate::run::EngineError;
use crate::spec::Integrator;

/// Which kernel computes a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread a pixel.
    Plain,
    /// Threads that fetch the next pixel when theirs is done.
    #[default]
    Fetch,
}

/// Whether pixels have masses of their own.
struct EntryOf {
    own_masses: bool,
}

impl<Q: Quantity> Visitor<Q> for EntryOf {
    type Output = (&'static str, usize);

    fn visit<P: Number, I: MapIntegrator>(self, entries: Entries) -> Self::Output {
        if self.own_masses {
            (entries.map_masses, size_of::<MassiveThread<Q, I, P>>())
        } else {
            (entries.map, size_of::<Thread<Q, I, P>>())
        }
    }
}

impl DivergenceKernel {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Fetch];

    /// The name of the entry point for maps in `f64` by explicit Euler.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "divergence_plain",
            Self::Fetch => "map_divergence_explicit_euler_f64",
        }
    }

    /// The entry point for a map's precision and integrator, and the bytes that each of its threads keeps between launches.
    pub(super) fn entry(
        self,
        valid: &Validated,
        device: &dyn Fn() -> String,
    ) -> Result<(&'static str, usize), EngineError> {
        let spec = valid.specification();
        let refuse = |reason: String| EngineError::Gpu {
            device: device(),
            call: self.name(),
            reason,
        };
        if self == Self::Plain {
            let known = (Precision::F64, Integrator::ExplicitEuler);
            if (spec.precision, spec.integrator) == known && valid.points().is_none() {
                return Ok((self.name(), 0));
            }
            return Err(refuse(
                "it computes f64 maps of a grid by explicit Euler only".into(),
            ));
        }
        let entry = EntryOf {
            own_masses: valid.masses(0).is_some(),
        };
        Divergence::with_method(spec.precision.kind(), spec.integrator.name(), entry).ok_or_else(
            || {
                refuse(format!(
                    "there is no kernel for {} in {}",
                    spec.integrator, spec.precision
                ))
            },
        )
    }
}
