//! The operations with which the regularised integrator of [`encounters`](crate::encounters) implements and complements [`Real`](super::Real):
//! reciprocals and reciprocal square roots without special instructions, and integer operations on the upper halves of the bits.
//!
//! Each reciprocal starts from a seed of integer and `f32` operations, as in [`inv_cube`](mod@super::inv_cube), which one third-order
//! step in `f64` refines. All operations are IEEE operations in a fixed order, so lanes, GPU and emulator agree bit for bit. Numbers
//! must be [ordinary](super::inv_cube), between 2⁻⁶⁴ and 2⁶⁴; for any other number the result is meaningless.

use core::fmt::Debug;

use super::inv_cube::{self, ORDINARY_BASE, Seeded, Short};

/// Minus ((upper half - [`ORDINARY_BASE`]) << 3), it gives the bits of an `f32` guess of 1/x: 3/2 - m/2 in units of x's power of two.
pub const RECIPROCAL_BASE: u32 = 0x5f80_0000;

/// Coefficients of the cubic in u with the least relative error as an approximation of 1/u on [1, 1.125], the range of u = x·y for the
/// guess y; relative error 1.5e-6.
const RECIPROCAL: [f32; 4] = [3.771_236, -5.330_249_3, 3.346_399_9, -0.787_388_2];

/// Half the bits of 1.0, in the upper half.
pub const HALF_BIAS: u32 = (1023 << 20) / 2;

/// A number, or several side by side, with access to its bits.
pub trait Bits: Seeded {
    /// The upper halves of the bits, as a signed integer for each lane. For positive numbers, they have the order of the numbers.
    type High: Copy + Debug;

    /// For ordinary x: x as `f32` (with 20 bits of fraction) and the guess of 1/x.
    fn guess_reciprocal(self) -> (Self::Short, Self::Short);

    /// h · `self` / √d for positive numbers, to within 12 %. It takes the upper halves of the bits for logarithms.
    fn times_over_root(self, d: Self, h: Self) -> Self;

    /// For normal numbers above 0: the fraction m in [1, 2) and the exponent n of m 2ⁿ.
    fn fraction_and_exponent(self) -> (Self, Self);

    /// The upper halves of the bits.
    fn high(self) -> Self::High;
    /// The same integer in each lane.
    fn spread_high(x: i32) -> Self::High;
    /// The integer of one lane.
    fn high_lane(x: &Self::High, lane: usize) -> i32;
    /// Replaces the integer of one lane.
    fn set_high_lane(x: &mut Self::High, lane: usize, to: i32);
    /// a - b, wrapping.
    fn high_difference(a: Self::High, b: Self::High) -> Self::High;
    /// Negative where `a` and `c` are negative and `b` is not.
    fn high_turns(a: Self::High, b: Self::High, c: Self::High) -> Self::High;
    /// Whether any of these is negative in any lane.
    fn any_negative(x: &[Self::High; 3]) -> bool;

    /// [`guess`](Seeded::guess), in the form that is fastest in the steps of encounters.
    #[inline(always)]
    fn guess_root(self) -> (Self::Short, Self::Short) {
        self.guess()
    }

    /// 1/√x to within 2 ULP for ordinary x.
    #[inline(always)]
    fn reciprocal_root(self) -> Self {
        let (m, guess) = self.guess_root();
        let y = Self::widen(inv_cube::seed(m, guess));
        // 1/√x = y (1 - e)^(-1/2) with e = 1 - x y².
        let e = (-self).mul_add(y * y, Self::from_f64(1.0));
        let p = Self::from_f64(0.375).mul_add(e, Self::from_f64(0.5));
        (y * e).mul_add(p, y)
    }

    /// h/x to within 2 ULP for ordinary x = `self`.
    #[inline(always)]
    fn divides(self, h: Self) -> Self {
        let (m, guess) = self.guess_reciprocal();
        let c = <Self::Short as Short>::from_f32;
        let u = m * guess;
        let p = c(RECIPROCAL[3])
            .mul_add(u, c(RECIPROCAL[2]))
            .mul_add(u, c(RECIPROCAL[1]))
            .mul_add(u, c(RECIPROCAL[0]));
        let y = Self::widen(guess * p);
        // 1/x = y / (1 - e) with e = 1 - x y.
        let e = (-self).mul_add(y, Self::from_f64(1.0));
        let hy = h * y;
        hy.mul_add(e.mul_add(e, e), hy)
    }

    /// Limits `self` to ±`most`, which must be positive.
    #[inline(always)]
    fn limited(self, most: Self) -> Self {
        let above = Self::select(self.at_most(-most), -most, self);
        Self::select(most.at_most(self), most, above)
    }
}

