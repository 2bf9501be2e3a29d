//! Values that host and device exchange byte by byte.

/// Data with the same meaning on host and device: no references, no padding that is read, and every bit pattern valid.
///
/// # Safety
/// The type must be `#[repr(C)]` or primitive, and valid for any bit pattern.
pub unsafe trait Plain: Copy + 'static {}

// SAFETY: these are primitive types for which every bit pattern is valid.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: an array of such values has the same properties.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
