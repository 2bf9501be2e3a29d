//! The kernels' entry points, one file a kernel; the plain version beside the tuned one.

mod divergence_fetch;
mod divergence_plain;

pub use divergence_fetch::{Shared, Thread, divergence_fetch};
pub use divergence_plain::divergence_plain;
