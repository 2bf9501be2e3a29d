//! The GPU side of Rust kernels: rust-cuda's device API over rustc's own NVPTX back end, and an emulator of the grid
//! for the CPU.
//!
//! A kernel crate written for rust-cuda compiles against this crate unchanged: `cuda_builder` compiles it to PTX, and a CPU
//! build gives functions that the [`emulator`] runs.
//!
//! - [`thread`]: indices, barriers, fences; [`warp`]: shuffles, votes, reductions
//! - [`shared`]: shared memory; [`Constant`]: memory that the host sets; [`atomic`]: atomics with a scope
//! - [`matrix`]: products on tensor cores; [`async_copy`], [`mbarrier`]: copies to shared memory beside the arithmetic;
//!   [`cluster`]: blocks that reach each other's shared memory; [`GridBarrier`]: a barrier for the whole grid
//! - [`GpuFloat`], [`FloatExt`]: the functions of `f32` and `f64`; [`approx`]: fast, inexact instructions; [`intrinsics`]: the
//!   functions of libdevice by its names
//! - [`Each`], [`EachRef`], [`PerBlock`]: shares of arrays, for kernels without `unsafe`; [`collective`]: reductions, running sums, sorting and
//!   more, by all threads of a warp or block
//! - [`io`]: printing and assertions; [`mem`], [`misc`], [`ptr`], [`cfg`](mod@cfg)
//!
//! On the device the crate also provides the panic handler, which traps, and the global allocator, which calls the driver's
//! `malloc`.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_ptx,
        allow_internal_unstable,
        asm_experimental_arch,
        core_float_math,
        freeze,
        link_llvm_intrinsics,
        stdarch_nvptx
    ),
    allow(internal_features)
)]

extern crate alloc;
// The macros refer to `::cuda_std`, also in this crate.
extern crate self as cuda_std;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod approx;
pub mod async_copy;
pub mod atomic;
pub mod cfg;
pub mod cluster;
pub mod collective;
mod constant;
mod each;
#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
pub mod float;
mod float_ext;
mod grid_barrier;
pub mod intrinsics;
pub mod io;
#[cfg(not(target_arch = "nvptx64"))]
mod kernel;
pub mod matrix;
pub mod mbarrier;
pub mod mem;
pub mod misc;
mod plain;
pub mod ptr;
pub mod registers;
#[cfg(target_arch = "nvptx64")]
mod runtime;
#[cfg(not(target_arch = "nvptx64"))]
mod safe;
pub mod shared;
pub mod tensor;
pub mod thread;
mod unroll;
pub mod warp;

pub use constant::Constant;
pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel};
pub use each::{Each, EachRef, PerBlock};
pub use float::GpuFloat;
pub use float_ext::FloatExt;
pub use glam;
pub use grid_barrier::GridBarrier;
pub use half;
pub use half::{bf16, f16};
#[cfg(target_arch = "nvptx64")]
pub use io::{assert_eq, assert_ne, print, println};
#[cfg(not(target_arch = "nvptx64"))]
pub use kernel::{
    Code, Entry, Exported, Kernel, RawSlice, RawSliceMut, TooManyThreads, UnevenClusters,
};
pub use plain::Plain;
#[cfg(not(target_arch = "nvptx64"))]
pub use safe::{ArgumentError, Lengths, Memory, SafeKernel};
#[cfg(feature = "vek")]
pub use vek;
// These are the standard prelude's own macros, so that a glob import of this crate is not ambiguous.
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{assert_eq, assert_ne, print, println};

/// The items that nearly every kernel needs.
pub mod prelude {
    pub use crate::{
        Each, EachRef, FloatExt, GpuFloat, PerBlock, f16, kernel, print, println, shared_array,
        thread,
    };
    pub use alloc::borrow::ToOwned;
    pub use alloc::boxed::Box;
    pub use alloc::format;
    pub use alloc::rc::Rc;
    pub use alloc::string::{String, ToString};
    pub use alloc::vec::Vec;
    pub use core::{assert_eq, assert_ne};
}

/// Declares the entry that `#[kernel]` generates. The macro is in this crate because the calling convention is unstable and the
/// kernel's crate should not have to enable it.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_ptx, asm_experimental_arch)]
macro_rules! __ptx_entry {
    (
        [$($attributes:tt)*] [$($visibility:tt)*] $name:ident [$($generics:tt)*] [$($parameters:tt)*] [$($condition:tt)*]
        [$marker:literal] $body:tt
    ) => {
        $($attributes)*
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, improper_ctypes_definitions)]
        $($visibility)* unsafe extern "ptx-kernel" fn $name $($generics)* ($($parameters)*) $($condition)* {
            // The comment says what rustc has no means to express. `cuda_builder` reads and removes it.
            // SAFETY: a comment does nothing.
            unsafe { ::core::arch::asm!($marker, options(nomem, nostack, preserves_flags)) };
            $body
        }
    };
}
