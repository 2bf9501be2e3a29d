//! Two-dimensional arrays whose rows start at multiples of a pitch, and copies of rectangles.

use std::marker::PhantomData;
use std::ptr;

use super::{DeviceCopy, DevicePointer};
use crate::error::{CudaError, CudaResult, check};
use crate::stream::Stream;
use crate::sys::{self, CUmemorytype_enum::*};

/// A rectangle in memory: `height` rows of `width` values, of which one starts `pitch` bytes after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<T> {
    host: *mut T,
    device: sys::CUdeviceptr,
    pitch: usize,
    width: usize,
    height: usize,
}

impl<T: DeviceCopy> Rows<T> {
    /// A rectangle of a device's memory.
    #[must_use]
    pub fn on_device(start: DevicePointer<T>, pitch: usize, width: usize, height: usize) -> Self {
        Self {
            host: ptr::null_mut(),
            device: start.as_raw(),
            pitch,
            width,
            height,
        }
    }

    /// A rectangle of the host's memory.
    #[must_use]
    pub fn on_host(start: *mut T, pitch: usize, width: usize, height: usize) -> Self {
        Self {
            host: start,
            device: 0,
            pitch,
            width,
            height,
        }
    }

    fn kind(&self) -> u32 {
        match self.host.is_null() {
            true => CU_MEMORYTYPE_DEVICE,
            false => CU_MEMORYTYPE_HOST,
        }
    }
}

/// Copies a rectangle to another one of the same size; in a stream, it only queues the copy.
///
/// # Errors
/// [`CudaError::InvalidValue`] if the sizes differ, otherwise the driver's error.
///
/// # Safety
/// Both rectangles lie in memory that stays allocated, and with a stream is left alone, until the copy is done.
pub unsafe fn copy_rows<T: DeviceCopy>(
    to: Rows<T>,
    from: Rows<T>,
    stream: Option<&Stream>,
) -> CudaResult<()> {
    if (to.width, to.height) != (from.width, from.height) {
        return Err(CudaError::InvalidValue);
    }
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from.kind(),
        srcHost: from.host.cast(),
        srcDevice: from.device,
        srcArray: ptr::null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to.kind(),
        dstHost: to.host.cast(),
        dstDevice: to.device,
        dstArray: ptr::null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: to.width * size_of::<T>(),
        Height: to.height,
    };
    // SAFETY: the description is complete; the caller guarantees the memory.
    check(unsafe {
        match stream {
            Some(stream) => sys::cuMemcpy2DAsync(&raw const copy, stream.as_inner()),
            None => sys::cuMemcpy2D(&raw const copy),
        }
    })
}

/// A two-dimensional array on a device. The driver chooses the pitch so that every row is aligned for coalesced access.
#[derive(Debug)]
pub struct DeviceBuffer2D<T: DeviceCopy> {
    address: sys::CUdeviceptr,
    pitch: usize,
    width: usize,
    height: usize,
    values: PhantomData<T>,
}

impl<T: DeviceCopy> DeviceBuffer2D<T> {
    /// `height` rows of `width` values, which are copied from `rows`, row by row without gaps.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] if there are not as many values, or none; otherwise the driver's error.
    pub fn from_rows(rows: &[T], width: usize, height: usize) -> CudaResult<Self> {
        if rows.is_empty() || width.checked_mul(height) != Some(rows.len()) {
            return Err(CudaError::InvalidValue);
        }
        let (mut address, mut pitch) = (0, 0);
        let row = width * size_of::<T>();
        // SAFETY: the driver writes two numbers. Elements are of 4, 8 or 16 bytes for the driver, which only affects the pitch.
        check(unsafe { sys::cuMemAllocPitch(&raw mut address, &raw mut pitch, row, height, 16) })?;
        let buffer = Self {
            address,
            pitch,
            width,
            height,
            values: PhantomData,
        };
        let from = Rows::on_host(rows.as_ptr().cast_mut(), row, width, height);
        // SAFETY: both have as many values, and the copy only reads the host's.
        unsafe { copy_rows(buffer.rows(), from, None) }?;
        Ok(buffer)
    }

    /// The values, row by row without gaps.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn to_vec(&self) -> CudaResult<Vec<T>> {
        let length = self.width * self.height;
        let mut values: Vec<T> = Vec::with_capacity(length);
        let row = self.width * size_of::<T>();
        let to = Rows::on_host(values.as_mut_ptr(), row, self.width, self.height);
        // SAFETY: there is room for as many values, of which any bytes are valid.
        unsafe {
            copy_rows(to, self.rows(), None)?;
            values.set_len(length);
        }
        Ok(values)
    }

    /// All rows, for copies.
    #[must_use]
    pub fn rows(&self) -> Rows<T> {
        Rows::on_device(self.as_device_ptr(), self.pitch, self.width, self.height)
    }

    /// The first value's address.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        DevicePointer::from_raw(self.address)
    }

    /// Bytes from the start of one row to the start of the next.
    #[must_use]
    pub fn pitch(&self) -> usize {
        self.pitch
    }
}

impl<T: DeviceCopy> Drop for DeviceBuffer2D<T> {
    fn drop(&mut self) {
        // A failure means that the device is lost.
        // SAFETY: the memory is this array's; the driver waits for the work that uses it.
        let _ = unsafe { sys::cuMemFree(self.address) };
    }
}
