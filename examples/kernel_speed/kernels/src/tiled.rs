//! The product of two matrices of `f32` by tiles in shared memory, in the plain way of textbooks and of rust-cuda's example.

use cuda_std::address_space;
use cuda_std::prelude::*;

/// Rows and columns of a tile; a block has a thread for each element.
pub const SIDE: usize = 16;

#[address_space(shared)]
static mut TILE_A: [f32; SIDE * SIDE] = [0.0; SIDE * SIDE];
#[address_space(shared)]
static mut TILE_B: [f32; SIDE * SIDE] = [0.0; SIDE * SIDE];

/// Computes C = A B, row by row: A has m rows and k columns, B has k rows and n columns.
///
/// `CHECKED` checks the indices of A and B, as Rust's slices do; the other instance trusts the three numbers.
///
/// # Thread mapping
/// A one-dimensional grid of ceil(m / [`SIDE`]) ceil(n / [`SIDE`]) blocks of [`SIDE`]² threads, each of which computes an element of C.
///
/// # Safety
/// `c` is valid for m n numbers, and nothing else uses it during the launch. Without checks `a` has m k and `b` k n numbers.
#[kernel(max_threads = 256, instances(checked: <true>, unchecked: <false>))]
pub unsafe fn product_tiled<const CHECKED: bool>(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: usize,
    n: usize,
    k: usize,
) {
    let thread = thread::thread_idx_x() as usize;
    let (tx, ty) = (thread % SIDE, thread / SIDE);
    let block = thread::block_idx_x() as usize;
    let across = n.div_ceil(SIDE);
    let (row, column) = (block / across * SIDE + ty, block % across * SIDE + tx);
    let mut sum = 0.0;
    for first in (0..k).step_by(SIDE) {
        let (ka, kb) = (first + tx, first + ty);
        // Both loads are under way before either value is used.
        // SAFETY: without checks, the indices are inside of the matrices, which have the numbers that the caller guarantees.
        let (element_a, element_b) = unsafe {
            (
                if row < m && ka < k {
                    element::<CHECKED>(a, row * k + ka)
                } else {
                    0.0
                },
                if kb < k && column < n {
                    element::<CHECKED>(b, kb * n + column)
                } else {
                    0.0
                },
            )
        };
        // SAFETY: each thread writes its own element; all of them are read between two barriers.
        unsafe {
            TILE_A[thread] = element_a;
            TILE_B[thread] = element_b;
            thread::sync_threads();
            for i in 0..SIDE {
                sum += TILE_A[ty * SIDE + i] * TILE_B[i * SIDE + tx];
            }
            thread::sync_threads();
        }
    }
    if row < m && column < n {
        // SAFETY: the element is inside of C and this thread's own.
        unsafe { *c.add(row * n + column) = sum };
    }
}

/// # Safety
/// `i` is below the length, unless it is checked.
#[inline(always)]
unsafe fn element<const CHECKED: bool>(x: &[f32], i: usize) -> f32 {
    if CHECKED {
        x[i]
    } else {
        // SAFETY: the caller guarantees this.
        unsafe { *x.get_unchecked(i) }
    }
}
