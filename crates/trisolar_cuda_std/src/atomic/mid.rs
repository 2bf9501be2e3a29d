//! Atomic functions on pointers that take an [`Ordering`], for every type and scope.
//!
//! # Safety
//! Same as for [`intrinsics`].
#![allow(clippy::missing_safety_doc)]

use super::intrinsics;
use crate::cfg::ComputeCapability;
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use pastey::paste;

/// Whether the device has the memory model of sm_70, whose instructions carry orderings. On older devices, fences surround
/// plain instructions.
const fn ge_sm70() -> bool {
    ComputeCapability::from_cuda_arch_env() as u32 >= ComputeCapability::Compute70 as u32
}

macro_rules! by_scope {
    ($($scope:ident),*) => {$(
        paste! {
            #[doc = concat!("A fence for the scope ", stringify!($scope), ".")]
            #[inline(always)]
            pub fn [<$scope _thread_fence>](ordering: Ordering) {
                // SAFETY: fences have no preconditions.
                unsafe {
                    match ordering {
                        Relaxed => {}
                        _ if !ge_sm70() => intrinsics::[<membar_ $scope>](),
                        SeqCst => intrinsics::[<fence_sc_ $scope>](),
                        _ => intrinsics::[<fence_acqrel_ $scope>](),
                    }
                }
            }
        }
        memory!($scope, 32, u32);
        memory!($scope, 64, u64);
        operations!($scope, u32, and or xor add sub min max exch);
        operations!($scope, i32, and or xor add sub min max exch);
        operations!($scope, u64, and or xor add sub min max exch);
        operations!($scope, i64, and or xor add sub min max exch);
        operations!($scope, f32, and or xor add sub exch);
        operations!($scope, f64, and or xor add sub exch);
        swaps!($scope, u32 i32 u64 i64 f32 f64);
        bounded!($scope);
    )*};
}

macro_rules! memory {
    ($scope:ident, $width:literal, $bits:ident) => {
        paste! {
            #[doc = concat!("Loads, scope ", stringify!($scope), ". Panics for `Release` and `AcqRel`.")]
            #[inline(always)]
            pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut $bits, ordering: Ordering) -> $bits {
                assert!(!matches!(ordering, Release | AcqRel), "a load cannot release");
                // SAFETY: the module's rules.
                unsafe {
                    if ge_sm70() {
                        if ordering == SeqCst {
                            intrinsics::[<fence_sc_ $scope>]();
                        }
                        match ordering {
                            Relaxed => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                            _ => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                        }
                    } else {
                        if ordering == SeqCst {
                            intrinsics::[<membar_ $scope>]();
                        }
                        let value = intrinsics::[<atomic_load_volatile_ $width _ $scope>](ptr);
                        [<$scope _thread_fence>](ordering);
                        value
                    }
                }
            }

            #[doc = concat!("Stores, scope ", stringify!($scope), ". Panics for `Acquire` and `AcqRel`.")]
            #[inline(always)]
            pub unsafe fn [<atomic_store_ $width _ $scope>](ptr: *mut $bits, ordering: Ordering, val: $bits) {
                assert!(!matches!(ordering, Acquire | AcqRel), "a store cannot acquire");
                // SAFETY: the module's rules.
                unsafe {
                    if ge_sm70() {
                        match ordering {
                            Relaxed => intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val),
                            Release => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                            _ => {
                                intrinsics::[<fence_sc_ $scope>]();
                                intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val);
                            }
                        }
                    } else {
                        [<$scope _thread_fence>](ordering);
                        intrinsics::[<atomic_store_volatile_ $width _ $scope>](ptr, val);
                    }
                }
            }
        }
    };
}

