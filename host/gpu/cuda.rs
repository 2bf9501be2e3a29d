//! A GPU as a device.

use std::ffi::CString;
use std::mem::forget;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::cust::device::DeviceAttribute;
use crate::cust::error::CudaError;
use crate::cust::function::{BlockSize, FunctionAttribute};
use crate::cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice,
    LockedBuffer, mem_get_info,
};
use crate::cust::module::Module;
use crate::cust::sys::cudaError_enum::{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_SUCCESS};

use cuda_std::{Code, Plain};

use crate::interface::exported;
use crate::{Device, DeviceInfo, Gpu, GpuError, Grid, Launch, Point, Queue, Residency, Usage};

/// Memory of a device as a type of cust.
///
/// # Safety
/// The memory must be allocated as long as the slice is used.
unsafe fn slice(address: u64, bytes: usize) -> DeviceSlice<u8> {
    // SAFETY: the caller guarantees this.
    unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), bytes) }
}

fn is_full(error: &CudaError) -> bool {
    matches!(
        error,
        CudaError::OutOfMemory | CudaError::InvalidMemoryAllocation
    )
}

/// A value that the driver copies byte by byte.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Value<T>(T);

// SAFETY: plain values have no references and no padding that is read.
unsafe impl<T: Plain> DeviceCopy for Value<T> {}

impl Gpu {
    /// Sets a variable in constant memory, after everything queued so far.
    pub(crate) fn set_constant<T: Plain + Send + Sync>(
        &self,
        name: &'static str,
        value: T,
    ) -> Result<(), GpuError> {
        self.enter()?;
        self.synchronise()?;
        let symbol =
            CString::new(name).map_err(|_| self.fail("finding a constant", CudaError::NotFound))?;
        let setter = move |module: &Module| match module.get_global::<Value<T>>(&symbol) {
            Ok(mut variable) => variable.copy_from(&Value(value)),
            // The driver leaves out what a module's kernel does not use.
            Err(CudaError::NotFound) => Ok(()),
            Err(error) => Err(error),
        };
        self.keep_constant(name, Arc::new(setter))
    }

    /// The other device, if it is a GPU too.
    fn peer<'a>(&self, other: &'a dyn Device) -> Result<&'a Self, GpuError> {
        other
            .as_gpu()
            .ok_or_else(|| self.fail("reaching another GPU", CudaError::InvalidDevice))
    }
}

