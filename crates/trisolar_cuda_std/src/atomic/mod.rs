//! Atomics with a scope, and atomic floats.
//!
//! The scope says which other threads may use the value at the same time: those of the *block*, of the *device*, or of the
//! *system* (which includes other devices and the host). [`core::sync::atomic`] works in kernels as well; rustc writes its
//! operations on memory without a scope, which in PTX means the device. Values that other devices or the host change at the same time need
//! the functions and types of this module.
//!
//! - [`AtomicF32`], [`AtomicF64`] and their `Block…` and `System…` counterparts
//! - [`mid`]: functions on pointers that take an [`Ordering`]
//! - [`intrinsics`]: functions on pointers, one for each instruction
//!
//! On the CPU every scope is that of [`core::sync::atomic`], and sums of floats use a compare-and-exchange loop.

pub mod intrinsics;
pub mod mid;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;
use pastey::paste;

macro_rules! atomic_float {
    ($($name:ident, $ty:ident, $bits:ident, $width:literal, $align:literal, $scope:ident, $who:literal $(, $unsafe:ident)?;)*) => {$(
        #[doc = concat!("An `", stringify!($ty), "` that ", $who, " can change at the same time.")]
        ///
        /// It has the layout of the plain number.
        #[repr(C, align($align))]
        pub struct $name {
            value: UnsafeCell<$ty>,
        }

        // SAFETY: all access is atomic.
        unsafe impl Sync for $name {}

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl $name {
            /// Creates an atomic with this value.
            #[must_use]
            pub const fn new(v: $ty) -> Self {
                Self { value: UnsafeCell::new(v) }
            }

            /// Returns the value.
            #[must_use]
            pub fn into_inner(self) -> $ty {
                self.value.into_inner()
            }

            /// Returns the address of the value.
            #[must_use]
            pub const fn as_ptr(&self) -> *mut $ty {
                self.value.get()
            }

            /// Loads the current value.
            ///
            /// # Panics
            /// If the order is `Release` or `AcqRel`.
            $(#[doc = atomic_float!(@safety $unsafe)])?
            #[inline]
            pub $($unsafe)? fn load(&self, order: Ordering) -> $ty {
                paste! {
                    // SAFETY: the pointer is valid, and either the type's scope suffices or the caller vouches for it.
                    $ty::from_bits(unsafe { mid::[<atomic_load_ $width _ $scope>](self.as_ptr().cast(), order) })
                }
            }

            /// Stores a value.
            ///
            /// # Panics
            /// If the order is `Acquire` or `AcqRel`.
            $(#[doc = atomic_float!(@safety $unsafe)])?
            #[inline]
            pub $($unsafe)? fn store(&self, val: $ty, order: Ordering) {
                paste! {
                    // SAFETY: as for `load`.
                    unsafe { mid::[<atomic_store_ $width _ $scope>](self.as_ptr().cast(), order, val.to_bits()) }
                }
            }

            atomic_float!(@operations $ty, $scope, $($unsafe)?;
                "Adds `val` and returns the previous value." fetch_add add,
                "Subtracts `val` and returns the previous value." fetch_sub sub,
                "Stores the bitwise and, and returns the previous value." fetch_and and,
                "Stores the bitwise or, and returns the previous value." fetch_or or,
                "Stores the bitwise exclusive or, and returns the previous value." fetch_xor xor,
                "Stores `val` and returns the previous value." swap exch,
            );
        }
    )*};
    (@safety $unsafe:ident) => {
        "\n# Safety\nOnly threads of one block may use the value at the same time."
    };
    // `$($unsafe)?` and the operations repeat a different number of times, so each case has an arm of its own.
    (@operations $ty:ident, $scope:ident, unsafe; $($doc:literal $function:ident $op:ident,)*) => {
        $(
            #[doc = $doc]
            ///
            /// # Safety
            /// Only threads of one block may use the value at the same time.
            #[inline]
            pub unsafe fn $function(&self, val: $ty, order: Ordering) -> $ty {
                paste! {
                    // SAFETY: the pointer is valid, and the caller vouches for the scope.
                    unsafe { mid::[<atomic_fetch_ $op _ $ty _ $scope>](self.as_ptr(), order, val) }
                }
            }
        )*
    };
    (@operations $ty:ident, $scope:ident, ; $($doc:literal $function:ident $op:ident,)*) => {
        $(
            #[doc = $doc]
            #[inline]
            pub fn $function(&self, val: $ty, order: Ordering) -> $ty {
                paste! {
                    // SAFETY: the pointer is valid, and the type's scope suffices.
                    unsafe { mid::[<atomic_fetch_ $op _ $ty _ $scope>](self.as_ptr(), order, val) }
                }
            }
        )*
    };
}

atomic_float! {
    AtomicF32, f32, u32, 32, 4, device, "threads of the device";
    AtomicF64, f64, u64, 64, 8, device, "threads of the device";
    BlockAtomicF32, f32, u32, 32, 4, block, "threads of one block", unsafe;
    BlockAtomicF64, f64, u64, 64, 8, block, "threads of one block", unsafe;
    SystemAtomicF32, f32, u32, 32, 4, system, "threads of all devices and the host";
    SystemAtomicF64, f64, u64, 64, 8, system, "threads of all devices and the host";
}
