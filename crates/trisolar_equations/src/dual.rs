//! Numbers with a derivative.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::Scalar;

/// A number and its derivative along one direction.
#[derive(Clone, Copy, Debug)]
pub struct Dual<R> {
    /// The number.
    pub value: R,
    /// Its derivative.
    pub slope: R,
}

impl<R> Dual<R> {
    #[inline(always)]
    fn new(value: R, slope: R) -> Self {
        Self { value, slope }
    }
}

impl<R: Scalar> Add for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self::new(self.value + o.value, self.slope + o.slope)
    }
}

impl<R: Scalar> Sub for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self::new(self.value - o.value, self.slope - o.slope)
    }
}

impl<R: Scalar> Mul for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self::new(
            self.value * o.value,
            self.slope * o.value + self.value * o.slope,
        )
    }
}

impl<R: Scalar> Div for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let value = self.value / o.value;
        Self::new(value, (self.slope - value * o.slope) / o.value)
    }
}

impl<R: Scalar> Neg for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.value, -self.slope)
    }
}

macro_rules! with_constants {
    ($($trait:ident $name:ident |$this:ident, $k:ident| $slope:expr;)*) => {$(
        impl<R: Scalar> $trait<f64> for Dual<R> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, $k: f64) -> Self {
                let $this = self;
                Self::new($trait::$name(self.value, $k), $slope)
            }
        }
    )*};
}
with_constants! {
    Add add |x, k| x.slope;
    Sub sub |x, k| x.slope;
    Mul mul |x, k| x.slope * k;
    Div div |x, k| x.slope / k;
}

impl<R: Scalar> Scalar for Dual<R> {
    const LANES: usize = R::LANES;
    type Mask = R::Mask;

    #[inline(always)]
    fn of(x: f64) -> Self {
        Self::new(R::of(x), R::of(0.0))
    }
    #[inline(always)]
    fn from_lanes(x: impl FnMut(usize) -> f64) -> Self {
        Self::new(R::from_lanes(x), R::of(0.0))
    }
    #[inline(always)]
    fn lane(self, lane: usize) -> f64 {
        self.value.lane(lane)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        Self::new(root, self.slope / (root * 2.0))
    }
    #[inline(always)]
    fn sin(self) -> Self {
        Self::new(self.value.sin(), self.slope * self.value.cos())
    }
    #[inline(always)]
    fn cos(self) -> Self {
        Self::new(self.value.cos(), -(self.slope * self.value.sin()))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let power = self.value.exp();
        Self::new(power, self.slope * power)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self::new(self.value.ln(), self.slope / self.value)
    }
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let r2 = self.value * self.value + x.value * x.value;
        let slope = (self.slope * x.value - self.value * x.slope) / r2;
        Self::new(self.value.atan2(x.value), slope)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let value = self.value.tanh();
        Self::new(value, self.slope * (-(value * value) + 1.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        let negative = self.value.less(R::of(0.0));
        Self::new(
            self.value.abs(),
            R::select(negative, -self.slope, self.slope),
        )
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::new(self.value.floor(), R::of(0.0))
    }
    #[inline(always)]
    fn less(self, other: Self) -> R::Mask {
        self.value.less(other.value)
    }
    #[inline(always)]
    fn select(mask: R::Mask, yes: Self, no: Self) -> Self {
        Self::new(
            R::select(mask, yes.value, no.value),
            R::select(mask, yes.slope, no.slope),
        )
    }
}
