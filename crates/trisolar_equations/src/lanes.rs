//! Several numbers side by side, which a compiler turns into the vector instructions of the function into which they are inlined.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::{Mask, Scalar};

/// `L` numbers.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<const L: usize>([f64; L]);

/// `L` results of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct LaneMask<const L: usize>([bool; L]);

/// The array of a value for each lane, by a loop that is always inlined.
macro_rules! each_lane {
    ($of:expr, |$lane:ident| $value:expr) => {{
        let mut all = $of;
        let mut $lane = 0;
        while $lane < L {
            all[$lane] = $value;
            $lane += 1;
        }
        all
    }};
}

macro_rules! operators {
    ($($trait:ident $name:ident),*) => {$(
        impl<const L: usize> $trait for Lanes<L> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, o: Self) -> Self {
                Self(each_lane!(self.0, |i| $trait::$name(self.0[i], o.0[i])))
            }
        }

        impl<const L: usize> $trait<f64> for Lanes<L> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, o: f64) -> Self {
                Self(each_lane!(self.0, |i| $trait::$name(self.0[i], o)))
            }
        }
    )*};
}
operators!(Add add, Sub sub, Mul mul, Div div);

impl<const L: usize> Neg for Lanes<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(each_lane!(self.0, |i| -self.0[i]))
    }
}

impl<const L: usize> Mask for LaneMask<L> {
    #[inline(always)]
    fn all_are(holds: bool) -> Self {
        Self([holds; L])
    }
    #[inline(always)]
    fn lane(self, lane: usize) -> bool {
        self.0[lane]
    }
    #[inline(always)]
    fn any(self) -> bool {
        let mut any = false;
        let mut i = 0;
        while i < L {
            any |= self.0[i];
            i += 1;
        }
        any
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(each_lane!(self.0, |i| self.0[i] & other.0[i]))
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(each_lane!(self.0, |i| !self.0[i]))
    }
}

macro_rules! functions {
    ($($name:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Self(each_lane!(self.0, |i| Scalar::$name(self.0[i])))
        }
    )*};
}

impl<const L: usize> Scalar for Lanes<L> {
    const LANES: usize = L;
    type Mask = LaneMask<L>;

    #[inline(always)]
    fn of(x: f64) -> Self {
        Self([x; L])
    }
    #[inline(always)]
    fn from_lanes(mut x: impl FnMut(usize) -> f64) -> Self {
        Self(each_lane!([0.0; L], |i| x(i)))
    }
    #[inline(always)]
    fn lane(self, lane: usize) -> f64 {
        self.0[lane]
    }
    functions!(sqrt, sin, cos, exp, ln, tanh, abs, floor);
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        Self(each_lane!(self.0, |i| Scalar::atan2(self.0[i], x.0[i])))
    }
    #[inline(always)]
    fn less(self, other: Self) -> LaneMask<L> {
        LaneMask(each_lane!([false; L], |i| self.0[i] < other.0[i]))
    }
    #[inline(always)]
    fn select(mask: LaneMask<L>, yes: Self, no: Self) -> Self {
        Self(each_lane!(no.0, |i| if mask.0[i] {
            yes.0[i]
        } else {
            no.0[i]
        }))
    }
}
