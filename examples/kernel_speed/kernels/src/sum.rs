//! The sum of many numbers by shuffles.

use cuda_std::collective::block_reduce;
use cuda_std::prelude::*;
use cuda_std::shared::F4;
use cuda_std::unroll;

/// Threads of a block.
pub const SUM_THREADS: u32 = 256;
/// Groups of four numbers that are loaded at a time.
const AHEAD: u32 = 4;

/// Adds up x\[0\] to x\[4 fours - 1\] in parts: one sum for each block. The sum of these, by a launch of one block, is the sum of all.
///
/// # Thread mapping
/// A one-dimensional grid of any number of blocks of [`SUM_THREADS`] threads. Blocks take tiles of consecutive numbers in turn, of which each
/// thread adds up every [`SUM_THREADS`]th group; the threads of a block then add their sums by [`block_reduce`]. The order depends on the grid alone.
///
/// # Safety
/// `x` is valid for `fours` groups of four numbers, `sums` for one number for each block; nothing else uses `sums` during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn sum(x: *const F4, fours: usize, sums: *mut f32) {
    const TILE: usize = (SUM_THREADS * AHEAD) as usize;
    let mut parts = [[0.0f32; 4]; AHEAD as usize];
    let mut first = thread::block_idx_x() as usize * TILE + thread::thread_idx_x() as usize;
    // SAFETY: all groups are below `fours`.
    unsafe {
        while first + TILE - (SUM_THREADS as usize) < fours {
            let mut loaded = [F4::default(); AHEAD as usize];
            unroll!(for ahead in 0..4 {
                loaded[ahead] = *x.add(first + ahead * SUM_THREADS as usize);
            });
            unroll!(for ahead in 0..4 {
                add(&mut parts[ahead], loaded[ahead]);
            });
            first += thread::grid_dim_x() as usize * TILE;
        }
        unroll!(for ahead in 0..4 {
            if first + ahead * (SUM_THREADS as usize) < fours {
                add(
                    &mut parts[ahead],
                    *x.add(first + ahead * SUM_THREADS as usize),
                );
            }
        });
    }
    let mut sum = 0.0;
    unroll!(for ahead in 0..4 {
        let [x, y, z, w] = parts[ahead];
        sum += (x + y) + (z + w);
    });
    let of_block = block_reduce(sum, |a, b| a + b);
    if thread::thread_idx_x() == 0 {
        // SAFETY: there is a sum for each block.
        unsafe { *sums.add(thread::block_idx_x() as usize) = of_block };
    }
}

#[inline(always)]
fn add(part: &mut [f32; 4], four: F4) {
    let [x, y, z, w] = *part;
    *part = [x + four.x, y + four.y, z + four.z, w + four.w];
}
