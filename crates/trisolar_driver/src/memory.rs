//! Memory of devices, and page-locked memory of the host.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use crate::error::{CudaError, CudaResult, check, handle, written};
use crate::stream::Stream;
use crate::sys;

mod pitched;

pub use cuda_std::Plain as DeviceCopy;
pub use pitched::{DeviceBuffer2D, Rows, copy_rows};

/// Free and total bytes of the current device's memory.
///
/// # Errors
/// [`CudaError`].
pub fn mem_get_info() -> CudaResult<(usize, usize)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the driver writes two numbers.
    check(unsafe { sys::cuMemGetInfo(&raw mut free, &raw mut total) })?;
    Ok((free, total))
}

/// An address on a device.
pub struct DevicePointer<T>(sys::CUdeviceptr, PhantomData<*mut T>);

// SAFETY: it is a number.
unsafe impl<T: Send> Send for DevicePointer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for DevicePointer<T> {}

impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<T> DevicePointer<T> {
    /// This address.
    #[must_use]
    pub const fn from_raw(address: sys::CUdeviceptr) -> Self {
        Self(address, PhantomData)
    }

    /// The address as a number.
    #[must_use]
    pub const fn as_raw(self) -> sys::CUdeviceptr {
        self.0
    }

    /// The address as an argument of a kernel.
    #[must_use]
    pub const fn as_ptr(self) -> *const T {
        ptr::without_provenance(self.0 as usize)
    }

    /// The address as an argument of a kernel that writes.
    #[must_use]
    pub const fn as_mut_ptr(self) -> *mut T {
        ptr::without_provenance_mut(self.0 as usize)
    }

    /// The same address with another type.
    #[must_use]
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_raw(self.0)
    }
}

/// Part of a device's memory.
#[derive(Debug)]
pub struct DeviceSlice<T: DeviceCopy> {
    start: DevicePointer<T>,
    length: usize,
}

impl<T: DeviceCopy> DeviceSlice<T> {
    /// `length` values from `start` on.
    ///
    /// # Safety
    /// The memory is allocated as long as the slice is used.
    #[must_use]
    pub unsafe fn from_raw_parts(start: DevicePointer<T>, length: usize) -> Self {
        Self { start, length }
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first value's address.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.start
    }

    fn raw(&self) -> sys::CUdeviceptr {
        self.start.0
    }

    fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// The bytes to copy between this and `other` values.
    fn bytes_of_copy(&self, other: usize) -> usize {
        assert_eq!(
            self.length, other,
            "a copy needs as many values on both sides"
        );
        self.bytes()
    }

    /// Sets every byte.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn set_8(&mut self, byte: u8) -> CudaResult<()> {
        // SAFETY: the slice's memory, of which any bytes are valid.
        check(unsafe { sys::cuMemsetD8(self.raw(), byte, self.bytes()) })
    }

    /// Queues setting every byte.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// The memory stays allocated, and nothing else uses it until the stream has done this.
    pub unsafe fn set_8_async(&mut self, byte: u8, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller guarantees the memory.
        check(unsafe { sys::cuMemsetD8Async(self.raw(), byte, self.bytes(), stream.as_inner()) })
    }

    /// The values in a new vector.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn as_host_vec(&self) -> CudaResult<Vec<T>> {
        let mut values: Vec<T> = Vec::with_capacity(self.length);
        let to = values.as_mut_ptr().cast();
        // SAFETY: the vector has room for as many values, and any bytes are valid values.
        unsafe {
            check(sys::cuMemcpyDtoH(to, self.raw(), self.bytes()))?;
            values.set_len(self.length);
        }
        Ok(values)
    }
}

/// Copies that are done when they return. Both sides must have the same number of values, otherwise they panic.
pub trait CopyDestination<O: ?Sized> {
    /// Copies from `source`.
    ///
    /// # Errors
    /// [`CudaError`].
    fn copy_from(&mut self, source: &O) -> CudaResult<()>;

    /// Copies to `destination`.
    ///
    /// # Errors
    /// [`CudaError`].
    fn copy_to(&self, destination: &mut O) -> CudaResult<()>;
}

/// Copies that a stream does. Both sides must have the same number of values, otherwise they panic.
pub trait AsyncCopyDestination<O: ?Sized> {
    /// Queues a copy from `source`.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// Until the stream has done the copy, both sides stay allocated and nothing else writes either.
    unsafe fn async_copy_from(&mut self, source: &O, stream: &Stream) -> CudaResult<()>;

