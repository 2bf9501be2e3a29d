//! Values that host and device exchange byte by byte.

/// Data that means the same on host and device: no references, no padding that is read, any bits valid.
///
/// # Safety
/// The type must be `#[repr(C)]` or primitive, and valid for any bit pattern.
pub unsafe trait Plain: Copy + 'static {}

// SAFETY: primitive types of which every bit pattern is a value.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}
// SAFETY: an array of such values.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
