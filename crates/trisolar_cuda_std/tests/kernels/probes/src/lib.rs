//! Programs that are easily compiled wrongly: addresses that go through everything that can hold one, formulas that look like another, state
//! that kernels share, tables of functions. Each kernel writes words that a test can compare with the CPU.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(asm_experimental_arch))]
#![allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    unsafe_op_in_unsafe_fn
)]

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warp::warp_shuffle_idx;
use cuda_std::{Constant, address_space};

const ALL: u32 = u32::MAX;

#[address_space(shared)]
static mut FIRST: [u32; 32] = [0; 32];
#[address_space(shared)]
static mut SECOND: [u32; 32] = [0; 32];
#[address_space(shared)]
static mut THIRD: [u32; 32] = [0; 32];
#[address_space(shared)]
static mut FOURTH: [u32; 32] = [0; 32];

#[address_space(constant)]
pub static TABLE: Constant<[u32; 4]> = Constant::new([3, 1, 4, 1]);

unsafe fn shuffled<T>(pointer: *const T, from: u32) -> *const T {
    warp_shuffle_idx(ALL, pointer as u64, from, 32).0 as *const T
}

/// Fills shared memory, and returns the number of the thread.
unsafe fn filled() -> usize {
    let i = thread::thread_idx_x() as usize;
    FIRST[i] = 100 + i as u32;
    SECOND[i] = 200 + i as u32;
    THIRD[i] = 300 + i as u32;
    FOURTH[i] = 400 + i as u32;
    *dynamic_shared_mem::<u32>().add(i) = 500 + i as u32;
    thread::sync_threads();
    i
}

/// Addresses in three memories through a shuffle of 64 bits.
#[kernel]
pub unsafe fn shuffled_addresses(out: *mut u32) {
    let i = filled();
    let mine = (&raw const FIRST).cast::<u32>().add(i);
    *out.add(4 * i) = *shuffled(mine, 31 - i as u32);
    *out.add(4 * i + 1) = *shuffled(
        dynamic_shared_mem::<u32>().cast_const().add(i),
        31 - i as u32,
    );
    *out.add(4 * i + 2) = *shuffled(&raw const TABLE[i & 3], 31 - i as u32);
    *out.add(4 * i + 3) = *shuffled(out.add(4 * i).cast_const(), i as u32);
}

/// An address that is chosen among shared and global memory, one through memory, and one that is put together from numbers there.
#[kernel]
pub unsafe fn stored_addresses(out: *mut u32, places: *mut u64, choice: u32) {
    let i = filled();
    let shared = (&raw const SECOND).cast::<u32>().add(i);
    *out.add(4 * i) = 7;
    let either = if choice > i as u32 {
        shared
    } else {
        out.add(4 * i)
    };
    *out.add(4 * i + 1) = *either;
    places.add(i).write_volatile(shared as u64);
    *out.add(4 * i + 2) = *(places.add(i).read_volatile() as *const u32);
    places.add(i).write_volatile(shared as u64 ^ out as u64);
    let back = (places.add(i).read_volatile() ^ shared as u64) as *const u32;
    *out.add(4 * i + 3) = *back.add(4 * i);
}

/// One of four arrays, which LLVM would like to look up in a table.
#[kernel]
pub unsafe fn matched(out: *mut u32, which: u32) {
    let i = filled();
    let array = match which {
        0 => (&raw const FIRST).cast::<u32>(),
        1 => (&raw const SECOND).cast(),
        2 => (&raw const THIRD).cast(),
        3 => (&raw const FOURTH).cast(),
        _ => out.cast_const(),
    };
    *out.add(i) = *array.add(i);
}

/// An array whose address is inlined from a function of four.
#[kernel]
pub unsafe fn matched_arrays(out: *mut u32, which: u32) {
    let i = thread::thread_idx_x() as usize;
    let arrays = (
        shared_array![u32; 32],
        shared_array![u32; 32],
        shared_array![u32; 32],
        shared_array![u32; 32],
    );
    for (k, array) in [arrays.0, arrays.1, arrays.2, arrays.3]
        .into_iter()
        .enumerate()
    {
        *array.add(i) = 1000 * k as u32 + i as u32;
    }
    thread::sync_threads();
    let array = match which & 3 {
        0 => arrays.0,
        1 => arrays.1,
        2 => arrays.2,
        _ => arrays.3,
    };
    *out.add(i) = *array.add(31 - i);
}

