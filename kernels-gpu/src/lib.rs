//! Trisolar kernels.
