//! Kernels in the style of rust-cuda that declares `no_std` for the device, in edition 2021.
#![cfg_attr(target_os = "cuda", no_std)]
#![allow(improper_ctypes_definitions, clippy::missing_safety_doc)]

extern crate alloc;

use core::sync::atomic::Ordering;
use cuda_std::atomic::{AtomicF32, BlockAtomicF64, mid};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::*;

/// Sums with a tree in static shared memory, then one atomic addition for each block.
#[kernel]
pub unsafe fn sum(input: *const f32, n: usize, total: *mut AtomicF32) {
    let tile = shared_array![f32; 256];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *tile.add(t) = if i < n { *input.add(i) } else { 0.0 };
    thread::sync_threads();
    let mut half = 128;
    while half > 0 {
        if t < half {
            *tile.add(t) += *tile.add(t + half);
        }
        thread::sync_threads();
        half /= 2;
    }
    if t == 0 {
        (*total).fetch_add(*tile, Ordering::Relaxed);
    }
}

/// Counts bytes in dynamic shared memory of 256 `u32`.
#[kernel]
pub unsafe extern "C" fn histogram(data: &[u8], counts: *mut u32) {
    let local: *mut u32 = dynamic_shared_mem();
    let t = thread::thread_idx_x() as usize;
    for bin in (t..256).step_by(thread::block_dim_x() as usize) {
        *local.add(bin) = 0;
    }
    thread::sync_threads();
    let i = thread::index() as usize;
    if i < data.len() {
        mid::atomic_fetch_add_u32_block(local.add(data[i] as usize), Ordering::Relaxed, 1);
    }
    thread::sync_threads();
    for bin in (t..256).step_by(thread::block_dim_x() as usize) {
        mid::atomic_fetch_add_u32_device(counts.add(bin), Ordering::Relaxed, *local.add(bin));
    }
}

/// Prefix sum of a warp.
#[kernel]
pub unsafe fn scan(data: *mut i64) {
    let lane = warp::lane_id();
    let slot = &mut *data.add(thread::index_1d() as usize);
    let mut value = *slot;
    let mut distance = 1;
    while distance < 32 {
        let (other, valid) = warp::warp_shuffle_up(u32::MAX, value, distance, 32);
        if valid {
            value += other;
        }
        distance *= 2;
    }
    cuda_std::assert_ne!(lane, 32);
    *slot = value;
}

/// Float functions, a message, a vote of the block, and a sum with block scope.
#[kernel]
pub unsafe fn misc(data: *mut f32, sums: *const BlockAtomicF64) {
    let i = thread::index_1d() as usize;
    let x = *data.add(i);
    let y = x.sqrt().sin().powf(2.0) + x.floor().mul_add(2.0, x.abs()).exp();
    if thread::sync_threads_or((y > 1.0e30) as u32) != 0 && thread::first() {
        println!(
            "block {} has large values, {}% of them",
            thread::block_idx(),
            10
        );
    }
    (*sums).fetch_add(y as f64, Ordering::AcqRel);
    *data.add(i) = y;
}

/// A function that other device code can link to.
#[externally_visible]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn triple(x: u32) -> u32 {
    3 * x
}
