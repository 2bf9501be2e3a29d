//! The entry points: jumps through a table of addresses. They are in assembly because they must pass on any arguments
//! unchanged.
//!
//! A slot of the table first holds the address of `libcuda_lazy_first_call`, which saves the argument registers, fills the
//! table, and jumps through its slot again. All symbols are hidden: only this program or shared object uses them, and the
//! driver's own calls never reach them.

use std::arch::global_asm;
use std::sync::atomic::AtomicPtr;

use crate::symbols::with_symbols;

macro_rules! list {
    ($($name:ident)*) => {
        /// The entry points, in the order of the table.
        pub const SYMBOLS: &[&str] = &[$(stringify!($name)),*];
    };
}
with_symbols!(list);

unsafe extern "C" {
    #[link_name = "libcuda_lazy_table"]
    static TABLE: [AtomicPtr<()>; SYMBOLS.len()];
}

/// The table of the addresses of [`SYMBOLS`].
pub fn table() -> &'static [AtomicPtr<()>] {
    // SAFETY: the assembly below defines one writable, aligned slot of pointer size for each of SYMBOLS.
    unsafe { &TABLE }
}

#[cfg(target_arch = "x86_64")]
macro_rules! entry_points {
    ($($name:ident)*) => { global_asm!(concat!(
        ".pushsection .data.libcuda_lazy,\"aw\",@progbits\n",
        ".p2align 3\n",
        ".hidden libcuda_lazy_table\n.globl libcuda_lazy_table\n",
        "libcuda_lazy_table:\n",
        $(".Llibcuda_lazy_", stringify!($name), ": .quad libcuda_lazy_first_call\n",)*
        ".popsection\n",
        ".pushsection .text.libcuda_lazy,\"ax\",@progbits\n",
        $(
            ".p2align 4\n",
            ".hidden ", stringify!($name), "\n.globl ", stringify!($name), "\n",
            ".type ", stringify!($name), ",@function\n",
            stringify!($name), ":\n",
            // r11 is free: it neither holds an argument nor is preserved.
            "lea r11, [rip + .Llibcuda_lazy_", stringify!($name), "]\n",
            "jmp qword ptr [r11]\n",
            ".size ", stringify!($name), ", . - ", stringify!($name), "\n",
        )*
        ".popsection\n",
    )); };
}

#[cfg(target_arch = "aarch64")]
macro_rules! entry_points {
    ($($name:ident)*) => { global_asm!(concat!(
        ".pushsection .data.libcuda_lazy,\"aw\",@progbits\n",
        ".p2align 3\n",
        ".hidden libcuda_lazy_table\n.globl libcuda_lazy_table\n",
        "libcuda_lazy_table:\n",
        $(".Llibcuda_lazy_", stringify!($name), ": .xword libcuda_lazy_first_call\n",)*
        ".popsection\n",
        ".pushsection .text.libcuda_lazy,\"ax\",@progbits\n",
        $(
            ".p2align 4\n",
            ".hidden ", stringify!($name), "\n.globl ", stringify!($name), "\n",
            ".type ", stringify!($name), ",@function\n",
            stringify!($name), ":\n",
            // x16 and x17 are reserved for code between caller and callee.
            "adrp x17, .Llibcuda_lazy_", stringify!($name), "\n",
            "add x17, x17, :lo12:.Llibcuda_lazy_", stringify!($name), "\n",
            "ldr x16, [x17]\n",
            "br x16\n",
            ".size ", stringify!($name), ", . - ", stringify!($name), "\n",
        )*
        ".popsection\n",
    )); };
}

with_symbols!(entry_points);

// Input: r11 = address of the slot. The stack pointer is 8 below a multiple of 16, as after any call.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .text.libcuda_lazy,\"ax\",@progbits",
    ".p2align 4",
    ".hidden libcuda_lazy_first_call",
    ".globl libcuda_lazy_first_call",
    ".type libcuda_lazy_first_call,@function",
    "libcuda_lazy_first_call:",
    ".cfi_startproc",
    "push rax",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "sub rsp, 128",
    ".cfi_adjust_cfa_offset 200",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "call {bind}",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "add rsp, 128",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    ".cfi_adjust_cfa_offset -200",
    "jmp qword ptr [r11]",
    ".cfi_endproc",
    ".size libcuda_lazy_first_call, . - libcuda_lazy_first_call",
    ".popsection",
    bind = sym crate::bind_for_entry_point,
);

// Input: x17 = address of the slot.
#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .text.libcuda_lazy,\"ax\",@progbits",
    ".p2align 4",
    ".hidden libcuda_lazy_first_call",
    ".globl libcuda_lazy_first_call",
    ".type libcuda_lazy_first_call,@function",
    "libcuda_lazy_first_call:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-224]!",
    ".cfi_def_cfa_offset 224",
    ".cfi_offset x29, -224",
    ".cfi_offset x30, -216",
    "stp x0, x1, [sp, #16]",
    "stp x2, x3, [sp, #32]",
    "stp x4, x5, [sp, #48]",
    "stp x6, x7, [sp, #64]",
    "stp x8, x17, [sp, #80]",
    "stp q0, q1, [sp, #96]",
    "stp q2, q3, [sp, #128]",
    "stp q4, q5, [sp, #160]",
    "stp q6, q7, [sp, #192]",
    "bl {bind}",
    "ldp x0, x1, [sp, #16]",
    "ldp x2, x3, [sp, #32]",
    "ldp x4, x5, [sp, #48]",
    "ldp x6, x7, [sp, #64]",
    "ldp x8, x17, [sp, #80]",
    "ldp q0, q1, [sp, #96]",
    "ldp q2, q3, [sp, #128]",
    "ldp q4, q5, [sp, #160]",
    "ldp q6, q7, [sp, #192]",
    "ldp x29, x30, [sp], #224",
    ".cfi_def_cfa_offset 0",
    ".cfi_restore x29",
    ".cfi_restore x30",
    "ldr x16, [x17]",
    "br x16",
    ".cfi_endproc",
    ".size libcuda_lazy_first_call, . - libcuda_lazy_first_call",
    ".popsection",
    bind = sym crate::bind_for_entry_point,
);
