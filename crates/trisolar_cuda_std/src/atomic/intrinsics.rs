//! Atomic instructions, one function each: `atomic_fetch_<operation>_<ordering>_<type>_<scope>(pointer, value)`,
//! `atomic_load_<ordering>_<bits>_<scope>` and `atomic_store_<ordering>_<bits>_<scope>`.
//!
//! The ordering `volatile` stands for an instruction without an ordering, which is all that GPUs before sm_70 have; it is
//! relaxed on the CPU. Every `fetch` function returns the previous value.
//!
//! # Safety
//! For all functions, the pointer must be valid and aligned, and other threads may access the value at the same time only with
//! atomics whose scope includes both threads.
#![allow(clippy::missing_safety_doc)]

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use pastey::paste;

/// LLVM's question whether an address is in the thread's own memory, for which PTX has no atomics: there a plain access does the same. LLVM
/// answers it itself where it knows the address.
#[cfg(target_arch = "nvptx64")]
mod device {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.isspacep.local"]
        pub safe fn is_own(ptr: *const u8) -> bool;
    }
}

macro_rules! fences {
    ($($name:ident, $ptx:literal, $order:ident;)*) => {$(
        #[doc = concat!("The fence `", $ptx, "`.")]
        #[inline(always)]
        pub unsafe fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: a fence has no preconditions.
            unsafe {
                asm!(concat!($ptx, ";"), options(nostack, preserves_flags));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            fence(Ordering::$order);
        }
    )*};
}

fences! {
    membar_device, "membar.gl", SeqCst;
    membar_block, "membar.cta", SeqCst;
    membar_system, "membar.sys", SeqCst;
    fence_sc_device, "fence.sc.gpu", SeqCst;
    fence_sc_block, "fence.sc.cta", SeqCst;
    fence_sc_system, "fence.sc.sys", SeqCst;
    fence_acqrel_device, "fence.acq_rel.gpu", AcqRel;
    fence_acqrel_block, "fence.acq_rel.cta", AcqRel;
    fence_acqrel_system, "fence.acq_rel.sys", AcqRel;
}

/// Expands a macro for every scope.
macro_rules! for_scopes {
    ($macro:ident, $($rest:tt)*) => {
        $macro!(block, "cta", $($rest)*);
        $macro!(device, "gpu", $($rest)*);
        $macro!(system, "sys", $($rest)*);
    };
}

macro_rules! load {
    ($scope:ident, $ptx_scope:literal, $bits:ident, $width:literal, $atomic:ident) => {
        load!(@one $scope, $bits, $width, $atomic, relaxed, concat!("relaxed.", $ptx_scope), Relaxed);
        load!(@one $scope, $bits, $width, $atomic, acquire, concat!("acquire.", $ptx_scope), Acquire);
        load!(@one $scope, $bits, $width, $atomic, volatile, "volatile", Relaxed);
    };
    (@one $scope:ident, $bits:ident, $width:literal, $atomic:ident, $ordering:ident, $ptx:expr, $order:ident) => {
        paste! {
            #[doc = concat!("Loads, ", stringify!($ordering), ", scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub unsafe fn [<atomic_load_ $ordering _ $width _ $scope>](ptr: *const $bits) -> $bits {
                #[cfg(target_arch = "nvptx64")]
                {
                    if device::is_own(ptr.cast()) {
                        // SAFETY: the module's rules.
                        return unsafe { ptr.read() };
                    }
                    let out: $bits;
                    // SAFETY: the module's rules.
                    unsafe {
                        asm!(concat!("ld.", $ptx, ".b", $width, " {}, [{}];"), out([<reg $width>]) out, in(reg64) ptr,
                            options(nostack, preserves_flags));
                    }
                    out
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the module's rules.
                unsafe { $atomic::from_ptr(ptr.cast_mut()) }.load(Ordering::$order)
            }
        }
    };
}

