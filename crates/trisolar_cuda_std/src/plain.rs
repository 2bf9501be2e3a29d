//! Values that host and device exchange byte by byte.

use glam::*;

/// Data with the same meaning on host and device: no references, no padding that is read, and every bit pattern valid.
///
/// # Safety
/// The type must be `#[repr(C)]` or primitive, and valid for any bit pattern.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($ty:ty),* $(,)?) => {$(
        // SAFETY: a number, or a structure of numbers without padding, for which every bit pattern is valid.
        unsafe impl Plain for $ty {}
    )*};
}

plain!(
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    half::f16,
    half::bf16
);

// `Vec3A` and what contains it have padding.
plain!(
    Vec2, Vec3, Vec4, Quat, Mat2, Mat3, Mat4, DVec2, DVec3, DVec4, DQuat, DMat2, DMat3, DMat4,
    IVec2, IVec3, IVec4, UVec2, UVec3, UVec4,
);

// glam has no padding in the types above; a change of that stops the build.
const _: () = {
    assert!(size_of::<Vec3>() == 12 && size_of::<DVec3>() == 24 && size_of::<IVec3>() == 12);
    assert!(size_of::<Mat2>() == 16 && size_of::<Mat3>() == 36 && size_of::<Mat4>() == 64);
    assert!(size_of::<DMat2>() == 32 && size_of::<DMat3>() == 72 && size_of::<DMat4>() == 128);
    assert!(size_of::<Quat>() == 16 && size_of::<DQuat>() == 32 && size_of::<UVec3>() == 12);
};
// SAFETY: an array of such values has the same properties.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
