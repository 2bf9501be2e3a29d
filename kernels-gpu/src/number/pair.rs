//! A number as the unevaluated sum of two: of two `f32` with about 48 bits, for GPUs with slow `f64`; of two `f64` with about 106 bits, to
//! see what rounding does to a result in `f64`.
//!
//! The algorithms are AccurateDWPlusDW and DWTimesDW1 of Joldes, Muller & Popescu (2017), ACM TOMS 44, 15, built from error-free sums
//! and fused products. A product that is added to a number, and a sum of squares, are normalised once, at the end. Only IEEE operations
//! are used, which give the same bits everywhere.

use core::ops::{Add, Mul, Neg, Sub};

use super::inv_cube::Seeded;
use super::{Long, Precision, Real, Single, each, fma, per_lane};

/// The sum a + b and its rounding error.
#[inline(always)]
fn two_sum<S: Real>(a: S, b: S) -> (S, S) {
    let s = a + b;
    let a1 = s - b;
    let b1 = s - a1;
    (s, (a - a1) + (b - b1))
}

/// The sum a + b and its rounding error, for |a| not below |b|.
#[inline(always)]
fn fast_two_sum<S: Real>(a: S, b: S) -> (S, S) {
    let hi = a + b;
    (hi, b - (hi - a))
}

/// a + b.
#[inline(always)]
pub fn exact_sum(a: f64, b: f64) -> Long {
    let (sum, rest) = two_sum(a, b);
    [sum, rest]
}

/// a · b.
#[inline(always)]
pub fn exact_product(a: f64, b: f64) -> Long {
    let product = a * b;
    [product, fma(a, b, -product)]
}

/// Halves of a number that consist of `f32`.
trait Narrow: Single {
    /// The two halves of `x`.
    #[inline(always)]
    fn halves(x: f64) -> (Self, Self) {
        let hi = x as f32;
        // For an infinity, the difference would be NaN.
        let rest = if hi.is_finite() { x - hi as f64 } else { 0.0 };
        (Self::from_f64(hi as f64), Self::from_f64(rest))
    }

    /// r⁻¹ of r² to at least 20 bits; NaN for r² = 0 or r² = ∞.
    #[inline(always)]
    fn inverse_roots<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut roots = r2;
        each!(K, |k| {
            let guess = r2[k].guess_root();
            let (half, near) = (<Self as Real>::from_f64(0.5), <Self as Real>::from_f64(1.0));
            let e = Real::mul_add(-(r2[k] * guess), guess, near);
            let y = Real::mul_add(guess * half, e, guess);
            let e = Real::mul_add(-(r2[k] * y), y, near);
            roots[k] = Real::mul_add(y * half, e, y);
        });
        roots
    }

    /// r⁻³ of r² from the approximation y of r⁻¹.
    #[inline(always)]
    fn cube(r2: FloatFloat<Self>, y: Self) -> FloatFloat<Self> {
        let y2 = FloatFloat::product(y, y);
        let e = <FloatFloat<Self> as Real>::from_f64(1.0) - r2 * y2;
        let y3 = y2.times(y);
        // y³(1 + 3/2 e + 15/8 e²), where the bits of one half suffice for the last term.
        let linear = e.times(<Self as Real>::from_f64(1.5));
        let quadratic = <Self as Real>::from_f64(1.875) * e.hi;
        let t = FloatFloat::quick(linear.hi, Real::mul_add(quadratic, e.hi, linear.lo));
        y3 + y3 * t
    }

    /// The first part of `x`.
    #[inline(always)]
    fn long(x: Long) -> FloatFloat<Self> {
        Real::from_f64(x[0])
    }

    /// The difference of the first parts, rounded to `f64` first.
    #[inline(always)]
    fn difference(a: Long, b: Long) -> FloatFloat<Self> {
        Real::from_f64(a[0] - b[0])
    }
}
impl<S: Single> Narrow for S {}

/// Halves of a number that consist of `f64`.
trait Wide: Seeded {
    /// `x` and 0.
    #[inline(always)]
    fn halves(x: f64) -> (Self, Self) {
        (Self::from_f64(x), Self::from_f64(0.0))
    }

    /// r⁻¹ of r² to within 4 units in the last place; NaN for r² = 0 or r² = ∞.
    #[inline(always)]
    fn inverse_roots<const K: usize>(r2: [Self; K]) -> [Self; K] {
        let mut roots = Self::inv_cubes(r2);
        each!(K, |k| roots[k] = r2[k] * roots[k]);
        roots
    }

