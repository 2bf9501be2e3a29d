//! A barrier for all threads of a grid.

use core::sync::atomic::AtomicU32;

use crate::atomic::intrinsics::{
    atomic_fetch_add_release_u32_device, atomic_load_acquire_32_device,
};
use crate::thread;

/// A barrier for all threads of a grid, as `grid.sync()` of CUDA's cooperative groups. All blocks must be resident: the launch is
/// cooperative (`Grid::cooperative` of `trisolar-device`) or has a single block. In the emulator every block needs its own worker, which a
/// cooperative launch provides.
///
/// The grid has one dimension. Every thread makes its own `GridBarrier` of the same counter, once for a launch.
pub struct GridBarrier {
    /// Number of blocks that have arrived so far; 0 before the launch.
    arrived: *const AtomicU32,
    /// Number of arrivals that ends the current wait.
    goal: u32,
}

impl GridBarrier {
    /// Creates a barrier for a counter in global memory that was 0 before the launch.
    #[inline(always)]
    #[must_use]
    pub fn new(arrived: *const AtomicU32) -> Self {
        Self { arrived, goal: 0 }
    }

    /// Waits until all threads of the grid have arrived. Their earlier writes are then visible to all of them.
    ///
    /// # Safety
    /// All threads of the grid must call it the same number of times, and the counter must be valid.
    #[inline(always)]
    pub unsafe fn wait(&mut self) {
        thread::sync_threads();
        let blocks = thread::grid_dim_x();
        // The goal wraps in the same way as the counter.
        self.goal = self.goal.wrapping_add(blocks);
        if thread::thread_idx_x() == 0 {
            let arrived = self.arrived.cast_mut().cast::<u32>();
            // SAFETY: the caller guarantees this.
            unsafe {
                // Makes the writes of this block visible before its arrival.
                atomic_fetch_add_release_u32_device(arrived, 1);
                // Orders reads of the other blocks' writes after their arrivals.
                while (atomic_load_acquire_32_device(arrived).wrapping_sub(self.goal) as i32) < 0 {
                    // The blocks of a GPU run concurrently, but those of the emulator may share a core.
                    #[cfg(not(target_arch = "nvptx64"))]
                    thread::nanosleep(0);
                }
            }
        }
        thread::sync_threads();
    }
}
