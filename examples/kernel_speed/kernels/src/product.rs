//! The product of two matrices of `f64` on tensor cores.

use cuda_std::matrix::{Shape, m16n8k8_f64};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{async_copy, unroll, warp};

/// Rows and columns of the part of C that a block computes.
pub const PRODUCT_TILE: usize = 128;
/// Columns of A and rows of B that are in shared memory at a time, in each of four stages.
pub const PRODUCT_DEPTH: usize = 16;
/// Threads of a block: 8 warps, each of which computes 64 rows and 32 columns.
pub const PRODUCT_THREADS: u32 = 256;
/// Parts of A and B that are on their way at the same time.
const STAGES: usize = 4;
/// Four numbers more than a row has, so that a warp's loads are spread over all banks.
const A_STRIDE: usize = PRODUCT_DEPTH + 4;
const B_STRIDE: usize = PRODUCT_TILE + 4;
const A_NUMBERS: usize = PRODUCT_TILE * A_STRIDE;
const STAGE: usize = A_NUMBERS + PRODUCT_DEPTH * B_STRIDE;
/// Dynamic shared memory of a block in bytes.
pub const PRODUCT_SHARED: u32 = (STAGES * STAGE * size_of::<f64>()) as u32;

/// Rows of tiles that consecutive blocks share, so that their parts of A and B stay in the second cache.
const GROUP: usize = 8;

/// Two numbers that are copied together.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Two(f64, f64);

/// Computes C = A B, row by row: A has m rows and k columns, B has k rows and n columns; m and n are multiples of [`PRODUCT_TILE`], k of
/// [`PRODUCT_DEPTH`]. Sums run over k in ascending order with fused multiplications and additions.
///
/// # Thread mapping
/// A one-dimensional grid of m n / [`PRODUCT_TILE`]² blocks of [`PRODUCT_THREADS`] threads with [`PRODUCT_SHARED`] bytes of dynamic shared memory.
///
/// # Safety
/// The matrices are valid and aligned to 16 bytes, and nothing else uses C during the launch.
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn product_f64(a: *const f64, b: *const f64, c: *mut f64, m: usize, n: usize, k: usize) {
    let thread = thread::thread_idx_x() as usize;
    let (down, across) = tile_of(
        thread::block_idx_x() as usize,
        m / PRODUCT_TILE,
        n / PRODUCT_TILE,
    );
    let (first_row, first_column) = (down * PRODUCT_TILE, across * PRODUCT_TILE);
    let shared = dynamic_shared_mem::<f64>();
    let steps = k / PRODUCT_DEPTH;

    // SAFETY: the parts lie inside of the matrices and of the stage; each thread copies its own.
    let load = |step: usize| unsafe {
        if step < steps {
            let stage = shared.add(step % STAGES * STAGE);
            let first = step * PRODUCT_DEPTH;
            for i in 0..4 {
                let part = thread + i * PRODUCT_THREADS as usize;
                let (row, pair) = (part / (PRODUCT_DEPTH / 2), part % (PRODUCT_DEPTH / 2));
                let from = a.add((first_row + row) * k + first + 2 * pair);
                async_copy::start(
                    stage.add(row * A_STRIDE + 2 * pair).cast::<Two>(),
                    from.cast(),
                );
                let (row, pair) = (part / (PRODUCT_TILE / 2), part % (PRODUCT_TILE / 2));
                let from = b.add((first + row) * n + first_column + 2 * pair);
                async_copy::start(
                    stage
                        .add(A_NUMBERS + row * B_STRIDE + 2 * pair)
                        .cast::<Two>(),
                    from.cast(),
                );
            }
        }
        async_copy::commit();
    };

    for step in 0..STAGES - 1 {
        load(step);
    }
    let lane = warp::lane_id();
    let (warp_row, warp_column) = (thread / 128 * 64, thread / 32 % 4 * 32);
    // Products of 16 by 8 and 8 by 8 numbers: 4 below each other, 4 beside each other.
    let mut sums = [[[0.0; 4]; 4]; 4];
    for step in 0..steps {
        async_copy::wait::<{ STAGES as u32 - 2 }>();
        // Everybody's part of this step has come, and nobody reads the stage that is loaded next.
        thread::sync_threads();
        load(step + STAGES - 1);
        // SAFETY: the elements lie inside of the stage.
        unsafe {
            let tile_a = shared.add(step % STAGES * STAGE);
            let tile_b = tile_a.add(A_NUMBERS);
            unroll!(for half in 0..2 {
                let (mut part_a, mut part_b) = ([[0.0; 4]; 4], [[0.0; 2]; 4]);
                unroll!(for i in 0..4 {
                    unroll!(for element in 0..4 {
                        let (row, column) = Shape::M16N8K8_F64.a(lane, element as u32);
                        part_a[i][element] = *tile_a.add(
                            (warp_row + 16 * i + row as usize) * A_STRIDE
                                + 8 * half
                                + column as usize,
                        );
                    });
                    unroll!(for element in 0..2 {
                        let (row, column) = Shape::M16N8K8_F64.b(lane, element as u32);
                        part_b[i][element] = *tile_b.add(
                            (8 * half + row as usize) * B_STRIDE
                                + warp_column
                                + 8 * i
                                + column as usize,
                        );
                    });
                });
                unroll!(for i in 0..4 {
                    unroll!(for j in 0..4 {
                        sums[i][j] = m16n8k8_f64(part_a[i], part_b[j], sums[i][j]);
                    });
                });
            });
        }
    }
    unroll!(for i in 0..4 {
        unroll!(for j in 0..4 {
            unroll!(for pair in 0..2 {
                let (row, column) = Shape::M16N8K8_F64.c(lane, 2 * pair as u32);
                let row = first_row + warp_row + 16 * i + row as usize;
                let column = first_column + warp_column + 8 * j + column as usize;
                let values = Two(sums[i][j][2 * pair], sums[i][j][2 * pair + 1]);
                // SAFETY: the two elements lie inside of C and are this thread's own.
                unsafe { *c.add(row * n + column).cast::<Two>() = values };
            });
        });
    });
}

/// Row and column of the tile of a block: tiles are counted down groups of [`GROUP`] rows of tiles.
#[inline(always)]
fn tile_of(block: usize, down: usize, across: usize) -> (usize, usize) {
    let group = block / (GROUP * across);
    let rows = (down - group * GROUP).min(GROUP);
    let inside = block - group * GROUP * across;
    (group * GROUP + inside % rows, inside / rows)
}