macro_rules! store {
    ($scope:ident, $ptx_scope:literal, $bits:ident, $width:literal, $atomic:ident) => {
        store!(@one $scope, $bits, $width, $atomic, relaxed, concat!("relaxed.", $ptx_scope), Relaxed);
        store!(@one $scope, $bits, $width, $atomic, release, concat!("release.", $ptx_scope), Release);
        store!(@one $scope, $bits, $width, $atomic, volatile, "volatile", Relaxed);
    };
    (@one $scope:ident, $bits:ident, $width:literal, $atomic:ident, $ordering:ident, $ptx:expr, $order:ident) => {
        paste! {
            #[doc = concat!("Stores, ", stringify!($ordering), ", scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub unsafe fn [<atomic_store_ $ordering _ $width _ $scope>](ptr: *mut $bits, val: $bits) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the module's rules.
                unsafe {
                    if device::is_own(ptr.cast()) {
                        return ptr.write(val);
                    }
                    asm!(concat!("st.", $ptx, ".b", $width, " [{}], {};"), in(reg64) ptr, in([<reg $width>]) val,
                        options(nostack, preserves_flags));
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the module's rules.
                unsafe { $atomic::from_ptr(ptr) }.store(val, Ordering::$order);
            }
        }
    };
}

for_scopes!(load, u32, 32, AtomicU32);
for_scopes!(load, u64, 64, AtomicU64);
for_scopes!(store, u32, 32, AtomicU32);
for_scopes!(store, u64, 64, AtomicU64);

