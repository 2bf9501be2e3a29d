//! Shared memory that other crates use: a block has one instance of each static and each array, whichever crates use it.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU64;

use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

/// One word for each of 64 threads.
#[address_space(shared)]
pub static mut TILE: MaybeUninit<[[u64; 8]; 8]> = MaybeUninit::uninit();

/// The sum over a block.
#[address_space(shared)]
pub static SUM: AtomicU64 = AtomicU64::new(0);

/// The address of [`TILE`]'s first word.
pub fn tile() -> *mut u64 {
    (&raw mut TILE).cast()
}

/// An array of 64 words, inlined into the crates that use it.
#[inline]
pub fn words() -> *mut u64 {
    shared_array![u64; 64]
}

/// An array for each element type, compiled in the crates that use it.
pub fn array<T>() -> *mut T {
    shared_array![T; 64]
}

/// Reverses 64 words.
///
/// # Safety
/// `words` must be valid for reads and writes of 64 words; the launch must have one block of 64 threads.
#[kernel]
pub unsafe fn turn_around(words: *mut u64) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t is below 64, the number of words of both, and a barrier separates writes and reads.
    unsafe {
        *tile().add(t) = *words.add(t);
        thread::sync_threads();
        *words.add(t) = *tile().add(63 - t);
    }
}
