//! Windows on x86-64.

use std::arch::global_asm;

use crate::symbols::with_symbols;

macro_rules! entry_points {
    ($($name:ident)*) => { global_asm!(concat!(
        ".pushsection .data$libcuda_lazy,\"dw\"\n",
        ".p2align 3\n",
        ".globl libcuda_lazy_table\n",
        "libcuda_lazy_table:\n",
        $(".Llibcuda_lazy_", stringify!($name), ": .quad libcuda_lazy_first_call\n",)*
        ".popsection\n",
        ".pushsection .text$libcuda_lazy,\"xr\"\n",
        $(
            ".p2align 4\n",
            ".globl ", stringify!($name), "\n",
            ".def ", stringify!($name), "; .scl 2; .type 32; .endef\n",
            stringify!($name), ":\n",
            // r11 is free: it neither holds an argument nor is preserved.
            "lea r11, [rip + .Llibcuda_lazy_", stringify!($name), "]\n",
            "jmp qword ptr [r11]\n",
        )*
        ".popsection\n",
    )); };
}

with_symbols!(entry_points);

// Input: r11 = address of the slot. The stack pointer is 8 below a multiple of 16, as after any call. The lowest 32 bytes of the frame
// belong to the called function.
global_asm!(
    ".pushsection .text$libcuda_lazy,\"xr\"",
    ".p2align 4",
    ".globl libcuda_lazy_first_call",
    ".def libcuda_lazy_first_call; .scl 2; .type 32; .endef",
    ".seh_proc libcuda_lazy_first_call",
    "libcuda_lazy_first_call:",
    "sub rsp, 136",
    ".seh_stackalloc 136",
    ".seh_endprologue",
    "mov [rsp + 32], rcx",
    "mov [rsp + 40], rdx",
    "mov [rsp + 48], r8",
    "mov [rsp + 56], r9",
    "mov [rsp + 64], r11",
    "movups [rsp + 72], xmm0",
    "movups [rsp + 88], xmm1",
    "movups [rsp + 104], xmm2",
    "movups [rsp + 120], xmm3",
    "call {bind}",
    "mov rcx, [rsp + 32]",
    "mov rdx, [rsp + 40]",
    "mov r8, [rsp + 48]",
    "mov r9, [rsp + 56]",
    "mov r11, [rsp + 64]",
    "movups xmm0, [rsp + 72]",
    "movups xmm1, [rsp + 88]",
    "movups xmm2, [rsp + 104]",
    "movups xmm3, [rsp + 120]",
    "add rsp, 136",
    "jmp qword ptr [r11]",
    ".seh_endproc",
    ".popsection",
    bind = sym super::bind,
);
