//! Divergence map by fetching threads, an entry point for each integrator. The explicit Euler one is
//! [`divergence_fetch`](fn@super::divergence_fetch), where parameters, thread mapping and safety are described.

use cuda_std::prelude::*;

use super::divergence_fetch::{FromGrid, Ring, Shared, fetch};
use crate::divergence::{Job, Walker};
use crate::integrator::three_body::{
    AdamsBashforth2, AdamsBashforth4, Hermite4, Leapfrog, RungeKutta4, SemiImplicitEuler,
};

macro_rules! entries {
    ($($name:ident: $integrator:ty;)*) => {$(
        #[doc = concat!("[`divergence_fetch`](fn@super::divergence_fetch) by [`", stringify!($integrator), "`].")]
        ///
        /// # Safety
        /// As there.
        #[kernel]
        pub unsafe fn $name(
            job: Job,
            slice_ns: u64,
            ring: Ring,
            threads: *mut Walker<f64, 1, $integrator>,
            shared: *const Shared,
        ) {
            // SAFETY: the caller's promise.
            unsafe { fetch::<f64, $integrator, _>(&job, slice_ns, &ring, threads, shared, FromGrid) };
        }
    )*};
}

entries!(
    divergence_fetch_semi_implicit_euler: SemiImplicitEuler;
    divergence_fetch_leapfrog: Leapfrog;
    divergence_fetch_adams_bashforth_2: AdamsBashforth2;
    divergence_fetch_adams_bashforth_4: AdamsBashforth4;
    divergence_fetch_runge_kutta_4: RungeKutta4;
    divergence_fetch_hermite_4: Hermite4;
);