    /// Queues a copy to `destination`.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// Until the stream has done the copy, both sides stay allocated, nothing writes this side and nothing uses the other.
    unsafe fn async_copy_to(&self, destination: &mut O, stream: &Stream) -> CudaResult<()>;
}

impl<T: DeviceCopy, H: AsRef<[T]> + AsMut<[T]> + ?Sized> CopyDestination<H> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &H) -> CudaResult<()> {
        let source = source.as_ref();
        let bytes = self.bytes_of_copy(source.len());
        // SAFETY: as many bytes on both sides.
        check(unsafe { sys::cuMemcpyHtoD(self.raw(), source.as_ptr().cast(), bytes) })
    }

    fn copy_to(&self, destination: &mut H) -> CudaResult<()> {
        let to = destination.as_mut();
        let bytes = self.bytes_of_copy(to.len());
        // SAFETY: as many bytes on both sides, and any bytes are valid values.
        check(unsafe { sys::cuMemcpyDtoH(to.as_mut_ptr().cast(), self.raw(), bytes) })
    }
}

impl<T: DeviceCopy> CopyDestination<Self> for DeviceSlice<T> {
    fn copy_from(&mut self, source: &Self) -> CudaResult<()> {
        let bytes = self.bytes_of_copy(source.length);
        // SAFETY: as many bytes on both sides.
        check(unsafe { sys::cuMemcpyDtoD(self.raw(), source.raw(), bytes) })
    }

    fn copy_to(&self, destination: &mut Self) -> CudaResult<()> {
        destination.copy_from(self)
    }
}

impl<T: DeviceCopy, H: AsRef<[T]> + AsMut<[T]> + ?Sized> AsyncCopyDestination<H>
    for DeviceSlice<T>
{
    unsafe fn async_copy_from(&mut self, source: &H, stream: &Stream) -> CudaResult<()> {
        let from = source.as_ref();
        let bytes = self.bytes_of_copy(from.len());
        let from = from.as_ptr().cast();
        // SAFETY: as many bytes on both sides, which the caller leaves alone.
        check(unsafe { sys::cuMemcpyHtoDAsync(self.raw(), from, bytes, stream.as_inner()) })
    }

    unsafe fn async_copy_to(&self, destination: &mut H, stream: &Stream) -> CudaResult<()> {
        let to = destination.as_mut();
        let bytes = self.bytes_of_copy(to.len());
        let to = to.as_mut_ptr().cast();
        // SAFETY: as many bytes on both sides, which the caller leaves alone; any bytes are valid values.
        check(unsafe { sys::cuMemcpyDtoHAsync(to, self.raw(), bytes, stream.as_inner()) })
    }
}

impl<T: DeviceCopy> AsyncCopyDestination<Self> for DeviceSlice<T> {
    unsafe fn async_copy_from(&mut self, source: &Self, stream: &Stream) -> CudaResult<()> {
        let bytes = self.bytes_of_copy(source.length);
        // SAFETY: as many bytes on both sides, which the caller leaves alone.
        check(unsafe { sys::cuMemcpyDtoDAsync(self.raw(), source.raw(), bytes, stream.as_inner()) })
    }

    unsafe fn async_copy_to(&self, destination: &mut Self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller guarantees the same for this copy.
        unsafe { destination.async_copy_from(self, stream) }
    }
}

