//! Signed fixed point: positions and velocities are integer multiples of a smallest length, so that sums have no rounding errors.
//!
//! The host chooses the number of fraction bits: it scales all lengths by a power of two such that the smallest length becomes 2⁻³²
//! (see [`Job::scaled`](crate::map::Job::scaled)). Sums and products saturate instead of overflowing.

use core::ops::{Add, Mul, Neg, Sub};

use super::inv_cube::Seeded;
use super::{Precision, Real, Single, single_lane};

/// Bits after the binary point, before the host's scaling.
pub const FRACTION_BITS: u32 = 32;
const ONE: f64 = (1u64 << FRACTION_BITS) as f64;

/// A 64-bit integer times 2⁻³².
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Fixed(i64);

impl Fixed {
    /// Converts a product with twice the fraction bits, rounding to nearest with ties up.
    #[inline(always)]
    fn narrow(wide: i128) -> Self {
        let x = (wide + (1i128 << (FRACTION_BITS - 1))) >> FRACTION_BITS;
        if x > i64::MAX as i128 {
            Self(i64::MAX)
        } else if x < i64::MIN as i128 {
            Self(i64::MIN)
        } else {
            Self(x as i64)
        }
    }
}

impl Add for Fixed {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(self.0.saturating_add(o.0))
    }
}

impl Sub for Fixed {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(self.0.saturating_sub(o.0))
    }
}

impl Mul for Fixed {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self::narrow(self.0 as i128 * o.0 as i128)
    }
}

impl Neg for Fixed {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(0i64.saturating_sub(self.0))
    }
}

single_lane!(Fixed);

impl Real for Fixed {
    type Lane = Self;
    const LANES: usize = 1;
    const TOGETHER: bool = false;
    const HAS_SOFTENING_FLOOR: bool = false;
    type Mask = bool;
    type Counts = [u32; 1];
    type Constant = Self;
    /// A pull is computed in `f64` and rounded once, as Rein & Tamayo (2018, MNRAS 473, 3351) do for reversible integration:
    /// velocities change by integer multiples of the smallest length.
    type Force = f64;

    #[inline(always)]
    fn counts(x: u32) -> [u32; 1] {
        [x]
    }

    #[inline(always)]
    fn from_constant(k: Self) -> Self {
        k
    }

    #[inline(always)]
    fn to_force(self) -> f64 {
        self.to_f64(0)
    }

    #[inline(always)]
    fn add_pulls(self, factors: [f64; 2], vectors: [f64; 2]) -> Self {
        self + Self::from_f64(0.0.add_pulls(factors, vectors))
    }

    /// Rounds to nearest, ties away from zero; NaN becomes 0.
    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        let scaled = x * ONE;
        let whole = scaled as i64;
        // The difference is exact: below 2⁵³ it is the fraction, above there is no fraction.
        let rest = scaled - whole as f64;
        let nearest = if rest >= 0.5 {
            whole.saturating_add(1)
        } else if rest <= -0.5 {
            whole.saturating_sub(1)
        } else {
            whole
        };
        Self(nearest)
    }

    #[inline(always)]
    fn to_f64(self, _lane: usize) -> f64 {
        self.0 as f64 * (1.0 / ONE)
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::narrow(self.0 as i128 * a.0 as i128 + ((b.0 as i128) << FRACTION_BITS))
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self.0 <= other.0
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    /// Computed in `f64`, because r⁻³ would have few significant bits in fixed point. Saturates for r² = 0.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        Self::from_f64(self.to_f64(0).inv_cube())
    }
}

impl Precision for Fixed {
    const NAME: &'static str = "fixed";
    const HELP: &'static str =
        "fixed point of 8 to 56 fraction bits (26: coarse; 40: fine); slower than f64 everywhere";
    const LARGEST: f64 = (1u64 << (62 - FRACTION_BITS)) as f64;
    const LARGEST_TO_SQUARE: f64 = (1u64 << ((62 - FRACTION_BITS) / 2)) as f64;
    /// There are no lanes, because vector units have no 64-bit products.
    type OnLanes<D: Seeded, S: Single> = Self;
}
