//! Contexts: the state of a device in this process.

use crate::device::{Device, attributes};
use crate::error::{CudaResult, check, handle, written};
use crate::sys;

/// A device's primary context, which is released when this value is dropped.
#[derive(Debug)]
pub struct Context {
    device: Device,
    raw: sys::CUcontext,
}

// SAFETY: the driver's contexts may be used by any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the device's primary context and makes it current in this thread.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn new(device: Device) -> CudaResult<Self> {
        // SAFETY: the device exists, and the driver writes one handle.
        let raw = handle(|raw| unsafe { sys::cuDevicePrimaryCtxRetain(raw, device.as_raw()) })?;
        let context = Self { device, raw };
        CurrentContext::set_current(&context)?;
        Ok(context)
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::CUcontext {
        self.raw
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A failure means that the device is lost.
        // SAFETY: the context was retained in `new`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease(self.device.as_raw()) };
    }
}

attributes! {
    /// A limit of a context.
    ResourceLimit:
    StackSize = 0, "Bytes of stack per thread.";
    PrintfFifoSize = 1, "Bytes of the buffer for `print!`.";
    MallocHeapSize = 2, "Bytes of the device's heap.";
}

/// The context that is current in this thread.
#[derive(Debug)]
pub struct CurrentContext;

impl CurrentContext {
    /// Makes a context current in this thread.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn set_current(context: &Context) -> CudaResult<()> {
        // SAFETY: the context exists as long as the reference.
        check(unsafe { sys::cuCtxSetCurrent(context.raw) })
    }

    /// Waits for all work of the context.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError), also of the work.
    pub fn synchronize() -> CudaResult<()> {
        // SAFETY: the call has no arguments.
        check(unsafe { sys::cuCtxSynchronize() })
    }

    /// Sets a limit.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn set_resource_limit(resource: ResourceLimit, limit: usize) -> CudaResult<()> {
        // SAFETY: the arguments are numbers.
        check(unsafe { sys::cuCtxSetLimit(resource as i32, limit) })
    }

    /// A limit.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn get_resource_limit(resource: ResourceLimit) -> CudaResult<usize> {
        // SAFETY: the driver writes one number.
        written(|limit| unsafe { sys::cuCtxGetLimit(limit, resource as i32) })
    }
}
