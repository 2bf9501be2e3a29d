//! The accuracy of the operations of numbers other than `f64`.

use kernels_gpu::Real;
use kernels_gpu::number::{DoubleDouble, Fast, FastF32, Fixed, FloatFloat, Mixed};
use proptest::prelude::*;
use twofloat::TwoFloat;

type Pair = FloatFloat<f32>;
type Wide = DoubleDouble<f64>;

/// x^(-3/2) with about 100 bits.
fn inv_cube(x: f64) -> TwoFloat {
    let s = x.sqrt();
    let x = TwoFloat::from(x);
    let root = (TwoFloat::from(s) + x / TwoFloat::from(s)) / TwoFloat::from(2.0);
    TwoFloat::from(1.0) / (x * root)
}

fn relative(found: f64, exact: TwoFloat) -> f64 {
    f64::from((TwoFloat::from(found) - exact) / exact).abs()
}

/// The result is the same for all r² with the same first 24 bits, and the error is largest at one of the ends of their range. A factor of 4 only
/// changes exponents, so that r² in [1, 4) stand for all ordinary ones.
#[test]
fn the_error_of_mixed_is_below_3_16_units_of_the_24th_bit() {
    let mut worst = 0.0f64;
    for first in 1f32.to_bits()..4f32.to_bits() {
        let lowest = f64::from(f32::from_bits(first));
        let w = Mixed(lowest).inv_cube().0;
        for r2 in [lowest, f64::from(f32::from_bits(first + 1)).next_down()] {
            worst = worst.max((w * (r2 * r2.sqrt()) - 1.0).abs());
        }
    }
    let unit = 1.0 / f64::from(1 << 23);
    assert!((3.15 * unit..3.16 * unit).contains(&worst), "{worst:e}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn mixed_takes_the_24_bits_of_any_exponent(r2 in -60.0..60.0f64) {
        let r2 = r2.exp2();
        let first = f64::from_bits(r2.to_bits() & !((1 << 29) - 1));
        prop_assert_eq!(Mixed(r2).inv_cube().0, Mixed(first).inv_cube().0);
        let error = relative(Mixed(r2).inv_cube().0, inv_cube(r2));
        prop_assert!(error < 3.16 / f64::from(1 << 23), "{r2}: {error:e}");
    }

    #[test]
    fn single_precision_is_within_four_ulp(r2 in -40.0..40.0f64) {
        let r2 = r2.exp2() as f32;
        let exact = f64::from(inv_cube(f64::from(r2)));
        let ulp = f64::from((exact as f32).next_up() - exact as f32);
        let error = (f64::from(r2.inv_cube()) - exact).abs();
        prop_assert!(error <= 4.0 * ulp, "{r2}: {} ULP", error / ulp);
    }

    #[test]
    fn float_float_has_42_bits(r2 in -30.0..30.0f64) {
        let r2 = r2.exp2();
        let error = relative(value(Pair::from_f64(r2).inv_cube()), inv_cube(value(Pair::from_f64(r2))));
        prop_assert!(error < (-42f64).exp2(), "{r2}: 2^{}", error.log2());
    }

    #[test]
    fn sums_and_products_of_float_floats_have_44_bits(a in -1e6..1e6f64, b in -1e6..1e6f64) {
        let (x, y) = (Pair::from_f64(a), Pair::from_f64(b));
        let (a, b) = (value(x), value(y));
        prop_assert!((value(x + y) - (a + b)).abs() <= (a + b).abs() * (-44f64).exp2());
        prop_assert!((value(x * y) - a * b).abs() <= (a * b).abs() * (-44f64).exp2());
        prop_assert_eq!(x.at_most(y), a <= b);
    }

    #[test]
    fn sums_and_products_of_double_doubles_have_100_bits(a in -1e6..1e6f64, b in -1e6..1e6f64, c in -1e6..1e6f64) {
        let (x, y, z) = (Wide::from_f64(a), Wide::from_f64(b), Wide::from_f64(c));
        // Products and sums of two f64 are exact.
        prop_assert_eq!((x * y).parts(), (a * b, a.mul_add(b, -(a * b))));
        prop_assert_eq!(Wide::from_difference([a, 0.0], [b, 0.0]), x - y);
        let sum = x + y;
        prop_assert_eq!(Wide::from_long([sum.parts().0, sum.parts().1]), sum);
        prop_assert_eq!((x - y) + y, x);
        let found = (x * y + z) * (x - y);
        let exact = (TwoFloat::new_mul(a, b) + c) * TwoFloat::new_sub(a, b);
        let (hi, lo) = found.parts();
        let error = f64::from((TwoFloat::new_add(hi, lo) - exact) / exact).abs();
        // The sum may cancel.
        let cancelled = (a * b).abs() / (a * b + c).abs();
        prop_assert!(error <= (-99f64).exp2() * (1.0 + cancelled), "2^{}", error.log2());
        prop_assert_eq!(x.at_most(y), a <= b);
        prop_assert!((x * y).at_most(x * y) && !(x * y).at_most(x * y - Wide::from_f64((a * b).abs() * (-100f64).exp2())));
    }

    #[test]
    fn roots_and_quotients_of_double_doubles_have_100_bits(x in -60.0..60.0f64, rest in -0.49..0.49f64, h in 1.0..2.0f64) {
        let x = x.exp2();
        let x = Wide::from_f64(x) + Wide::from_f64(rest * (x.next_up() - x));
        let h = Wide::from_f64(h) + Wide::from_f64(rest * f64::EPSILON);
        let one = Wide::from_f64(1.0);
        let error = |found: Wide| (found - one).to_f64(0).abs();
        let (root, inverse) = (x.square_root(), x.step_root());
        let most = (-100f64).exp2();
        for (what, found) in [
            ("root", root * root * x.step_quotient(one)),
            ("inverse root", inverse * inverse * x),
            ("step quotient", x.step_quotient(h) * x * h.step_quotient(one)),
            ("quotient", h.quotient(x) * x.quotient(h)),
            ("quotient times divisor", h.quotient(x) * x * h.step_quotient(one)),
        ] {
            prop_assert!(error(found) < most, "{what} of {x:?}: 2^{}", error(found).log2());
        }
        // Quotients and roots of `f64` are correctly rounded, and so are their upper halves up to a unit in the last place.
        prop_assert!((root.to_f64(0) / x.to_f64(0).sqrt() - 1.0).abs() <= f64::EPSILON);
    }

    #[test]
    fn double_double_has_99_bits(r2 in -200.0..200.0f64, rest in -0.49..0.49f64) {
        let r2 = r2.exp2();
        let x = Wide::from_f64(r2) + Wide::from_f64(rest * (r2.next_up() - r2));
        let w = x.inv_cube();
        let one = w * w * (x * x * x);
        let error = (one - Wide::from_f64(1.0)).to_f64(0).abs();
        prop_assert!(error < (-99f64).exp2(), "{r2}: 2^{}", error.log2());
    }

    #[test]
    fn fixed_point_rounds_to_the_nearest(a in -700.0..700.0f64, b in -700.0..700.0f64, c in -5e5..5e5f64) {
        let step = (-32f64).exp2();
        let (x, y, z) = (Fixed::from_f64(a), Fixed::from_f64(b), Fixed::from_f64(c));
        prop_assert!((x.to_f64(0) - a).abs() <= step / 2.0);
        let (a, b, c) = (x.to_f64(0), y.to_f64(0), z.to_f64(0));
        prop_assert_eq!((x + y).to_f64(0), a + b);
        prop_assert!(((x * y).to_f64(0) - a * b).abs() <= step);
        prop_assert!((x.mul_add(y, z).to_f64(0) - a.mul_add(b, c)).abs() <= step);
    }
}

