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

/// The memory of a static that a kernel declares in its outermost block. `#[kernel]` expands this at the start of the entry,
/// which runs once and which no optimisation copies: so the array can be declared right there.
#[inline(always)]
#[must_use]
pub fn kernel_static<Tag: 'static, T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u64;
        // SAFETY: declares an array and takes its address. Not `pure`: two arrays of one size must not become one.
        unsafe {
            core::arch::asm!(
                "{{",
                ".shared .align {align} .b8 shared_array[{bytes}];",
                ".reg .b64 a;",
                "mov.b64 a, shared_array;",
                "cvta.shared.u64 {address}, a;",
                "}}",
                align = const align_of::<T>(),
                bytes = const size_of::<T>(),
                address = out(reg64) address,
                options(nomem, nostack, preserves_flags)
            );
        }
        address as *mut T
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::shared::static_memory::<Tag, T>()
}
