//! Errors of GPUs in plain words.

/// Why a GPU could not be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuError {
    /// There is no GPU, no driver, or a driver that cannot run the kernels.
    #[error("no usable GPU: {0}")]
    Unavailable(String),
    /// A call failed.
    #[error("{device}: {call} failed: {reason}")]
    Call {
        /// Which GPU.
        device: String,
        /// Which call.
        call: &'static str,
        /// The driver's code.
        reason: String,
    },
    /// Too little device memory.
    #[error("{device}: out of memory: {needed} bytes are needed, {available} are free")]
    OutOfMemory {
        /// Which GPU.
        device: String,
        /// Bytes asked for.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
}
