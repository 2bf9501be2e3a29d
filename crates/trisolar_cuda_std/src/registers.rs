//! Registers that a group of four warps gives back or asks for while the kernel runs: PTX's `setmaxnreg`.
//!
//! A kernel in which some groups of 128 threads copy and others compute starts with the same number of registers in all of them. The groups that copy
//! [`decrease`] theirs, and those that compute [`increase`] them by as many. The kernel needs `#[kernel(max_threads = …, min_blocks = …)]` or `max_registers`: without
//! them the assembler does not know the number at the start, ignores the instruction and says so. The PTX is for compute capability 9.0a
//! (`NvvmArch::Compute90a`) or later with the letter; for 9.0 the assembler refuses the instruction.
//!
//! The emulator has no registers to divide. It checks that warps are complete and that the block consists of groups of 128 threads.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Threads of a group, whose warps all call the same function with the same number.
pub const GROUP_THREADS: u32 = 128;

/// Refuses numbers that the instruction does not accept.
const fn assert_allowed(registers: u32) {
    assert!(
        registers >= 24 && registers <= 256 && registers.is_multiple_of(8),
        "a thread has 24 to 256 registers, a multiple of 8"
    );
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn check() {
    let [x, y, z] = crate::emulator::current().block_dim;
    let threads = x * y * z;
    assert!(
        threads.is_multiple_of(GROUP_THREADS),
        "registers move between groups of {GROUP_THREADS} threads, but the block has {threads}"
    );
    // SAFETY: the caller vouches for all lanes of the warp.
    unsafe { crate::warp::sync_warp(u32::MAX) };
}

/// Gives back registers, so that a thread has at most `REGISTERS` from now on: 24 to 256, a multiple of 8.
///
/// # Safety
/// All threads of a group of 128 call it with the same number, which is at most what they have, and synchronise before they call a function of
/// this module again.
#[inline(always)]
#[track_caller]
pub unsafe fn decrease<const REGISTERS: u32>() {
    const { assert_allowed(REGISTERS) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        asm!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    check();
}

/// Waits until there are registers for this group, so that a thread may have `REGISTERS` from now on: 24 to 256, a multiple of 8.
///
/// # Safety
/// All threads of a group of 128 call it with the same number, which is at least what they have, and synchronise before they call a function of
/// this module again. Other groups of the block give enough registers back, or the group waits for ever.
#[inline(always)]
#[track_caller]
pub unsafe fn increase<const REGISTERS: u32>() {
    const { assert_allowed(REGISTERS) };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees this.
    unsafe {
        asm!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    check();
}
