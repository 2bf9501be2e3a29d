//! Writes the shared memory of another crate.

use core::ptr::addr_of_mut;
use core::sync::atomic::Ordering;

use device_check_tiles as tiles;

/// Writes a thread's words, one to each array, and adds to the sum.
///
/// # Safety
/// Must be called in a launch, with a `t` below 64 that is different for each thread.
#[inline(never)]
pub unsafe fn put(t: usize, word: u64) {
    // SAFETY: t is below 64, the number of elements of each array, and each thread writes different elements.
    unsafe {
        *addr_of_mut!(tiles::TILE).cast::<u64>().add(t) = word;
        *tiles::words().add(t) = word.rotate_left(8);
        *tiles::array::<u64>().add(t) = word.rotate_left(16);
        *tiles::array::<f64>().add(t) = word as u32 as f64;
    }
    tiles::SUM.fetch_add(word, Ordering::Relaxed);
}
