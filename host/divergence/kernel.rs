//! The kernels that compute maps, by name.

use kernels_gpu::device::fetch::{MassiveThread, Thread};
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::methods::Entries;
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::Quantity;

use super::quantity::OfMethod;
use super::value::Value;
use super::{Precision, Validated};
use trisolar_run::EngineError;
use trisolar_spec::Integrator;

/// Which kernel computes a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread a pixel.
    Plain,
    /// Threads that fetch the next pixel when theirs is done.
    #[default]
    Fetch,
}

/// The kernel of a method for a map.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "gpu"),
    expect(dead_code, reason = "the emulator needs no names")
)]
pub(super) struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Whether it takes [`Starts`](kernels_gpu::device::fetch::Starts), with masses, or points alone.
    pub takes_masses: bool,
    /// The bytes that each of its threads keeps between launches.
    pub kept: usize,
}

struct EntryOf {
    /// Whether pixels have masses of their own.
    own_masses: bool,
}

impl OfMethod for EntryOf {
    type Output = Entry;

    fn visit<Q: Quantity<Value: Value>, P: Number, I: MapIntegrator>(
        self,
        entries: Entries,
    ) -> Entry {
        match entries.map_uniform.filter(|_| !self.own_masses) {
            Some(name) => Entry {
                name,
                takes_masses: false,
                kept: size_of::<Thread<Q, I, P>>(),
            },
            None => Entry {
                name: entries.map,
                takes_masses: true,
                kept: size_of::<MassiveThread<Q, I, P>>(),
            },
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

    /// The entry point for a map.
    pub(super) fn entry(
        self,
        valid: &Validated,
        device: &dyn Fn() -> String,
    ) -> Result<Entry, EngineError> {
        let spec = valid.specification();
        let refuse = |reason: String| EngineError::Gpu {
            device: device(),
            call: self.name(),
            reason,
        };
        if self == Self::Plain {
            let known = (Precision::F64, Integrator::ExplicitEuler);
            let divergence = spec.quantity == super::Quantity::Divergence;
            if divergence && (spec.precision, spec.integrator) == known && valid.points().is_none()
            {
                return Ok(Entry {
                    name: self.name(),
                    takes_masses: false,
                    kept: 0,
                });
            }
            return Err(refuse(
                "it computes divergence maps of a grid in f64 by explicit Euler only".into(),
            ));
        }
        let entry = EntryOf {
            own_masses: valid.masses(0).is_some(),
        };
        let (precision, integrator) = (spec.precision.kind(), spec.integrator.name());
        let found = spec.quantity.with_method(precision, integrator, entry);
        found.ok_or_else(|| {
            refuse(format!(
                "there is no kernel for {} by {} in {}",
                spec.quantity, spec.integrator, spec.precision
            ))
        })
    }
}
