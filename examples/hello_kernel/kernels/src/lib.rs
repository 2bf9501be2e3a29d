//! One kernel: sums of blocks of numbers, with shared memory and barriers.

use cuda_std::prelude::*;
use cuda_std::shared_array;

/// Threads of a block, and numbers it adds up.
pub const BLOCK: u32 = 256;

/// The sum of each [`BLOCK`] numbers of `x`; missing ones at the end count as 0.
///
/// # Parameters
/// - `x`: n numbers
/// - `sums`: a number for each block of the grid
///
/// # Thread mapping
/// A one-dimensional grid of ceil(n / [`BLOCK`]) blocks of [`BLOCK`] threads; a thread loads one number. Then half
/// of the threads add the other half's numbers to theirs, a quarter that half's, and so on: the order of
/// additions is fixed, so the sum has the same bits everywhere.
///
/// # Safety
/// `sums` must be valid for writes of a number for each block, and not be used by anybody else meanwhile.
#[kernel]
pub unsafe fn block_sums(x: &[f32], sums: *mut f32) {
    let i = thread::thread_idx_x() as usize;
    let global = thread::index_1d() as usize;
    let shared = shared_array![f32; BLOCK as usize];
    // SAFETY: i is below BLOCK, the array's length, and each thread writes its own element.
    unsafe { *shared.add(i) = if global < x.len() { x[global] } else { 0.0 } };
    let mut half = BLOCK as usize / 2;
    while half > 0 {
        thread::sync_threads();
        if i < half {
            // SAFETY: i + half is below BLOCK; no thread writes what another reads between two barriers.
            unsafe { *shared.add(i) += *shared.add(i + half) };
        }
        half /= 2;
    }
    if i == 0 {
        // SAFETY: the caller guarantees a number for each block.
        unsafe { *sums.add(thread::block_idx_x() as usize) = *shared };
    }
}
