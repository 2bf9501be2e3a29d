//! `f64` with the GPU's own approximation of the reciprocal root as the seed of r⁻³.

use super::inv_cube::Seeded;
use super::{Precision, Real, Single, forward, single_lane};

/// `f64`, except that [`inv_cube`](Real::inv_cube) on a GPU starts from `rsqrt.approx.ftz.f64`, an instruction whose bits no CPU
/// reproduces. The same step refines the result to the precision of `f64`, with fewer instructions for the seed. For r² = 0 and r² = ∞
/// the result is NaN.
///
/// On a CPU it computes like `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Fast(pub f64);

forward!(Fast);
single_lane!(Fast);

impl Real for Fast {
    type Lane = Self;
    const LANES: usize = 1;
    const TOGETHER: bool = false;
    const HAS_SOFTENING_FLOOR: bool = false;
    type Mask = bool;
    crate::own_constants_and_forces!(1);

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        Self(x)
    }

    #[inline(always)]
    fn to_f64(self, _lane: usize) -> f64 {
        self.0
    }

    #[inline(always)]
    fn now(self) -> Self {
        Self(self.0.now())
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(Real::mul_add(self.0, a.0, b.0))
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self.0 <= other.0
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn inv_cube(self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            use super::fma;

            let (r2, y): (f64, f64) = (self.0, cuda_std::approx::rsqrt_f64(self.0));
            // y has 21 bits, so y² is exact and e has full relative precision.
            let y2 = y * y;
            let e = fma(-r2, y2, 1.0);
            let y3 = y2 * y;
            Self(fma(y3 * e, fma(1.875, e, 1.5), y3))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            Self(self.0.inv_cube())
        }
    }
}

impl Precision for Fast {
    const NAME: &'static str = "fast";
    const HELP: &'static str = "64 bits with the GPU's approximate root; equal up to rounding, 1.3 times as fast as f64 on an H200";
    const IS_PORTABLE: bool = false;
    /// On a CPU, the portable seed is the fastest.
    type OnLanes<D: Seeded, S: Single> = D;
}
