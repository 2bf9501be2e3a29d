//! Streams: queues of work.

use std::ffi::c_void;
use std::ptr;

use crate::error::{CudaResult, check, handle};
use crate::function::{BlockSize, Function, GridSize};
use crate::sys;

/// How a stream relates to the default stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFlags(u32);

impl StreamFlags {
    /// Work waits for that of the default stream, and the other way round.
    pub const DEFAULT: Self = Self(0);
    /// Work is independent of that of the default stream.
    pub const NON_BLOCKING: Self = Self(1);
}

/// Options of `Stream::wait_event`, of which there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamWaitEventFlags(pub(crate) u32);

impl StreamWaitEventFlags {
    /// No option.
    pub const DEFAULT: Self = Self(0);
}

/// A queue of a device, whose work is done in order.
#[derive(Debug)]
pub struct Stream(sys::CUstream);

// SAFETY: the driver's streams may be used by any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of the current context. Lower numbers have priority.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn new(flags: StreamFlags, priority: Option<i32>) -> CudaResult<Self> {
        let priority = priority.unwrap_or_default();
        // SAFETY: the driver writes one handle.
        handle(|raw| unsafe { sys::cuStreamCreateWithPriority(raw, flags.0, priority) }).map(Self)
    }

    /// Waits for all work of the stream.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError), also of the work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the stream exists.
        check(unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// Queues a kernel with the addresses of its arguments.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    ///
    /// # Safety
    /// The addresses are those of the kernel's arguments, with which the kernel may run.
    pub unsafe fn launch(
        &self,
        function: &Function<'_>,
        grid_size: impl Into<GridSize>,
        block_size: impl Into<BlockSize>,
        shared_mem_bytes: u32,
        arguments: &[*mut c_void],
    ) -> CudaResult<()> {
        let (grid, block) = (grid_size.into(), block_size.into());
        // SAFETY: the caller guarantees the arguments, which the driver copies and does not change.
        check(unsafe {
            sys::cuLaunchKernel(
                function.to_raw(),
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared_mem_bytes,
                self.0,
                arguments.as_ptr().cast_mut(),
                ptr::null_mut(),
            )
        })
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUstream {
        self.0
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A failure means that the device is lost.
        // SAFETY: the stream exists; the driver finishes its work.
        let _ = unsafe { sys::cuStreamDestroy(self.0) };
    }
}
