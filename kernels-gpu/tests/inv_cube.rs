//! r⁻³: accuracy over the whole range, special values, and equal bits on all paths.

use kernels_gpu::Real;
use kernels_gpu::number::inv_cube::{inv_cube, inv_cube_or_zero};
use proptest::prelude::*;
use twofloat::TwoFloat;

/// The distance in units of the last place.
fn ulps(a: f64, b: f64) -> u64 {
    a.to_bits().abs_diff(b.to_bits())
}

/// r⁻³ computed with twice the digits and rounded to f64 once.
fn reference(r2: f64) -> f64 {
    // r2 = x · 4^k with x in [1, 4), so that no intermediate result leaves the range of the double-double numbers.
    let lifted = if r2 < f64::MIN_POSITIVE {
        r2 * 2f64.powi(108)
    } else {
        r2
    };
    let lift = if r2 < f64::MIN_POSITIVE { 54 } else { 0 };
    let k = ((lifted.to_bits() >> 52) as i32 - 1023) >> 1;
    let x = lifted * 2f64.powi(-k) * 2f64.powi(-k);
    assert!((1.0..4.0).contains(&x), "{r2:e} -> {x}");
    let x = TwoFloat::from(x);
    // One Newton step after the f64 root gives the double-double root its full precision.
    let s = f64::from(x).sqrt();
    let root = (TwoFloat::from(s) + x / TwoFloat::from(s)) / TwoFloat::from(2.0);
    let y = TwoFloat::from(1.0) / (x * root);
    let n = -3 * (k - lift);
    // 2^n is split into two factors, because it may be out of range itself.
    f64::from(y) * 2f64.powi(n / 2) * 2f64.powi(n - n / 2)
}

/// Finite positive f64 for which r⁻³ is a normal number; all binades are equally likely.
fn squared_distances() -> impl Strategy<Value = f64> {
    (-681i64..681, 0u64..1 << 52).prop_map(|(exponent, fraction)| {
        f64::from_bits((((1023 + exponent) as u64) << 52) | fraction)
    })
}

/// Places `odd` among `K` - 1 other numbers.
fn several_are_as_one_by_one<const K: usize>(
    odd: f64,
    other: f64,
    at: usize,
) -> Result<(), TestCaseError> {
    let mut r2 = [other; K];
    r2[at % K] = odd;
    let bits = |w: [f64; K]| w.map(f64::to_bits);
    prop_assert_eq!(bits(f64::inv_cubes(r2)), bits(r2.map(inv_cube)));
    prop_assert_eq!(
        bits(f64::inv_cubes_or_zero(r2)),
        bits(r2.map(inv_cube_or_zero))
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200_000))]

    #[test]
    fn within_two_ulp_of_the_correctly_rounded_value(r2 in squared_distances()) {
        let (ours, exact) = (inv_cube(r2), reference(r2));
        prop_assert!(ulps(ours, exact) <= 2, "{:e}: {:e} instead of {:e}", r2, ours, exact);
    }

    #[test]
    fn all_bit_patterns_behave_as_documented(bits in any::<u64>()) {
        let r2 = f64::from_bits(bits);
        let y = inv_cube(r2);
        if r2.is_nan() || r2 < 0.0 {
            prop_assert!(y.is_nan());
        } else {
            prop_assert!(y >= 0.0, "{:e} -> {:e}", r2, y);
        }
    }

    #[test]
    fn testing_several_numbers_together_changes_no_bit(a in any::<f64>(), b in squared_distances(), c in 1e-3..1e3, at in 0usize..8) {
        for odd in [a, b, c, 0.0] {
            several_are_as_one_by_one::<1>(odd, c, at)?;
            several_are_as_one_by_one::<2>(odd, c, at)?;
            several_are_as_one_by_one::<3>(odd, c, at)?;
            several_are_as_one_by_one::<6>(odd, c, at)?;
            several_are_as_one_by_one::<8>(odd, c, at)?;
        }
    }

    #[test]
    fn inv_cube_or_zero_differs_only_at_zero(bits in any::<u64>()) {
        let r2 = f64::from_bits(bits);
        let expected = if r2 == 0.0 { 0.0 } else { inv_cube(r2) };
        prop_assert_eq!(inv_cube_or_zero(r2).to_bits(), expected.to_bits());
    }

    #[test]
    fn a_factor_of_four_is_exact(r2 in 1e-150..1e150f64) {
        prop_assert_eq!(inv_cube(4.0 * r2), inv_cube(r2) / 8.0);
    }
}

#[test]
fn two_binades_of_the_seed_are_accurate_for_every_upper_half() {
    // The seed depends only on the upper half (and only on the parity of the exponent), so there are 2^21 cases, each of which is
    // tested at both ends of the range of the lower half.
    let mut worst = 0;
    for upper in (1023u64 << 20)..(1025 << 20) {
        for lower in [0, u64::from(u32::MAX)] {
            let r2 = f64::from_bits(upper << 32 | lower);
            worst = worst.max(ulps(inv_cube(r2), reference(r2)));
        }
    }
    assert!(worst <= 2, "{worst} ULP");
}

#[test]
fn special_values() {
    assert_eq!(inv_cube(0.0), f64::INFINITY);
    assert_eq!(inv_cube(-0.0), f64::INFINITY);
    assert_eq!(inv_cube(f64::INFINITY), 0.0);
    assert!(inv_cube(f64::NAN).is_nan());
    assert!(inv_cube(-1.0).is_nan());
    assert!(inv_cube(f64::NEG_INFINITY).is_nan());
    assert_eq!(inv_cube(f64::from_bits(1)), f64::INFINITY, "overflows");
    assert_eq!(inv_cube(f64::MAX), 0.0, "underflows");
    assert_eq!(inv_cube(1.0), 1.0);
    assert_eq!(inv_cube(4.0), 0.125);
    // r⁻³ is subnormal here; a single rounding gives an error of at most one unit.
    let r2 = 2f64.powi(690);
    assert_eq!(inv_cube(r2), 2f64.powi(-1035));
}
