//! The emulator runs kernels as a GPU does: barriers, shared memory, dimensions, order.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::emulator::{EmulatorError, Launch, launch};
use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

#[kernel]
unsafe fn write_index(out: *mut u32, n: usize) {
    let i = thread::index() as usize;
    if i < n {
        unsafe { *out.add(i) = i as u32 + 1 };
    }
}

#[test]
fn every_thread_of_a_3d_launch_has_an_index_of_its_own() {
    let mut out = vec![0u32; 2 * 3 * 4 * 5 * 6 * 7];
    let (pointer, n) = (out.as_mut_ptr(), out.len());
    let stats = unsafe { launch((2, 3, 4), (5, 6, 7), 0, || write_index(pointer, n)) }.unwrap();
    assert!(out.iter().copied().eq(1..=n as u32));
    assert_eq!((stats.blocks, stats.threads), (24, n as u64));
}

const BLOCK: usize = 128;

/// Sums 128 numbers with a tree in shared memory.
#[kernel]
unsafe fn block_sum(input: &[f32], out: *mut f32, with_barrier: bool) {
    #[address_space(shared)]
    static mut TILE: [f32; BLOCK] = [0.0; BLOCK];
    let i = thread::thread_idx_x() as usize;
    unsafe { TILE[i] = input[thread::index_1d() as usize] };
    thread::sync_threads();
    let mut half = BLOCK / 2;
    while half > 0 {
        if i < half {
            unsafe { TILE[i] += TILE[i + half] };
        }
        if with_barrier {
            thread::sync_threads();
        }
        half /= 2;
    }
    thread::sync_threads();
    if i == 0 {
        unsafe { *out.add(thread::block_idx_x() as usize) = TILE[0] };
    }
}

fn sums(seed: u64, with_barrier: bool) -> Vec<f32> {
    let input: Vec<f32> = (0..4 * BLOCK).map(|i| i as f32).collect();
    let mut out = vec![0.0; 4];
    let pointer = out.as_mut_ptr();
    unsafe {
        Launch::new(4, BLOCK as u32)
            .seed(seed)
            .run(|| block_sum(&input, pointer, with_barrier))
    }
    .unwrap();
    out
}

#[test]
fn a_missing_barrier_shows_for_some_seed_and_a_right_kernel_never_fails() {
    let expected: Vec<f32> = (0..4)
        .map(|b| (b * BLOCK..(b + 1) * BLOCK).map(|i| i as f32).sum())
        .collect();
    assert!((0..50).all(|seed| sums(seed, true) == expected));
    assert!((0..50).any(|seed| sums(seed, false) != expected));
}
