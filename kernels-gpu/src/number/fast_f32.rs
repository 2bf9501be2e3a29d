//! `f32` with the GPU's own approximation of the reciprocal root: the arithmetic of N-body runs in `f32` on GPUs.

use super::{Real, fma_f32, forward, one_lane, single_lane};

/// `f32`, except that r⁻³ is the cube of `rsqrt.approx.ftz.f32`, an instruction whose bits no CPU reproduces. Under the emulator, the
/// root is rounded to nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub struct FastF32(pub f32);

forward!(FastF32);
single_lane!(FastF32);

impl Real for FastF32 {
    const TOGETHER: bool = false;
    const HAS_SOFTENING_FLOOR: bool = true;
    one_lane!();

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(x as f32)
    }

    #[inline(always)]
    fn to_f64(self, _lane: usize) -> f64 {
        self.0 as f64
    }

    #[inline(always)]
    fn now(self) -> Self {
        Self(self.0.now())
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(fma_f32(self.0, a.0, b.0))
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self.0 <= other.0
    }

    /// Accurate to 2⁻²¹ where r² and r⁻³ are normal numbers; +∞ for r² = 0.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        let y = cuda_std::approx::rsqrt_f32(self.0);
        Self((y * y) * y)
    }
}
