//! Arrays on devices, and on the host for asynchronous copies.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cuda_std::{ArgumentError, Memory, Plain, RawSlice, RawSliceMut};

use crate::{Device, GpuError, Queue};

/// An array on a device.
pub struct Buffer<T: Plain> {
    device: Arc<dyn Device>,
    address: u64,
    length: usize,
    values: std::marker::PhantomData<T>,
}

impl<T: Plain> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} values)", self.length)
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this length, and is not used after this.
        unsafe { self.device.free(self.address, self.bytes(self.length)) }
    }
}

impl<T: Plain> Buffer<T> {
    /// `length` values, every byte set to `byte`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] or [`GpuError::Call`].
    pub fn filled(device: &Arc<dyn Device>, length: usize, byte: u8) -> Result<Self, GpuError> {
        let address = device.allocate(length * size_of::<T>())?;
        let mut buffer = Self {
            device: device.clone(),
            address,
            length,
            values: std::marker::PhantomData,
        };
        buffer.fill(byte)?;
        Ok(buffer)
    }

    /// These values.
    ///
    /// # Errors
    /// As [`filled`](Self::filled).
    pub fn of(device: &Arc<dyn Device>, values: &[T]) -> Result<Self, GpuError> {
        let mut buffer = Self::filled(device, values.len(), 0)?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    fn bytes(&self, length: usize) -> usize {
        length * size_of::<T>()
    }

    /// The address of a value, of as many as are used from there on.
    fn at(&self, first: usize, length: usize) -> u64 {
        assert!(
            first + length <= self.length,
            "values {first} to {} of {}",
            first + length,
            self.length
        );
        self.address + self.bytes(first) as u64
    }

    /// The device it is on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first value, as a kernel argument.
    pub fn as_ptr(&self) -> *const T {
        self.as_mut_ptr()
    }

    /// The first value, as an argument of a kernel that writes.
    pub fn as_mut_ptr(&self) -> *mut T {
        ptr::with_exposed_provenance_mut(self.address as usize)
    }

    /// All values, as the argument of a kernel that takes a slice.
    pub fn slice(&self) -> RawSlice<T> {
        RawSlice::new(self.as_ptr(), self.length)
    }

    /// All values, as the argument of a kernel that takes a slice and writes.
    pub fn slice_mut(&self) -> RawSliceMut<T> {
        RawSliceMut::new(self.as_mut_ptr(), self.length)
    }

    /// Queues setting every byte to `byte`.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn fill(&mut self, byte: u8) -> Result<(), GpuError> {
        // SAFETY: the memory of this buffer, of which any bytes are valid values.
        unsafe {
            self.device
                .fill(self.address, self.bytes(self.length), byte)
        }
    }

    /// Copies `host` to the start of the array, after everything queued so far; returns when done.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If `host` is longer than the array.
    pub fn upload(&mut self, host: &[T]) -> Result<(), GpuError> {
        self.upload_at(0, host)
    }

    /// Copies the start of the array into `host`, after everything queued so far; returns when done.
    ///
    /// # Errors
    /// [`GpuError::Call`], also for what failed before.
    ///
    /// # Panics
    /// If `host` is longer than the array.
    pub fn download(&self, host: &mut [T]) -> Result<(), GpuError> {
        self.download_at(0, host)
    }

    /// As [`upload`](Self::upload), to the values from `first` on.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If the array is shorter.
    pub fn upload_at(&mut self, first: usize, host: &[T]) -> Result<(), GpuError> {
        let to = self.at(first, host.len());
        // SAFETY: as many bytes on both sides.
        unsafe {
            self.device
                .upload(to, host.as_ptr().cast(), size_of_val(host))
        }
    }

