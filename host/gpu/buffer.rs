//! Memory on a device, and page-locked memory on the host that it copies to and from by itself.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use cust::error::CudaError;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceCopy, DevicePointer, LockedBuffer,
    mem_get_info,
};

use super::{Gpu, GpuError, Plain};

/// A [`Plain`] value as cust wants it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Cell<T>(T);

// SAFETY: Plain asks for what DeviceCopy asks for.
unsafe impl<T: Plain> DeviceCopy for Cell<T> {}

/// An array on a device.
pub struct DeviceMemory<'a, T: Plain> {
    gpu: &'a Gpu,
    // Taken by the drop only.
    buffer: ManuallyDrop<DeviceBuffer<Cell<T>>>,
}

impl<T: Plain> Drop for DeviceMemory<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.gpu.kept().device.put(buffer);
    }
}

impl<T: Plain> fmt::Debug for DeviceMemory<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceMemory({} values)", self.buffer.len())
    }
}

impl<'a, T: Plain> DeviceMemory<'a, T> {
    /// Allocates `length` values, every byte set to `byte`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] or [`GpuError::Call`].
    pub fn filled(gpu: &'a Gpu, length: usize, byte: u8) -> Result<Self, GpuError> {
        let buffer = match gpu.kept().device.take(gpu, length)? {
            Some(buffer) => buffer,
            None => allocated(gpu, length)?,
        };
        let mut memory = Self {
            gpu,
            buffer: ManuallyDrop::new(buffer),
        };
        memory.fill(byte)?;
        Ok(memory)
    }

    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        let bytes = self.buffer.len() * size_of::<T>();
        let start = self.buffer.as_device_ptr().as_raw();
        // SAFETY: the bytes are those of the buffer, which outlives the borrow; what is queued in the stream
        // is done in order, and any bytes are a valid Plain.
        unsafe {
            let mut raw = cust::memory::DeviceSlice::<u8>::from_raw_parts_mut(
                DevicePointer::from_raw(start),
                bytes,
            );
            raw.set_8_async(byte, self.gpu.stream())
        }
        .map_err(|e| self.gpu.fail("setting device memory", e))
    }

    /// Copies `host` to the start of the array, after everything queued so far; returns when done.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If `host` is longer than the array.
    pub fn upload(&mut self, host: &[T]) -> Result<(), GpuError> {
        self.gpu.synchronise()?;
        // SAFETY: Cell<T> has the layout of T.
        let cells = unsafe { &*(std::ptr::from_ref(host) as *const [Cell<T>]) };
        let mut part = self.buffer.index(..host.len());
        part.copy_from(cells)
            .map_err(|e| self.gpu.fail("copying to the device", e))
    }

    /// Queues a copy of the first `length` values of `host` to the start of the array.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If `host` or the array is shorter.
    ///
    /// # Safety
    /// `host` must be neither written nor dropped until the copy has been waited for.
    pub unsafe fn copy_from_pinned(
        &mut self,
        host: &Pinned<'_, T>,
        length: usize,
    ) -> Result<(), GpuError> {
        let mut part = self.buffer.index(..length);
        // SAFETY: the caller leaves `host` alone until the copy is done; the device buffer lives as long as self,
        // and dropping it waits for the device.
        unsafe { part.async_copy_from(&host.buffer[..length], self.gpu.stream()) }
            .map_err(|e| self.gpu.fail("copying to the device", e))
    }

    /// The device it is on.
    pub fn gpu(&self) -> &'a Gpu {
        self.gpu
    }

    /// Queues a copy of another array of the same length into this one.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_from(&mut self, from: &Self) -> Result<(), GpuError> {
        // SAFETY: both live until the device is done: dropping them waits for it, and the stream keeps the order.
        unsafe {
            self.buffer
                .async_copy_from(&**from.buffer, self.gpu.stream())
        }
        .map_err(|e| self.gpu.fail("copying on the device", e))
    }

    /// Queues a copy of `length` values from `first` on from the same places of an array on another device. It waits for what has been
    /// queued there.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If one of the arrays is shorter.
    pub fn copy_from_peer(
        &mut self,
        from: &DeviceMemory<'_, T>,
        first: usize,
        length: usize,
    ) -> Result<(), GpuError> {
        assert!(first + length <= self.len().min(from.len()));
        self.gpu.wait_for(from.gpu)?;
        let offset = (first * size_of::<T>()) as u64;
        // SAFETY: the places lie within both arrays, as asserted; each is in the memory of its context.
        let result = unsafe {
            cust::sys::cuMemcpyPeerAsync(
                self.address() + offset,
                self.gpu.context().as_raw(),
                from.address() + offset,
                from.gpu.context().as_raw(),
                length * size_of::<T>(),
                self.gpu.stream().as_inner(),
            )
        };
        if result == cust::sys::cudaError_enum::CUDA_SUCCESS {
            Ok(())
        } else {
            Err(self
                .gpu
                .fail("copying between GPUs", CudaError::UnknownError))
        }
    }

    /// Copies the start of the array into `host`, after everything queued so far; returns when done.
    ///
    /// # Errors
    /// [`GpuError::Call`], also for what failed before.
    ///
    /// # Panics
    /// If `host` is longer than the array.
    pub fn download(&self, host: &mut [T]) -> Result<(), GpuError> {
        self.gpu.synchronise()?;
        // SAFETY: Cell<T> has the layout of T.
        let cells = unsafe { &mut *(std::ptr::from_mut(host) as *mut [Cell<T>]) };
        let part = self.buffer.index(..cells.len());
        part.copy_to(cells)
            .map_err(|e| self.gpu.fail("copying from the device", e))
    }

    /// Queues a copy of `length` values of `host`, from `from` on, to the values from `first` on.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If either has not as many.
    ///
    /// # Safety
    /// `host` must be neither written nor dropped until the copy has been waited for.
    pub unsafe fn copy_in(
        &mut self,
        first: usize,
        host: &Pinned<'_, T>,
        from: usize,
        length: usize,
    ) -> Result<(), GpuError> {
        let mut to = self.buffer.index(first..first + length);
        // SAFETY: the caller leaves `host` alone until the copy is done; the device buffer lives as long as self,
        // and dropping it waits for the device.
        unsafe { to.async_copy_from(&host.buffer[from..from + length], self.gpu.stream()) }
            .map_err(|e| self.gpu.fail("copying to the device", e))
    }

    /// Queues a copy of the values from `first` on into `host`, beside what is queued in the stream and in no order with it.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If either has not `length` values.
    ///
    /// # Safety
    /// What wrote the values must have been waited for; `host` must be neither read nor written nor dropped until the copy has
    /// been waited for.
    pub unsafe fn copy_beside(
        &self,
        first: usize,
        host: &mut Pinned<'_, T>,
        length: usize,
    ) -> Result<(), GpuError> {
        let from = self.buffer.index(first..first + length);
        // SAFETY: the caller leaves `host` alone until the copy is done; the device buffer lives as long as self,
        // and dropping it waits for the device.
        unsafe { from.async_copy_to(&mut host.buffer[..length], self.gpu.copies()) }
            .map_err(|e| self.gpu.fail("copying from the device", e))
    }

    /// Its address, as a kernel argument.
    pub fn address(&self) -> u64 {
        self.buffer.as_device_ptr().as_raw()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Queues a copy of the values from `first` on into `host`, as many as fit there.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Safety
    /// `host` must be neither read nor written nor dropped until the copy has been waited for.
    pub unsafe fn copy_to(
        &self,
        first: usize,
        host: &mut Pinned<'_, T>,
        length: usize,
    ) -> Result<(), GpuError> {
        let from = self.buffer.index(first..first + length);
        // SAFETY: the caller leaves `host` alone until the copy is done; the device buffer lives as long as self,
        // and dropping it waits for the device.
        unsafe { from.async_copy_to(&mut host.buffer[..length], self.gpu.stream()) }
            .map_err(|e| self.gpu.fail("copying from the device", e))
    }
}

