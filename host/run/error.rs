//! Why a run could not go on.

use std::fmt;

use crate::Backend;
use crate::gpu::GpuError;

/// Why something could not be computed.
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
        /// Which GPU.
        device: String,
        /// Which call.
        call: &'static str,
        /// The driver's words.
        reason: String,
    },
    /// A device or the host has too little memory.
    #[error("{device}: out of memory: {needed} bytes are needed, {available} are free")]
    OutOfMemory {
        /// Which device, or `host`.
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
        /// What was asked for.
        given: String,
        /// What there is, or what does not go together.
        reason: String,
    },
    /// The results could not be stored.
    #[error("{0}")]
    Sink(String),
    /// Another process of the run cannot go on.
    #[error("rank {rank}: {reason}")]
    Rank {
        /// Which.
        rank: usize,
        /// Its words.
        reason: String,
    },
    /// The CPU engine could not start its threads.
    #[error("--threads {given}: {reason}")]
    Threads {
        /// Number asked for.
        given: usize,
        /// What the system said.
        reason: String,
    },
}

impl EngineError {
    /// An option that cannot be had.
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

    /// What it means that GPUs cannot be used: with `auto` the CPU computes instead, and this is to be said of it.
    ///
    /// # Errors
    /// The error itself, with any other backend.
    pub fn passed_over(self, backend: Backend) -> Result<Option<String>, Self> {
        match self {
            error if backend != Backend::Auto => Err(error),
            // What was asked for by its number must be there.
            error @ Self::Refused { .. } => Err(error),
            // The ordinary case of a machine without a GPU is no news.
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
        }
    }
}