    /// As [`download`](Self::download), from the values from `first` on.
    ///
    /// # Errors
    /// [`GpuError::Call`], also for what failed before.
    ///
    /// # Panics
    /// If the array is shorter.
    pub fn download_at(&self, first: usize, host: &mut [T]) -> Result<(), GpuError> {
        let (from, bytes) = (self.at(first, host.len()), size_of_val(host));
        // SAFETY: as many bytes on both sides, and any bytes are valid values.
        unsafe { self.device.download(host.as_mut_ptr().cast(), from, bytes) }
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
        host: &HostBuffer<T>,
        from: usize,
        length: usize,
    ) -> Result<(), GpuError> {
        let (to, from) = (self.at(first, length), &host[from..from + length]);
        // SAFETY: as many bytes on both sides; the caller leaves `host` alone until the copy is done, and dropping the buffer waits.
        unsafe {
            self.device
                .queue_upload(to, from.as_ptr().cast(), self.bytes(length))
        }
    }

    /// Queues a copy of `length` values from `first` on to the start of `host`. In [`Queue::Copies`] it is in no order with what
    /// computes.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If either has not as many.
    ///
    /// # Safety
    /// `host` must be neither read nor written nor dropped until the copy has been waited for; in [`Queue::Copies`], what wrote the
    /// values must have been waited for.
    pub unsafe fn copy_out(
        &self,
        queue: Queue,
        first: usize,
        host: &mut HostBuffer<T>,
        length: usize,
    ) -> Result<(), GpuError> {
        let (from, bytes) = (self.at(first, length), self.bytes(length));
        let to = host[..length].as_mut_ptr().cast();
        // SAFETY: as many bytes on both sides; the caller leaves `host` alone until the copy is done, and dropping the buffer waits.
        unsafe { self.device.queue_download(queue, to, from, bytes) }
    }

    /// Queues a copy of another array of the same length and device into this one.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_from(&mut self, from: &Self) -> Result<(), GpuError> {
        assert_eq!(self.length, from.length);
        // SAFETY: two arrays of this length, which live until the device is done: dropping them waits for it.
        unsafe {
            self.device
                .copy(self.address, from.address, self.bytes(self.length))
        }
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
        from: &Self,
        first: usize,
        length: usize,
    ) -> Result<(), GpuError> {
        let (to, source) = (self.at(first, length), from.at(first, length));
        // SAFETY: the places lie within both arrays, each on its device.
        unsafe {
            self.device
                .copy_from_peer(to, &*from.device, source, self.bytes(length))
        }
    }
}

/// Safe kernels run on buffers of the device that runs them.
impl Memory for dyn Device {
    type Array<T: Plain> = Buffer<T>;

    fn slice<T: Plain>(
        &self,
        name: &'static str,
        array: &Buffer<T>,
    ) -> Result<RawSlice<T>, ArgumentError> {
        match ptr::addr_eq(Arc::as_ptr(&array.device), self) {
            true => Ok(array.slice()),
            false => Err(ArgumentError::Elsewhere { name }),
        }
    }

    fn slice_mut<T: Plain>(
        &self,
        name: &'static str,
        array: &mut Buffer<T>,
    ) -> Result<RawSliceMut<T>, ArgumentError> {
        self.slice(name, array).map(|_| array.slice_mut())
    }
}

/// An array on the host from which and to which a device copies by itself.
pub struct HostBuffer<T: Plain> {
    device: Arc<dyn Device>,
    start: NonNull<T>,
    length: usize,
}

// SAFETY: it owns its values, which are plain.
unsafe impl<T: Plain + Send> Send for HostBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Plain + Sync> Sync for HostBuffer<T> {}

impl<T: Plain> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} values)", self.length)
    }
}

impl<T: Plain> HostBuffer<T> {
    /// `length` values, all equal to `value`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] (of the host's lockable memory) or [`GpuError::Call`].
    pub fn new(device: &Arc<dyn Device>, length: usize, value: T) -> Result<Self, GpuError> {
        let start = device.allocate_host(length * size_of::<T>())?.cast::<T>();
        for i in 0..length {
            // SAFETY: within the memory, which is aligned for anything.
            unsafe { start.add(i).write(value) };
        }
        Ok(Self {
            device: device.clone(),
            start,
            length,
        })
    }
}

impl<T: Plain> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        let bytes = self.length * size_of::<T>();
        // SAFETY: it was allocated with this length, and is not used after this.
        unsafe { self.device.free_host(self.start.cast(), bytes) }
    }
}

impl<T: Plain> Deref for HostBuffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `length` values, which are written in `new`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Plain> DerefMut for HostBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}
