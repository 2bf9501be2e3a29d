//! Shares of arrays: parameters of kernels by which every thread has elements of its own.

use core::fmt;
use core::marker::PhantomData;

use crate::{Plain, thread};

/// The elements of an array that belong to this thread, which alone reads and writes them. It is an iterator over `&mut T`.
///
/// Of a launch of n threads, thread i has the elements i, i + n, i + 2n and so on: any grid covers the array, and threads beyond its end
/// have no element.
///
/// ```
/// use cuda_std::emulator::Launch;
/// use cuda_std::prelude::*;
/// use cuda_std::{Each, EachRef};
///
/// #[kernel]
/// pub fn saxpy(a: f32, x: EachRef<'_, f32>, y: Each<'_, f32>) {
///     for (x, y) in x.zip(y) {
///         *y += a * x;
///     }
/// }
///
/// let (x, mut y) = ([1.0, 2.0, 3.0], [0.5; 3]);
/// Launch::new(1, 32).run_safe::<Saxpy>((2.0, &x, &mut y)).unwrap();
/// assert_eq!(y, [2.5, 4.5, 6.5]);
///
/// let said = Launch::new(1, 32).run_safe::<Saxpy>((2.0, &x, &mut [0.0])).unwrap_err().to_string();
/// assert_eq!(said, "`y` has 1 elements, but `x` has 3: all Each and EachRef of a launch have the same length");
/// ```
pub struct Each<'a, T: Plain> {
    elements: *mut T,
    length: usize,
    /// The next element of this thread.
    next: usize,
    array: PhantomData<&'a mut [T]>,
}

/// The elements of an array that correspond to those of an [`Each`], to be read. It is an iterator over `T`.
///
/// A kernel may read any element of a parameter `&[T]`, whose length need not be that of the others.
pub struct EachRef<'a, T: Plain> {
    elements: *const T,
    length: usize,
    /// The next element of this thread.
    next: usize,
    array: PhantomData<&'a [T]>,
}

/// An element of an array for each block of the launch, which the first thread of the block writes.
///
/// ```
/// use cuda_std::emulator::Launch;
/// use cuda_std::prelude::*;
/// use cuda_std::{EachRef, PerBlock, collective};
///
/// /// The sum of the numbers of each block's threads.
/// #[kernel]
/// pub fn sums(x: EachRef<'_, f64>, sums: PerBlock<'_, f64>) {
///     let own = x.sum();
///     sums.set(collective::block_reduce(own, |a, b| a + b));
/// }
///
/// let x: Vec<f64> = (1..=100).map(f64::from).collect();
/// let mut sums = [0.0; 2];
/// Launch::new(2, 50).run_safe::<Sums>((&x, &mut sums)).unwrap();
/// assert_eq!(sums, [1275.0, 3775.0]);
/// ```
pub struct PerBlock<'a, T: Plain> {
    elements: *mut T,
    length: usize,
    array: PhantomData<&'a mut [T]>,
}

/// The number of this thread in a one-dimensional launch. (`index_1d` would wrap beyond 2³² threads.)
#[inline(always)]
fn first() -> usize {
    thread::block_idx_x() as usize * thread::block_dim_x() as usize
        + thread::thread_idx_x() as usize
}

/// The threads of a one-dimensional launch.
#[inline(always)]
fn stride() -> usize {
    thread::grid_dim_x() as usize * thread::block_dim_x() as usize
}

macro_rules! each {
    ($name:ident, $pointer:ty, $item:ty, |$element:ident| $get:expr) => {
        impl<'a, T: Plain> $name<'a, T> {
            /// This thread's share of `length` elements from `elements` on.
            ///
            /// # Safety
            /// The elements are valid for `'a`, as for a reference to a slice, except that other threads of the launch, which has one
            /// dimension, have their own shares of them. A thread makes its share once.
            #[doc(hidden)]
            #[inline(always)]
            #[must_use]
            pub unsafe fn of(elements: $pointer, length: usize) -> Self {
                Self {
                    elements,
                    length,
                    next: first(),
                    array: PhantomData,
                }
            }

            /// The length of the whole array.
            #[inline(always)]
            #[must_use]
            pub fn length(&self) -> usize {
                self.length
            }

            /// The thread's elements, each behind its index in the array.
            #[inline(always)]
            pub fn indexed(mut self) -> impl Iterator<Item = (usize, $item)> {
                core::iter::from_fn(move || {
                    let index = self.next;
                    Some((index, self.next()?))
                })
            }
        }

        impl<'a, T: Plain> Iterator for $name<'a, T> {
            type Item = $item;

            #[inline(always)]
            fn next(&mut self) -> Option<$item> {
                if self.next >= self.length {
                    return None;
                }
                // SAFETY: the index is below the length. No other thread has it, since first indices differ by less than the stride;
                // this thread does not come back to it.
                let $element = unsafe { self.elements.add(self.next) };
                self.next += stride();
                // SAFETY: as above.
                Some(unsafe { $get })
            }
        }

        impl<T: Plain> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    concat!(stringify!($name), " of {} elements"),
                    self.length
                )
            }
        }
    };
}

each!(Each, *mut T, &'a mut T, |element| &mut *element);
each!(EachRef, *const T, T, |element| *element);

impl<T: Plain> PerBlock<'_, T> {
    /// The element of this block of `length` elements from `elements` on.
    ///
    /// # Safety
    /// As for `Each::of`.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn of(elements: *mut T, length: usize) -> Self {
        Self {
            elements,
            length,
            array: PhantomData,
        }
    }

    /// Sets the element of this block to the value of the block's first thread; all other threads' values are dropped.
    #[inline(always)]
    pub fn set(self, value: T) {
        let block = thread::block_idx_x() as usize;
        if thread::thread_idx_x() == 0 && block < self.length {
            // SAFETY: the index is below the length, and only the first thread of a block has it, once.
            unsafe { self.elements.add(block).write(value) };
        }
    }
}

impl<T: Plain> fmt::Debug for PerBlock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PerBlock of {} elements", self.length)
    }
}
