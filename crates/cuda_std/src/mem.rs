//! The heap of the device, and how much shared memory a block has.

/// The global allocator of device code, over the driver's `malloc` and `free`: every thread allocates for itself, slowly, from a heap
/// of 8 MiB unless the host sets another size. Memory outlives the kernel until it is freed.
#[derive(Debug)]
pub struct CUDAAllocator;

#[cfg(target_arch = "nvptx64")]
mod device {
    use super::CUDAAllocator;
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;

    unsafe extern "C" {
        /// Memory of the device heap, or null.
        pub fn malloc(size: usize) -> *mut c_void;
        /// Gives memory of `malloc` back.
        pub fn free(pointer: *mut c_void);
    }

    /// What `malloc` aligns to.
    const MALLOC_ALIGN: usize = 16;

    // SAFETY: malloc gives memory of its own, aligned to 16; for more, the block is aligned by hand and the pointer that malloc
    // gave lies right before it.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: any size is allowed; null means no memory.
            unsafe {
                if layout.align() <= MALLOC_ALIGN {
                    return malloc(layout.size()).cast();
                }
                let block: *mut u8 = malloc(layout.size() + layout.align()).cast();
                if block.is_null() {
                    return block;
                }
                // At least 16 bytes lie before the aligned address, since malloc aligns to 16.
                let aligned = block.add(layout.align() - block as usize % layout.align());
                aligned.cast::<*mut u8>().sub(1).write(block);
                aligned
            }
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            // SAFETY: `alloc` made the pointer with this layout.
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

/// Bytes of dynamic shared memory that the launch gave each block.
#[inline(always)]
#[must_use]
pub fn dynamic_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: reads a special register.
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

/// Bytes of shared memory of each block, static and dynamic. A GPU rounds up to its unit of allocation; the emulator counts the
/// static arrays that the block has come by so far.
#[inline(always)]
#[must_use]
pub fn total_smem_size() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bytes: u32;
        // SAFETY: reads a special register.
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
