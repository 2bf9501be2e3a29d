//! Points in a device's stream.

use std::time::Duration;

use crate::cust::error::CudaError;
use crate::cust::event::{Event, EventStatus};

use super::GpuError;

/// A point in a device's stream.
#[derive(Debug)]
pub struct Mark {
    /// The device's name.
    pub(super) device: String,
    pub(super) event: Event,
}

impl Mark {
    fn fail(&self, call: &'static str, error: CudaError) -> GpuError {
        GpuError::Call {
            device: self.device.clone(),
            call,
            reason: explain(error),
        }
    }

    /// Whether all work before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of the work failed.
    pub fn reached(&self) -> Result<bool, GpuError> {
        match self.event.query() {
            Ok(EventStatus::Ready) => Ok(true),
            Ok(EventStatus::NotReady) => Ok(false),
            Err(e) => Err(self.fail("running a kernel", e)),
        }
    }

    /// Waits until all work before it is done.
    ///
    /// # Errors
    /// [`GpuError::Call`] if any of the work failed.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.event
            .synchronize()
            .map_err(|e| self.fail("waiting for the device", e))
    }

    /// Time on the device from `earlier` to this mark; both must have been reached.
    ///
    /// # Errors
    /// [`GpuError::Call`].
    pub fn since(&self, earlier: &Self) -> Result<Duration, GpuError> {
        let ms = self
            .event
            .elapsed_time_f32(&earlier.event)
            .map_err(|e| self.fail("measuring time", e))?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1000.0))
    }
}

/// The driver's error in words.
pub(super) fn explain(error: CudaError) -> String {
    match error {
        CudaError::NoDevice => "the driver finds no device".into(),
        CudaError::NoBinaryForGpu => format!(
            "{error:?}: the GPU is too old for these kernels (compute capability 7.0 is needed)"
        ),
        CudaError::InvalidPtx => format!("{error:?}: the driver's compiler refuses the kernels"),
        CudaError::LaunchOutOfResources => format!(
            "{error:?}: a block needs more registers or shared memory than there are; smaller blocks help, and `#[kernel(max_threads = N)]` \
             compiles a kernel for blocks of N threads"
        ),
        other => format!("{other:?} (CUDA error {})", other as u32),
    }
}