    /// r⁻³ of r² from the approximation y of r⁻¹.
    #[inline(always)]
    fn cube(r2: DoubleDouble<Self>, y: Self) -> DoubleDouble<Self> {
        let number = <Self as Real>::from_f64;
        let y2 = DoubleDouble::product(y, y);
        let p = DoubleDouble::product(r2.hi, y2.hi);
        let cross = Real::mul_add(r2.hi, y2.lo, r2.lo * y2.hi);
        // 1 - r² y² is a few units in the last place of 1, so that one half holds it to 106 bits of 1.
        let e = (number(1.0) - p.hi) - (p.lo + cross);
        let y3 = DoubleDouble::product(y2.hi, y);
        let lo = Real::mul_add(y2.lo, y, y3.lo);
        // y³(1 + 3/2 e + 15/8 e²).
        let t = e * Real::mul_add(number(1.875), e, number(1.5));
        DoubleDouble::quick(y3.hi, Real::mul_add(y3.hi, t, lo))
    }

    /// Both parts of `x`.
    #[inline(always)]
    fn long(x: Long) -> DoubleDouble<Self> {
        let (hi, lo) = two_sum(Self::from_f64(x[0]), Self::from_f64(x[1]));
        DoubleDouble { hi, lo }
    }

    /// a - b to 106 bits.
    #[inline(always)]
    fn difference(a: Long, b: Long) -> DoubleDouble<Self> {
        Self::long(a) - Self::long(b)
    }
}
impl<D: Seeded> Wide for D {}

