//! `SharedSlice`, which accesses shared memory by its 32-bit address.

use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A value that one instruction loads from or stores to shared memory.
///
/// # Safety
/// Every bit pattern must be a valid value, and `load` and `store` must access exactly `size_of::<Self>()` bytes.
pub unsafe trait SharedValue: Copy + 'static {
    /// Loads from a shared address.
    ///
    /// # Safety
    /// The address must lie in an array of the block and be aligned for the type.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load(address: u32) -> Self;

    /// Stores to a shared address.
    ///
    /// # Safety
    /// The same as for [`load`](Self::load).
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store(address: u32, value: Self);

    /// Loads from the shared memory of a block of the cluster.
    ///
    /// # Safety
    /// The same as for [`load`](Self::load), in a block that runs.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_cluster(address: u32) -> Self;

    /// Stores to the shared memory of a block of the cluster.
    ///
    /// # Safety
    /// The same as for [`load_cluster`](Self::load_cluster).
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_cluster(address: u32, value: Self);
}

macro_rules! scalar {
    ($($ty:ty, $reg:ident, $ptx:literal;)*) => {$(
        // SAFETY: the types are plain numbers, and the instructions move exactly their size.
        unsafe impl SharedValue for $ty {
            scalar!(load store "shared", $ty, $reg, $ptx);
            scalar!(load_cluster store_cluster "shared::cluster", $ty, $reg, $ptx);
        }
    )*};
    ($load:ident $store:ident $memory:literal, $ty:ty, $reg:ident, $ptx:literal) => {
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn $load(address: u32) -> Self {
            let value: $ty;
            // SAFETY: the caller guarantees the address. The assembly is not `readonly`, because another thread may write
            // between two loads.
            unsafe {
                asm!(concat!("ld.", $memory, ".", $ptx, " {}, [{}];"), out($reg) value, in(reg32) address,
                    options(nostack, preserves_flags));
            }
            value
        }
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn $store(address: u32, value: Self) {
            // SAFETY: the caller guarantees the address.
            unsafe {
                asm!(concat!("st.", $memory, ".", $ptx, " [{}], {};"), in(reg32) address, in($reg) value,
                    options(nostack, preserves_flags));
            }
        }
    };
}

scalar! {
    u16, reg16, "b16";
    i16, reg16, "b16";
    u32, reg32, "b32";
    i32, reg32, "b32";
    f32, reg32, "b32";
    u64, reg64, "b64";
    i64, reg64, "b64";
    f64, reg64, "b64";
}