impl Device for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn info(&self) -> &DeviceInfo {
        Self::info(self)
    }

    fn is_cooperative(&self) -> Result<bool, GpuError> {
        Self::is_cooperative(self)
    }

    fn allocate(&self, bytes: usize) -> Result<u64, GpuError> {
        self.enter()?;
        if let Some(buffer) = self.buffers().device.take::<u8>(|| self.settle(), bytes)? {
            let address = buffer.as_device_ptr().as_raw();
            forget(buffer);
            return Ok(address);
        }
        // SAFETY: whoever asked writes before it reads, and any bytes are valid.
        let mut result = unsafe { DeviceBuffer::<u8>::uninitialized(bytes) };
        if result.as_ref().is_err_and(is_full) && self.buffers().device.clear() {
            // SAFETY: as above.
            result = unsafe { DeviceBuffer::uninitialized(bytes) };
        }
        let buffer = result.map_err(|e| {
            if is_full(&e) {
                GpuError::OutOfMemory {
                    device: Self::info(self).name.clone(),
                    needed: bytes as u64,
                    available: mem_get_info().map_or(0, |(free, _)| free as u64),
                }
            } else {
                self.fail("allocating device memory", e)
            }
        })?;
        let address = buffer.as_device_ptr().as_raw();
        forget(buffer);
        Ok(address)
    }

    unsafe fn free(&self, address: u64, bytes: usize) {
        // A failure is ignored, because the device is lost.
        let _ = self.enter();
        // SAFETY: the memory of a buffer that was forgotten.
        let buffer =
            unsafe { DeviceBuffer::<u8>::from_raw_parts(DevicePointer::from_raw(address), bytes) };
        self.buffers().device.put(buffer);
    }

    fn allocate_host(&self, bytes: usize) -> Result<NonNull<u8>, GpuError> {
        self.enter()?;
        let mut buffer = match self.buffers().host.take::<u8>(|| self.settle(), bytes)? {
            Some(buffer) => buffer,
            // SAFETY: whoever asked writes before it reads.
            None => unsafe { LockedBuffer::<u8>::uninitialized(bytes) }.map_err(|e| match e {
                CudaError::OutOfMemory => GpuError::OutOfLockedMemory {
                    needed: bytes as u64,
                },
                other => self.fail("allocating page-locked memory", other),
            })?,
        };
        let start = buffer.as_mut_ptr();
        forget(buffer);
        NonNull::new(start)
            .ok_or_else(|| self.fail("allocating page-locked memory", CudaError::InvalidValue))
    }

    unsafe fn free_host(&self, start: NonNull<u8>, bytes: usize) {
        let _ = self.enter();
        // SAFETY: the memory of a buffer that was forgotten.
        let buffer = unsafe { LockedBuffer::from_raw_parts(start.as_ptr(), bytes) };
        self.buffers().host.put(buffer);
    }

    unsafe fn fill(&self, to: u64, bytes: usize, byte: u8) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: the caller guarantees this; what is queued in the stream is done in order.
        unsafe { slice(to, bytes).set_8_async(byte, self.stream()) }
            .map_err(|e| self.fail("setting device memory", e))
    }

    unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError> {
        self.enter()?;
        self.synchronise()?;
        // SAFETY: the caller guarantees this.
        unsafe { slice(to, bytes).copy_from(std::slice::from_raw_parts(from, bytes)) }
            .map_err(|e| self.fail("copying to the device", e))
    }

    unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), GpuError> {
        self.enter()?;
        self.synchronise()?;
        // SAFETY: the caller guarantees this.
        unsafe { slice(from, bytes).copy_to(std::slice::from_raw_parts_mut(to, bytes)) }
            .map_err(|e| self.fail("copying from the device", e))
    }

    unsafe fn queue_upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: the caller leaves the host's memory alone until the copy is done.
        unsafe {
            let from = std::slice::from_raw_parts(from, bytes);
            slice(to, bytes).async_copy_from(from, self.stream())
        }
        .map_err(|e| self.fail("copying to the device", e))
    }

    unsafe fn queue_download(
        &self,
        queue: Queue,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError> {
        self.enter()?;
        let stream = match queue {
            Queue::Compute => self.stream(),
            Queue::Copies => self.copies(),
        };
        // SAFETY: the caller leaves the host's memory alone until the copy is done.
        unsafe {
            let to = std::slice::from_raw_parts_mut(to, bytes);
            slice(from, bytes).async_copy_to(to, stream)
        }
        .map_err(|e| self.fail("copying from the device", e))
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), GpuError> {
        self.enter()?;
        // SAFETY: the caller guarantees this; the stream keeps the order.
        unsafe { slice(to, bytes).async_copy_from(&slice(from, bytes), self.stream()) }
            .map_err(|e| self.fail("copying on the device", e))
    }

    unsafe fn copy_from_peer(
        &self,
        to: u64,
        peer: &dyn Device,
        from: u64,
        bytes: usize,
    ) -> Result<(), GpuError> {
        let peer = self.peer(peer)?;
        Self::wait_for(self, peer)?;
        // SAFETY: the caller guarantees this; each place is in the memory of its context.
        let result = unsafe {
            crate::cust::sys::cuMemcpyPeerAsync(
                to,
                self.context().as_raw(),
                from,
                peer.context().as_raw(),
                bytes,
                self.stream().as_inner(),
            )
        };
        match result {
            CUDA_SUCCESS => Ok(()),
            _ => Err(self.fail("copying between GPUs", CudaError::UnknownError)),
        }
    }

    fn reach(&self, other: &dyn Device) -> Result<bool, GpuError> {
        Self::reach(self, self.peer(other)?)
    }

    fn wait_for(&self, other: &dyn Device) -> Result<(), GpuError> {
        Self::wait_for(self, self.peer(other)?)
    }

    fn synchronise(&self) -> Result<(), GpuError> {
        self.enter()?;
        Self::synchronise(self)
    }

    fn record(&self, queue: Queue) -> Result<Point, GpuError> {
        self.enter()?;
        let stream = match queue {
            Queue::Compute => self.stream(),
            Queue::Copies => self.copies(),
        };
        Ok(Point::Event(self.mark_in(stream)?))
    }

    fn load(&self, code: &Code, residency: Option<Residency>) -> Result<(), GpuError> {
        self.enter()?;
        self.loaded(&exported(code, Self::info(self))?, residency)
            .map(|_| ())
    }

    fn resident(&self, code: &Code, grid: &Grid) -> Result<u32, GpuError> {
        self.enter()?;
        let function = self.loaded(&exported(code, Self::info(self))?, grid.residency)?;
        self.allow_shared(function, grid.shared_bytes)?;
        let each = function
            .max_active_blocks_per_multiprocessor(
                BlockSize::x(grid.threads),
                grid.shared_bytes as usize,
            )
            .map_err(|e| self.fail("asking for the occupancy", e))?;
        Ok(each * Self::info(self).multiprocessors)
    }

    fn usage(&self, code: &Code, grid: &Grid) -> Result<Usage, GpuError> {
        self.enter()?;
        let function = self.loaded(&exported(code, Self::info(self))?, grid.residency)?;
        let registers = function
            .get_attribute(FunctionAttribute::NumRegisters)
            .map_err(|e| self.fail("asking for a kernel's registers", e))?;
        let most = crate::cust::device::Device::get_device(Self::info(self).index)
            .and_then(|d| d.get_attribute(DeviceAttribute::MaxThreadsPerMultiprocessor))
            .map_err(|e| self.fail("reading the device's attributes", e))?;
        let resident = self.resident(code, grid)? / Self::info(self).multiprocessors;
        Ok(Usage {
            registers: registers as u32,
            occupancy: f64::from(resident * grid.threads) / f64::from(most),
        })
    }

    fn is_asynchronous(&self) -> bool {
        true
    }

    unsafe fn start(&self, launch: &mut Launch<'_>) -> Result<(), GpuError> {
        let Grid {
            blocks,
            threads,
            shared_bytes,
            residency,
            cooperative,
        } = launch.grid;
        self.enter()?;
        let kernel = exported(&launch.code, Self::info(self))?;
        let fail = |reason| GpuError::Call {
            device: Self::info(self).name.clone(),
            call: kernel.name,
            reason,
        };
        let threads_fit = kernel.check_threads(threads.into());
        threads_fit.map_err(|e| fail(e.to_string()))?;
        let clusters_fit = kernel.check_grid([blocks, 1, 1]);
        clusters_fit.map_err(|e| fail(e.to_string()))?;
        let function = self.loaded(&kernel, residency)?;
        self.allow_shared(function, shared_bytes)?;
        if !cooperative {
            // SAFETY: the caller vouches for the arguments; the driver copies their values before it returns.
            return unsafe {
                self.stream()
                    .launch(function, blocks, threads, shared_bytes, launch.each)
            }
            .map_err(|e| self.fail("launching a kernel", e));
        }
        // SAFETY: as above.
        let result = unsafe {
            crate::cust::sys::cuLaunchCooperativeKernel(
                function.to_raw(),
                blocks,
                1,
                1,
                threads,
                1,
                1,
                shared_bytes,
                self.stream().as_inner(),
                launch.each.as_mut_ptr(),
            )
        };
        let error = match result {
            CUDA_SUCCESS => return Ok(()),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => CudaError::LaunchOutOfResources,
            _ => CudaError::UnknownError,
        };
        Err(self.fail("launching a cooperative kernel", error))
    }

    unsafe fn start_text(
        &self,
        text: &str,
        functions: [&str; 2],
        kernel: &'static str,
        grid: Grid,
        each: &mut [*mut std::ffi::c_void],
    ) -> Result<(), GpuError> {
        self.enter()?;
        self.with_text(text, functions, kernel, |function| {
            let (blocks, threads) = (grid.blocks, grid.threads);
            // SAFETY: the caller vouches for the arguments; the driver copies their values before it returns.
            unsafe { (self.stream()).launch(function, blocks, threads, grid.shared_bytes, each) }
                .map_err(|e| self.fail("launching a kernel", e))
        })
    }

    fn as_gpu(&self) -> Option<&Gpu> {
        Some(self)
    }
}