/// An array on a device.
#[derive(Debug)]
pub struct DeviceBuffer<T: DeviceCopy>(DeviceSlice<T>);

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// `length` values with undefined contents.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], or [`CudaError::InvalidMemoryAllocation`] for a number of bytes that overflows.
    ///
    /// # Safety
    /// The values are written before they are read.
    pub unsafe fn uninitialized(length: usize) -> CudaResult<Self> {
        let bytes =
            (length.checked_mul(size_of::<T>())).ok_or(CudaError::InvalidMemoryAllocation)?;
        let address = match bytes {
            0 => 0,
            // SAFETY: the driver writes one address.
            _ => written(|address| unsafe { sys::cuMemAlloc(address, bytes) })?,
        };
        Ok(Self(DeviceSlice {
            start: DevicePointer::from_raw(address),
            length,
        }))
    }

    /// `length` values, every byte of which is 0.
    ///
    /// # Errors
    /// As for [`uninitialized`](Self::uninitialized).
    pub fn zeroed(length: usize) -> CudaResult<Self> {
        // SAFETY: the next call writes the values.
        let mut buffer = unsafe { Self::uninitialized(length) }?;
        if !buffer.is_empty() {
            buffer.set_8(0)?;
        }
        Ok(buffer)
    }

    /// These values.
    ///
    /// # Errors
    /// As for [`uninitialized`](Self::uninitialized).
    pub fn from_slice(values: &[T]) -> CudaResult<Self> {
        // SAFETY: the next call writes the values.
        let buffer = unsafe { Self::uninitialized(values.len()) }?;
        let from = values.as_ptr().cast();
        if !values.is_empty() {
            // SAFETY: as many bytes on both sides.
            check(unsafe { sys::cuMemcpyHtoD(buffer.raw(), from, buffer.bytes()) })?;
        }
        Ok(buffer)
    }

    /// The array that was forgotten at this address.
    ///
    /// # Safety
    /// The memory is from a buffer with as many bytes, which nothing else frees.
    #[must_use]
    pub unsafe fn from_raw_parts(start: DevicePointer<T>, length: usize) -> Self {
        Self(DeviceSlice { start, length })
    }
}

impl<T: DeviceCopy> Deref for DeviceBuffer<T> {
    type Target = DeviceSlice<T>;
    fn deref(&self) -> &DeviceSlice<T> {
        &self.0
    }
}

impl<T: DeviceCopy> DerefMut for DeviceBuffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        &mut self.0
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if self.raw() != 0 {
            // A failure means that the device is lost.
            // SAFETY: the memory is this buffer's; the driver waits for the work that uses it.
            let _ = unsafe { sys::cuMemFree(self.raw()) };
        }
    }
}

/// A page-locked array of the host, for asynchronous copies.
#[derive(Debug)]
pub struct LockedBuffer<T: DeviceCopy> {
    start: NonNull<T>,
    length: usize,
}

// SAFETY: it owns its values.
unsafe impl<T: DeviceCopy + Send> Send for LockedBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: DeviceCopy + Sync> Sync for LockedBuffer<T> {}

impl<T: DeviceCopy> LockedBuffer<T> {
    /// `length` values with undefined contents.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], or [`CudaError::InvalidMemoryAllocation`] for a number of bytes that overflows.
    ///
    /// # Safety
    /// The values are written before they are read.
    pub unsafe fn uninitialized(length: usize) -> CudaResult<Self> {
        let bytes =
            (length.checked_mul(size_of::<T>())).ok_or(CudaError::InvalidMemoryAllocation)?;
        let start = match bytes {
            0 => NonNull::dangling(),
            _ => {
                // SAFETY: the driver writes one address.
                let raw = handle(|raw| unsafe { sys::cuMemAllocHost(raw, bytes) })?;
                NonNull::new(raw.cast()).ok_or(CudaError::InvalidValue)?
            }
        };
        Ok(Self { start, length })
    }

    /// `length` values equal to `value`.
    ///
    /// # Errors
    /// As for [`uninitialized`](Self::uninitialized).
    pub fn new(value: &T, length: usize) -> CudaResult<Self> {
        // SAFETY: the loop writes every value.
        let buffer = unsafe { Self::uninitialized(length) }?;
        for i in 0..length {
            // SAFETY: within the array.
            unsafe { buffer.start.add(i).write(*value) };
        }
        Ok(buffer)
    }

    /// The array that was forgotten at this address.
    ///
    /// # Safety
    /// The memory is from a buffer with as many bytes, which nothing else frees.
    #[must_use]
    pub unsafe fn from_raw_parts(start: *mut T, length: usize) -> Self {
        Self {
            start: NonNull::new(start).unwrap_or(NonNull::dangling()),
            length,
        }
    }
}

impl<T: DeviceCopy> Deref for LockedBuffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the array's values, which have been written.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: DeviceCopy> DerefMut for LockedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T: DeviceCopy> Drop for LockedBuffer<T> {
    fn drop(&mut self) {
        if self.length * size_of::<T>() > 0 {
            // A failure means that the device is lost.
            // SAFETY: the memory is this buffer's.
            let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast()) };
        }
    }
}
