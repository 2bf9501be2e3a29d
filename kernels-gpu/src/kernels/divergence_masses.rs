//! Divergence times of any set of start states with masses of their own, by fetching threads: an entry point for each
//! integrator and each precision. But for the masses they are [`divergence_points`](fn@super::divergence_points) and its kin,
//! where parameters, thread mapping and safety are described.

use cuda_std::prelude::*;

use super::divergence_fetch::{Ring, Shared, Starts, Weighted, fetch_weighted};
use crate::Real;
use crate::divergence::{Job, Masses, MassivePoint, Twins};
use crate::integrator::three_body::{
    AdamsBashforth2, AdamsBashforth4, ExplicitEuler, FixedEuler, Hermite4, Leapfrog, Memory,
    RungeKutta4, SemiImplicitEuler,
};
use crate::number::{Fast, Fixed, FloatFloat, Mixed};

/// From an array: the start state and the masses of each pixel of the map.
#[derive(Clone, Copy)]
struct FromMassivePoints(*const MassivePoint);

impl Starts for FromMassivePoints {
    const OWN_MASSES: bool = true;

    #[inline(always)]
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        // SAFETY: the kernel's caller vouches for a point for every pixel of its tiles.
        let point = unsafe { (*self.0.add(number as usize)).point };
        point.twins(job.grid.shift)
    }

    #[inline(always)]
    fn masses(&self, number: u64) -> Option<Masses> {
        // SAFETY: as above.
        Some(unsafe { (*self.0.add(number as usize)).masses })
    }
}

macro_rules! entries {
    ($($name:ident: $number:ty, $integrator:ty;)*) => {$(
        #[doc = concat!(
            "[`divergence_points`](fn@super::divergence_points) by [`", stringify!($integrator), "`] in [`",
            stringify!($number), "`], with masses of their own."
        )]
        ///
        /// # Parameters
        /// - `points`: start states and masses of the map's pixels, in their order; the job's pulls and parting are not used
        /// - `threads`: a [`Weighted`] for each thread of the grid; at first with a walker that is [fresh](crate::divergence::Walker::fresh)
        ///
        /// # Safety
        /// As there, and `points` must be valid for reads at the numbers of all pixels of the ring's tiles.
        #[kernel]
        pub unsafe fn $name(
            job: Job,
            slice_ns: u64,
            ring: Ring,
            threads: *mut Weighted<$number, $integrator>,
            shared: *const Shared,
            points: *const MassivePoint,
        ) {
            let starts = FromMassivePoints(points);
            // SAFETY: the caller's promise.
            unsafe {
                fetch_weighted::<$number, $integrator, _>(&job, slice_ns, &ring, threads, shared, starts);
            };
        }
    )*};
}

entries!(
    divergence_masses: f64, ExplicitEuler;
    divergence_masses_semi_implicit_euler: f64, SemiImplicitEuler;
    divergence_masses_leapfrog: f64, Leapfrog;
    divergence_masses_adams_bashforth_2: f64, AdamsBashforth2;
    divergence_masses_adams_bashforth_4: f64, AdamsBashforth4;
    divergence_masses_runge_kutta_4: f64, RungeKutta4;
    divergence_masses_hermite_4: f64, Hermite4;
    divergence_masses_fast: Fast, ExplicitEuler;
    divergence_masses_mixed: Mixed<f64>, ExplicitEuler;
    divergence_masses_f32: f32, ExplicitEuler;
    divergence_masses_fixed: Fixed, FixedEuler;
    divergence_masses_float_float: FloatFloat<f32>, ExplicitEuler;
);