macro_rules! operations {
    ($scope:ident, $ty:ident, $($op:ident)*) => {$(
        paste! {
            #[doc = concat!("`", stringify!($op), "`, scope ", stringify!($scope), "; returns the previous value.")]
            #[inline(always)]
            pub unsafe fn [<atomic_fetch_ $op _ $ty _ $scope>](ptr: *mut $ty, ordering: Ordering, val: $ty) -> $ty {
                // SAFETY: the module's rules.
                unsafe {
                    if ge_sm70() {
                        match ordering {
                            Relaxed => intrinsics::[<atomic_fetch_ $op _relaxed_ $ty _ $scope>](ptr, val),
                            Acquire => intrinsics::[<atomic_fetch_ $op _acquire_ $ty _ $scope>](ptr, val),
                            Release => intrinsics::[<atomic_fetch_ $op _release_ $ty _ $scope>](ptr, val),
                            AcqRel => intrinsics::[<atomic_fetch_ $op _acqrel_ $ty _ $scope>](ptr, val),
                            _ => {
                                intrinsics::[<fence_sc_ $scope>]();
                                intrinsics::[<atomic_fetch_ $op _acquire_ $ty _ $scope>](ptr, val)
                            }
                        }
                    } else {
                        if !matches!(ordering, Relaxed | Acquire) {
                            intrinsics::[<membar_ $scope>]();
                        }
                        let value = intrinsics::[<atomic_fetch_ $op _volatile_ $ty _ $scope>](ptr, val);
                        if !matches!(ordering, Relaxed | Release) {
                            intrinsics::[<membar_ $scope>]();
                        }
                        value
                    }
                }
            }
        }
    )*};
}

macro_rules! swaps {
    ($scope:ident, $($ty:ident)*) => {$(
        paste! {
            #[doc = concat!(
                "Sets the value to `new` if it has the bits of `current`, scope ", stringify!($scope), "; returns the previous value."
            )]
            #[inline(always)]
            pub unsafe fn [<atomic_compare_and_swap_ $ty _ $scope>](ptr: *mut $ty, current: $ty, new: $ty, ordering: Ordering) -> $ty {
                // SAFETY: the module's rules.
                unsafe {
                    if ge_sm70() {
                        match ordering {
                            Relaxed => intrinsics::[<atomic_fetch_cas_relaxed_ $ty _ $scope>](ptr, current, new),
                            Acquire => intrinsics::[<atomic_fetch_cas_acquire_ $ty _ $scope>](ptr, current, new),
                            Release => intrinsics::[<atomic_fetch_cas_release_ $ty _ $scope>](ptr, current, new),
                            AcqRel => intrinsics::[<atomic_fetch_cas_acqrel_ $ty _ $scope>](ptr, current, new),
                            _ => {
                                intrinsics::[<fence_sc_ $scope>]();
                                intrinsics::[<atomic_fetch_cas_acquire_ $ty _ $scope>](ptr, current, new)
                            }
                        }
                    } else {
                        if !matches!(ordering, Relaxed | Acquire) {
                            intrinsics::[<membar_ $scope>]();
                        }
                        let value = intrinsics::[<atomic_fetch_cas_volatile_ $ty _ $scope>](ptr, current, new);
                        if !matches!(ordering, Relaxed | Release) {
                            intrinsics::[<membar_ $scope>]();
                        }
                        value
                    }
                }
            }
        }
    )*};
}

macro_rules! bounded {
    ($scope:ident) => {
        bounded!(@one $scope, inc, "Adds 1, or sets the value to 0 if it is at least `bound`", |old, bound| if old >= bound { 0 } else { old + 1 });
        bounded!(@one $scope, dec, "Subtracts 1, or sets the value to `bound` if it is 0 or greater than `bound`",
            |old, bound| if old == 0 || old > bound { bound } else { old - 1 });
    };
    (@one $scope:ident, $op:ident, $doc:literal, |$old:ident, $bound:ident| $new:expr) => {
        paste! {
            #[doc = concat!($doc, ", relaxed, scope ", stringify!($scope), "; returns the previous value.")]
            #[inline(always)]
            pub unsafe fn [<atomic_ $op _bounded_relaxed_u32_ $scope>](ptr: *mut u32, bound: u32) -> u32 {
                // SAFETY: the module's rules.
                let mut old = unsafe { intrinsics::[<atomic_load_relaxed_32_ $scope>](ptr) };
                loop {
                    let ($old, $bound) = (old, bound);
                    let new = $new;
                    // SAFETY: the module's rules.
                    let now = unsafe { intrinsics::[<atomic_fetch_cas_relaxed_u32_ $scope>](ptr, old, new) };
                    if now == old {
                        return old;
                    }
                    old = now;
                }
            }
        }
    };
}

by_scope!(block, device, system);
