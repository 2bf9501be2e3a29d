//! Items that the macros' expansions use. Nothing here is for direct use.

pub use alloc::format;

/// A value that can be an argument of a kernel: it is copied bit by bit to the device.
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

/// Distinguishes slices from other types: `Width::<T>::IS_SLICE` is the inherent constant for slices and that of [`Thin`] for
/// all other types.
pub struct Width<T>(core::marker::PhantomData<T>);

/// Types that are not slices.
pub trait Thin {
    /// False: such a type takes one launch argument.
    const IS_SLICE: bool = false;
}

impl<T> Thin for Width<T> {}

macro_rules! wide {
    ($($ty:ty),*) => {$(
        impl<T> Width<$ty> {
            /// True: a slice takes two launch arguments.
            pub const IS_SLICE: bool = true;
        }
    )*};
}

wide!(&[T], &mut [T], *const [T], *mut [T]);

/// Distinguishes types that can be changed through a shared reference from others.
#[cfg(target_arch = "nvptx64")]
pub struct Interior<T>(core::marker::PhantomData<T>);

#[cfg(target_arch = "nvptx64")]
impl<T: core::marker::Freeze> Interior<T> {
    /// False. An inherent constant takes precedence over that of [`Mutable`].
    pub const IS_MUTABLE: bool = false;
}

/// Types that are not known to be `Freeze`.
#[cfg(target_arch = "nvptx64")]
pub trait Mutable {
    /// True, where [`Interior`] has no inherent constant.
    const IS_MUTABLE: bool = true;
}

#[cfg(target_arch = "nvptx64")]
impl<T> Mutable for Interior<T> {}

#[cfg(not(target_arch = "nvptx64"))]
pub use crate::constant::{CONSTANTS, ConstantStatic};
#[cfg(not(target_arch = "nvptx64"))]
pub use crate::emulator::{SHARED_STATICS, SharedStatic};
#[cfg(not(target_arch = "nvptx64"))]
pub use linkme;
