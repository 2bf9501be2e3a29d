//! The numbers in which equations are evaluated.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Neg, Sub};

use cuda_std::GpuFloat;

/// A real number, or several that go through the same operations side by side, one in each lane. An interpreter or a tracer of equations can
/// implement it as well: no code of this crate branches on a number, except on whether any lane goes on.
///
/// `x * 2.0` multiplies by a constant; the constant stands on the right. Every function is correctly rounded or a fixed sequence of IEEE
/// operations, and has the same bits on all machines.
pub trait Scalar:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The number of lanes.
    const LANES: usize;

    /// The result of a comparison.
    type Mask: Mask;

    /// The number `x` in every lane.
    fn of(x: f64) -> Self;
    /// The number of each lane.
    fn from_lanes(x: impl FnMut(usize) -> f64) -> Self;
    /// The number in a lane.
    fn lane(self, lane: usize) -> f64;

    /// The square root.
    fn sqrt(self) -> Self;
    /// The sine of an angle in radians.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    fn cos(self) -> Self;
    /// e to the power of the number.
    fn exp(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The angle of the point (`x`, `self`), in radians.
    fn atan2(self, x: Self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// The largest whole number not above the number.
    fn floor(self) -> Self;

    /// Whether `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where `mask` holds, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The tangent of an angle in radians.
    #[inline(always)]
    fn tan(self) -> Self {
        self.sin() / self.cos()
    }

    /// A whole power, by multiplication: the bits of `n` from the lowest.
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        let (mut power, mut square, mut left) = (None, self, n.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                power = Some(match power {
                    Some(known) => known * square,
                    None => square,
                });
            }
            left >>= 1;
            if left > 0 {
                square = square * square;
            }
        }
        let power = power.unwrap_or(Self::of(1.0));
        if n < 0 { Self::of(1.0) / power } else { power }
    }

    /// The number, or `other` where it is NaN.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        let known = self.less(Self::of(f64::INFINITY));
        let known = Self::select(known, self, other);
        // Infinity is not below itself.
        let infinite = Self::of(f64::MAX).less(self);
        Self::select(infinite, self, known)
    }

    /// The larger number; `other` if `self` is NaN.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.less(self), self, other)
    }
}

/// The results of a comparison, one for each lane.
pub trait Mask: Copy + Debug {
    /// The same in every lane.
    fn all_are(holds: bool) -> Self;
    /// Whether it holds in a lane.
    fn lane(self, lane: usize) -> bool;
    /// Whether it holds in any lane. This is the only question on which the loops of [`follow`](mod@crate::follow) depend.
    fn any(self) -> bool;
    /// Whether both hold.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// Whether it does not hold.
    #[must_use]
    fn not(self) -> Self;
}

impl Mask for bool {
    #[inline(always)]
    fn all_are(holds: bool) -> Self {
        holds
    }
    #[inline(always)]
    fn lane(self, _: usize) -> bool {
        self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
}

/// The functions of one argument, each of which is called as it is named.
macro_rules! functions {
    ($($name:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            GpuFloat::$name(self)
        }
    )*};
}

impl Scalar for f64 {
    const LANES: usize = 1;
    type Mask = bool;

    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn from_lanes(mut x: impl FnMut(usize) -> f64) -> Self {
        x(0)
    }
    #[inline(always)]
    fn lane(self, _: usize) -> f64 {
        self
    }
    functions!(sqrt, sin, cos, exp, ln, tanh, abs, floor);
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        GpuFloat::atan2(self, x)
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}
