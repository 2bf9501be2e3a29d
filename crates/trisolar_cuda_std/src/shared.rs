//! Shared memory: arrays that belong to one block of threads.
//!
//! - [`shared_array!`](crate::shared_array) and [`dynamic_shared_mem`] return raw pointers, as in rust-cuda. Accesses through
//!   them are `ld.shared` and `st.shared` where LLVM can follow the address.
//! - [`SharedSlice`] holds a 32-bit shared address and always uses `ld.shared` and `st.shared`; in the emulator it checks every
//!   index.
//!
//! Shared memory is not initialised. A thread may read what another thread has written after both have called
//! [`sync_threads`](crate::thread::sync_threads).

mod slice;

pub use slice::{F2, F4, SharedSlice, SharedValue, U4};

/// A pointer `*mut T` to `N` elements of shared memory: `shared_array![T; N]`.
///
/// Each use of the macro in the source is one array, however often a thread executes it. The array is not initialised.
///
/// # Safety
/// Expanding the macro is safe, but using the pointer is not: stay within the `N` elements, write an element before reading it,
/// and put [`sync_threads`](crate::thread::sync_threads) between one thread's writes and another thread's reads.
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

/// A pointer to the dynamic shared memory of the block, whose size the launch sets. It is aligned to 16 bytes and the same for
/// every call and every type.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    {
        (&raw mut device::cuda_std_dynamic_shared).cast()
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
mod device {
    unsafe extern "C" {
        /// The memory whose size the launch sets. `cuda_builder` declares it in shared memory, aligned to 16 bytes.
        pub static mut cuda_std_dynamic_shared: [u8; 0];
    }
}

/// The shared memory that belongs to `Tag`, a type that stands for one place in the source, and to the element type `T`.
///
/// On the device rustc must not inline this function: `cuda_builder` makes all its copies for one `Tag` and `T` return the address of one
/// array.
#[doc(hidden)]
#[cfg_attr(target_arch = "nvptx64", inline(never))]
#[must_use]
pub fn static_memory<Tag: 'static, T>() -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    {
        let address: u64;
        // SAFETY: the assembly only declares an array and takes its address.
        unsafe {
            core::arch::asm!(
                "{{",
                ".shared .align {align} .b8 cuda_std_shared_array[{bytes}];",
                ".reg .b64 a;",
                "mov.b64 a, cuda_std_shared_array;",
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
        let place = (core::any::TypeId::of::<Tag>(), type_id::<T>());
        block
            .shared
            .borrow_mut()
            .array(place, name, size_of::<T>(), align_of::<T>())
            .cast()
    }
}

/// The identity of a type, ignoring its lifetimes.
#[cfg(not(target_arch = "nvptx64"))]
fn type_id<T>() -> core::any::TypeId {
    trait Named {
        fn id(&self) -> core::any::TypeId
        where
            Self: 'static;
    }
    impl<T> Named for core::marker::PhantomData<T> {
        fn id(&self) -> core::any::TypeId
        where
            Self: 'static,
        {
            core::any::TypeId::of::<T>()
        }
    }
    let named: &dyn Named = &core::marker::PhantomData::<T>;
    // SAFETY: lifetimes do not exist at run time, and the reference is used only for the type's identity.
    unsafe { core::mem::transmute::<&dyn Named, &(dyn Named + 'static)>(named) }.id()
}