/// New memory, with whatever bytes it has.
fn allocated<T: Plain>(gpu: &Gpu, length: usize) -> Result<DeviceBuffer<Cell<T>>, GpuError> {
    // SAFETY: the only caller sets every byte, and any bytes are a valid Plain.
    let mut result = unsafe { DeviceBuffer::uninitialized(length) };
    let full = |e: &CudaError| {
        matches!(
            e,
            CudaError::OutOfMemory | CudaError::InvalidMemoryAllocation
        )
    };
    if result.as_ref().is_err_and(full) && gpu.kept().device.clear() {
        // SAFETY: as above.
        result = unsafe { DeviceBuffer::uninitialized(length) };
    }
    result.map_err(|e| {
        if full(&e) {
            GpuError::OutOfMemory {
                device: gpu.info().name.clone(),
                needed: (length * size_of::<T>()) as u64,
                available: mem_get_info().map_or(0, |(free, _)| free as u64),
            }
        } else {
            gpu.fail("allocating device memory", e)
        }
    })
}

/// Page-locked memory on the host.
pub struct Pinned<'a, T: Plain> {
    // The context must live as long as memory that was locked in it.
    gpu: &'a Gpu,
    // Taken by the drop only.
    buffer: ManuallyDrop<LockedBuffer<Cell<T>>>,
}

impl<T: Plain> Drop for Pinned<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it is not used after this.
        let buffer = unsafe { ManuallyDrop::take(&mut self.buffer) };
        self.gpu.kept().host.put(buffer);
    }
}

impl<T: Plain> fmt::Debug for Pinned<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} values)", self.buffer.len())
    }
}

impl<'a, T: Plain> Pinned<'a, T> {
    /// Allocates `length` values, all equal to `value`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] (of the host's lockable memory) or [`GpuError::Call`].
    pub fn new(gpu: &'a Gpu, length: usize, value: T) -> Result<Self, GpuError> {
        if let Some(mut buffer) = gpu.kept().host.take(gpu, length)? {
            buffer.fill(Cell(value));
            let buffer = ManuallyDrop::new(buffer);
            return Ok(Self { gpu, buffer });
        }
        let buffer = LockedBuffer::new(&Cell(value), length).map_err(|e| match e {
            CudaError::OutOfMemory => GpuError::OutOfMemory {
                device: "host (page-locked)".into(),
                needed: (length * size_of::<T>()) as u64,
                available: trisolar_io::memory::available(),
            },
            other => gpu.fail("allocating page-locked memory", other),
        })?;
        let buffer = ManuallyDrop::new(buffer);
        Ok(Self { gpu, buffer })
    }
}

impl<T: Plain> Deref for Pinned<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: Cell<T> has the layout of T.
        unsafe { &*(std::ptr::from_ref::<[Cell<T>]>(&self.buffer) as *const [T]) }
    }
}

impl<T: Plain> DerefMut for Pinned<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: Cell<T> has the layout of T.
        unsafe { &mut *(std::ptr::from_mut::<[Cell<T>]>(&mut self.buffer) as *mut [T]) }
    }
}
