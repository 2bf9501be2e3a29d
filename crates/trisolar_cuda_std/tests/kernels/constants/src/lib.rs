//! Every way to use constant memory.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

use cuda_std::prelude::*;
use cuda_std::{Constant, address_space};

/// A structure of several numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Limits {
    pub low: f32,
    pub high: f32,
}

// SAFETY: two numbers without padding.
unsafe impl cuda_std::Plain for Limits {}

#[address_space(constant)]
pub static WEIGHTS: Constant<[f32; 32]> = Constant::new([1.5; 32]);

#[address_space(constant)]
pub static LIMITS: Constant<Limits> = Constant::new(Limits { low: 0.0, high: 1.0 });

/// In the style of rust-cuda.
#[address_space(constant)]
#[unsafe(export_name = "offsets")]
pub static mut OFFSETS: [u32; 8] = [7; 8];

/// Never changes, so that the compiler may compute with it.
#[address_space(constant)]
pub static FIXED: [u32; 4] = [2, 3, 5, 7];

#[inline(never)]
fn sum(values: &[f32]) -> f32 {
    values.iter().sum()
}

/// Direct accesses, an index, a loop, and a function that does not know the memory.
#[kernel]
pub unsafe fn weighted(x: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        let value = *x.add(i as usize) * WEIGHTS[(i % 32) as usize] + WEIGHTS[3];
        *x.add(i as usize) = value.clamp(LIMITS.low, LIMITS.high) + match i {
            0 => sum(&WEIGHTS[..n as usize % 32]) + sum(core::slice::from_raw_parts(x, n as usize)),
            _ => 0.0,
        };
    }
}

#[address_space(constant)]
pub static COUNT: Constant<u32> = Constant::new(9);

#[kernel]
pub unsafe fn counted(x: *mut u32) {
    *x += *COUNT;
}

#[kernel]
pub unsafe fn shifted(x: *mut u32) {
    let i = thread::thread_idx_x() as usize;
    *x.add(i) += OFFSETS[i % 8] + FIXED[1];
}

/// An address that is in one of two memories.
#[kernel]
pub unsafe fn either(x: *mut f32, own: bool) {
    let i = thread::thread_idx_x() as usize;
    let tile = cuda_std::shared_array![f32; 32];
    *tile.add(i) = *x.add(i);
    thread::sync_threads();
    let from: *const f32 = if own { tile } else { WEIGHTS.as_ptr() };
    *x.add(i) = *from.add(31 - i);
}
