//! A barrier for all threads of a grid.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::thread;

/// A barrier for all threads of a grid of which all blocks are resident: a cooperative launch, or a single block. In the
/// emulator every block needs a worker.
pub(crate) struct GridBarrier {
    /// Number of arrivals of blocks; 0 before the launch.
    arrived: *const AtomicU32,
    /// Number of arrivals that ends the current wait.
    goal: u32,
}

impl GridBarrier {
    /// With a counter that was 0 before the launch.
    #[inline(always)]
    pub(crate) fn new(arrived: *const AtomicU32) -> Self {
        Self { arrived, goal: 0 }
    }

    /// Waits until all threads of the grid have arrived. Their earlier writes are then visible to all of them.
    ///
    /// # Safety
    /// All threads of the grid call it equally often; the counter is valid.
    #[inline(always)]
    pub(crate) unsafe fn wait(&mut self) {
        thread::sync_threads();
        let blocks = thread::grid_dim_x();
        // Wraps with the counter.
        self.goal = self.goal.wrapping_add(blocks);
        if thread::thread_idx_x() == 0 {
            // SAFETY: the caller's promise.
            let arrived = unsafe { &*self.arrived };
            // Makes the writes of this block visible before its arrival.
            thread::device_fence();
            arrived.fetch_add(1, Ordering::Relaxed);
            while (arrived.load(Ordering::Relaxed).wrapping_sub(self.goal) as i32) < 0 {
                // The blocks of a GPU run at the same time, but those of the emulator may share a core.
                #[cfg(not(target_arch = "nvptx64"))]
                thread::nanosleep(0);
            }
            // Orders reads of the others' writes after their arrivals.
            thread::device_fence();
        }
        thread::sync_threads();
    }
}
