//! The names of each precision's kernels.

use kernels_gpu::number::{FastF32, FloatFloat};

use crate::gpu::Plain;
use crate::nbody::Precision;
use crate::nbody::kernel::Pairs;

/// A precision of the GPU engine.
pub(super) trait Names: Pairs + Plain {
    const STEPS: &'static str;
    const COMBINE: &'static str;
    const GATHER: &'static str;
    const KICK: &'static str;
    const DRIFT: &'static str;
    const KICK_DRIFT: &'static str;
    const LINEAR: &'static str;
    const PRECISION: Precision;
}

macro_rules! names {
    ($($ty:ty, $precision:ident: $suffix:literal;)*) => {$(
        impl Names for $ty {
            const STEPS: &'static str = concat!("nbody_steps_", $suffix);
            const COMBINE: &'static str = concat!("nbody_combine_", $suffix);
            const GATHER: &'static str = concat!("nbody_gather_", $suffix);
            const KICK: &'static str = concat!("nbody_kick_", $suffix);
            const DRIFT: &'static str = concat!("nbody_drift_", $suffix);
            const KICK_DRIFT: &'static str = concat!("nbody_kick_drift_", $suffix);
            const LINEAR: &'static str = concat!("nbody_linear_", $suffix);
            const PRECISION: Precision = Precision::$precision;
        }
    )*};
}

names! {
    FastF32, F32: "f32";
    f64, F64: "f64";
    FloatFloat<f32>, FloatFloat: "ff";
}
