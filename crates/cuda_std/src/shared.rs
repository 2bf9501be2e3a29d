//! Shared memory: arrays that each block of threads has to itself.
//!
//! - [`shared_array!`](crate::shared_array) and [`dynamic_shared_mem`] give raw pointers, as rust-cuda does. A GPU reads through
//!   them with generic loads.
//! - [`SharedSlice`] is the fast way: it holds a 32-bit shared address, its loads and stores are `ld.shared` and `st.shared`,
//!   and in the emulator it checks every index.
//!
//! Shared memory is not initialised. What one thread writes another may read after
//! [`sync_threads`](crate::thread::sync_threads).

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

mod slice;

pub use slice::{F2, F4, SharedSlice, SharedValue, U4};

/// A pointer `*mut T` to `N` elements of shared memory: `shared_array![T; N]`.
///
/// Each place in the source that says so is one array, the same however often a thread comes by. The array is not
/// initialised.
///
/// # Safety
/// Expanding the macro is safe, using the pointer is not: keep to the `N` elements, write before you read, and let
/// [`sync_threads`](crate::thread::sync_threads) stand between the writes of one thread and the reads of another.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::shared_array;
///
/// /// Reverses 64 numbers with one block of 64 threads.
/// /// # Safety
/// /// `data` is valid for 64 values.
/// #[kernel]
/// pub unsafe fn reverse(data: *mut i32) {
///     let tile = shared_array![i32; 64];
///     let i = thread::thread_idx_x() as usize;
///     // SAFETY: i < 64, and the barrier separates writes and reads.
///     unsafe {
///         *tile.add(i) = *data.add(i);
///         thread::sync_threads();
///         *data.add(i) = *tile.add(63 - i);
///     }
/// }
///
/// let mut data: Vec<i32> = (0..64).collect();
/// let pointer = data.as_mut_ptr();
/// // SAFETY: 64 values, one block of 64 threads.
/// unsafe { cuda_std::emulator::launch(1, 64, 0, || reverse(pointer)) }.unwrap();
/// assert!(data.iter().rev().copied().eq(0..64));
/// ```
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $count:expr) => {{
        struct SharedArray;
        $crate::shared::static_memory::<SharedArray, [$element; $count]>().cast::<$element>()
    }};
}

/// A pointer to the dynamic shared memory of the block, whose size the launch sets. Aligned to 16 bytes; the same pointer for
/// every call and every type.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u64;
        // SAFETY: takes the address of a symbol that is declared below.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .b64 a;",
                "mov.b64 a, cuda_std_dynamic_shared;",
                "cvta.shared.u64 {}, a;",
                "}}",
                out(reg64) address,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address as *mut T
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::emulator::current()
            .block()
            .shared
            .borrow_mut()
            .dynamic()
            .cast()
    }
}

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(".extern .shared .align 16 .b8 cuda_std_dynamic_shared[];");

/// The shared memory of the type `Tag`, which stands for one place in the source.
///
/// Not inlined on the device: the array is declared in the function's body, so there must be one body for it.
#[doc(hidden)]
#[cfg_attr(target_arch = "nvptx64", inline(never))]
#[must_use]
pub fn static_memory<Tag: 'static, T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u64;
        // SAFETY: declares an array and takes its address.
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
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address as *mut T
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let block = crate::emulator::current().block();
        let name = core::any::type_name::<T>();
        let tag = core::any::TypeId::of::<Tag>();
        block
            .shared
            .borrow_mut()
            .array(tag, name, size_of::<T>(), align_of::<T>())
            .cast()
    }
}

/// Names the memory of a [`SharedStatic`].
struct Id<const ID: u64>;

/// What `#[address_space(shared)] static` makes of a static outside of a kernel: a handle of no size that dereferences to
/// the block's memory.
#[derive(Debug)]
pub struct SharedStatic<T, const ID: u64>(PhantomData<T>);

// SAFETY: the handle holds nothing; access to the memory behind it is bound to the rules of the static's declaration.
unsafe impl<T, const ID: u64> Sync for SharedStatic<T, ID> {}

impl<T, const ID: u64> SharedStatic<T, ID> {
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// The memory's address.
    #[inline(always)]
    #[must_use]
    pub fn as_ptr(&self) -> *mut T {
        static_memory::<Id<ID>, T>()
    }
}

impl<T, const ID: u64> Deref for SharedStatic<T, ID> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the block's memory for exactly this type; who uses a static of shared memory vouches for its contents.
        unsafe { &*self.as_ptr() }
    }
}

impl<T, const ID: u64> DerefMut for SharedStatic<T, ID> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; `static mut` makes its user promise that no two references clash.
        unsafe { &mut *self.as_ptr() }
    }
}
