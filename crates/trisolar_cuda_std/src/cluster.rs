//! Thread block clusters: blocks that run at the same time, wait for each other and reach each other's shared memory.
//!
//! `#[kernel(cluster = 4)]` makes clusters of four consecutive blocks along x, `cluster = (2, 2, 1)` of two by two; a cluster has at most
//! [`MAX_SIZE`] blocks, and the grid is a multiple of it in every direction. A kernel without the option runs in clusters of one block. In the
//! emulator the blocks of a cluster take turns on one core. Needs compute capability 9.0.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{cluster, shared_slice};
//!
//! /// Writes the sum of the cluster's numbers to the place of each of its blocks.
//! /// # Safety
//! /// `data` is valid for one value of each block; blocks of one thread.
//! #[kernel(cluster = 4)]
//! pub unsafe fn sums(data: *mut u32) {
//!     let own = shared_slice![u32; 1];
//!     let place = thread::block_idx_x() as usize;
//!     // SAFETY: every block has a place of its own. The barriers lie between the writes and the reads, and before the end of the blocks.
//!     unsafe {
//!         own.set(0, *data.add(place));
//!         cluster::sync();
//!         let mut sum = 0;
//!         for rank in 0..cluster::size() {
//!             sum += cluster::map_shared_rank(own, rank).get(0);
//!         }
//!         cluster::sync();
//!         *data.add(place) = sum;
//!     }
//! }
//!
//! let mut data = [1, 2, 3, 4, 10, 20, 30, 40];
//! let pointer = data.as_mut_ptr();
//! // SAFETY: eight blocks of one thread and eight values.
//! unsafe { cuda_std::emulator::Launch::new(8, 1).run_kernel::<Sums>((pointer,)) }.unwrap();
//! assert_eq!(data, [10, 10, 10, 10, 100, 100, 100, 100]);
//! ```

use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use glam::UVec3;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator;
use crate::shared::{SharedSlice, SharedValue};

/// The most blocks of a cluster on every GPU that has clusters.
pub const MAX_SIZE: u32 = 8;

macro_rules! register {
    ($($(#[$doc:meta])* $name:ident, $register:literal, $emulated:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        /// On the CPU, outside of an emulated launch.
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let value: u32;
                // SAFETY: reading a special register has no preconditions.
                unsafe {
                    asm!(concat!("mov.u32 {}, %", $register, ";"), out(reg32) value,
                        options(pure, nomem, nostack, preserves_flags));
                }
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let value: fn(&emulator::BlockContext) -> u32 = $emulated;
                value(emulator::current().block())
            }
        }
    )*};
}

register! {
    /// Linear index of this block in its cluster, x fastest.
    rank, "cluster_ctarank", |block| block.rank;
    /// Number of blocks of the cluster.
    size, "cluster_nctarank", |block| block.cluster_dim.iter().product();
    /// Index of this block in its cluster along x.
    block_idx_x, "cluster_ctaid.x", |block| block.place_in_cluster()[0];
    /// Index of this block in its cluster along y.
    block_idx_y, "cluster_ctaid.y", |block| block.place_in_cluster()[1];
    /// Index of this block in its cluster along z.
    block_idx_z, "cluster_ctaid.z", |block| block.place_in_cluster()[2];
    /// Blocks of the cluster along x.
    dim_x, "cluster_nctaid.x", |block| block.cluster_dim[0];
    /// Blocks of the cluster along y.
    dim_y, "cluster_nctaid.y", |block| block.cluster_dim[1];
    /// Blocks of the cluster along z.
    dim_z, "cluster_nctaid.z", |block| block.cluster_dim[2];
}

/// Index of this block in its cluster.
#[inline(always)]
#[must_use]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// Blocks of the cluster in each direction.
#[inline(always)]
#[must_use]
pub fn dim() -> UVec3 {
    UVec3::new(dim_x(), dim_y(), dim_z())
}

