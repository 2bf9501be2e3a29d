//! Address spaces of pointers. They exist only on the GPU, because the CPU has a single one.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A kind of GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, accessible to every thread.
    Global,
    /// Memory of a block.
    Shared,
    /// Memory of the device that kernels can only read.
    Constant,
    /// Memory of one thread.
    Local,
}

/// Whether a generic pointer points into an address space.
///
/// # Panics
/// On the CPU.
///
/// # Safety
/// The pointer must be valid.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    let inside: u32;
    macro_rules! ask {
        ($space:literal) => {
            // SAFETY: the instructions only inspect the address.
            unsafe {
                asm!("{{", ".reg .pred p;", concat!("isspacep.", $space, " p, {};"), "selp.u32 {}, 1, 0, p;", "}}",
                    in(reg64) ptr, out(reg32) inside, options(pure, nomem, nostack, preserves_flags))
            }
        };
    }
    match address_space {
        AddressSpace::Global => ask!("global"),
        AddressSpace::Shared => ask!("shared"),
        AddressSpace::Constant => ask!("const"),
        AddressSpace::Local => ask!("local"),
    }
    inside != 0
}

/// Converts a generic pointer to the address within `address_space`.
///
/// # Panics
/// On the CPU.
///
/// # Safety
/// The pointer must be valid and point into the address space.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let converted: *const T;
    macro_rules! convert {
        ($space:literal) => {
            // SAFETY: the instruction only computes an address.
            unsafe {
                asm!(concat!("cvta.to.", $space, ".u64 {}, {};"), out(reg64) converted, in(reg64) ptr,
                    options(pure, nomem, nostack, preserves_flags))
            }
        };
    }
    match address_space {
        AddressSpace::Global => convert!("global"),
        AddressSpace::Shared => convert!("shared"),
        AddressSpace::Constant => convert!("const"),
        AddressSpace::Local => convert!("local"),
    }
    converted
}

/// Converts an address within `address_space` to a generic pointer.
///
/// # Panics
/// On the CPU.
///
/// # Safety
/// The pointer must be valid in the address space.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let converted: *const T;
    macro_rules! convert {
        ($space:literal) => {
            // SAFETY: the instruction only computes an address.
            unsafe {
                asm!(concat!("cvta.", $space, ".u64 {}, {};"), out(reg64) converted, in(reg64) ptr,
                    options(pure, nomem, nostack, preserves_flags))
            }
        };
    }
    match address_space {
        AddressSpace::Global => convert!("global"),
        AddressSpace::Shared => convert!("shared"),
        AddressSpace::Constant => convert!("const"),
        AddressSpace::Local => convert!("local"),
    }
    converted
}
