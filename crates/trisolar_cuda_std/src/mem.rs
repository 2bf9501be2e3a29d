//! The heap of the device, the sizes of a block's shared memory, and stores that spare the caches.

use crate::shared::U4;

/// The global allocator of device code, which calls the driver's `malloc` and `free`. Every thread allocates for itself, which
/// is slow, from a heap of 8 MiB unless the host sets another size. Memory outlives the kernel until it is freed.
#[derive(Debug)]
pub struct CUDAAllocator;

#[cfg(target_arch = "nvptx64")]
mod device {
    use super::CUDAAllocator;
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;

    unsafe extern "C" {
        /// Allocates memory of the device heap, or returns null.
        pub fn malloc(size: usize) -> *mut c_void;
        /// Frees memory that `malloc` returned.
        pub fn free(pointer: *mut c_void);
    }

    /// The alignment of `malloc`'s memory in bytes.
    const MALLOC_ALIGN: usize = 16;

    // SAFETY: malloc returns memory that nothing else uses, aligned to 16 bytes. For larger alignments, `alloc` aligns the
    // block and stores malloc's pointer right before it.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: any size is allowed; null means that there is no memory.
            unsafe {
                if layout.align() <= MALLOC_ALIGN {
                    return malloc(layout.size()).cast();
                }
                let block: *mut u8 = malloc(layout.size() + layout.align()).cast();
                if block.is_null() {
                    return block;
                }
                // malloc aligns to 16 bytes, so there is room for a pointer before the aligned address.
                let aligned = block.add(layout.align() - block as usize % layout.align());
                aligned.cast::<*mut u8>().sub(1).write(block);
                aligned
            }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: `alloc` returned the pointer for this layout.
            unsafe {
                if layout.align() <= MALLOC_ALIGN {
                    free(pointer.cast());
                } else {
                    free(pointer.cast::<*mut c_void>().sub(1).read());
                }
            }
        }
    }

    #[global_allocator]
    static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;
}

#[cfg(target_arch = "nvptx64")]
pub use device::{free, malloc};

/// The bytes of dynamic shared memory that the launch gave each block.
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: the instruction only reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes,
                options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::emulator::current()
            .block()
            .shared
            .borrow()
            .dynamic_bytes() as u32
    }
}

/// The bytes of shared memory of each block, static and dynamic. A GPU rounds up to its unit of allocation; the emulator counts
/// the static arrays that the block has reached so far.
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: the instruction only reads a special register.
        unsafe {
            core::arch::asm!("mov.u32 {}, %total_smem_size;", out(reg32) bytes,
                options(pure, nomem, nostack, preserves_flags));
        }
        bytes
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::emulator::current()
            .block()
            .shared
            .borrow()
            .total_bytes() as u32
    }
}

/// Stores four numbers that are not read again soon, so that the caches drop them first: `__stcs` of CUDA C++.
///
/// # Safety
/// `place` is valid global memory, and nothing else accesses it at the same time.
#[inline(always)]
pub unsafe fn store_streaming(place: *mut U4, value: U4) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .b64 a;",
            "cvta.to.global.u64 a, {place};",
            "st.global.cs.v4.b32 [a], {{{x}, {y}, {z}, {w}}};",
            "}}",
            place = in(reg64) place, x = in(reg32) value.x, y = in(reg32) value.y, z = in(reg32) value.z, w = in(reg32) value.w,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller guarantees this.
    unsafe {
        place.write(value);
    }
}