/// Defines the five orderings of an operation. The first closure gives the operand of the device's instruction, the second
/// computes the new value from the old value and the operand on the CPU.
macro_rules! fetch {
    ($scope:ident, $ptx_scope:literal, $op:ident, $ptx:expr, $ty:ident, $width:literal, $bits:ident, $atomic:ident,
        |$value:ident| $operand:expr, |$old:ident, $new:ident| $result:expr) => {
        fetch!(@one $scope, $op, $ptx, $ty, $width, $bits, $atomic, relaxed, concat!("relaxed.", $ptx_scope), Relaxed, Relaxed,
            |$value| $operand, |$old, $new| $result);
        fetch!(@one $scope, $op, $ptx, $ty, $width, $bits, $atomic, acquire, concat!("acquire.", $ptx_scope), Acquire, Acquire,
            |$value| $operand, |$old, $new| $result);
        fetch!(@one $scope, $op, $ptx, $ty, $width, $bits, $atomic, release, concat!("release.", $ptx_scope), Release, Relaxed,
            |$value| $operand, |$old, $new| $result);
        fetch!(@one $scope, $op, $ptx, $ty, $width, $bits, $atomic, acqrel, concat!("acq_rel.", $ptx_scope), AcqRel, Acquire,
            |$value| $operand, |$old, $new| $result);
        fetch!(@one $scope, $op, $ptx, $ty, $width, $bits, $atomic, volatile, $ptx_scope, Relaxed, Relaxed,
            |$value| $operand, |$old, $new| $result);
    };
    (@one $scope:ident, $op:ident, $ptx:expr, $ty:ident, $width:literal, $bits:ident, $atomic:ident, $ordering:ident,
        $sem:expr, $order:ident, $fail:ident, |$value:ident| $operand:expr, |$old:ident, $new:ident| $result:expr) => {
        paste! {
            #[doc = concat!("`", stringify!($op), "`, ", stringify!($ordering), ", scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $op _ $ordering _ $ty _ $scope>](ptr: *mut $ty, val: $ty) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                {
                    if device::is_own(ptr.cast()) {
                        // SAFETY: the module's rules.
                        let ($old, $new) = (unsafe { ptr.read() }, val);
                        let new: $ty = $result;
                        // SAFETY: the module's rules.
                        unsafe { ptr.write(new) };
                        return $old;
                    }
                    let $value = val;
                    let operand: $ty = $operand;
                    let out: $ty;
                    // SAFETY: the module's rules.
                    unsafe {
                        asm!(concat!("atom.", $sem, ".", $ptx, " {}, [{}], {};"), out([<reg $width>]) out, in(reg64) ptr,
                            in([<reg $width>]) operand, options(nostack, preserves_flags));
                    }
                    out
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    // SAFETY: the module's rules.
                    let atomic = unsafe { $atomic::from_ptr(ptr.cast()) };
                    let mut old = atomic.load(Ordering::Relaxed);
                    loop {
                        let ($old, $new) = (from_bits!($ty, old), val);
                        let new: $ty = $result;
                        let new = to_bits!($ty, $bits, new);
                        match atomic.compare_exchange_weak(old, new, Ordering::$order, Ordering::$fail) {
                            Ok(old) => return from_bits!($ty, old),
                            Err(now) => old = now,
                        }
                    }
                }
            }
        }
    };
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! from_bits {
    (f32, $bits:expr) => {
        f32::from_bits($bits)
    };
    (f64, $bits:expr) => {
        f64::from_bits($bits)
    };
    ($ty:ident, $bits:expr) => {
        $bits as $ty
    };
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! to_bits {
    (f32, $bits:ident, $value:expr) => {
        f32::to_bits($value)
    };
    (f64, $bits:ident, $value:expr) => {
        f64::to_bits($value)
    };
    ($ty:ident, $bits:ident, $value:expr) => {
        $value as $bits
    };
}

macro_rules! operations {
    ($($ty:ident, $width:literal, $bits:ident, $atomic:ident, $unsigned:literal, $signed:literal, $b:literal;)*) => {$(
        for_scopes!(operation, $ty, $width, $bits, $atomic, $unsigned, $signed, $b);
    )*};
}

macro_rules! operation {
    ($scope:ident, $ptx_scope:literal, $ty:ident, $width:literal, $bits:ident, $atomic:ident, $add:literal, $order:literal, $b:literal) => {
        fetch!(
            $scope,
            $ptx_scope,
            and,
            concat!("and.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old & v
        );
        fetch!(
            $scope,
            $ptx_scope,
            or,
            concat!("or.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old | v
        );
        fetch!(
            $scope,
            $ptx_scope,
            xor,
            concat!("xor.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old ^ v
        );
        fetch!(
            $scope,
            $ptx_scope,
            exch,
            concat!("exch.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |_old, v| v
        );
        fetch!(
            $scope,
            $ptx_scope,
            add,
            concat!("add.", $add),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old.wrapping_add(v)
        );
        fetch!(
            $scope,
            $ptx_scope,
            sub,
            concat!("add.", $add),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v.wrapping_neg(),
            |old, v| old.wrapping_sub(v)
        );
        fetch!(
            $scope,
            $ptx_scope,
            min,
            concat!("min.", $order),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old.min(v)
        );
        fetch!(
            $scope,
            $ptx_scope,
            max,
            concat!("max.", $order),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old.max(v)
        );
        step!($scope, $ty, relaxed);
        step!($scope, $ty, acquire);
        step!($scope, $ty, release);
        step!($scope, $ty, acqrel);
        step!($scope, $ty, volatile);
        exchange!(
            $scope,
            $ty,
            $width,
            $bits,
            $atomic,
            relaxed,
            concat!("relaxed.", $ptx_scope, ".cas.", $b),
            Relaxed,
            Relaxed
        );
        exchange!(
            $scope,
            $ty,
            $width,
            $bits,
            $atomic,
            acquire,
            concat!("acquire.", $ptx_scope, ".cas.", $b),
            Acquire,
            Acquire
        );
        exchange!(
            $scope,
            $ty,
            $width,
            $bits,
            $atomic,
            release,
            concat!("release.", $ptx_scope, ".cas.", $b),
            Release,
            Relaxed
        );
        exchange!(
            $scope,
            $ty,
            $width,
            $bits,
            $atomic,
            acqrel,
            concat!("acq_rel.", $ptx_scope, ".cas.", $b),
            AcqRel,
            Acquire
        );
        exchange!(
            $scope,
            $ty,
            $width,
            $bits,
            $atomic,
            volatile,
            concat!($ptx_scope, ".cas.", $b),
            Relaxed,
            Relaxed
        );
    };
}

/// Increments and decrements, which wrap around.
macro_rules! step {
    ($scope:ident, $ty:ident, $ordering:ident) => {
        paste! {
            #[doc = concat!("Adds 1, ", stringify!($ordering), ", scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_inc_ $ordering _ $ty _ $scope>](ptr: *mut $ty) -> $ty {
                // SAFETY: the module's rules.
                unsafe { [<atomic_fetch_add_ $ordering _ $ty _ $scope>](ptr, 1) }
            }

            #[doc = concat!("Subtracts 1, ", stringify!($ordering), ", scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_dec_ $ordering _ $ty _ $scope>](ptr: *mut $ty) -> $ty {
                // SAFETY: the module's rules.
                unsafe { [<atomic_fetch_sub_ $ordering _ $ty _ $scope>](ptr, 1) }
            }
        }
    };
}

macro_rules! exchange {
    ($scope:ident, $ty:ident, $width:literal, $bits:ident, $atomic:ident, $ordering:ident, $ptx:expr, $order:ident, $fail:ident) => {
        paste! {
            #[doc = concat!(
                "Sets the value to `new` if it is `compare`, ", stringify!($ordering), ", scope ", stringify!($scope), "."
            )]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_cas_ $ordering _ $ty _ $scope>](ptr: *mut $ty, compare: $ty, new: $ty) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                {
                    if device::is_own(ptr.cast()) {
                        // SAFETY: the module's rules.
                        let old = unsafe { ptr.read() };
                        if old == compare {
                            // SAFETY: the module's rules.
                            unsafe { ptr.write(new) };
                        }
                        return old;
                    }
                    let out: $ty;
                    // SAFETY: the module's rules.
                    unsafe {
                        asm!(concat!("atom.", $ptx, " {}, [{}], {}, {};"), out([<reg $width>]) out, in(reg64) ptr,
                            in([<reg $width>]) compare, in([<reg $width>]) new, options(nostack, preserves_flags));
                    }
                    out
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    // SAFETY: the module's rules.
                    let atomic = unsafe { $atomic::from_ptr(ptr.cast()) };
                    let (compare, new) = (compare as $bits, new as $bits);
                    let (Ok(old) | Err(old)) = atomic.compare_exchange(compare, new, Ordering::$order, Ordering::$fail);
                    old as $ty
                }
            }
        }
    };
}

