//! The interface of all devices: a low level of bytes and addresses, and typed launches on top of it.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_std::{Code, Constant, Entry, Exported, Kernel, Plain, SafeKernel};

use crate::{DeviceInfo, GpuError, Residency};

/// A queue of a device. Work in the same queue is done in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Kernels and most copies.
    Compute,
    /// Copies of results, concurrently with kernels.
    Copies,
}

/// A one-dimensional grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of blocks; nothing is launched for 0.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// Dynamic shared memory per block in bytes.
    pub shared_bytes: u32,
    /// The launches for which the kernel is compiled.
    pub residency: Option<Residency>,
    /// Whether blocks may wait for each other: all of them are resident at the same time.
    pub cooperative: bool,
}

impl Grid {
    /// A grid of `blocks` blocks of `threads` threads.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            blocks,
            threads,
            shared_bytes: 0,
            residency: None,
            cooperative: false,
        }
    }

    /// At least one thread for each of `items`, in blocks of `threads`.
    pub fn covering(items: u32, threads: u32) -> Self {
        Self::new(items.div_ceil(threads), threads)
    }

    /// Sets the dynamic shared memory.
    #[must_use]
    pub fn shared(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// Sets the launches for which the kernel is compiled.
    #[must_use]
    pub fn residency(self, residency: Option<Residency>) -> Self {
        Self { residency, ..self }
    }

    /// Allows blocks to wait for each other.
    #[must_use]
    pub fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }
}

/// What a kernel's crate exports of it.
pub(crate) fn exported(code: &Code, device: &DeviceInfo) -> Result<Exported, GpuError> {
    code.exported.ok_or_else(|| GpuError::Call {
        device: device.name.clone(),
        call: "finding a kernel",
        reason: format!("{} is not among the exported instances", code.of),
    })
}

/// A launch without the types of its arguments.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub code: Code,
    /// The grid.
    pub grid: Grid,
    /// The tuple of its arguments.
    pub arguments: *const (),
    /// The address of each argument.
    pub each: &'a mut [*mut c_void],
}

/// A device that runs kernels and has memory for them. Unless a method says otherwise, work is queued and done in the order of its
/// queue, and errors are reported by the calls that wait. Any thread may call.
///
/// This level uses addresses of memory; engines use [`Buffer`](crate::Buffer), [`HostBuffer`](crate::HostBuffer) and the typed
/// launches below.
///
/// # Errors
/// All methods: [`GpuError::Call`] with device and call, [`GpuError::OutOfMemory`] for memory.
pub trait Device: fmt::Debug + Send + Sync {
    /// `gpu` or `emulator`.
    fn name(&self) -> &'static str;

    /// Properties of the device.
    fn info(&self) -> &DeviceInfo;

    /// Whether the blocks of a grid may wait for each other.
    fn is_cooperative(&self) -> Result<bool, GpuError>;

    /// Allocates memory with undefined contents.
    fn allocate(&self, bytes: usize) -> Result<u64, GpuError>;

    /// Frees memory after all queued work is done.
    ///
    /// # Safety
    /// It is from [`allocate`](Self::allocate) with the same number of bytes, and is no longer used.
    unsafe fn free(&self, address: u64, bytes: usize);

    /// Allocates page-locked memory of the host, for asynchronous copies, with undefined contents.
    fn allocate_host(&self, bytes: usize) -> Result<NonNull<u8>, GpuError>;

    /// Frees memory of the host.
    ///
    /// # Safety
    /// It is from [`allocate_host`](Self::allocate_host) with the same number of bytes, and neither the host nor queued work
    /// uses it.
    unsafe fn free_host(&self, start: NonNull<u8>, bytes: usize);

    /// Queues setting every byte to `byte`.
    ///
    /// # Safety
    /// The memory belongs to the device.
    unsafe fn fill(&self, to: u64, bytes: usize, byte: u8) -> Result<(), GpuError>;

    /// Copies from the host, after everything queued so far; returns when done.
    ///
    /// # Safety
    /// Both sides have at least `bytes` bytes.
    unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError>;

