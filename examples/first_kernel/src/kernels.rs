use cuda_std::prelude::*;

/// Multiplies every number by `by`; one thread for each.
///
/// # Safety
/// The launch has a one-dimensional grid, and nothing else uses `data` while it runs.
#[kernel]
pub unsafe fn scale(by: f32, data: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and no other thread has the same i.
        unsafe { *data.add(i as usize) *= by };
    }
}
