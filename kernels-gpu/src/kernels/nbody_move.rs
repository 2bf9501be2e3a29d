//! Moves all bodies: the operations of [`System`](crate::integrator::System), element by element.

use cuda_std::prelude::*;

use crate::device::Body;
use crate::device::steps::advance;
use crate::number::{FastF32, FloatFloat};

/// Saved state and sums of a Runge–Kutta step: n values each.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Stages<S> {
    /// Positions at the start of the step.
    pub x0: *mut Body<S>,
    /// Velocities at the start of the step.
    pub v0: *mut Body<S>,
    /// Weighted sum of the stages' velocities.
    pub sum_x: *mut Body<S>,
    /// Weighted sum of the stages' accelerations.
    pub sum_v: *mut Body<S>,
}

macro_rules! moves {
    ($($ty:ty: $kick:ident, $drift:ident, $both:ident, $stage:ident, $end:ident;)*) => {$(
        #[doc = concat!("v += h · a for `n` bodies, in `", stringify!($ty), "`.")]
        ///
        /// # Thread mapping
        /// Thread i of a one-dimensional grid moves body i; surplus threads return at once.
        ///
        /// # Safety
        /// The pointers must be valid for `n` values; nobody else may use `v` meanwhile.
        #[kernel]
        pub unsafe fn $kick(v: *mut Body<$ty>, a: *const Body<$ty>, h: $ty, n: u32) {
            let i = thread::index_1d();
            if i < n {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe { advance(v, a, h, i as usize) };
            }
        }

        #[doc = concat!("x += h · v for `n` bodies, in `", stringify!($ty), "`.")]
        ///
        /// # Thread mapping
        /// As above.
        ///
        /// # Safety
        /// As above, with `x` for `v`.
        #[kernel]
        pub unsafe fn $drift(x: *mut Body<$ty>, v: *const Body<$ty>, h: $ty, n: u32) {
            let i = thread::index_1d();
            if i < n {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe { advance(x, v, h, i as usize) };
            }
        }

        #[doc = concat!("v += h · a, then x += h_x · v, for `n` bodies, in `", stringify!($ty), "`: a kick and a drift in one launch.")]
        ///
        /// # Thread mapping
        /// As above.
        ///
        /// # Safety
        /// As above, for `x` and `v`.
        #[kernel]
        pub unsafe fn $both(
            x: *mut Body<$ty>,
            v: *mut Body<$ty>,
            a: *const Body<$ty>,
            h: $ty,
            h_x: $ty,
            n: u32,
        ) {
            let i = thread::index_1d();
            if i < n {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe {
                    advance(v, a, h, i as usize);
                    advance(x, v, h_x, i as usize);
                }
            }
        }

        #[doc = concat!("Ends a Runge–Kutta stage in `", stringify!($ty), "`, see [`rk_stage`](crate::integrator::System::rk_stage).")]
        ///
        /// # Thread mapping
        /// As above.
        ///
        /// # Safety
        /// All pointers must be valid for `n` values; nobody else may use `x`, `v` and the sums meanwhile.
        #[kernel]
        pub unsafe fn $stage(
            x: *mut Body<$ty>,
            v: *mut Body<$ty>,
            a: *const Body<$ty>,
            stages: Stages<$ty>,
            weight: $ty,
            h: $ty,
            n: u32,
        ) {
            let i = thread::index_1d() as usize;
            if i < n as usize {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe {
                    advance(stages.sum_x, v, weight, i);
                    advance(stages.sum_v, a, weight, i);
                    *x.add(i) = *stages.x0.add(i);
                    advance(x, v, h, i);
                    *v.add(i) = *stages.v0.add(i);
                    advance(v, a, h, i);
                }
            }
        }

        #[doc = concat!("Ends a Runge–Kutta step in `", stringify!($ty), "`, see [`rk_end`](crate::integrator::System::rk_end).")]
        ///
        /// # Thread mapping
        /// As above.
        ///
        /// # Safety
        /// All pointers must be valid for `n` values; nobody else may use `x` and `v` meanwhile.
        #[kernel]
        pub unsafe fn $end(
            x: *mut Body<$ty>,
            v: *mut Body<$ty>,
            stages: Stages<$ty>,
            h: $ty,
            n: u32,
        ) {
            let i = thread::index_1d() as usize;
            if i < n as usize {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe {
                    *x.add(i) = *stages.x0.add(i);
                    advance(x, stages.sum_x, h, i);
                    *v.add(i) = *stages.v0.add(i);
                    advance(v, stages.sum_v, h, i);
                }
            }
        }
    )*};
}

moves! {
    FastF32: nbody_kick_f32, nbody_drift_f32, nbody_kick_drift_f32, nbody_rk_stage_f32, nbody_rk_end_f32;
    f64: nbody_kick_f64, nbody_drift_f64, nbody_kick_drift_f64, nbody_rk_stage_f64, nbody_rk_end_f64;
    FloatFloat<f32>: nbody_kick_ff, nbody_drift_ff, nbody_kick_drift_ff, nbody_rk_stage_ff, nbody_rk_end_ff;
}
