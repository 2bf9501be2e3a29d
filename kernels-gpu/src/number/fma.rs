//! The fused multiply-add of `f32`.

/// `a · b + c` of `f32`, rounded once.
#[inline(always)]
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        core::f32::math::mul_add(a, b, c)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        f32::mul_add(a, b, c)
    }
}
