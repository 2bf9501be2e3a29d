//! Errors of runs.

use std::fmt;

use crate::Backend;
use crate::gpu::GpuError;

/// The reason why a computation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The monitor ended the run.
    #[error("cancelled")]
    Cancelled,
    /// No GPU can be used.
    #[error("no usable GPU: {0}")]
    NoGpu(String),
    /// A call to a GPU failed.
    #[error("{device}: {call} failed: {reason}")]
    Gpu {
        /// The name of the GPU.
        device: String,
        /// The name of the call.
        call: &'static str,
        /// The description of the driver.
        reason: String,
    },
    /// A device or the host has too little memory.
    #[error("{device}: out of memory: {needed} bytes are needed, {available} are free")]
    OutOfMemory {
        /// The name of the device, or `host`.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// An option names a device that does not exist, or contradicts another option.
    #[error("--{option} {given}: {reason}")]
    Refused {
        /// Name of the option, as on the command line.
        option: &'static str,
        /// The given value.
        given: String,
        /// The available devices, or the contradiction.
        reason: String,
    },
    /// The results could not be stored.
    #[error("{0}")]
    Sink(String),
    /// Another process of the run has failed.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// Which.
        rank: usize,
        /// Its error.
        reason: String,
    },
    /// The CPU engine could not start its threads.
    #[error("--threads {given}: {reason}")]
    Threads {
        /// The requested number.
        given: usize,
        /// The description of the system.
        reason: String,
    },
}

impl EngineError {
    /// A refused option.
    pub fn refused(
        option: &'static str,
        given: impl fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self::Refused {
            option,
            given: given.to_string(),
            reason: reason.into(),
        }
    }

    /// Handles the failure to use GPUs: with `auto` the CPU computes instead, and the result is the note for the user.
    ///
    /// # Errors
    /// The error itself, with any other backend.
    pub fn passed_over(self, backend: Backend) -> Result<Option<String>, Self> {
        match self {
            error if backend != Backend::Auto => Err(error),
            // A GPU that is requested by its number must exist.
            error @ Self::Refused { .. } => Err(error),
            // A machine without a GPU is an ordinary case, without a note.
            Self::NoGpu(_) if !crate::gpu::driver_present() => Ok(None),
            error => Ok(Some(format!("{error}; the CPU computes instead"))),
        }
    }
}

impl From<GpuError> for EngineError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::Unavailable(why) => Self::NoGpu(why),
            GpuError::Call {
                device,
                call,
                reason,
            } => Self::Gpu {
                device,
                call,
                reason,
            },
            GpuError::OutOfMemory {
                device,
                needed,
                available,
            } => Self::OutOfMemory {
                device,
                needed,
                available,
            },
            GpuError::OutOfLockedMemory { needed } => Self::OutOfMemory {
                device: "host (page-locked)".into(),
                needed,
                available: crate::io::system::available_memory(),
            },
        }
    }
}