/// Arrives at the barrier of the cluster and goes on. What this thread has written is visible to the other threads after their [`wait`].
///
/// Each thread calls [`wait`] before it arrives again; the emulator reports one that does not.
#[inline(always)]
#[track_caller]
pub fn arrive() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier has no preconditions on memory.
    unsafe {
        asm!(
            "barrier.cluster.arrive.release;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::arrive_at_cluster();
}

/// Waits until all threads of the cluster that have not ended have [arrived](arrive).
#[inline(always)]
#[track_caller]
pub fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier has no preconditions on memory.
    unsafe {
        asm!(
            "barrier.cluster.wait.acquire;",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_cluster(core::panic::Location::caller());
}

/// Waits until all threads of the cluster have called it: [`arrive`] and [`wait`], as `cluster.sync()` of CUDA's cooperative groups.
#[inline(always)]
#[track_caller]
pub fn sync() {
    arrive();
    wait();
}

/// The same array in the shared memory of the block with this rank in the cluster.
///
/// # Panics
/// In the emulator, if the cluster has no such block, or if the array is not one of `shared_array!`, `shared_slice!` or dynamic shared memory.
///
/// # Safety
/// `rank` is below [`size`]. Accesses follow a barrier of the cluster after the start of the kernel, because a block must have begun, and come
/// before a barrier that the other block passes before it ends.
#[inline(always)]
#[must_use]
#[track_caller]
pub unsafe fn map_shared_rank<T: SharedValue>(array: SharedSlice<T>, rank: u32) -> ClusterSlice<T> {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u32;
        // SAFETY: the instruction computes an address.
        unsafe {
            asm!("mapa.shared::cluster.u32 {}, {}, {};", out(reg32) address, in(reg32) array.address(), in(reg32) rank,
                options(pure, nomem, nostack, preserves_flags));
        }
        ClusterSlice {
            address,
            element: PhantomData,
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (pointer, length) = array.parts();
        let (block, pointer) = emulator::current().block().mapped(pointer.cast(), rank);
        ClusterSlice {
            block,
            array: SharedSlice::of_parts(pointer.cast(), length),
            element: PhantomData,
        }
    }
}

/// An array in the shared memory of a block of the cluster, accessed with `ld.shared::cluster` and `st.shared::cluster`: a copyable handle from
/// [`map_shared_rank`]. The emulator checks every index and that the block runs; the device checks neither.
pub struct ClusterSlice<T> {
    #[cfg(target_arch = "nvptx64")]
    address: u32,
    #[cfg(not(target_arch = "nvptx64"))]
    block: *const emulator::BlockContext,
    #[cfg(not(target_arch = "nvptx64"))]
    array: SharedSlice<T>,
    element: PhantomData<*mut T>,
}

impl<T> Clone for ClusterSlice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ClusterSlice<T> {}

impl<T: SharedValue> ClusterSlice<T> {
    /// Returns element `index`.
    ///
    /// # Panics
    /// In the emulator the launch fails with `EmulatorError::SharedIndex` if the index is out of bounds, and with a message if the block has
    /// not begun or has ended.
    ///
    /// # Safety
    /// `index` must be in bounds, the element must have been written, the block must run, and a barrier must separate this call from writes by
    /// other threads.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees the index.
        unsafe {
            T::load_cluster(self.address + (index * size_of::<T>()) as u32)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the array checks the index.
        unsafe {
            self.checked().get(index)
        }
    }

    /// Sets element `index`.
    ///
    /// # Panics
    /// The same as for [`get`](Self::get).
    ///
    /// # Safety
    /// `index` must be in bounds, the block must run, and a barrier must separate this call from other threads' accesses to the element.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees the index.
        unsafe {
            T::store_cluster(self.address + (index * size_of::<T>()) as u32, value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the array checks the index.
        unsafe {
            self.checked().set(index, value);
        }
    }

    /// A generic pointer to the array, for example for atomics.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn as_mut_ptr(self) -> *mut T {
        #[cfg(target_arch = "nvptx64")]
        {
            let pointer: u64;
            // SAFETY: the assembly converts an address.
            unsafe {
                asm!("{{", ".reg .b64 a;", "cvt.u64.u32 a, {};", "cvta.shared::cluster.u64 {}, a;", "}}",
                    in(reg32) self.address, out(reg64) pointer, options(pure, nomem, nostack, preserves_flags));
            }
            pointer as *mut T
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.checked().parts().0
    }

    /// The array of a block that runs.
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    fn checked(self) -> SharedSlice<T> {
        // SAFETY: the blocks of a cluster outlive its threads.
        unsafe { &*self.block }.assert_running();
        self.array
    }
}
