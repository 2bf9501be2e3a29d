//! C = alpha A B + beta C with tiles of A and B in shared memory, which is declared in each way that there is.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, clippy::too_many_arguments, unsafe_op_in_unsafe_fn, static_mut_refs)]

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{address_space, shared_array};

const TILE: usize = 16;

/// The part of the product that does not depend on where the tiles are: `$a` and `$b` are places of `f32`, indexed by row and column.
macro_rules! product {
    ($a:ident, $b:ident, $c:ident, $m:ident, $n:ident, $k:ident, $alpha:ident, $beta:ident, $set_a:expr, $set_b:expr, $get_a:expr, $get_b:expr) => {
        let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
        let row = thread::block_idx_y() as usize * TILE + ty;
        let col = thread::block_idx_x() as usize * TILE + tx;
        let mut sum = 0.0_f32;
        for start in (0..$k).step_by(TILE) {
            let value = if row < $m && start + tx < $k { $a[row * $k + start + tx] } else { 0.0 };
            $set_a(ty * TILE + tx, value);
            let value = if col < $n && start + ty < $k { $b[(start + ty) * $n + col] } else { 0.0 };
            $set_b(ty * TILE + tx, value);
            thread::sync_threads();
            for i in 0..TILE {
                sum += $get_a(ty * TILE + i) * $get_b(i * TILE + tx);
            }
            thread::sync_threads();
        }
        if row < $m && col < $n {
            let place = $c.add(row * $n + col);
            *place = $alpha * sum + $beta * *place;
        }
    };
}

/// Tiles in statics, as in rust-cuda's kernels.
#[kernel]
pub unsafe fn gemm_statics(a: &[f32], b: &[f32], c: *mut f32, m: usize, n: usize, k: usize, alpha: f32, beta: f32) {
    #[address_space(shared)]
    static mut TILE_A: [MaybeUninit<f32>; TILE * TILE] = [const { MaybeUninit::uninit() }; TILE * TILE];
    #[address_space(shared)]
    static mut TILE_B: [MaybeUninit<f32>; TILE * TILE] = [const { MaybeUninit::uninit() }; TILE * TILE];
    product!(
        a, b, c, m, n, k, alpha, beta,
        |i: usize, value| TILE_A[i] = MaybeUninit::new(value),
        |i: usize, value| TILE_B[i] = MaybeUninit::new(value),
        |i: usize| TILE_A[i].assume_init(),
        |i: usize| TILE_B[i].assume_init()
    );
}

/// Tiles in `shared_array!`.
#[kernel]
pub unsafe fn gemm_arrays(a: &[f32], b: &[f32], c: *mut f32, m: usize, n: usize, k: usize, alpha: f32, beta: f32) {
    let tile_a = shared_array![f32; TILE * TILE];
    let tile_b = shared_array![f32; TILE * TILE];
    product!(
        a, b, c, m, n, k, alpha, beta,
        |i: usize, value| *tile_a.add(i) = value,
        |i: usize, value| *tile_b.add(i) = value,
        |i: usize| *tile_a.add(i),
        |i: usize| *tile_b.add(i)
    );
}

/// Tiles in the launch's dynamic shared memory.
#[kernel]
pub unsafe fn gemm_dynamic(a: &[f32], b: &[f32], c: *mut f32, m: usize, n: usize, k: usize, alpha: f32, beta: f32) {
    let tile_a = dynamic_shared_mem::<f32>();
    let tile_b = tile_a.add(TILE * TILE);
    product!(
        a, b, c, m, n, k, alpha, beta,
        |i: usize, value| *tile_a.add(i) = value,
        |i: usize, value| *tile_b.add(i) = value,
        |i: usize| *tile_a.add(i),
        |i: usize| *tile_b.add(i)
    );
}

/// A function that gets the address of a tile, and is not inlined into the kernel.
#[inline(never)]
unsafe fn sum_of(tile: *const f32) -> f32 {
    let mut sum = 0.0;
    for i in 0..TILE {
        sum += *tile.add(i * thread::thread_idx_x() as usize);
    }
    sum
}

/// The dynamic memory's address leaves the kernel.
#[kernel]
pub unsafe fn dynamic_passed_on(out: *mut f32) {
    let tile = dynamic_shared_mem::<f32>();
    *tile.add(thread::thread_idx_x() as usize) = 1.0;
    thread::sync_threads();
    *out.add(thread::thread_idx_x() as usize) = sum_of(tile);
}
