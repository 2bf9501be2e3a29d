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

/// A value that a kernel which is a safe function may take: none with a pointer, which would point to the host's memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the argument of a kernel that is a safe function",
    label = "not `Plain`",
    note = "such a kernel takes numbers and other `Plain` values, `bool`, `&[T]`, `Each<'_, T>`, `EachRef<'_, T>` and `PerBlock<'_, T>`"
)]
pub trait SafeArgument: Copy {}

impl<T: crate::Plain> SafeArgument for T {}
impl SafeArgument for bool {}

/// Fails to compile for anything else.
#[inline(always)]
pub fn assert_safe_argument<T: SafeArgument>() {}

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

/// How a launch passes an argument of type `T`: as itself, or in `N` pieces of 16 bytes where it is aligned more than these
/// (`IS_WIDE`), which rustc cannot pass.
#[cfg(target_arch = "nvptx64")]
pub struct Passed<const IS_WIDE: bool, const N: usize, T>(core::marker::PhantomData<T>);

/// See [`Passed`].
#[cfg(target_arch = "nvptx64")]
pub trait Pass {
    /// The argument.
    type Argument;
    /// The entry's parameter.
    type As;
    /// The argument from the parameter.
    fn take(passed: Self::As) -> Self::Argument;
}

#[cfg(target_arch = "nvptx64")]
impl<const N: usize, T> Pass for Passed<false, N, T> {
    type Argument = T;
    type As = T;
    #[inline(always)]
    fn take(passed: T) -> T {
        passed
    }
}

/// Pieces of a wide argument.
#[cfg(target_arch = "nvptx64")]
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Pieces<const N: usize>([[u64; 2]; N]);

#[cfg(target_arch = "nvptx64")]
impl<const N: usize, T> Pass for Passed<true, N, T> {
    type Argument = T;
    type As = Pieces<N>;
    #[inline(always)]
    fn take(passed: Pieces<N>) -> T {
        // SAFETY: the pieces are the bytes of a `T`, whose size is a multiple of its alignment and so of 16.
        unsafe { (&raw const passed).cast::<T>().read_unaligned() }
    }
}

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
