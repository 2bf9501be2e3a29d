//! Copies from global to shared memory that run beside the arithmetic of the thread which starts them: PTX's `cp.async`.
//!
//! A thread starts copies, closes a group of them by [`commit`], and later waits until only the latest groups are still under way. Only then are
//! the bytes there, for this thread; after a barrier they are there for the block. In the emulator the bytes move at the wait, so a
//! forgotten one shows. Needs compute capability 8.0.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::{async_copy, shared_array};
//!
//! /// Adds up blocks of 32 numbers, and loads the next block while it adds one.
//! /// # Safety
//! /// `data` is valid for 32 n values, `sums` for 32; one block of 32 threads.
//! #[kernel]
//! pub unsafe fn sums(data: *const f32, n: u32, sums: *mut f32) {
//!     let tiles = shared_array![f32; 64];
//!     let i = thread::thread_idx_x();
//!     // SAFETY: every thread uses its own places in both tiles, and loads the n blocks alone.
//!     unsafe {
//!         let load = |block: u32| {
//!             if block < n {
//!                 async_copy::start(tiles.add((block % 2 * 32 + i) as usize), data.add((block * 32 + i) as usize));
//!             }
//!             async_copy::commit();
//!         };
//!         load(0);
//!         let mut sum = 0.0;
//!         for block in 0..n {
//!             load(block + 1);
//!             async_copy::wait::<1>();
//!             sum += *tiles.add((block % 2 * 32 + i) as usize);
//!         }
//!         *sums.add(i as usize) = sum;
//!     }
//! }
//!
//! let data: Vec<f32> = (0..96).map(|i| i as f32).collect();
//! let mut out = vec![0.0; 32];
//! let (from, to) = (data.as_ptr(), out.as_mut_ptr());
//! // SAFETY: 96 and 32 values, one block of 32 threads.
//! unsafe { cuda_std::emulator::launch(1, 32, 0, || sums(from, 3, to)) }.unwrap();
//! assert_eq!(out[1], 1.0 + 33.0 + 65.0);
//! ```

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{Copy as Bytes, current};

/// Starts to copy one value of 4, 8 or 16 bytes.
///
/// # Safety
/// `to` is a place of its own in shared memory, `from` one in global memory; both are aligned to the size of `T`, and nothing changes them before
/// the wait.
#[inline(always)]
pub unsafe fn start<T: Copy>(to: *mut T, from: *const T) {
    const {
        assert!(
            matches!(size_of::<T>(), 4 | 8 | 16),
            "an asynchronous copy has 4, 8 or 16 bytes"
        )
    };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller vouches for both places.
    unsafe {
        macro_rules! copy {
            ($instruction:literal) => {
                asm!(
                    "{{",
                    ".reg .b64 s, g;",
                    "cvta.to.shared.u64 s, {to};",
                    "cvta.to.global.u64 g, {from};",
                    concat!($instruction, " [s], [g], {bytes};"),
                    "}}",
                    to = in(reg64) to, from = in(reg64) from, bytes = const size_of::<T>(),
                    options(nostack, preserves_flags)
                )
            };
        }
        // Whole lines of 16 bytes need not pass through the first cache.
        match size_of::<T>() {
            16 => copy!("cp.async.cg.shared.global"),
            _ => copy!("cp.async.ca.shared.global"),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let bytes = size_of::<T>();
        assert!(
            to.addr().is_multiple_of(bytes) && from.addr().is_multiple_of(bytes),
            "an asynchronous copy of {bytes} bytes starts and ends at multiples of {bytes}"
        );
        let copy = Bytes {
            to: to.cast(),
            from: from.cast(),
            bytes,
        };
        current().copies.borrow_mut().start(copy);
    }
}

/// Closes the group of copies that this thread has started since the last call. A group may be empty.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction has no operands.
    unsafe {
        asm!("cp.async.commit_group;", options(nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "nvptx64"))]
    current().copies.borrow_mut().commit();
}

/// Waits until at most the latest `PENDING` groups of this thread are under way.
#[inline(always)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction waits.
    unsafe {
        asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "nvptx64"))]
    current().copies.borrow_mut().wait(PENDING as usize);
}

/// Waits for all copies of this thread, also for those of no group.
#[inline(always)]
pub fn wait_all() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction waits.
    unsafe {
        asm!("cp.async.wait_all;", options(nostack, preserves_flags))
    };
    #[cfg(not(target_arch = "nvptx64"))]
    current().copies.borrow_mut().wait_all();
}