/// The exact value as f64, from the bits of the two parts.
fn value(x: Pair) -> f64 {
    x.to_f64(0)
}

#[test]
fn fixed_point_saturates() {
    let large = Fixed::from_f64(2e9);
    let most = Fixed::from_f64(f64::INFINITY);
    assert_eq!(large + large, most);
    assert_eq!(large * large, most);
    assert_eq!(large.mul_add(large, large), most);
    assert_eq!(-large - large, Fixed::from_f64(f64::NEG_INFINITY));
    assert_eq!(-Fixed::from_f64(f64::NEG_INFINITY), most);
    assert_eq!(Fixed::from_f64(f64::NAN), Fixed::from_f64(0.0));
    assert_eq!(Fixed::from_f64(0.0).inv_cube(), most);
}

#[test]
fn ties_round_away_from_zero() {
    let step = (-32f64).exp2();
    assert_eq!(Fixed::from_f64(0.5 * step).to_f64(0), step);
    assert_eq!(Fixed::from_f64(-0.5 * step).to_f64(0), -step);
    assert_eq!(Fixed::from_f64(0.49 * step).to_f64(0), 0.0);
}

#[test]
fn every_number_has_an_inverse_cube_that_is_zero_at_zero() {
    fn zero_at_zero<R: Real>(name: &str) {
        let of = |x: f64| R::from_f64(x).inv_cube_or_zero().to_f64(0);
        assert_eq!(of(0.0), 0.0, "{name}");
        assert_eq!(of(0.25), R::from_f64(0.25).inv_cube().to_f64(0), "{name}");
        let [a, b, c] = R::inv_cubes_or_zero([0.0, 1.0, 0.0].map(R::from_f64));
        assert_eq!(
            [a, b, c].map(|x| x.to_f64(0)),
            [0.0, of(1.0), 0.0],
            "{name}"
        );
    }
    zero_at_zero::<f64>("f64");
    zero_at_zero::<f32>("f32");
    zero_at_zero::<FastF32>("fast f32");
    zero_at_zero::<Fast>("fast");
    zero_at_zero::<Mixed<f64>>("mixed");
    zero_at_zero::<Fixed>("fixed");
    zero_at_zero::<Pair>("float-float");
}

#[test]
fn a_collision_gives_nan_which_does_not_count_as_together() {
    for r2 in [0.0, f64::INFINITY, f64::NAN] {
        let zero = |w: f64| !(w * 0.0).at_most(1.0);
        assert!(
            r2 == f64::INFINITY || zero(f64::from((r2 as f32).inv_cube())),
            "f32 {r2}"
        );
        assert!(
            zero(value(Pair::from_f64(r2).inv_cube())),
            "float-float {r2}"
        );
    }
    assert!(!f32::NAN.at_most(1.0) && !Pair::from_f64(f64::NAN).at_most(Pair::from_f64(1.0)));
    assert_eq!(Fast(4.0).inv_cube(), Fast(0.125));
    assert_eq!(Mixed(0.0).inv_cube(), Mixed(f64::INFINITY));
}

#[test]
fn infinite_and_missing_double_doubles_compare_like_f64() {
    let numbers = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
    for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
        assert_eq!(
            Wide::from_f64(a).at_most(Wide::from_f64(b)),
            a <= b,
            "{a} {b}"
        );
        assert_eq!(
            Pair::from_f64(a).at_most(Pair::from_f64(b)),
            a <= b,
            "{a} {b}"
        );
    }
}
