//! Kernels as the host sees them.

use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;

/// A kernel: its name, the arguments of a launch, and the function that one thread runs on the CPU.
/// [`#[kernel]`](macro@crate::kernel) implements this trait for a type with the function's name in camel case; for a generic
/// kernel the type is generic, too.
///
/// ```
/// use cuda_std::emulator::Launch;
/// use cuda_std::prelude::*;
///
/// /// # Safety
/// /// `data` is valid for `n` values.
/// #[kernel(instances(f32: f32, u32: u32))]
/// pub unsafe fn double<T: Copy + core::ops::Add<Output = T>>(data: *mut T, n: u32) {
///     let i = thread::index_1d();
///     if i < n {
///         // SAFETY: i < n, and every thread has an i of its own.
///         unsafe { *data.add(i as usize) = *data.add(i as usize) + *data.add(i as usize) };
///     }
/// }
///
/// use cuda_std::Kernel;
/// assert_eq!(Double::<f32>::name(), Some("double_f32"));
/// assert_eq!(Double::<f64>::name(), None);
/// let mut data = vec![1, 2, 3];
/// // SAFETY: the pointer is valid for 3 values and nothing else uses it.
/// unsafe { Launch::new(1, 32).run_kernel::<Double<u32>>((data.as_mut_ptr(), 3)) }.unwrap();
/// assert_eq!(data, [2, 4, 6]);
/// ```
///
/// Arguments of a wrong type or number do not compile:
/// ```compile_fail
/// # use cuda_std::{emulator::Launch, prelude::*};
/// #[kernel]
/// pub unsafe fn fill(data: *mut f32, value: f32) {
///     unsafe { *data = value };
/// }
/// let mut data = [0.0_f32];
/// unsafe { Launch::new(1, 1).run_kernel::<Fill>((data.as_mut_ptr(), 1.0_f64)) }.unwrap();
/// ```
pub trait Kernel {
    /// A tuple of the parameters' types, in order. References become raw pointers, slices become [`RawSlice`] or
    /// [`RawSliceMut`], and all lifetimes are `'static`.
    type Arguments;

    /// The exported kernel; `None` for an instance of a generic kernel that is not in its list of instances.
    fn exported() -> Option<Exported>;

    /// The name of the PTX entry, if it is exported.
    fn name() -> Option<&'static str> {
        Self::exported().map(|entry| entry.name)
    }

    /// Runs one thread of the kernel; to be called from inside the [`emulator`](crate::emulator).
    ///
    /// # Safety
    /// The same as for the kernel.
    unsafe fn call(arguments: Self::Arguments);

    /// Calls `each` with the address of every launch argument, in the order of the PTX entry's parameters: two for a slice.
    fn each(arguments: &Self::Arguments, each: &mut dyn FnMut(*const c_void));
}

/// A slice as launch arguments: pointer and number of elements.
#[derive(Debug)]
#[repr(C)]
pub struct RawSlice<T> {
    /// The first element.
    pub pointer: *const T,
    /// The number of elements.
    pub length: usize,
}

/// A slice that the kernel may write, as launch arguments.
#[derive(Debug)]
#[repr(C)]
pub struct RawSliceMut<T> {
    /// The first element.
    pub pointer: *mut T,
    /// The number of elements.
    pub length: usize,
}

impl<T> RawSlice<T> {
    /// A slice of `length` elements that starts at `pointer`.
    pub fn new(pointer: *const T, length: usize) -> Self {
        Self { pointer, length }
    }
}

impl<T> RawSliceMut<T> {
    /// A slice of `length` elements that starts at `pointer`.
    pub fn new(pointer: *mut T, length: usize) -> Self {
        Self { pointer, length }
    }
}

impl<T> Clone for RawSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RawSlice<T> {}

impl<T> Clone for RawSliceMut<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RawSliceMut<T> {}

/// A kernel that takes the arguments `A`, as a value, for kernels that are chosen at run time.
pub struct Entry<A> {
    code: Code,
    each: fn(&A, &mut dyn FnMut(*const c_void)),
    arguments: PhantomData<fn(A)>,
}