/// The reduction of Cody and Waite by two parts of 2π, and remainders.
#[kernel]
pub unsafe fn reduced(values: *const f64, out: *mut f64) {
    const HIGH: f64 = core::f64::consts::TAU;
    const LOW: f64 = 2.449_293_598_294_706_4e-16;
    let i = thread::thread_idx_x() as usize;
    let v = *values.add(i);
    let n = (v / HIGH).trunc();
    *out.add(4 * i) = (-n).mul_add(LOW, (-n).mul_add(HIGH, v));
    *out.add(4 * i + 1) = n;
    *out.add(4 * i + 2) = v % HIGH;
    let m = (v as f32 / 0.75).trunc();
    *out.add(4 * i + 3) = f64::from((-m).mul_add(0.75, v as f32)) + f64::from(v as f32 % 0.75);
}

static COUNT: AtomicU32 = AtomicU32::new(0);
static mut PLAIN: [u32; 4] = [1, 2, 3, 4];

/// Two kernels share a static, and two others another one.
#[kernel]
pub unsafe fn count() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

#[kernel]
pub unsafe fn counted(out: *mut u32) {
    *out = COUNT.load(Ordering::Relaxed);
}

#[inline(never)]
unsafe fn set(i: usize, value: u32) {
    (&raw mut PLAIN).cast::<u32>().add(i).write_volatile(value);
}

#[kernel]
pub unsafe fn plain_set(value: u32) {
    set(thread::thread_idx_x() as usize & 3, value);
}

#[kernel]
pub unsafe fn plain_get(out: *mut u32) {
    let i = thread::thread_idx_x() as usize & 3;
    *out.add(i) = (&raw const PLAIN).cast::<u32>().add(i).read_volatile();
}

trait Shape {
    fn area(&self, x: f32) -> f32;
}
struct Square;
struct Scaled(f32);
impl Shape for Square {
    #[inline(never)]
    fn area(&self, x: f32) -> f32 {
        x * x
    }
}
impl Shape for Scaled {
    #[inline(never)]
    fn area(&self, x: f32) -> f32 {
        self.0 * x
    }
}

fn doubled(x: f32) -> f32 {
    x + x
}
fn halved(x: f32) -> f32 {
    x * 0.5
}
fn same(x: f32) -> f32 {
    x
}

/// Calls through a trait object and through a table of functions that nothing else names.
#[kernel]
pub unsafe fn called(x: *mut f32, which: u32) {
    static FUNCTIONS: [fn(f32) -> f32; 3] = [doubled, halved, same];
    let i = thread::thread_idx_x() as usize;
    let scaled = Scaled(3.0);
    let shape: &dyn Shape = if (i as u32) < which { &Square } else { &scaled };
    let value = *x.add(i);
    *x.add(i) = shape.area(value) + FUNCTIONS[(i + which as usize) % 3](value);
}

/// A structure that is aligned more than any register.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Wide {
    pub values: [f32; 12],
}

#[kernel]
pub unsafe fn wide_argument(before: u32, wide: Wide, mut after: u64, out: *mut f32) {
    let i = thread::thread_idx_x() as usize;
    after += u64::from(before);
    *out.add(i) = wide.values[i % 12] + after as f32;
}

/// Braces in a comment of assembly.
#[kernel]
pub unsafe fn braces(out: *mut u32) {
    let x: u32;
    #[cfg(target_arch = "nvptx64")]
    core::arch::asm!("// an open brace {{ in a comment, .entry nothing(", "mov.b32 {}, 17; // }} }}", out(reg32) x);
    #[cfg(not(target_arch = "nvptx64"))]
    let x = 17;
    *out = x;
}
