//! The indices of a thread in its block and in the grid, barriers, and fences.
//!
//! A launch runs a *grid* of *blocks* of *threads*. Each has up to three dimensions, and x varies fastest.

use glam::{UVec2, UVec3};

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{self, BarrierKind};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

macro_rules! coordinate {
    ($($(#[$doc:meta])* $name:ident, $intrinsic:ident, $field:expr, $range:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the CPU, outside of an emulated launch.
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                // SAFETY: reading a special register has no preconditions.
                let value = unsafe { core::arch::nvptx::$intrinsic() } as u32;
                // SAFETY: no GPU launches grids or blocks beyond these limits.
                unsafe { core::hint::assert_unchecked($range.contains(&value)) };
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let field: fn(&emulator::Context) -> u32 = $field;
                field(emulator::current())
            }
        }
    )*};
}

coordinate! {
    /// Index of the thread in its block along x.
    thread_idx_x, _thread_idx_x, |thread| thread.thread_idx[0], (0..1024);
    /// Index of the thread in its block along y.
    thread_idx_y, _thread_idx_y, |thread| thread.thread_idx[1], (0..1024);
    /// Index of the thread in its block along z.
    thread_idx_z, _thread_idx_z, |thread| thread.thread_idx[2], (0..64);
    /// Index of the thread's block in the grid along x.
    block_idx_x, _block_idx_x, |thread| thread.block_idx.get()[0], (0..0x7fff_ffff);
    /// Index of the thread's block in the grid along y.
    block_idx_y, _block_idx_y, |thread| thread.block_idx.get()[1], (0..0xffff);
    /// Index of the thread's block in the grid along z.
    block_idx_z, _block_idx_z, |thread| thread.block_idx.get()[2], (0..0xffff);
    /// Threads of a block along x.
    block_dim_x, _block_dim_x, |thread| thread.block_dim[0], (1..=1024);
    /// Threads of a block along y.
    block_dim_y, _block_dim_y, |thread| thread.block_dim[1], (1..=1024);
    /// Threads of a block along z.
    block_dim_z, _block_dim_z, |thread| thread.block_dim[2], (1..=64);
    /// Blocks of the grid along x.
    grid_dim_x, _grid_dim_x, |thread| thread.grid_dim[0], (1..=0x7fff_ffff);
    /// Blocks of the grid along y.
    grid_dim_y, _grid_dim_y, |thread| thread.grid_dim[1], (1..=0xffff);
    /// Blocks of the grid along z.
    grid_dim_z, _grid_dim_z, |thread| thread.grid_dim[2], (1..=0xffff);
}

/// Index of the thread in its block.
#[inline(always)]
#[must_use]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// Index of the thread's block in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// Threads of a block in each direction.
#[inline(always)]
#[must_use]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// Blocks of the grid in each direction.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// The linear index of the thread in the whole launch, for any dimensions, in [0, number of threads): the threads of a block
/// are consecutive, x fastest, and so are the blocks. Wraps if there are more than 2³² threads.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    let block =
        block_idx_x()
            .wrapping_add(grid_dim_x().wrapping_mul(
                block_idx_y().wrapping_add(grid_dim_y().wrapping_mul(block_idx_z())),
            ));
    let thread = thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z());
    block
        .wrapping_mul(block_dim_x() * block_dim_y() * block_dim_z())
        .wrapping_add(thread)
}

/// Index of the thread in the grid along x, which is unique in a one-dimensional launch.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// Index of the thread in the grid along x and y.
#[inline(always)]
#[must_use]
pub fn index_2d() -> UVec2 {
    UVec2::new(
        index_1d(),
        block_idx_y()
            .wrapping_mul(block_dim_y())
            .wrapping_add(thread_idx_y()),
    )
}

/// Index of the thread in the grid along x, y and z.
#[inline(always)]
#[must_use]
pub fn index_3d() -> UVec3 {
    index_2d().extend(
        block_idx_z()
            .wrapping_mul(block_dim_z())
            .wrapping_add(thread_idx_z()),
    )
}

/// Whether this is thread (0, 0, 0) of block (0, 0, 0).
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == UVec3::ZERO && thread_idx() == UVec3::ZERO
}

/// Lanes of a warp: 32.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

/// Waits until all threads of the block have called it. Afterwards, everything that they wrote to global and shared memory
/// before the call is visible to all of them.
///
/// All threads of the block must call it the same number of times, so it must not be in a branch that only some of them take.
/// If they do not, the emulator reports an error; a GPU hangs or continues with wrong data.
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier has no preconditions on memory.
    unsafe {
        core::arch::nvptx::_syncthreads();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_barrier(BarrierKind::Plain, false, core::panic::Location::caller());
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0.popc"]
    safe fn barrier_count(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.and"]
    safe fn barrier_and(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.or"]
    safe fn barrier_or(predicate: u32) -> u32;
}

/// Does the same as [`sync_threads`] and also returns the number of threads of the block whose `predicate` is not 0.
#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return barrier_count(predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_barrier(
        BarrierKind::Count,
        predicate != 0,
        core::panic::Location::caller(),
    )
}

/// Does the same as [`sync_threads`] and also returns a value that is not 0 if `predicate` is not 0 in every thread of the
/// block.
#[inline(always)]
#[track_caller]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return barrier_and(predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_barrier(
        BarrierKind::And,
        predicate != 0,
        core::panic::Location::caller(),
    )
}

/// Does the same as [`sync_threads`] and also returns a value that is not 0 if `predicate` is not 0 in any thread of the block.
#[inline(always)]
#[track_caller]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return barrier_or(predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_barrier(
        BarrierKind::Or,
        predicate != 0,
        core::panic::Location::caller(),
    )
}

/// A memory fence for the whole grid: other threads of the device see what this thread wrote before the fence before they see
/// what it writes afterwards. No thread waits.
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// A memory fence for the whole device; see [`grid_fence`].
#[inline(always)]
pub fn device_fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!("membar.gl;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}

/// A memory fence for this device, other devices and the host; see [`grid_fence`].
#[inline(always)]
pub fn system_fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!("membar.sys;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}

/// Suspends the thread for about `nanos` nanoseconds, at most twice that; needs sm_70. In the emulator the other threads of the
/// block run meanwhile.
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: sleeping has no preconditions.
    unsafe {
        asm!("nanosleep.u32 {};", in(reg32) nanos, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = nanos;
        emulator::pause();
    }
}
