//! A barrier for all threads of a grid.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
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
    /// The result of [`this_thread`].
    thread: usize,
}

impl GridBarrier {
    /// Creates a barrier for a counter in global memory that was 0 before the launch.
    #[inline(always)]
    #[must_use]
    pub fn new(arrived: *const AtomicU32) -> Self {
        Self {
            arrived,
            goal: 0,
            thread: this_thread(),
        }
    }

    /// Tells the barrier the number of this thread in its block, where a register has it anyway. To read it again takes as long as a barrier of
    /// the block.
    ///
    /// # Safety
    /// It must be the number of this thread.
    #[inline(always)]
    pub unsafe fn set_thread(&mut self, thread: u32) {
        self.thread = thread as usize;
    }

    /// Waits until all threads of the grid have arrived. Their earlier writes are then visible to all of them.
    ///
    /// # Safety
    /// All threads of the grid must call it the same number of times, and the counter must be valid.
    #[inline(always)]
    pub unsafe fn wait(&mut self) {
        // SAFETY: the caller guarantees this.
        unsafe { self.wait_meanwhile(|| {}) };
    }

    /// The same as [`wait`](Self::wait), but all threads call `meanwhile` after their block has arrived and before it waits for the others. Their
    /// writes there become visible to other blocks by the next wait.
    ///
    /// # Safety
    /// The same as for [`wait`](Self::wait), which all threads may call in turn with this.
    #[inline(always)]
    pub unsafe fn wait_meanwhile(&mut self, meanwhile: impl FnOnce()) {
        thread::sync_threads();
        self.next();
        let first = thread::thread_idx_x() == 0;
        // SAFETY: the caller guarantees this.
        unsafe {
            if first {
                self.arrive();
            }
            meanwhile();
            if first {
                self.wait_for(self.goal);
            }
        }
        thread::sync_threads();
    }

    /// The same as [`wait`](Self::wait), but the threads of the first block call `between` after all other blocks have arrived and before any
    /// thread goes on. Their writes there are also visible to all threads.
    ///
    /// # Safety
    /// The same as for [`wait`](Self::wait), which all threads may call in turn with this.
    #[inline(always)]
    pub unsafe fn wait_and(&mut self, between: impl FnOnce()) {
        thread::sync_threads();
        self.next();
        let first = thread::thread_idx_x() == 0;
        // SAFETY: the caller guarantees this.
        unsafe {
            if thread::block_idx_x() == 0 {
                if first {
                    self.wait_for(self.goal.wrapping_sub(1));
                }
                thread::sync_threads();
                between();
                thread::sync_threads();
                if first {
                    self.arrive();
                }
            } else if first {
                self.arrive();
                self.wait_for(self.goal);
            }
        }
        thread::sync_threads();
    }

    /// Sets the goal of the next wait, which wraps in the same way as the counter.
    #[inline(always)]
    fn next(&mut self) {
        self.goal = self.goal.wrapping_add(thread::grid_dim_x());
    }

    /// Counts the arrival of this block, and makes its writes visible before.
    ///
    /// # Safety
    /// The counter must be valid. The first thread of the block must call this.
    #[inline(always)]
    unsafe fn arrive(&self) {
        // If all threads of a warp add to the same address, ptxas lets one of them add for all, and to find this one takes longer than a barrier of
        // the block. Here it cannot know that the address is the same.
        let arrived = self.arrived.wrapping_add(self.thread);
        // SAFETY: the caller guarantees this; the number of the first thread is 0.
        unsafe {
            atomic_fetch_add_release_u32_device(arrived.cast_mut().cast(), 1);
        }
    }

    /// Waits for this number of arrivals, and orders reads of the other blocks' writes after it.
    ///
    /// # Safety
    /// The counter must be valid.
    #[inline(always)]
    unsafe fn wait_for(&self, goal: u32) {
        let arrived = self.arrived.cast_mut().cast::<u32>();
        // SAFETY: the caller guarantees this.
        while unsafe { (atomic_load_acquire_32_device(arrived).wrapping_sub(goal) as i32) < 0 } {
            // The blocks of a GPU run concurrently, but those of the emulator may share a core.
            #[cfg(not(target_arch = "nvptx64"))]
            thread::nanosleep(0);
        }
    }
}

/// The number of this thread in its block, of which the compiler knows nothing. (It would know that a result of `thread_idx_x` that has been compared
/// with 0 is 0.)
#[inline(always)]
fn this_thread() -> usize {
    #[cfg(target_arch = "nvptx64")]
    {
        let number: u32;
        // SAFETY: the instruction reads a special register.
        unsafe {
            asm!("mov.u32 {}, %tid.x;", out(reg32) number, options(pure, nomem, nostack, preserves_flags));
        }
        number as usize
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        thread::thread_idx_x() as usize
    }
}
