//! Errors of GPUs.

/// The reason why a GPU could not be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuError {
    /// There is no GPU, no driver, or a driver that cannot run the kernels.
    #[error("no usable GPU: {0}")]
    Unavailable(String),
    /// A call failed.
    #[error("{device}: {call} failed: {reason}")]
    Call {
        /// The name of the GPU.
        device: String,
        /// The name of the call.
        call: &'static str,
        /// The driver's description.
        reason: String,
    },
    /// Too little device memory.
    #[error("{device}: out of memory: {needed} bytes are needed, {available} are free")]
    OutOfMemory {
        /// The name of the GPU.
        device: String,
        /// Requested bytes.
        needed: u64,
        /// Free bytes.
        available: u64,
    },
    /// The system cannot lock as much of the host's memory.
    #[error("host: out of memory that can be page-locked: {needed} bytes are needed")]
    OutOfLockedMemory {
        /// Requested bytes.
        needed: u64,
    },
}
