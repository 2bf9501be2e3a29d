//! All-pairs accelerations, second pass: adds up the sums of the chunks in order.

use cuda_std::prelude::*;

use crate::device::tile::combine;
use crate::device::{Body, DeviceNumber};
use crate::number::{FastF32, FloatFloat};

/// Computes accelerations from the sums of the chunks that a tile kernel wrote.
///
/// # Parameters
/// - `sums`: chunks × count sums
/// - `accelerations`: `count` values
///
/// # Thread mapping
/// Thread i of a one-dimensional grid handles body i; surplus threads return at once.
///
/// # Safety
/// The pointers must be valid for the arrays described above; nothing else may use `accelerations` during the launch.
#[kernel(instances(f32: FastF32, f64: f64, ff: FloatFloat<f32>))]
pub unsafe fn nbody_combine<S: DeviceNumber>(
    sums: *const Body<S>,
    accelerations: *mut Body<S>,
    count: u32,
    chunks: u32,
) {
    let i = thread::index_1d();
    if i < count {
        // SAFETY: the caller guarantees the pointers; each thread has its own i.
        unsafe { *accelerations.add(i as usize) = combine(sums, count, chunks, i) };
    }
}