/// A kernel as its crate exports it. The crate compiles its function once, for all crates that launch it.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// The name of the PTX entry.
    pub name: &'static str,
    /// The package whose source has the kernel. Kernels of several packages of a program may have the same name.
    pub package: &'static str,
    /// Runs one thread with the arguments at this address; see [`one_thread`].
    pub thread: unsafe fn(*const ()),
    /// The largest number of threads of a block, from `#[kernel(max_threads = …)]`.
    pub max_threads: Option<u32>,
    /// The blocks of a cluster along x, y and z, from `#[kernel(cluster = …)]`.
    pub cluster: Option<[u32; 3]>,
}

impl Exported {
    /// Checks that the kernel is compiled for blocks of this many threads.
    ///
    /// # Errors
    /// [`TooManyThreads`] if it is not.
    pub fn check_threads(&self, threads: u64) -> Result<(), TooManyThreads> {
        match self.max_threads {
            Some(most) if threads > u64::from(most) => Err(TooManyThreads {
                kernel: self.name,
                threads,
                most,
            }),
            _ => Ok(()),
        }
    }
}

impl Exported {
    /// Checks that a grid of this many blocks along x, y and z consists of whole clusters.
    ///
    /// # Errors
    /// [`UnevenClusters`] if it does not.
    pub fn check_grid(&self, grid: [u32; 3]) -> Result<(), UnevenClusters> {
        match self.cluster {
            Some(cluster) if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) => {
                Err(UnevenClusters {
                    kernel: self.name,
                    grid,
                    cluster,
                })
            }
            _ => Ok(()),
        }
    }
}

/// The grid of a launch does not consist of whole clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnevenClusters {
    /// The kernel's entry.
    pub kernel: &'static str,
    /// The blocks of the grid along x, y and z.
    pub grid: [u32; 3],
    /// The blocks of a cluster along x, y and z.
    pub cluster: [u32; 3],
}

impl fmt::Display for UnevenClusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [a, b, c]) = (self.grid, self.cluster);
        write!(
            f,
            "the grid of {} has {x} x {y} x {z} blocks, which must be multiples of the cluster's {a} x {b} x {c}",
            self.kernel
        )
    }
}

impl core::error::Error for UnevenClusters {}

/// A block of a launch has more threads than the kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyThreads {
    /// The kernel's entry.
    pub kernel: &'static str,
    /// The threads of a block of the launch.
    pub threads: u64,
    /// The kernel's `max_threads`.
    pub most: u32,
}

impl fmt::Display for TooManyThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            threads,
            most,
        } = self;
        write!(
            f,
            "a block has {threads} threads, but {kernel} is compiled with max_threads = {most}"
        )
    }
}

impl core::error::Error for TooManyThreads {}

/// A kernel without the types of its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The exported kernel; `None` for an instance that is not exported.
    pub exported: Option<Exported>,
    /// The name of the descriptor's type, for messages.
    pub of: &'static str,
}

impl Code {
    /// The name of the PTX entry, if it is exported.
    pub fn name(&self) -> Option<&'static str> {
        self.exported.map(|entry| entry.name)
    }
}

impl<A> Clone for Entry<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Entry<A> {}

impl<A> fmt::Debug for Entry<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.name().unwrap_or(self.code.of))
    }
}

impl<A> Entry<A> {
    /// The kernel `K`.
    pub fn of<K: Kernel<Arguments = A>>() -> Self {
        Self {
            code: Code {
                exported: K::exported(),
                of: core::any::type_name::<K>(),
            },
            each: K::each,
            arguments: PhantomData,
        }
    }

    /// The name of the PTX entry, if there is one.
    pub fn name(&self) -> Option<&'static str> {
        self.code.name()
    }

    /// The kernel without the types of its arguments.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Calls `each` with the address of every launch argument; see [`Kernel::each`].
    pub fn each(&self, arguments: &A, each: &mut dyn FnMut(*const c_void)) {
        (self.each)(arguments, each);
    }
}

/// Runs one thread of a kernel: the function of [`Exported::thread`].
///
/// # Safety
/// `arguments` must point to the kernel's [`Arguments`](Kernel::Arguments), which must meet the kernel's own contract.
pub unsafe fn one_thread<K: Kernel>(arguments: *const ()) {
    // SAFETY: the caller guarantees this; a kernel's arguments may be copied bit by bit.
    unsafe { K::call(arguments.cast::<K::Arguments>().read()) }
}
