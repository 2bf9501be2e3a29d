//! Moves all bodies: the operations of [`System`](crate::integrator::System), element by element.

use cuda_std::prelude::*;

use crate::device::Body;
use crate::device::linear::{self, Linear};
use crate::device::steps::advance;
use crate::number::{FastF32, FloatFloat};

macro_rules! moves {
    ($($ty:ty: $kick:ident, $drift:ident, $both:ident, $linear:ident;)*) => {$(
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

        #[doc = concat!("One or two linear combinations of `n` bodies' vectors, one after the other, in `", stringify!($ty), "`.")]
        ///
        /// # Thread mapping
        /// As above.
        ///
        /// # Safety
        /// The pointers of `first`, and of `second` if `both` is not 0, must be valid for `n` values; nobody else may use what is
        /// written meanwhile.
        #[kernel]
        pub unsafe fn $linear(first: Linear<$ty>, second: Linear<$ty>, both: u32, n: u32) {
            let i = thread::index_1d() as usize;
            if i < n as usize {
                // SAFETY: the caller's promise; each thread has an i of its own.
                unsafe {
                    linear::combine(&first, i);
                    if both != 0 {
                        linear::combine(&second, i);
                    }
                }
            }
        }
    )*};
}

moves! {
    FastF32: nbody_kick_f32, nbody_drift_f32, nbody_kick_drift_f32, nbody_linear_f32;
    f64: nbody_kick_f64, nbody_drift_f64, nbody_kick_drift_f64, nbody_linear_f64;
    FloatFloat<f32>: nbody_kick_ff, nbody_drift_ff, nbody_kick_drift_ff, nbody_linear_ff;
}