    /// Copies to the host, after everything queued so far; returns when done.
    ///
    /// # Safety
    /// Both sides have at least `bytes` bytes.
    unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), GpuError>;

    /// Queues a copy from memory of [`allocate_host`](Self::allocate_host).
    ///
    /// # Safety
    /// Both sides have at least `bytes` bytes; those of the host are not written before the copy has been waited for.
    unsafe fn queue_upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError>;

    /// Queues a copy to memory of [`allocate_host`](Self::allocate_host).
    ///
    /// # Safety
    /// Both sides have at least `bytes` bytes; those of the host are not accessed before the copy has been waited for.
    unsafe fn queue_download(
        &self,
        queue: Queue,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError>;

    /// Queues a copy on the device.
    ///
    /// # Safety
    /// Both are memory of the device, and do not overlap.
    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), GpuError>;

    /// Queues a copy from another device of the same kind, after the work queued there.
    ///
    /// # Safety
    /// The memory belongs to the two devices.
    unsafe fn copy_from_peer(
        &self,
        to: u64,
        peer: &dyn Device,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError>;

    /// Lets this device access the memory of `other` directly, if the machine supports it, and returns whether it does; otherwise copies
    /// between them go through the host.
    fn reach(&self, other: &dyn Device) -> Result<bool, GpuError>;

    /// Makes work that is queued here from now on wait for all work queued on `other`, a device of the same kind.
    fn wait_for(&self, other: &dyn Device) -> Result<(), GpuError>;

    /// Waits until all work in [`Queue::Compute`] is done.
    fn synchronise(&self) -> Result<(), GpuError>;

    /// A mark after the work queued so far, see [`mark`](#method.mark).
    fn record(&self, queue: Queue) -> Result<Point, GpuError>;

    /// Loads a kernel, which is otherwise loaded when it is first launched.
    fn load(&self, code: &Code, residency: Option<Residency>) -> Result<(), GpuError>;

    /// Blocks of a kernel that the device runs at the same time, in grids like this one.
    fn resident(&self, code: &Code, grid: &Grid) -> Result<u32, GpuError>;

    /// The resources of a kernel in grids like this one.
    fn usage(&self, code: &Code, grid: &Grid) -> Result<Usage, GpuError>;

    /// Whether [`start`](Self::start) returns before the kernel has run.
    fn is_asynchronous(&self) -> bool;

    /// Queues a launch of at least one block.
    ///
    /// # Safety
    /// The arguments are those of the kernel and satisfy its contract until it has run.
    unsafe fn start(&self, launch: &mut Launch<'_>) -> Result<(), GpuError>;

    /// Queues a launch of a kernel of a text that was made at run time, with the addresses of its arguments. The text has no directives before
    /// the kernel, and may call functions of the module that has the kernel `functions` of a package.
    ///
    /// # Safety
    /// The arguments are those of the kernel and satisfy its contract until it has run.
    unsafe fn start_text(
        &self,
        text: &str,
        functions: [&str; 2],
        kernel: &'static str,
        grid: Grid,
        each: &mut [*mut c_void],
    ) -> Result<(), GpuError> {
        let _ = (text, functions, grid, each);
        Err(GpuError::Call {
            device: self.info().name.clone(),
            call: kernel,
            reason: "kernels that are made at run time need a GPU".into(),
        })
    }

    /// Sets a constant for PTX that the device interprets.
    #[cfg(feature = "devices")]
    #[doc(hidden)]
    fn keep_constant(&self, _: &'static str, _: &[u8]) {}

    /// The GPU, if it is one.
    #[cfg(feature = "devices")]
    #[doc(hidden)]
    fn as_gpu(&self) -> Option<&crate::Gpu> {
        None
    }
}

/// A point in a queue of a device.
#[derive(Debug)]
pub struct Moment {
    // Dropped before the device.
    point: Point,
    _device: Arc<dyn Device>,
}

/// A point in a queue, which must not outlive its device.
#[derive(Debug)]
pub enum Point {
    /// All work before was done at this time.
    Done(Instant),
    /// An event of a GPU.
    #[cfg(feature = "devices")]
    #[doc(hidden)]
    Event(crate::mark::Mark),
}

impl Moment {
    /// Whether all work before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of the work failed.
    pub fn reached(&self) -> Result<bool, GpuError> {
        match &self.point {
            Point::Done(_) => Ok(true),
            #[cfg(feature = "devices")]
            Point::Event(mark) => mark.reached(),
        }
    }

    /// Waits until all work before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of the work failed.
    pub fn wait(&self) -> Result<(), GpuError> {
        match &self.point {
            Point::Done(_) => Ok(()),
            #[cfg(feature = "devices")]
            Point::Event(mark) => mark.wait(),
        }
    }

    /// Time on the device from `earlier` to this point; both are of the same device and have been reached.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn since(&self, earlier: &Self) -> Result<Duration, GpuError> {
        match (&self.point, &earlier.point) {
            (Point::Done(end), Point::Done(begin)) => Ok(end.duration_since(*begin)),
            #[cfg(feature = "devices")]
            (Point::Event(end), Point::Event(begin)) => end.since(begin),
            #[cfg(feature = "devices")]
            _ => Ok(Duration::ZERO),
        }
    }
}

/// The resources of a multiprocessor that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Resident threads of the kernel per multiprocessor, divided by the largest possible number.
    pub occupancy: f64,
}