impl Bits for f64 {
    type High = i32;

    #[inline(always)]
    fn guess_root(self) -> (f32, f32) {
        // The bases are in the constants, which saves a subtraction.
        let u = inv_cube::upper_alone(self);
        let m = (u << 3).wrapping_add(inv_cube::MANTISSA_BASE.wrapping_sub(ORDINARY_BASE << 3));
        let base = inv_cube::GUESS_BASE.wrapping_add(ORDINARY_BASE << 2);
        (f32::from_bits(m), f32::from_bits(base.wrapping_sub(u << 2)))
    }

    #[inline(always)]
    fn guess_reciprocal(self) -> (f32, f32) {
        let u = inv_cube::upper_alone(self) << 3;
        let base = ORDINARY_BASE << 3;
        let m = u.wrapping_add(inv_cube::MANTISSA_BASE.wrapping_sub(base));
        let y = RECIPROCAL_BASE.wrapping_add(base).wrapping_sub(u);
        (f32::from_bits(m), f32::from_bits(y))
    }

    #[inline(always)]
    fn times_over_root(self, d: f64, h: f64) -> f64 {
        let half = (inv_cube::upper(d) >> 1).wrapping_add(HALF_BIAS);
        let by = inv_cube::upper(self).wrapping_sub(half);
        Self::from_bits(h.to_bits().wrapping_add((by as u64) << 32))
    }

    #[inline(always)]
    fn fraction_and_exponent(self) -> (f64, f64) {
        let bits = self.to_bits();
        let fraction = Self::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
        (fraction, Self::from((bits >> 52) as i32 - 1023))
    }

    #[inline(always)]
    fn high(self) -> i32 {
        inv_cube::upper(self) as i32
    }

    #[inline(always)]
    fn spread_high(x: i32) -> i32 {
        x
    }

    #[inline(always)]
    fn high_lane(x: &i32, _: usize) -> i32 {
        *x
    }

    #[inline(always)]
    fn set_high_lane(x: &mut i32, _: usize, to: i32) {
        *x = to;
    }

    #[inline(always)]
    fn high_difference(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn high_turns(a: i32, b: i32, c: i32) -> i32 {
        a & !b & c
    }

    #[inline(always)]
    fn any_negative(x: &[i32; 3]) -> bool {
        (x[0] | x[1] | x[2]) < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real as _;

    /// Numbers throughout the ordinary range.
    fn ordinary() -> impl Iterator<Item = f64> {
        (0..200_000).map(|i| {
            let mantissa = 1.0 + f64::from(i % 997) / 997.0 + f64::from(i) * 1e-12;
            mantissa * f64::powi(2.0, i % 128 - 64)
        })
    }

    #[test]
    fn reciprocals_and_roots_are_accurate_to_two_units_in_the_last_place() {
        for x in ordinary().filter(|x| *x < f64::powi(2.0, 64)) {
            let (root, reciprocal) = (x.reciprocal_root(), x.divides(3.0));
            let off = |got: f64, exact: f64| (got / exact - 1.0).abs();
            assert!(off(root, 1.0 / x.sqrt()) < 5e-16, "{x:e}");
            assert!(off(reciprocal, 3.0 / x) < 5e-16, "{x:e}");
        }
    }

    #[test]
    fn a_step_is_divided_by_the_nearest_power_of_two_of_the_root() {
        for (x, j) in [
            (0.5_f64, 0),
            (1.999, 0),
            (2.0, 1),
            (8.0, 2),
            (0.49, -1),
            (0.124, -2),
        ] {
            assert_eq!(x.over_root_exponent(3.0), 3.0 * f64::powi(2.0, -j), "{x}");
        }
    }

    #[test]
    fn a_quotient_of_logarithms_is_accurate_to_an_eighth() {
        let mut previous = 0.0;
        for x in (0..400).map(|i| f64::powi(1.1, i - 200)) {
            let of_x = Bits::times_over_root(x, 2.0, 3.0);
            assert!(of_x > previous);
            previous = of_x;
            for d in [1e-9, 0.7, 1.0, 3.1, 5e12] {
                let ratio = Bits::times_over_root(x, d, 3.0) / (3.0 * x / d.sqrt());
                assert!((ratio - 1.0).abs() < 0.12, "{x} {d}: {ratio}");
            }
        }
    }

    #[test]
    fn a_limit_holds_on_both_sides() {
        for (x, limited) in [
            (0.5, 0.5),
            (-0.5, -0.5),
            (2.0, 1.0),
            (-2.0, -1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert_eq!(Bits::limited(x, 1.0), limited);
        }
    }
}
