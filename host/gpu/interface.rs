//! What a device can do, whatever it is: the low level, in bytes and addresses, and typed launches on top of it.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_std::{Code, Entry, Kernel};

use crate::{DeviceInfo, GpuError};

/// A queue of a device. What is in the same queue is done in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Kernels and most copies.
    Compute,
    /// Copies of results beside them.
    Copies,
}

/// How a kernel is going to be launched. Told of it, the driver gives threads as many registers as fit and spreads
/// dependent instructions; otherwise it saves registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Residency {
    /// Threads of a block, at most.
    pub threads: u32,
    /// Blocks that a multiprocessor shall be able to hold at a time.
    pub blocks: u32,
}

/// A one-dimensional grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks; of none, nothing is launched.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// What the kernel is compiled for.
    pub residency: Option<Residency>,
    /// Whether blocks may wait for each other: all of them are resident at the same time.
    pub cooperative: bool,
}

impl Grid {
    /// This many blocks of so many threads.
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

    /// With dynamic shared memory.
    #[must_use]
    pub fn shared(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// Of a kernel that is compiled for launches of this kind.
    #[must_use]
    pub fn residency(self, residency: Option<Residency>) -> Self {
        Self { residency, ..self }
    }

    /// With blocks that may wait for each other.
    #[must_use]
    pub fn cooperative(self) -> Self {
        Self {
            cooperative: true,
            ..self
        }
    }
}

/// The name of a kernel's PTX entry.
pub(crate) fn entry_name(code: &Code, device: &DeviceInfo) -> Result<&'static str, GpuError> {
    code.name.ok_or_else(|| GpuError::Call {
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
    /// The address of each.
    pub each: &'a mut [*mut c_void],
}

/// What runs kernels, and has memory for them. Everything is queued, and done in the order of its queue, unless said otherwise;
/// what goes wrong meanwhile is reported by the calls that wait. Any thread may call.
///
/// Memory is given by its address here; [`Buffer`](crate::Buffer), [`HostBuffer`](crate::HostBuffer) and the typed launches below are
/// what engines use.
///
/// # Errors
/// All methods: [`GpuError::Call`] with device and call, [`GpuError::OutOfMemory`] for memory.
pub trait Device: fmt::Debug + Send + Sync {
    /// `gpu` or `emulator`.
    fn name(&self) -> &'static str;

    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Whether the blocks of a grid may wait for each other.
    fn is_cooperative(&self) -> Result<bool, GpuError>;

    /// Memory with whatever bytes it has.
    fn allocate(&self, bytes: usize) -> Result<u64, GpuError>;

    /// Gives memory back, when all that is queued is done.
    ///
    /// # Safety
    /// It is from [`allocate`](Self::allocate) with the same number of bytes, and not used any more.
    unsafe fn free(&self, address: u64, bytes: usize);

    /// Memory of the host from which and to which the device copies by itself, with whatever bytes it has.
    fn allocate_host(&self, bytes: usize) -> Result<NonNull<u8>, GpuError>;

    /// Gives memory of the host back.
    ///
    /// # Safety
    /// It is from [`allocate_host`](Self::allocate_host) with the same number of bytes, and neither the host nor what is queued uses
    /// it any more.
    unsafe fn free_host(&self, start: NonNull<u8>, bytes: usize);

    /// Queues setting every byte to `byte`.
    ///
    /// # Safety
    /// The memory is the device's.
    unsafe fn fill(&self, to: u64, bytes: usize, byte: u8) -> Result<(), GpuError>;

    /// Copies from the host, after everything queued so far; returns when done.
    ///
    /// # Safety
    /// As many bytes are on the device and on the host.
    unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError>;

    /// Copies to the host, after everything queued so far; returns when done.
    ///
    /// # Safety
    /// As many bytes are on the device and on the host.
    unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), GpuError>;

    /// Queues a copy from memory of [`allocate_host`](Self::allocate_host).
    ///
    /// # Safety
    /// As many bytes are on both sides; those of the host are not written before the copy has been waited for.
    unsafe fn queue_upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError>;

    /// Queues a copy to memory of [`allocate_host`](Self::allocate_host).
    ///
    /// # Safety
    /// As many bytes are on both sides; those of the host are not touched before the copy has been waited for.
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

    /// Queues a copy from another device of the same kind, after what has been queued there.
    ///
    /// # Safety
    /// The memory is that of the two devices.
    unsafe fn copy_from_peer(
        &self,
        to: u64,
        peer: &dyn Device,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError>;

    /// Lets this device reach the memory of `other` directly, where the machine can do that; where it cannot, copies between them go
    /// through the host.
    fn reach(&self, other: &dyn Device) -> Result<(), GpuError>;

    /// What is queued here from now on waits for all that has been queued on `other`, a device of the same kind.
    fn wait_for(&self, other: &dyn Device) -> Result<(), GpuError>;

    /// Waits until all that was queued to compute is done.
    fn synchronise(&self) -> Result<(), GpuError>;

    /// A mark of what has been queued so far, see [`mark`](#method.mark).
    fn record(&self, queue: Queue) -> Result<Point, GpuError>;

    /// Loads a kernel, which is otherwise loaded when it is first launched.
    fn load(&self, code: &Code, residency: Option<Residency>) -> Result<(), GpuError>;

    /// Blocks of a kernel that the device runs at the same time, in grids like this one.
    fn resident(&self, code: &Code, grid: &Grid) -> Result<u32, GpuError>;

    /// What a kernel takes in grids like this one.
    fn usage(&self, code: &Code, grid: &Grid) -> Result<Usage, GpuError>;

    /// Queues a launch of at least one block.
    ///
    /// # Safety
    /// The arguments are those of the kernel and meet its contract until it has run.
    unsafe fn start(&self, launch: &mut Launch<'_>) -> Result<(), GpuError>;

    /// The GPU that it is.
    #[cfg(feature = "gpu")]
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
    /// Everything before was done at this time.
    Done(Instant),
    /// An event of a GPU.
    #[cfg(feature = "gpu")]
    #[doc(hidden)]
    Event(crate::device::Mark),
}

impl Moment {
    /// Whether all before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of it failed.
    pub fn reached(&self) -> Result<bool, GpuError> {
        match &self.point {
            Point::Done(_) => Ok(true),
            #[cfg(feature = "gpu")]
            Point::Event(mark) => mark.reached(),
        }
    }

    /// Waits until all before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of it failed.
    pub fn wait(&self) -> Result<(), GpuError> {
        match &self.point {
            Point::Done(_) => Ok(()),
            #[cfg(feature = "gpu")]
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
            #[cfg(feature = "gpu")]
            (Point::Event(end), Point::Event(begin)) => end.since(begin),
            #[cfg(feature = "gpu")]
            _ => Ok(Duration::ZERO),
        }
    }
}

/// What a kernel takes of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Share of the threads a multiprocessor can hold that it holds of the kernel.
    pub occupancy: f64,
}

/// Launches by the types of kernels.
impl dyn Device {
    /// Queues a launch of the kernel `K`. Arguments of other types or of another number do not compile.
    ///
    /// # Errors
    /// [`GpuError::Call`] if it cannot be queued; what goes wrong while it runs is reported by the calls that wait for it.
    ///
    /// # Safety
    /// The arguments meet the kernel's contract until the launch has run.
    pub unsafe fn launch<K: Kernel>(
        &self,
        grid: Grid,
        arguments: K::Arguments,
    ) -> Result<(), GpuError> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_entry(Entry::of::<K>(), grid, arguments) }
    }

