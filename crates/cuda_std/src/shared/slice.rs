//! `SharedSlice`: shared memory by its 32-bit address.

use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A value that one instruction loads from shared memory and stores to it.
///
/// # Safety
/// Any bits must be a valid value, and `load` and `store` must access exactly `size_of::<Self>()` bytes.
pub unsafe trait SharedValue: Copy + 'static {
    /// Loads from a shared address.
    ///
    /// # Safety
    /// The address lies in an array of the block, aligned for the type.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load(address: u32) -> Self;

    /// Stores to a shared address.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store(address: u32, value: Self);
}

macro_rules! scalar {
    ($($ty:ty, $reg:ident, $ptx:literal;)*) => {$(
        // SAFETY: plain numbers; the instructions move the type's size.
        unsafe impl SharedValue for $ty {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load(address: u32) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address. Not `readonly`: another thread may write between two loads.
                unsafe {
                    asm!(concat!("ld.shared.", $ptx, " {}, [{}];"), out($reg) value, in(reg32) address,
                        options(nostack, preserves_flags));
                }
                value
            }
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store(address: u32, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe {
                    asm!(concat!("st.shared.", $ptx, " [{}], {};"), in(reg32) address, in($reg) value,
                        options(nostack, preserves_flags));
                }
            }
        }
    )*};
}

scalar! {
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

        impl $name {
            /// From its components.
            #[inline(always)]
            #[must_use]
            pub const fn new($($field: $element),*) -> Self {
                Self { $($field),* }
            }
        }

        // SAFETY: plain numbers; the instructions move the type's size.
        unsafe impl SharedValue for $name {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load(address: u32) -> Self {
                $(let $field: $element;)*
                // SAFETY: the caller vouches for the address.
                unsafe {
                    asm!(concat!("ld.shared.", $ptx, " {{", $slots, "}}, [{address}];"),
                        $($field = out($reg) $field,)*
                        address = in(reg32) address, options(nostack, preserves_flags));
                }
                Self { $($field),* }
            }
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store(address: u32, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe {
                    asm!(concat!("st.shared.", $ptx, " [{address}], {{", $slots, "}};"),
                        $($field = in($reg) value.$field,)*
                        address = in(reg32) address, options(nostack, preserves_flags));
                }
            }
        }
    )*};
}

vector! {
    /// Two `f64`, moved in one instruction of 128 bits.
    F2, f64, reg64, 16, "v2.b64", "{x}, {y}", (x, y);
    /// Four `f32`, moved in one instruction of 128 bits.
    F4, f32, reg32, 16, "v4.b32", "{x}, {y}, {z}, {w}", (x, y, z, w);
    /// Four `u32`, moved in one instruction of 128 bits.
    U4, u32, reg32, 16, "v4.b32", "{x}, {y}, {z}, {w}", (x, y, z, w);
}

/// An array in shared memory, accessed with `ld.shared` and `st.shared` through a 32-bit address.
///
/// A copyable handle; all copies mean the same memory. In the emulator every index is checked; on the device it is not.
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
    /// `length` elements of the block's dynamic shared memory, from `offset` bytes on.
    ///
    /// # Panics
    /// In the emulator, if they are not within the bytes that the launch asked for, or `offset` is not a multiple of the
    /// element's alignment.
    ///
    /// # Safety
    /// The elements lie within the dynamic shared memory, aligned. Elements of this and other slices over
    /// the same bytes follow the rules of [`get`](Self::get) and [`set`](Self::set) together.
    #[inline(always)]
    #[must_use]
    pub unsafe fn dynamic(offset: usize, length: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = length;
            let base: u32;
            // SAFETY: takes the address of a symbol of this crate.
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
            // SAFETY: offset <= bytes, which the dynamic array holds.
            let pointer = unsafe { shared.dynamic().add(offset) }.cast();
            Self {
                pointer,
                length,
                element: PhantomData,
            }
        }
    }

    /// `length` elements of an array made with [`shared_array!`](crate::shared_array), from its pointer on.
    ///
    /// # Safety
    /// The pointer is to shared memory of the block, aligned and valid for `length` elements.
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_raw_parts(pointer: *mut T, length: usize) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let _ = length;
            let address: u32;
            // SAFETY: converts an address.
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

    /// Element `index`.
    ///
    /// # Panics
    /// In the emulator the launch fails with `EmulatorError::SharedIndex` if the index is out of bounds.
    ///
    /// # Safety
    /// `index` is in bounds, the element has been written in this block, and a barrier separates this from writes of other
    /// threads.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub unsafe fn get(self, index: usize) -> T {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller vouches for the index.
        unsafe {
            T::load(self.address + (index * size_of::<T>()) as u32)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `at` checks the index; the memory is initialised with a pattern, and any bits are a value.
        unsafe {
            self.at(index).read()
        }
    }

    /// Sets element `index`.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    ///
    /// # Safety
    /// `index` is in bounds, and a barrier separates this from other accesses to the element.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set(self, index: usize, value: T) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the caller vouches for the index.
        unsafe {
            T::store(self.address + (index * size_of::<T>()) as u32, value);
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: `at` checks the index.
        unsafe {
            self.at(index).write(value);
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
        // SAFETY: in bounds of the array the slice was made of.
        unsafe { self.pointer.add(index) }
    }
}

/// A [`SharedSlice`] of `N` elements in static shared memory: `shared_slice![T; N]`. Each place in the source is one array, as
/// with [`shared_array!`](crate::shared_array).
#[macro_export]
macro_rules! shared_slice {
    ($element:ty; $count:expr) => {{
        let pointer = $crate::shared_array![$element; $count];
        // SAFETY: the array has this type and length.
        unsafe { $crate::shared::SharedSlice::<$element>::from_raw_parts(pointer, $count) }
    }};
}