/// Defines a number of two halves, for halves with a given trait.
macro_rules! pair {
    ($(#[$doc:meta])* $name:ident, $half:ident, $parts:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub struct $name<S> {
            hi: S,
            lo: S,
        }

        impl<S: $half> $name<S> {
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

            /// The exact product of two halves.
            #[inline(always)]
            fn product(a: S, b: S) -> Self {
                let hi = a * b;
                Self {
                    hi,
                    lo: Real::mul_add(a, b, -hi),
                }
            }

            /// The sum of two halves, for |a| not below |b|.
            #[inline(always)]
            fn quick(a: S, b: S) -> Self {
                let (hi, lo) = fast_two_sum(a, b);
                Self { hi, lo }
            }

            /// The product, whose lower part may be a few units in the last place of the upper one.
            #[inline(always)]
            fn raw_product(self, o: Self) -> Self {
                let p = Self::product(self.hi, o.hi);
                let cross = Real::mul_add(self.hi, o.lo, self.lo * o.hi);
                Self {
                    hi: p.hi,
                    lo: p.lo + cross,
                }
            }
        }

        impl<S: Default> Default for $name<S> {
            fn default() -> Self {
                Self {
                    hi: S::default(),
                    lo: S::default(),
                }
            }
        }

        impl<S: $half> Add for $name<S> {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                let (sh, sl) = two_sum(self.hi, o.hi);
                let (th, tl) = two_sum(self.lo, o.lo);
                let v = Self::quick(sh, sl + th);
                Self::quick(v.hi, tl + v.lo)
            }
        }

        impl<S: $half> Sub for $name<S> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self + -o
            }
        }

        impl<S: $half> Mul for $name<S> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                let p = self.raw_product(o);
                Self::quick(p.hi, p.lo)
            }
        }

        impl<S: $half> Neg for $name<S> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self {
                    hi: -self.hi,
                    lo: -self.lo,
                }
            }
        }

        per_lane!($name<S> { hi, lo });

        impl<S: $half> Real for $name<S> {
            type Lane = $name<S::Alone>;
            const TOGETHER: bool = S::TOGETHER;
            const HAS_SOFTENING_FLOOR: bool = false;
            crate::own_constants_and_forces!(as S);

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                let (hi, lo) = <S as $parts>::halves(x);
                Self { hi, lo }
            }

            #[inline(always)]
            fn from_long(x: Long) -> Self {
                <S as $parts>::long(x)
            }

            #[inline(always)]
            fn from_difference(a: Long, b: Long) -> Self {
                <S as $parts>::difference(a, b)
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

            /// `self · a + b`, where the product is not renormalised before the sum.
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                self.raw_product(a) + b
            }

            #[inline(always)]
            fn plus_squares<const K: usize>(self, x: [Self; K]) -> Self {
                // No term is negative, so that one renormalisation of the sum suffices.
                let Self { mut hi, mut lo } = self;
                each!(K, |k| {
                    let square = x[k].raw_product(x[k]);
                    let (sum, rest) = two_sum(hi, square.hi);
                    (hi, lo) = (sum, lo + (rest + square.lo));
                });
                Self::quick(hi, lo)
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> S::Mask {
                let number = <S as Real>::from_f64;
                let at_most = self.hi.at_most(other.hi);
                // Of equal upper halves, which may be infinite, the lower ones decide.
                let order = S::select(at_most, self.lo - other.lo, number(1.0));
                let below = S::select(at_most, number(-1.0), number(1.0));
                S::select(other.hi.at_most(self.hi), order, below).at_most(number(0.0))
            }

            #[inline(always)]
            fn select(mask: S::Mask, yes: Self, no: Self) -> Self {
                Self {
                    hi: S::select(mask, yes.hi, no.hi),
                    lo: S::select(mask, yes.lo, no.lo),
                }
            }

            /// Accurate to 2⁻⁴² for halves of `f32` and to 2⁻¹⁰⁰ for halves of `f64`; NaN for r² = 0 or r² = ∞.
            #[inline(always)]
            fn inv_cube(self) -> Self {
                Self::inv_cubes([self])[0]
            }

            #[inline(always)]
            fn inv_cubes<const K: usize>(r2: [Self; K]) -> [Self; K] {
                let mut w = r2;
                let mut roots = [r2[0].hi; K];
                each!(K, |k| roots[k] = r2[k].hi);
                roots = <S as $parts>::inverse_roots(roots);
                each!(K, |k| w[k] = <S as $parts>::cube(r2[k], roots[k]));
                w
            }

            /// One step of Newton's method doubles the digits of the root of the upper half.
            #[inline(always)]
            fn step_root(self) -> Self {
                let number = <S as Real>::from_f64;
                let y = self.hi.step_root();
                let y2 = Self::product(y, y);
                let p = Self::product(self.hi, y2.hi);
                let cross = Real::mul_add(self.hi, y2.lo, self.lo * y2.hi);
                // 1/√x = y (1 - e)^(-1/2), where e is so small that one half holds it to all digits of y.
                let e = (number(1.0) - p.hi) - (p.lo + cross);
                Self::quick(y, (y * e) * Real::mul_add(number(0.375), e, number(0.5)))
            }

            /// As for the root: 1/x = y (1 + e + e²).
            #[inline(always)]
            fn step_quotient(self, h: Self) -> Self {
                let y = self.hi.step_quotient(<S as Real>::from_f64(1.0));
                let p = Self::product(self.hi, y);
                let e = (<S as Real>::from_f64(1.0) - p.hi) - Real::mul_add(self.lo, y, p.lo);
                h * Self::quick(y, y * Real::mul_add(e, e, e))
            }

            #[inline(always)]
            fn quotient(self, by: Self) -> Self {
                let first = self.hi.quotient(by.hi);
                let rest = self - by * Self { hi: first, lo: S::zero() };
                Self::quick(first, rest.hi.quotient(by.hi))
            }

            #[inline(always)]
            fn square_root(self) -> Self {
                let first = self.hi.square_root();
                let rest = self - Self::product(first, first);
                Self::quick(first, rest.hi.quotient(first + first))
            }

            #[inline(always)]
            fn is_zero(self) -> S::Mask {
                self.hi.is_zero()
            }
        }
    };
}

pair! {
    /// `hi` + `lo` of `f32`, where |lo| is at most half a unit in the last place of `hi`. The exponent has the range of `f32`; digits are
    /// lost where `lo` is below 1e-38.
    FloatFloat, Single, Narrow
}

pair! {
    /// `hi` + `lo` of `f64`, where |lo| is at most half a unit in the last place of `hi`. The exponent has the range of `f64`; digits are
    /// lost where `lo` is below 1e-308.
    DoubleDouble, Seeded, Wide
}

impl<S: Single> FloatFloat<S> {
    /// `self` times one half.
    #[inline(always)]
    fn times(self, k: S) -> Self {
        let p = Self::product(self.hi, k);
        Self::quick(p.hi, Real::mul_add(self.lo, k, p.lo))
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

impl Precision for DoubleDouble<f64> {
    const NAME: &'static str = "double-double";
    const HELP: &'static str = "pairs of f64, 106 bits; shows what rounding does to a map in f64, in 11 times the operations";
    type OnLanes<D: Seeded, S: Single> = DoubleDouble<D>;
}
