//! Arrays on a device that the host often writes or reads.

use std::sync::Arc;

use trisolar_device::{Buffer, Device, HostBuffer, Plain, Queue};
use trisolar_run::EngineError;

/// Largest number of values of an array that has a mirror in page-locked memory.
const MAX_MIRRORED_VALUES: usize = 1 << 22;

/// An array on a device, and its mirror on the host for asynchronous copies.
pub(super) struct Array<T: Plain> {
    memory: Buffer<T>,
    mirror: Option<HostBuffer<T>>,
    /// Whether a copy from or to the mirror may be in progress.
    busy: bool,
}

impl<T: Plain + Default> Array<T> {
    /// An array of zeros; `mirrored` if it is often copied to or from the host.
    pub fn new(
        device: &Arc<dyn Device>,
        length: usize,
        mirrored: bool,
    ) -> Result<Self, EngineError> {
        let mirror = (mirrored && length <= MAX_MIRRORED_VALUES)
            .then(|| HostBuffer::new(device, length, T::default()))
            .transpose()?;
        Ok(Self {
            memory: Buffer::filled(device, length, 0)?,
            mirror,
            busy: false,
        })
    }

    /// The address of the first value, as a kernel argument.
    pub fn as_ptr(&self) -> *const T {
        self.memory.as_ptr()
    }

    /// The address of the first value, as an argument of a kernel that writes.
    pub fn as_mut_ptr(&self) -> *mut T {
        self.memory.as_mut_ptr()
    }

    /// Writes values to the start of the array, in the order of the launches.
    pub fn put(&mut self, values: &[T]) -> Result<(), EngineError> {
        let Some(mirror) = &mut self.mirror else {
            return Ok(self.memory.upload(values)?);
        };
        if self.busy {
            self.memory.device().synchronise()?;
        }
        mirror[..values.len()].copy_from_slice(values);
        self.busy = true;
        // SAFETY: the mirror is not touched before the queue has been waited for, see `busy`.
        unsafe { self.memory.copy_in(0, mirror, 0, values.len())? };
        Ok(())
    }

    /// Queues setting all bytes to 0.
    pub fn clear(&mut self) -> Result<(), EngineError> {
        Ok(self.memory.fill(0)?)
    }

    /// Queues reading of this many values from the start of the array.
    pub fn ask(&mut self, length: usize) -> Result<(), EngineError> {
        let Some(mirror) = &mut self.mirror else {
            return Ok(());
        };
        self.busy = true;
        // SAFETY: the mirror is not touched before the queue has been waited for, see `busy`.
        unsafe { self.memory.copy_out(Queue::Compute, 0, mirror, length)? };
        Ok(())
    }

    /// The values of the queued reading, after all launches.
    pub fn get(&mut self, values: &mut [T]) -> Result<(), EngineError> {
        let Some(mirror) = &self.mirror else {
            return Ok(self.memory.download(values)?);
        };
        self.memory.device().synchronise()?;
        self.busy = false;
        values.copy_from_slice(&mirror[..values.len()]);
        Ok(())
    }
}

impl<T: Plain> Drop for Array<T> {
    fn drop(&mut self) {
        // The mirror must outlive queued copies. A failure is ignored, because the device is lost.
        if self.busy {
            let _ = self.memory.device().synchronise();
        }
    }
}
