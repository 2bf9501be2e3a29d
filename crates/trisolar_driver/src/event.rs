//! Events: points in a stream.

use crate::error::{CudaError, CudaResult, check, handle, written};
use crate::stream::{Stream, StreamWaitEventFlags};
use crate::sys;

/// Properties of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFlags(u32);

impl EventFlags {
    /// An event with a time, for which threads wait actively.
    pub const DEFAULT: Self = Self(0);
    /// Threads that wait for the event sleep.
    pub const BLOCKING_SYNC: Self = Self(1);
    /// The event has no time.
    pub const DISABLE_TIMING: Self = Self(2);
}

/// Whether the work before an event is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStatus {
    /// It is done.
    Ready,
    /// It is not.
    NotReady,
}

/// A point in a stream.
#[derive(Debug)]
pub struct Event(sys::CUevent);

// SAFETY: the driver's events may be used by any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current context.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        // SAFETY: the driver writes one handle.
        handle(|raw| unsafe { sys::cuEventCreate(raw, flags.0) }).map(Self)
    }

    /// Moves the event behind the work queued so far.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: event and stream exist.
        check(unsafe { sys::cuEventRecord(self.0, stream.as_inner()) })
    }

    /// Whether the work before it is done.
    ///
    /// # Errors
    /// [`CudaError`] of the work.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the event exists.
        match check(unsafe { sys::cuEventQuery(self.0) }) {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(other) => Err(other),
        }
    }

    /// Waits for the work before it.
    ///
    /// # Errors
    /// [`CudaError`], also of the work.
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the event exists.
        check(unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// Milliseconds from `start` to this event.
    ///
    /// # Errors
    /// [`CudaError`], such as [`CudaError::NotReady`].
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        // SAFETY: both events exist, and the driver writes one number.
        written(|time| unsafe { sys::cuEventElapsedTime(time, start.0, self.0) })
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUevent {
        self.0
    }
}

impl Stream {
    /// Makes the work that is queued from now on wait for an event.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn wait_event(&self, event: Event, flags: StreamWaitEventFlags) -> CudaResult<()> {
        // SAFETY: stream and event exist; the driver keeps a destroyed event until it is done.
        check(unsafe { sys::cuStreamWaitEvent(self.as_inner(), event.0, flags.0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // A failure means that the device is lost.
        // SAFETY: the event exists; the driver keeps it until it is done.
        let _ = unsafe { sys::cuEventDestroy(self.0) };
    }
}
