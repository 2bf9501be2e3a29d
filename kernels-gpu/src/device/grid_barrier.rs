//! A barrier for all threads of a grid.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::thread;

/// A barrier for all threads of a grid of which all blocks are resident: a cooperative launch, or a single block. In the
/// emulator every block needs a worker.
pub(crate) struct GridBarrier {
    /// How often a block has arrived; 0 before the launch.
    arrived: *const AtomicU32,
    /// How many arrivals end the present wait.
    goal: u32,
}

impl GridBarrier {
    /// With a counter that was 0 before the launch.
    #[inline(always)]
    pub(crate) fn new(arrived: *const AtomicU32) -> Self {
        Self { arrived, goal: 0 }
    }

    /// Waits until all threads of the grid have come here. What they wrote before is visible to all of them afterwards.
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
            // What this block has written, before its arrival is seen.
            thread::device_fence();
            arrived.fetch_add(1, Ordering::Relaxed);
            while (arrived.load(Ordering::Relaxed).wrapping_sub(self.goal) as i32) < 0 {
                // A GPU's blocks run at the same time; those of the emulator may have to share a core.
                #[cfg(not(target_arch = "nvptx64"))]
                thread::nanosleep(0);
            }
            // What others have written is read after theirs.
            thread::device_fence();
        }
        thread::sync_threads();
    }
}
