//! Linux on aarch64.

use std::arch::global_asm;

use crate::symbols::with_symbols;

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

// Input: x17 = address of the slot.
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
    bind = sym super::bind,
);
