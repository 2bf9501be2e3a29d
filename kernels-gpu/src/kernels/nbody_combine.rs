//! All-pairs accelerations, second pass: adds up the chunks' sums in their order.

use cuda_std::prelude::*;

use crate::device::Body;
use crate::device::tile::combine;
use crate::number::{FastF32, FloatFloat};

/// Accelerations from what a tile kernel left of each chunk.
///
/// # Parameters
/// - `sums`: chunks × count sums
/// - `accelerations`: `count` values
///
/// # Thread mapping
/// Thread i of a one-dimensional grid adds up for body i; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for what is said above; nobody else may use `accelerations` meanwhile.
#[kernel]
pub unsafe fn nbody_combine_f32(
    sums: *const Body<FastF32>,
    accelerations: *mut Body<FastF32>,
    count: u32,
    chunks: u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: the caller vouches for the pointers; each thread has an i of its own.
        unsafe { *accelerations.add(i as usize) = combine(sums, count, chunks, i) };
    }
}

/// [`nbody_combine_f32`] in `f64`.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn nbody_combine_f64(
    sums: *const Body<f64>,
    accelerations: *mut Body<f64>,
    count: u32,
    chunks: u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: the caller vouches for the pointers; each thread has an i of its own.
        unsafe { *accelerations.add(i as usize) = combine(sums, count, chunks, i) };
    }
}

/// [`nbody_combine_f32`] in float-float.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn nbody_combine_ff(
    sums: *const Body<FloatFloat<f32>>,
    accelerations: *mut Body<FloatFloat<f32>>,
    count: u32,
    chunks: u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: the caller vouches for the pointers; each thread has an i of its own.
        unsafe { *accelerations.add(i as usize) = combine(sums, count, chunks, i) };
    }
}
