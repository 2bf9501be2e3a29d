//! A kernel that sums blocks of numbers.

use cuda_std::collective::block_reduce;
use cuda_std::prelude::*;

/// Number of threads of a block, and of the numbers that it adds up.
pub const BLOCK: u32 = 256;

/// Computes the sum of each [`BLOCK`] numbers of `x`; missing numbers at the end count as 0.
///
/// # Parameters
/// - `x`: n numbers
/// - `sums`: one number for each block of the grid
///
/// # Thread mapping
/// ceil(n / [`BLOCK`]) blocks of [`BLOCK`] threads, each of which has one number. Neighbours are added first, then the sums of neighbours,
/// and so on. The order of additions is fixed, so the sum has the same bits everywhere.
#[kernel]
pub fn block_sums(x: EachRef<'_, f32>, sums: PerBlock<'_, f32>) {
    let own = x.fold(0.0, |a, b| a + b);
    sums.set(block_reduce(own, |a, b| a + b));
}
