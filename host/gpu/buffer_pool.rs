//! A pool of released buffers for reuse: freeing a buffer waits for all work of the device, including that of other threads, and
//! locking pages of the host takes milliseconds.

use std::mem::forget;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cust::memory::{DeviceBuffer, DeviceCopy, LockedBuffer};

use super::GpuError;

/// The unused buffers of a [`Gpu`](super::Gpu), if it keeps them.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    pub device: FreeBuffers<DeviceBuffer<u8>>,
    pub host: FreeBuffers<LockedBuffer<u8>>,
}

impl BufferPool {
    /// Starts keeping buffers.
    pub fn begin(&mut self) {
        self.device.keeps = true;
        self.host.keeps = true;
    }
}

/// Buffers of one kind.
#[derive(Debug)]
pub(super) struct FreeBuffers<B> {
    keeps: bool,
    pieces: Mutex<Vec<B>>,
}

/// Largest number of buffers that are kept; the oldest are freed first. A map uses at most 8 of a kind.
const MAX_KEPT_BUFFERS: usize = 24;

impl<B> Default for FreeBuffers<B> {
    fn default() -> Self {
        Self {
            keeps: false,
            pieces: Mutex::new(Vec::new()),
        }
    }
}

impl<B> FreeBuffers<B> {
    fn pieces(&self) -> MutexGuard<'_, Vec<B>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees all buffers; returns whether there were any.
    pub fn clear(&self) -> bool {
        let pieces = std::mem::take(&mut *self.pieces());
        !pieces.is_empty()
    }

    fn keep(&self, piece: B) {
        let mut pieces = self.pieces();
        pieces.push(piece);
        if pieces.len() > MAX_KEPT_BUFFERS {
            pieces.remove(0);
        }
    }

    /// A buffer that `fits` accepts, after all work that can access it is done.
    fn find(
        &self,
        settle: impl FnOnce() -> Result<(), GpuError>,
        fits: impl Fn(&B) -> bool,
    ) -> Result<Option<B>, GpuError> {
        let mut pieces = self.pieces();
        let Some(place) = pieces.iter().position(fits) else {
            return Ok(None);
        };
        let piece = pieces.remove(place);
        drop(pieces);
        settle()?;
        Ok(Some(piece))
    }
}

impl FreeBuffers<DeviceBuffer<u8>> {
    /// Keeps a buffer, or frees it.
    pub fn put<T: DeviceCopy>(&self, buffer: DeviceBuffer<T>) {
        let bytes = buffer.len() * size_of::<T>();
        if !self.keeps || bytes == 0 {
            return;
        }
        let start = buffer.as_device_ptr().cast();
        forget(buffer);
        // SAFETY: the memory of the buffer, which is forgotten; the driver frees it by its address.
        self.keep(unsafe { DeviceBuffer::from_raw_parts(start, bytes) });
    }

    /// A buffer of this length, with undefined contents, for types for which any bytes are valid. `settle` waits until all work
    /// that can access a kept buffer is done.
    pub fn take<T: DeviceCopy>(
        &self,
        settle: impl FnOnce() -> Result<(), GpuError>,
        length: usize,
    ) -> Result<Option<DeviceBuffer<T>>, GpuError> {
        let bytes = length * size_of::<T>();
        let piece = self.find(settle, |piece| piece.len() == bytes)?;
        Ok(piece.map(|piece| {
            let start = piece.as_device_ptr().cast();
            forget(piece);
            // SAFETY: as many bytes, as aligned as the driver aligns any; the piece is forgotten.
            unsafe { DeviceBuffer::from_raw_parts(start, length) }
        }))
    }
}

impl FreeBuffers<LockedBuffer<u8>> {
    /// Keeps a buffer, or frees it.
    pub fn put<T: DeviceCopy>(&self, mut buffer: LockedBuffer<T>) {
        let bytes = buffer.len() * size_of::<T>();
        if !self.keeps || bytes == 0 {
            return;
        }
        let start = buffer.as_mut_ptr().cast();
        forget(buffer);
        // SAFETY: the memory of the buffer, which is forgotten; the driver frees it by its address.
        self.keep(unsafe { LockedBuffer::from_raw_parts(start, bytes) });
    }

    /// A buffer of this length, with undefined contents, for types for which any bytes are valid. `settle` waits until all work
    /// that can access a kept buffer is done.
    pub fn take<T: DeviceCopy>(
        &self,
        settle: impl FnOnce() -> Result<(), GpuError>,
        length: usize,
    ) -> Result<Option<LockedBuffer<T>>, GpuError> {
        let bytes = length * size_of::<T>();
        let piece = self.find(settle, |piece| piece.len() == bytes)?;
        Ok(piece.map(|mut piece| {
            let start = piece.as_mut_ptr().cast();
            forget(piece);
            // SAFETY: as many bytes, aligned as pages are; the piece is forgotten.
            unsafe { LockedBuffer::from_raw_parts(start, length) }
        }))
    }
}