    /// Queues a launch of a kernel that was chosen at run time.
    ///
    /// # Errors
    /// As of a launch by the kernel's type.
    ///
    /// # Safety
    /// As there.
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
        // SAFETY: the entry has the arguments' types; the caller's promise for the rest.
        unsafe { self.start(&mut launch) }
    }

    /// A mark of what has been queued so far.
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

    /// Blocks of a kernel that the device runs at the same time, in grids like this one, whatever its number of blocks.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn resident_blocks<A>(&self, entry: Entry<A>, grid: Grid) -> Result<u32, GpuError> {
        self.resident(&entry.code(), &grid)
    }
}

/// Opens the GPU of this number.
///
/// # Errors
/// [`GpuError::Unavailable`] without one, or in a program without the feature `gpu`.
#[cfg(feature = "gpu")]
pub fn open(index: u32) -> Result<Arc<dyn Device>, GpuError> {
    Ok(Arc::new(crate::Gpu::open(index)?))
}

/// Opens a GPU that keeps memory that is given back and uses it again, instead of freeing it: for a device that does the same kind of
/// work many times. Other devices must not reach into it.
///
/// # Errors
/// As [`open`].
#[cfg(feature = "gpu")]
pub fn open_keeping(index: u32) -> Result<Arc<dyn Device>, GpuError> {
    let mut gpu = crate::Gpu::open(index)?;
    gpu.keep_buffers();
    Ok(Arc::new(gpu))
}

/// Opens the GPU of this number.
///
/// # Errors
/// [`GpuError::Unavailable`]: there is none in a program without the feature `gpu`.
#[cfg(not(feature = "gpu"))]
pub fn open(_: u32) -> Result<Arc<dyn Device>, GpuError> {
    Err(crate::without_gpus())
}

/// Opens a GPU that keeps memory.
///
/// # Errors
/// As [`open`].
#[cfg(not(feature = "gpu"))]
pub fn open_keeping(index: u32) -> Result<Arc<dyn Device>, GpuError> {
    open(index)
}