operations! {
    u32, 32, u32, AtomicU32, "u32", "u32", "b32";
    i32, 32, u32, AtomicU32, "u32", "s32", "b32";
    u64, 64, u64, AtomicU64, "u64", "u64", "b64";
    i64, 64, u64, AtomicU64, "u64", "s64", "b64";
}

macro_rules! float_operation {
    ($scope:ident, $ptx_scope:literal, $ty:ident, $width:literal, $bits:ident, $atomic:ident, $add:literal, $b:literal) => {
        fetch!(
            $scope,
            $ptx_scope,
            and,
            concat!("and.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| $ty::from_bits(old.to_bits() & v.to_bits())
        );
        fetch!(
            $scope,
            $ptx_scope,
            or,
            concat!("or.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| $ty::from_bits(old.to_bits() | v.to_bits())
        );
        fetch!(
            $scope,
            $ptx_scope,
            xor,
            concat!("xor.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| $ty::from_bits(old.to_bits() ^ v.to_bits())
        );
        fetch!(
            $scope,
            $ptx_scope,
            exch,
            concat!("exch.", $b),
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |_old, v| v
        );
        fetch!(
            $scope,
            $ptx_scope,
            add,
            $add,
            $ty,
            $width,
            $bits,
            $atomic,
            |v| v,
            |old, v| old + v
        );
        fetch!(
            $scope,
            $ptx_scope,
            sub,
            $add,
            $ty,
            $width,
            $bits,
            $atomic,
            |v| -v,
            |old, v| old - v
        );
    };
}

/// Exchanges of floating-point numbers, which are compared by their bits.
macro_rules! float_exchange {
    ($($ty:ident, $bits:ident: $($scope:ident),*;)*) => {
        $($(float_exchange!(@orderings $ty, $bits, $scope, relaxed acquire release acqrel volatile);)*)*
    };
    (@orderings $ty:ident, $bits:ident, $scope:ident, $($ordering:ident)*) => {$(
        paste! {
            #[doc = concat!(
                "Sets the value to `new` if it has the bits of `compare`, ", stringify!($ordering), ", scope ", stringify!($scope), "."
            )]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_cas_ $ordering _ $ty _ $scope>](ptr: *mut $ty, compare: $ty, new: $ty) -> $ty {
                // SAFETY: the module's rules.
                let old = unsafe {
                    [<atomic_fetch_cas_ $ordering _ $bits _ $scope>](ptr.cast(), compare.to_bits(), new.to_bits())
                };
                $ty::from_bits(old)
            }
        }
    )*};
}

float_exchange! {
    f32, u32: device, block, system;
    f64, u64: device, block, system;
}

for_scopes!(float_operation, f32, 32, u32, AtomicU32, "add.f32", "b32");
for_scopes!(float_operation, f64, 64, u64, AtomicU64, "add.f64", "b64");
