//! The float functions keep their accuracy, measured against `std`, against each other, and against tabulated values.

use cuda_std::{FloatExt, GpuFloat, approx};
use proptest::prelude::*;

/// Distance in units of the last place; 0 for two NaNs.
fn ulps(a: f64, b: f64) -> u64 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    let key = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 {
            i64::MIN.wrapping_sub(bits)
        } else {
            bits
        }
    };
    key(a).abs_diff(key(b))
}

fn ulps_f32(a: f32, b: f32) -> u64 {
    if a.is_nan() && b.is_nan() {
        return 0;
    }
    let key = |x: f32| {
        let bits = x.to_bits() as i32;
        if bits < 0 {
            i32::MIN.wrapping_sub(bits)
        } else {
            bits
        }
    };
    u64::from(key(a).abs_diff(key(b)))
}

macro_rules! against_std {
    ($($test:ident, $range:expr, $($name:ident)*;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(2000))]
            $(
                #[test]
                fn $test(x in $range) {
                    $(
                        let (ours, std) = (GpuFloat::$name(x), f64::$name(x));
                        prop_assert!(ulps(ours, std) <= 2, "{}({x}) = {ours}, std {std}", stringify!($name));
                        // The f32 functions are compared with the rounded f64 result.
                        let y = x as f32;
                        let (ours, std) = (GpuFloat::$name(y), f64::$name(f64::from(y)) as f32);
                        prop_assert!(ulps_f32(ours, std) <= 2, "{}({y}f32) = {ours}, std {std}", stringify!($name));
                    )*
                }
            )*
        }
    };
}

