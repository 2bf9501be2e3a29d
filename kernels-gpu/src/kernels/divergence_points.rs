//! Divergence times of any set of start states, by fetching threads: an entry point for each integrator and each precision.
//! But for the start states they are [`divergence_fetch`](fn@super::divergence_fetch) and its kin, where parameters, thread
//! mapping and safety are described.

use cuda_std::prelude::*;

use super::divergence_fetch::{Ring, Shared, Starts, fetch};
use crate::Real;
use crate::divergence::{Job, Point, Twins, Walker};
use crate::integrator::three_body::{
    AdamsBashforth2, AdamsBashforth4, ExplicitEuler, FixedEuler, Hermite4, Leapfrog, Memory,
    RungeKutta4, SemiImplicitEuler,
};
use crate::number::{Fast, Fixed, FloatFloat, Mixed};

/// From an array: the start state of each pixel of the map.
#[derive(Clone, Copy)]
struct FromPoints(*const Point);

impl Starts for FromPoints {
    #[inline(always)]
    fn twins<R: Real, M: Memory<R>>(&self, job: &Job, number: u64) -> Twins<R, M> {
        // SAFETY: the kernel's caller vouches for a point for every pixel of its tiles.
        let point = unsafe { *self.0.add(number as usize) };
        point.twins(job.grid.shift)
    }
}

macro_rules! entries {
    ($($name:ident: $number:ty, $integrator:ty;)*) => {$(
        #[doc = concat!(
            "[`divergence_fetch`](fn@super::divergence_fetch) by [`", stringify!($integrator), "`] in [`",
            stringify!($number), "`], from `points`."
        )]
        ///
        /// # Parameters
        /// - `points`: the start states of the map's pixels, in their order; the job's grid is not used but for its shift
        ///
        /// # Safety
        /// As there, and `points` must be valid for reads at the numbers of all pixels of the ring's tiles.
        #[kernel]
        pub unsafe fn $name(
            job: Job,
            slice_ns: u64,
            ring: Ring,
            threads: *mut Walker<$number, 1, $integrator>,
            shared: *const Shared,
            points: *const Point,
        ) {
            let starts = FromPoints(points);
            // SAFETY: the caller's promise.
            unsafe { fetch::<$number, $integrator, _>(&job, slice_ns, &ring, threads, shared, starts) };
        }
    )*};
}

entries!(
    divergence_points: f64, ExplicitEuler;
    divergence_points_semi_implicit_euler: f64, SemiImplicitEuler;
    divergence_points_leapfrog: f64, Leapfrog;
    divergence_points_adams_bashforth_2: f64, AdamsBashforth2;
    divergence_points_adams_bashforth_4: f64, AdamsBashforth4;
    divergence_points_runge_kutta_4: f64, RungeKutta4;
    divergence_points_hermite_4: f64, Hermite4;
    divergence_points_fast: Fast, ExplicitEuler;
    divergence_points_mixed: Mixed<f64>, ExplicitEuler;
    divergence_points_f32: f32, ExplicitEuler;
    divergence_points_fixed: Fixed, FixedEuler;
    divergence_points_float_float: FloatFloat<f32>, ExplicitEuler;
);
