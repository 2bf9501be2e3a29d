//! Reads shared memory of another crate.

use core::sync::atomic::Ordering;

use device_check_tiles as tiles;

/// What lies across the diagonal from thread `t`'s words in each array, and the sum.
///
/// # Safety
/// In a launch, for `t` below 64, after a barrier since the words were written.
#[inline(never)]
pub unsafe fn get(t: usize) -> [u64; 5] {
    let across = t % 8 * 8 + t / 8;
    // SAFETY: both are below 64, the number of elements of each, which have been written.
    unsafe {
        #[allow(static_mut_refs)]
        let tile = tiles::TILE.assume_init_ref();
        [
            tile[t % 8][t / 8],
            *tiles::words().add(across),
            *tiles::array::<u64>().add(across),
            (*tiles::array::<f64>().add(across)).to_bits(),
            tiles::SUM.load(Ordering::Relaxed),
        ]
    }
}