against_std! {
    functions_of_all_numbers_are_within_2_ulp, -1e6..1e6f64, sin cos tan atan cbrt asinh tanh floor ceil round round_ties_even trunc fract abs signum;
    functions_of_moderate_numbers_are_within_2_ulp, -30.0..30.0f64, exp exp2 exp_m1 sinh cosh;
    functions_of_positive_numbers_are_within_2_ulp, 1e-30..1e30f64, ln log2 log10 sqrt ln_1p;
    functions_of_the_unit_interval_are_within_2_ulp, -1.0..1.0f64, asin acos;
    functions_from_1_on_are_within_2_ulp, 1.0..1e6f64, acosh;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn functions_of_two_numbers_are_within_2_ulp(x in 1e-3..1e3f64, y in -20.0..20.0f64, c in -1e3..1e3f64) {
        prop_assert!(ulps(GpuFloat::powf(x, y), f64::powf(x, y)) <= 2);
        prop_assert!(ulps(GpuFloat::hypot(x, y), f64::hypot(x, y)) <= 2);
        prop_assert!(ulps(GpuFloat::atan2(y, c), f64::atan2(y, c)) <= 2);
        prop_assert_eq!(GpuFloat::mul_add(x, y, c), f64::mul_add(x, y, c));
        prop_assert_eq!(GpuFloat::copysign(x, y), f64::copysign(x, y));
        prop_assert_eq!(GpuFloat::rem_euclid(c, y), f64::rem_euclid(c, y));
        prop_assert_eq!(GpuFloat::div_euclid(c, y), f64::div_euclid(c, y));
        prop_assert!(ulps(GpuFloat::log(x, 7.0), f64::log(x, 7.0)) <= 8);
        let (sin, cos) = GpuFloat::sin_cos(c);
        prop_assert_eq!((sin, cos), (GpuFloat::sin(c), GpuFloat::cos(c)));
    }

    #[test]
    fn integer_powers_lose_at_most_an_ulp_per_product(x in 0.5..2.0f64, n in -40..40i32) {
        prop_assert!(ulps(GpuFloat::powi(x, n), f64::powf(x, n.into())) <= 64);
    }

    #[test]
    fn the_inverse_hyperbolic_tangent_is_odd_and_near_std(x in 0.0..0.999f64) {
        // For negative arguments, cancellation makes std's formula inaccurate.
        prop_assert!(ulps(GpuFloat::atanh(x), f64::atanh(x)) <= 4);
        prop_assert_eq!(GpuFloat::atanh(-x), -GpuFloat::atanh(x));
    }

    #[test]
    fn multiples_of_pi(x in -100.0..100.0f64) {
        let (sin, cos) = x.sincospi();
        // The reference loses the digits that rounding π·x drops.
        prop_assert!((sin - f64::sin(std::f64::consts::PI * x)).abs() < 1e-13);
        prop_assert!((cos - f64::cos(std::f64::consts::PI * x)).abs() < 1e-13);
        prop_assert!((sin * sin + cos * cos - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_normal_distribution_and_its_inverse(p in prop_oneof![1e-300..1e-3f64, 0.001..0.499f64, 0.501..0.999f64]) {
        let x = p.inv_norm_cdf();
        // The condition number of Φ, by which a relative error of x is amplified in p: at most about d ln Φ / d ln x.
        let condition = 1.0 + x * x;
        prop_assert!((x.norm_cdf() / p - 1.0).abs() < 2e-13 * condition, "{p} {x} {}", x.norm_cdf());
        let y = p.inv_complementary_error_function();
        prop_assert!((y.complementary_error_function() / p - 1.0).abs() < 4e-13 * condition);
    }

    #[test]
    fn the_scaled_error_function_is_smooth_where_its_formulas_meet(x in 20.0..30.0f64) {
        // x erfcx(x) √π = 1 - 1/(2x²) + … increases monotonically.
        let product = |x: f64| x * x.scaled_complementary_error_function() * 1.772_453_850_905_516;
        let series = |x: f64| 1.0 - 0.5 / (x * x) + 0.75 / x.powi(4) - 1.875 / x.powi(6);
        prop_assert!((product(x) - series(x)).abs() < 5e-10);
        prop_assert!(ulps(x.scaled_complementary_error_function(), (x + 1e-14).scaled_complementary_error_function()) < 40);
    }

    #[test]
    fn approximate_functions_are_near_the_exact_ones(x in 1e-30f32..1e30) {
        let wide = f64::from(x);
        prop_assert!(ulps_f32(approx::rsqrt_f32(x), (1.0 / wide.sqrt()) as f32) <= 1);
        prop_assert!(ulps_f32(approx::rcp_f32(x), 1.0 / x) <= 1);
        prop_assert!(ulps_f32(approx::sqrt_f32(x), x.sqrt()) <= 1);
        prop_assert!(ulps(approx::rcp_f64(wide), 1.0 / wide) == 0);
        let y = approx::rsqrt_f64(wide);
        // |1 - x y²|, computed with twice the precision.
        let z = wide * y;
        let residual = f64::mul_add(-z, y, 1.0) - f64::mul_add(wide, y, -z) * y;
        prop_assert!(residual.abs() <= 2.3e-16, "{wide} {y} {residual}");
    }
}

#[test]
fn special_values() {
    assert!(GpuFloat::signum(f64::NAN).is_nan());
    assert_eq!(GpuFloat::signum(-0.0f32), -1.0);
    assert_eq!(GpuFloat::abs(-0.0f64).to_bits(), 0);
    assert_eq!(GpuFloat::round(-2.5f32), -3.0);
    assert!(GpuFloat::sqrt(-1.0f64).is_nan());
    assert_eq!(GpuFloat::powi(2.0f64, i32::MIN), 0.0);
    assert_eq!(f64::NAN.saturate(), 0.0);
    assert_eq!(
        [-1.0f32, 0.25, 7.0].map(FloatExt::saturate),
        [0.0, 0.25, 1.0]
    );
    assert_eq!(
        [0.0, 0.5, 1.0, 1.5, -0.5, 1e15].map(f64::sinpi),
        [0.0, 1.0, 0.0, -1.0, -1.0, 0.0]
    );
    assert_eq!(
        [0.0, 0.5, 1.0, 1.5, -0.5, 1e15].map(f64::cospi),
        [1.0, 0.0, -1.0, 0.0, 0.0, 1.0]
    );
    assert_eq!(
        (
            0.0f64.inv_norm_cdf(),
            1.0f64.inv_norm_cdf(),
            0.5f64.inv_norm_cdf()
        ),
        (f64::NEG_INFINITY, f64::INFINITY, 0.0)
    );
    assert!(f64::inv_norm_cdf(-0.1).is_nan());
    assert_eq!(approx::sqrt_f32(1e-40), 0.0);
    assert_eq!(approx::rcp_f32(-1e-40), f32::NEG_INFINITY);
}

#[test]
fn functions_beyond_std_have_their_tabulated_values() {
    // To 16 digits, from the definitions of Abramowitz & Stegun evaluated with 50 digits.
    let near = |value: f64, expected: f64| {
        assert!(ulps(value, expected) <= 8, "{value:e} is not {expected:e}");
    };
    near(0.5f64.error_function(), 0.520_499_877_813_046_5);
    near(
        2.0f64.complementary_error_function(),
        0.004_677_734_981_047_266,
    );
    near(
        1.0f64.scaled_complementary_error_function(),
        0.427_583_576_155_807,
    );
    near(FloatExt::gamma(3.0f64), 2.0);
    near(FloatExt::gamma(0.5f64), 1.772_453_850_905_516);
    near(10.0f64.log_gamma(), 12.801_827_480_081_469);
    near(1.0f64.j0(), 0.765_197_686_557_966_6);
    near(1.0f64.j1(), 0.440_050_585_744_933_5);
    near(1.0f64.jn(2), 0.114_903_484_931_900_48);
    near(1.0f64.y0(), 0.088_256_964_215_676_96);
    near(1.0f64.y1(), -0.781_212_821_300_288_7);
    near(8.0f64.rcbrt(), 0.5);
    near(0.025f64.inv_norm_cdf(), -1.959_963_984_540_054);
    near(1.0f64.norm_cdf(), 0.841_344_746_068_542_9);
    assert_eq!(6.0f64.frexp(), (0.75, 3));
    assert_eq!(
        (
            6.0f64.unbiased_exp(),
            0.75f64.ldexp(3),
            0.75f64.scale_by_n(-1)
        ),
        (2, 6.0, 0.375)
    );
    assert!((1.0f32.scaled_complementary_error_function() - 0.427_583_58).abs() < 3e-8);
}
