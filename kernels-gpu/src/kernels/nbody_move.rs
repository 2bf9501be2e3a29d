//! Moves all bodies: the element-wise operations of [`System`](crate::integrator::System).

use cuda_std::prelude::*;

use crate::device::linear::{self, Linear};
use crate::device::steps::advance;
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Computes v += h · a for `n` bodies.
///
/// # Thread mapping
/// Thread i of a one-dimensional grid moves body i; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for `n` values; nothing else may use `v` during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_kick<S: DeviceNumber>(v: *mut Body<S>, a: *const Body<S>, h: S, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe { advance(v, a, h, i as usize) };
    }
}

/// Computes x += h · v for `n` bodies.
///
/// # Thread mapping
/// The same as for [`nbody_kick`].
///
/// # Safety
/// The same as for [`nbody_kick`], with `x` instead of `v`.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_drift<S: DeviceNumber>(x: *mut Body<S>, v: *const Body<S>, h: S, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe { advance(x, v, h, i as usize) };
    }
}

/// Computes v += h · a, then x += h_x · v, for `n` bodies: a kick and a drift in one launch.
///
/// # Thread mapping
/// The same as for [`nbody_kick`].
///
/// # Safety
/// The same as for [`nbody_kick`], for both `x` and `v`.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_kick_drift<S: DeviceNumber>(
    x: *mut Body<S>,
    v: *mut Body<S>,
    a: *const Body<S>,
    h: S,
    h_x: S,
    n: u32,
) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe {
            advance(v, a, h, i as usize);
            advance(x, v, h_x, i as usize);
        }
    }
}

/// Computes one or two linear combinations of vectors of `n` bodies, one after the other.
///
/// # Thread mapping
/// The same as for [`nbody_kick`].
///
/// # Safety
/// The pointers of `first`, and of `second` if `both` is not 0, must be valid for `n` values; nothing else may use the written arrays
/// during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_linear<S: DeviceNumber>(
    first: Linear<S>,
    second: Linear<S>,
    both: u32,
    n: u32,
) {
    let i = thread::index_1d() as usize;
    if i < n as usize {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe {
            linear::combine(&first, i);
            if both != 0 {
                linear::combine(&second, i);
            }
        }
    }
}
