//! All-pairs accelerations, second pass: adds up the chunks' sums in their order.

use cuda_std::prelude::*;

use crate::device::tile::combine;
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Accelerations from the sums of each chunk that a tile kernel wrote.
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
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_combine<S: DeviceNumber>(
    sums: *const Body<S>,
    accelerations: *mut Body<S>,
    count: u32,
    chunks: u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: the caller vouches for the pointers; each thread has an i of its own.
        unsafe { *accelerations.add(i as usize) = combine(sums, count, chunks, i) };
    }
}
