//! Linux on x86-64.

use std::arch::global_asm;

use crate::symbols::with_symbols;

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

with_symbols!(entry_points);

// Input: r11 = address of the slot. The stack pointer is 8 below a multiple of 16, as after any call.
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
    bind = sym super::bind,
);
