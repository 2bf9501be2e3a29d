//! A number as the unevaluated sum of two `f32`, with about 48 bits, for GPUs with slow `f64`.
//!
//! The algorithms are AccurateDWPlusDW and DWTimesDW1 of Joldes, Muller & Popescu (2017), ACM TOMS 44, 15, built from error-free sums
//! and fused products. They use only IEEE operations and give the same bits everywhere.

use core::ops::{Add, Mul, Neg, Sub};

use super::inv_cube::Seeded;
use super::{Precision, Real, Single, per_lane};

/// `hi` + `lo`, where |lo| is at most half a unit in the last place of `hi`. The exponent has the range of `f32`; digits are lost
/// where `lo` is below 1e-38.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct FloatFloat<S> {
    hi: S,
    lo: S,
}

/// The sum a + b and its rounding error.
#[inline(always)]
fn two_sum<S: Single>(a: S, b: S) -> (S, S) {
    let s = a + b;
    let a1 = s - b;
    let b1 = s - a1;
    (s, (a - a1) + (b - b1))
}

/// The sum a + b and its rounding error, for |a| not below |b|.
#[inline(always)]
fn fast_two_sum<S: Single>(a: S, b: S) -> FloatFloat<S> {
    let hi = a + b;
    FloatFloat {
        hi,
        lo: b - (hi - a),
    }
}

impl<S: Single> FloatFloat<S> {
    /// The number `hi` + `lo`, where |lo| must be at most half a unit in the last place of `hi`.
    #[inline(always)]
    pub fn from_parts(hi: S, lo: S) -> Self {
        Self { hi, lo }
    }

    /// The two parts.
    #[inline(always)]
    pub fn parts(self) -> (S, S) {
        (self.hi, self.lo)
    }

    /// The exact product of two `f32`.
    #[inline(always)]
    fn product(a: S, b: S) -> Self {
        let hi = a * b;
        Self {
            hi,
            lo: Real::mul_add(a, b, -hi),
        }
    }

    /// `self` times one `f32`.
    #[inline(always)]
    fn times(self, k: S) -> Self {
        let p = Self::product(self.hi, k);
        fast_two_sum(p.hi, Real::mul_add(self.lo, k, p.lo))
    }
}

impl Default for FloatFloat<f32> {
    fn default() -> Self {
        Self { hi: 0.0, lo: 0.0 }
    }
}

impl<S: Single> Add for FloatFloat<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        let (sh, sl) = two_sum(self.hi, o.hi);
        let (th, tl) = two_sum(self.lo, o.lo);
        let v = fast_two_sum(sh, sl + th);
        fast_two_sum(v.hi, tl + v.lo)
    }
}

impl<S: Single> Sub for FloatFloat<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl<S: Single> Mul for FloatFloat<S> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        let p = Self::product(self.hi, o.hi);
        let cross = Real::mul_add(self.hi, o.lo, self.lo * o.hi);
        fast_two_sum(p.hi, p.lo + cross)
    }
}

impl<S: Single> Neg for FloatFloat<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

per_lane!(FloatFloat<S> { hi, lo });

impl<S: Single> Real for FloatFloat<S> {
    type Lane = FloatFloat<S::Alone>;
    const TOGETHER: bool = S::TOGETHER;
    const HAS_SOFTENING_FLOOR: bool = false;
    crate::own_constants_and_forces!(as S);

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        let hi = x as f32;
        // For an infinity, the difference would be NaN.
        let rest = if hi.is_finite() { x - hi as f64 } else { 0.0 };
        Self {
            hi: S::from_f64(hi as f64),
            lo: S::from_f64(rest),
        }
    }

    #[inline(always)]
    fn to_f64(self, lane: usize) -> f64 {
        self.hi.to_f64(lane) + self.lo.to_f64(lane)
    }

    #[inline(always)]
    fn now(self) -> Self {
        Self {
            hi: self.hi.now(),
            lo: self.lo.now(),
        }
    }

    /// `self · a + b`, rounded twice.
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> S::Mask {
        (self - other).hi.at_most(S::from_f64(0.0))
    }

    #[inline(always)]
    fn select(mask: S::Mask, yes: Self, no: Self) -> Self {
        Self {
            hi: S::select(mask, yes.hi, no.hi),
            lo: S::select(mask, yes.lo, no.lo),
        }
    }

    /// Accurate to 2⁻⁴²; NaN for r² = 0 or r² = ∞.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        let one = Self::from_f64(1.0);
        let guess = self.hi.guess_root();
        // One second-order step refines the guess to a seed of at least 20 bits.
        let y = {
            let (half, near) = (<S as Real>::from_f64(0.5), <S as Real>::from_f64(1.0));
            let e = Real::mul_add(-(self.hi * guess), guess, near);
            let y = Real::mul_add(guess * half, e, guess);
            let e = Real::mul_add(-(self.hi * y), y, near);
            Real::mul_add(y * half, e, y)
        };
        let y2 = Self::product(y, y);
        let e = one - self * y2;
        let y3 = y2.times(y);
        // y³(1 + 3/2 e + 15/8 e²), where 24 bits suffice for the last term.
        let linear = e.times(<S as Real>::from_f64(1.5));
        let quadratic = <S as Real>::from_f64(1.875) * e.hi;
        let t = fast_two_sum(linear.hi, Real::mul_add(quadratic, e.hi, linear.lo));
        y3 + y3 * t
    }

    #[inline(always)]
    fn is_zero(self) -> S::Mask {
        self.hi.is_zero()
    }
}

impl Precision for FloatFloat<f32> {
    const NAME: &'static str = "float-float";
    const HELP: &'static str =
        "pairs of f32, 44 bits; slower than f64 on an H200, meant for GPUs with few 64-bit units";
    /// Its square must not overflow.
    const LARGEST: f64 = 1e18;
    type OnLanes<D: Seeded, S: Single> = FloatFloat<S>;
}