macro_rules! vector {
    ($($(#[$doc:meta])* $name:ident, $element:ty, $reg:ident, $align:literal, $ptx:literal, $slots:literal, ($($field:ident),*);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C, align($align))]
        pub struct $name {
            $(
                /// A component.
                pub $field: $element,
            )*
        }

        // SAFETY: components of one size without padding, every pattern of which is a number.
        unsafe impl crate::Plain for $name {}

        impl $name {
            /// Creates a vector from its components.
            #[inline(always)]
            #[must_use]
            pub const fn new($($field: $element),*) -> Self {
                Self { $($field),* }
            }
        }

        // SAFETY: the components are plain numbers, and the instructions move exactly the type's size.
        unsafe impl SharedValue for $name {
            vector!(load store "shared", $reg, $ptx, $slots, ($($field: $element),*));
            vector!(load_cluster store_cluster "shared::cluster", $reg, $ptx, $slots, ($($field: $element),*));
        }
    )*};
    ($load:ident $store:ident $memory:literal, $reg:ident, $ptx:literal, $slots:literal, ($($field:ident: $element:ty),*)) => {
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn $load(address: u32) -> Self {
            $(let $field: $element;)*
            // SAFETY: the caller guarantees the address.
            unsafe {
                asm!(concat!("ld.", $memory, ".", $ptx, " {{", $slots, "}}, [{address}];"),
                    $($field = out($reg) $field,)*
                    address = in(reg32) address, options(nostack, preserves_flags));
            }
            Self { $($field),* }
        }
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn $store(address: u32, value: Self) {
            // SAFETY: the caller guarantees the address.
            unsafe {
                asm!(concat!("st.", $memory, ".", $ptx, " [{address}], {{", $slots, "}};"),
                    $($field = in($reg) value.$field,)*
                    address = in(reg32) address, options(nostack, preserves_flags));
            }
        }
    };
}

vector! {
    /// Two `f64`, which one 128-bit instruction moves.
    F2, f64, reg64, 16, "v2.b64", "{x}, {y}", (x, y);
    /// Four `f32`, which one 128-bit instruction moves.
    F4, f32, reg32, 16, "v4.b32", "{x}, {y}, {z}, {w}", (x, y, z, w);
    /// Four `u32`, which one 128-bit instruction moves.
    U4, u32, reg32, 16, "v4.b32", "{x}, {y}, {z}, {w}", (x, y, z, w);
}

/// An array in shared memory, accessed with `ld.shared` and `st.shared` through a 32-bit address.
///
/// This is a copyable handle; all copies refer to the same memory. The emulator checks every index; the device does not.
pub struct SharedSlice<T> {
    #[cfg(target_arch = "nvptx64")]
    address: u32,
    #[cfg(not(target_arch = "nvptx64"))]
    pointer: *mut T,
    #[cfg(not(target_arch = "nvptx64"))]
    length: usize,
    element: PhantomData<*mut T>,
}

impl<T> Clone for SharedSlice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedSlice<T> {}

impl<T: SharedValue> SharedSlice<T> {
    /// A slice of `length` elements of the block's dynamic shared memory, starting `offset` bytes into it.
    ///
    /// # Panics
    /// In the emulator, if the elements do not lie within the bytes that the launch requested, or if `offset` is not a multiple
    /// of the element's alignment.
    ///
    /// # Safety
    /// The elements must lie within the dynamic shared memory and be aligned. If other slices cover the same bytes, the rules
    /// of [`get`](Self::get) and [`set`](Self::set) apply to all of them together.
    #[inline(always)]
    #[must_use]
    pub unsafe fn dynamic(offset: usize, length: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = length;
            let base: u32;
            // SAFETY: the assembly only takes the address of a symbol of this crate.
            unsafe {
                asm!("mov.b32 {}, cuda_std_dynamic_shared;", out(reg32) base,
                    options(pure, nomem, nostack, preserves_flags));
            }
            Self {
                address: base + offset as u32,
                element: PhantomData,
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let block = crate::emulator::current().block();
            let mut shared = block.shared.borrow_mut();
            let bytes = shared.dynamic_bytes();
            assert!(
                offset + length * size_of::<T>() <= bytes && offset.is_multiple_of(align_of::<T>()),
                "{length} elements of {} bytes from byte {offset} on do not lie in the {bytes} bytes of dynamic shared memory",
                size_of::<T>()
            );
            // SAFETY: offset <= bytes, so that the result is within the dynamic array.
            let pointer = unsafe { shared.dynamic().add(offset) }.cast();
            Self {
                pointer,
                length,
                element: PhantomData,
            }
        }
    }

    /// A slice of `length` elements of an array of [`shared_array!`](crate::shared_array), starting at `pointer`.
    ///
    /// # Safety
    /// The pointer must point to shared memory of the block, be aligned, and be valid for `length` elements.
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: *mut T, length: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = length;
            let address: u32;
            // SAFETY: the assembly only converts an address.
            unsafe {
                asm!("{{", ".reg .b64 a;", "cvta.to.shared.u64 a, {};", "cvt.u32.u64 {}, a;", "}}",
                    in(reg64) pointer, out(reg32) address, options(pure, nomem, nostack, preserves_flags));
            }
            Self {
                address,
                element: PhantomData,
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            Self {
                pointer,
                length,
                element: PhantomData,
            }
        }
    }

    /// Returns element `index`.
    ///
    /// # Panics
    /// In the emulator the launch fails with `EmulatorError::SharedIndex` if the index is out of bounds.
    ///
    /// # Safety
    /// `index` must be in bounds, the element must have been written in this block, and a barrier must separate this call from
    /// writes by other threads.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees the index.
        unsafe {
            T::load(self.address + (index * size_of::<T>()) as u32)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `at` checks the index; the memory is initialised with a pattern, and every bit pattern is a valid value.
        unsafe {
            self.at(index).read()
        }
    }

    /// Sets element `index`.
    ///
    /// # Panics
    /// The same as for [`get`](Self::get).
    ///
    /// # Safety
    /// `index` must be in bounds, and a barrier must separate this call from other threads' accesses to the element.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller guarantees the index.
        unsafe {
            T::store(self.address + (index * size_of::<T>()) as u32, value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `at` checks the index.
        unsafe {
            self.at(index).write(value);
        }
    }

    /// The address in the shared memory of this block.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) fn address(self) -> u32 {
        self.address
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn parts(self) -> (*mut T, usize) {
        (self.pointer, self.length)
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn of_parts(pointer: *mut T, length: usize) -> Self {
        Self {
            pointer,
            length,
            element: PhantomData,
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    fn at(self, index: usize) -> *mut T {
        if index >= self.length {
            use crate::emulator::{Fault, fail};
            let at = core::panic::Location::caller();
            fail(Fault::SharedIndex {
                index,
                length: self.length,
                at,
            });
        }
        // SAFETY: the index is in the bounds of the array that the slice was made of.
        unsafe { self.pointer.add(index) }
    }
}

/// A [`SharedSlice`] of `N` elements in static shared memory: `shared_slice![T; N]`. Each use in the source is one array, as
/// with [`shared_array!`](crate::shared_array).
#[macro_export]
macro_rules! shared_slice {
    ($element:ty; $count:expr) => {{
        let pointer = $crate::shared_array![$element; $count];
        // SAFETY: the array has this type and length.
        unsafe { $crate::shared::SharedSlice::<$element>::from_raw_parts(pointer, $count) }
    }};
}