/// Launches by the types of kernels.
impl dyn Device {
    /// Queues a launch of the kernel `K`. Arguments of other types or of another number do not compile.
    ///
    /// # Errors
    /// [`GpuError::Call`] if it cannot be queued; errors while it runs are reported by the calls that wait for it.
    ///
    /// # Safety
    /// The arguments satisfy the kernel's contract until the launch has run.
    pub unsafe fn launch<K: Kernel>(
        &self,
        grid: Grid,
        arguments: K::Arguments,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller guarantees this.
        unsafe { self.launch_entry(Entry::of::<K>(), grid, arguments) }
    }

    /// Queues a launch of the kernel `K`, which is a safe function; arrays are borrowed [`Buffer`](crate::Buffer)s.
    ///
    /// # Errors
    /// [`GpuError::Call`] if it cannot be queued, as where the lengths of buffers do not fit; errors while it runs are reported by the calls
    /// that wait for it.
    pub fn run<K: SafeKernel>(
        &self,
        grid: Grid,
        arguments: K::Given<'_, dyn Device>,
    ) -> Result<(), GpuError> {
        let arguments = K::arguments(self, grid.blocks, arguments).map_err(|e| GpuError::Call {
            device: self.info().name.clone(),
            call: K::name().unwrap_or("a launch"),
            reason: e.to_string(),
        })?;
        // SAFETY: the grid has one dimension, and a safe kernel uses its own share of the buffers that it writes. All safe uses of a buffer
        // are queued behind the launch.
        unsafe { self.launch::<K>(grid, arguments) }
    }

    /// Sets a variable in constant memory, after everything queued so far. Kernels that are launched on this device afterwards read this
    /// value. In the emulator it is the process's variable, which all emulators have in common.
    ///
    /// # Errors
    /// [`GpuError::Call`] if `constant` is not a static with `#[address_space(constant)]` of the program's kernels.
    ///
    /// # Safety
    /// No kernel of an emulator that reads it runs at the same time, in any thread, and no reference to the value exists.
    pub unsafe fn set_constant<T: Plain + Send + Sync>(
        &self,
        constant: &'static Constant<T>,
        value: T,
    ) -> Result<(), GpuError> {
        let name = constant.name().ok_or_else(|| GpuError::Call {
            device: self.info().name.clone(),
            call: "setting a constant",
            reason: "it is no static with #[address_space(constant)]".into(),
        })?;
        #[cfg(feature = "devices")]
        {
            if let Some(gpu) = self.as_gpu() {
                return gpu.set_constant(name, value);
            }
            let bytes = std::ptr::from_ref(&value).cast::<u8>();
            // SAFETY: a plain value is its bytes.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, size_of::<T>()) };
            self.keep_constant(name, bytes);
        }
        let _ = name;
        // SAFETY: the caller guarantees this.
        unsafe { constant.set(value) };
        Ok(())
    }

    /// Queues a launch of a kernel that was chosen at run time.
    ///
    /// # Errors
    /// As for a launch by the kernel's type.
    ///
    /// # Safety
    /// As for a launch by the kernel's type.
    pub unsafe fn launch_entry<A>(
        &self,
        entry: Entry<A>,
        grid: Grid,
        arguments: A,
    ) -> Result<(), GpuError> {
        if grid.blocks == 0 {
            return Ok(());
        }
        let mut each = Vec::with_capacity(16);
        entry.each(&arguments, &mut |address| each.push(address.cast_mut()));
        let mut launch = Launch {
            code: entry.code(),
            grid,
            arguments: std::ptr::from_ref(&arguments).cast(),
            each: &mut each,
        };
        // SAFETY: the entry has the arguments' types; the caller guarantees the rest.
        unsafe { self.start(&mut launch) }
    }

    /// A mark after the work queued so far.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn mark(self: &Arc<Self>, queue: Queue) -> Result<Moment, GpuError> {
        Ok(Moment {
            point: self.record(queue)?,
            _device: self.clone(),
        })
    }

    /// Loads a kernel before it is launched.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn prepare<A>(
        &self,
        entry: Entry<A>,
        residency: Option<Residency>,
    ) -> Result<(), GpuError> {
        self.load(&entry.code(), residency)
    }

    /// Loads kernels before they are launched, side by side, since the driver may have to compile them.
    ///
    /// # Errors
    /// [`GpuError::Call`] of the first that cannot be loaded.
    pub fn prepare_all(&self, kernels: &[(Code, Option<Residency>)]) -> Result<(), GpuError> {
        let Some(((code, residency), others)) = kernels.split_first() else {
            return Ok(());
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (others.iter())
                .map(|(code, residency)| scope.spawn(move || self.load(code, *residency)))
                .collect();
            let mut loaded = self.load(code, *residency);
            for other in others {
                let other = (other.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                loaded = loaded.and(other);
            }
            loaded
        })
    }

    /// Blocks of a kernel that the device runs at the same time, in grids like this one, whatever its number of blocks.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn resident_blocks<A>(&self, entry: Entry<A>, grid: Grid) -> Result<u32, GpuError> {
        self.resident(&entry.code(), &grid)
    }
}
