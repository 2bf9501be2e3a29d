//! What the macros expand to. Nothing here is for direct use.

pub use alloc::format;

/// A value that can be a kernel's argument: copied bit by bit to the device.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the argument of a kernel",
    label = "not `Copy`",
    note = "arguments are copied bit by bit to the device: scalars, raw pointers, references, slices and `Copy` structs"
)]
pub trait KernelArgument {}

impl<T: Copy> KernelArgument for T {}

/// Fails to compile for anything that is not `Copy`.
#[inline(always)]
pub fn assert_kernel_argument<T: KernelArgument>() {}

/// Tells slices from other types: `Width::<T>::IS_SLICE` is the constant below for slices, else that of [`Thin`].
pub struct Width<T>(core::marker::PhantomData<T>);

/// What is no slice.
pub trait Thin {
    /// No.
    const IS_SLICE: bool = false;
}

impl<T> Thin for Width<T> {}

macro_rules! wide {
    ($($ty:ty),*) => {$(
        impl<T> Width<$ty> {
            /// Yes: two launch arguments.
            pub const IS_SLICE: bool = true;
        }
    )*};
}

wide!(&[T], &mut [T], *const [T], *mut [T]);

/// Tells types that can be changed through a shared reference from others.
#[cfg(target_arch = "nvptx64")]
pub struct Interior<T>(core::marker::PhantomData<T>);

#[cfg(target_arch = "nvptx64")]
impl<T: core::marker::Freeze> Interior<T> {
    /// No: chosen before the constant of [`Mutable`] where the type has it.
    pub const IS_MUTABLE: bool = false;
}

/// What is not known to be frozen.
#[cfg(target_arch = "nvptx64")]
pub trait Mutable {
    /// Yes.
    const IS_MUTABLE: bool = true;
}

#[cfg(target_arch = "nvptx64")]
impl<T> Mutable for Interior<T> {}

#[cfg(not(target_arch = "nvptx64"))]
pub use crate::emulator::{SHARED_STATICS, SharedStatic};
#[cfg(not(target_arch = "nvptx64"))]
pub use linkme;
