//! Reads the shared memory of another crate.

use core::sync::atomic::Ordering;

use device_check_tiles as tiles;

/// The elements of each array that mirror those of thread `t` across the diagonal, and the sum.
///
/// # Safety
/// Must be called in a launch, with `t` below 64, and a barrier must separate it from the writes.
#[inline(never)]
pub unsafe fn get(t: usize) -> [u64; 5] {
    let across = t % 8 * 8 + t / 8;
    // SAFETY: both indices are below 64, the number of elements of each array, all of which have been written.
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
