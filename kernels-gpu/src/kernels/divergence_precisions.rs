//! Divergence map by fetching threads, an entry point for each precision mode besides exact. Parameters, thread mapping and
//! safety are those of [`divergence_fetch`](fn@super::divergence_fetch).

use cuda_std::prelude::*;

use super::divergence_fetch::{FromGrid, Ring, Shared, fetch};
use crate::divergence::{Job, Walker};
use crate::integrator::three_body::{ExplicitEuler, FixedEuler};
use crate::number::{Fast, Fixed, FloatFloat, Mixed};

macro_rules! entries {
    ($($name:ident: $number:ty, $integrator:ty;)*) => {$(
        #[doc = concat!("[`divergence_fetch`](fn@super::divergence_fetch) in [`", stringify!($number), "`].")]
        ///
        /// # Safety
        /// As there.
        #[kernel]
        pub unsafe fn $name(
            job: Job,
            slice_ns: u64,
            ring: Ring,
            threads: *mut Walker<$number, 1, $integrator>,
            shared: *const Shared,
        ) {
            // SAFETY: the caller's promise.
            unsafe { fetch::<$number, $integrator, _>(&job, slice_ns, &ring, threads, shared, FromGrid) };
        }
    )*};
}

entries!(
    divergence_fetch_fast: Fast, ExplicitEuler;
    divergence_fetch_mixed: Mixed<f64>, ExplicitEuler;
    divergence_fetch_f32: f32, ExplicitEuler;
    divergence_fetch_fixed: Fixed, FixedEuler;
    divergence_fetch_float_float: FloatFloat<f32>, ExplicitEuler;
);
