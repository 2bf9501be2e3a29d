//! The kernels that compute maps.

use cuda_std::Kernel as _;
use kernels_gpu::kernels::{DivergencePlain, MapDivergenceExplicitEulerF64};

use super::{Precision, Validated};
use trisolar_device::DeviceInfo;
use trisolar_run::EngineError;
use trisolar_spec::Integrator;

/// A kernel that computes maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DivergenceKernel {
    /// One thread per pixel.
    Plain,
    /// Threads that fetch the next pixel when they have finished one.
    #[default]
    Fetch,
}

impl DivergenceKernel {
    /// All kernels.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Fetch];

    /// The name of the entry point for maps in `f64` by explicit Euler.
    pub fn name(self) -> &'static str {
        let name = match self {
            Self::Plain => DivergencePlain::name(),
            Self::Fetch => MapDivergenceExplicitEulerF64::name(),
        };
        name.unwrap_or_default()
    }

    /// Whether the kernel can compute this map.
    pub(super) fn computes(self, valid: &Validated) -> bool {
        let spec = valid.specification();
        match self {
            Self::Plain => {
                spec.quantity == super::Quantity::Divergence
                    && spec.precision == Precision::F64
                    && spec.integrator == Integrator::ExplicitEuler
                    && valid.points().is_none()
            }
            Self::Fetch => {
                (spec.quantity).has_method(spec.precision.kind(), spec.integrator.name())
            }
        }
    }

    /// The error for a map that the kernel cannot compute.
    pub(super) fn refused(self, valid: &Validated, device: &DeviceInfo) -> EngineError {
        let spec = valid.specification();
        let reason = match self {
            Self::Plain => {
                "it computes divergence maps of a grid in f64 by explicit Euler only".into()
            }
            Self::Fetch => format!(
                "there is no kernel for {} by {} in {}",
                spec.quantity, spec.integrator, spec.precision
            ),
        };
        EngineError::Gpu {
            device: device.name.clone(),
            call: self.name(),
            reason,
        }
    }
}
