//! A copy within the memory of the device.

use cuda_std::prelude::*;
use cuda_std::unroll;

use crate::Four;

/// Threads of a block.
pub const COPY_THREADS: u32 = 256;
/// Groups of four numbers that a thread copies.
pub const COPY_EACH: u32 = 4;

/// Copies `fours` groups of four 32-bit numbers.
///
/// # Thread mapping
/// A one-dimensional grid of ceil(fours / ([`COPY_THREADS`] [`COPY_EACH`])) blocks of [`COPY_THREADS`] threads, each of which copies [`COPY_EACH`] groups.
///
/// # Safety
/// Both places are valid for `fours` groups, and nothing else uses `to` during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn copy(from: *const Four, to: *mut Four, fours: usize) {
    let first = thread::block_idx_x() as usize * (COPY_THREADS * COPY_EACH) as usize
        + thread::thread_idx_x() as usize;
    let place = |i: u32| first + (i * COPY_THREADS) as usize;
    // SAFETY: all places are below `fours`.
    unsafe {
        if place(COPY_EACH - 1) < fours {
            // All loads are under way before the first store.
            let mut values = [Four::default(); COPY_EACH as usize];
            unroll!(for i in 0..4 {
                values[i] = *from.add(place(i as u32));
            });
            unroll!(for i in 0..4 {
                *to.add(place(i as u32)) = values[i];
            });
        } else {
            for i in (0..COPY_EACH).map(place).filter(|&i| i < fours) {
                *to.add(i) = *from.add(i);
            }
        }
    }
}
