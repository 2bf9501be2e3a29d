//! Functions that `std` does not have: the error function and its relatives, gamma and Bessel functions, and functions of
//! multiples of π.

use crate::float::GpuFloat;

/// Further functions of `f32` and `f64`, with the same bits on a GPU and on the CPU. The `f32` functions compute in `f64` where
/// `libm` has no `f32` version.
pub trait FloatExt: Sized + private::Sealed {
    /// cos(π · self), exact for multiples of ½.
    #[must_use]
    fn cospi(self) -> Self;
    /// The error function, 2/√π ∫₀ˣ e^(-t²) dt.
    #[must_use]
    fn error_function(self) -> Self;
    /// 1 minus the error function.
    #[must_use]
    fn complementary_error_function(self) -> Self;
    /// The x whose complementary error function is `self`, which must be in [0, 2]; the relative error is below 1e-13.
    #[must_use]
    fn inv_complementary_error_function(self) -> Self;
    /// e^(x²) times the complementary error function.
    #[must_use]
    fn scaled_complementary_error_function(self) -> Self;
    /// Splits `self` into a fraction with magnitude in [0.5, 1) (or 0) and an exponent of 2.
    #[must_use]
    fn frexp(self) -> (Self, i32);
    /// The exponent of 2 of the leading bit.
    #[must_use]
    fn unbiased_exp(self) -> i32;
    /// The Bessel function J₀.
    #[must_use]
    fn j0(self) -> Self;
    /// The Bessel function J₁.
    #[must_use]
    fn j1(self) -> Self;
    /// The Bessel function Jₙ of order n.
    #[must_use]
    fn jn(self, order: i32) -> Self;
    /// self · 2^exp.
    #[must_use]
    fn ldexp(self, exp: i32) -> Self;
    /// The natural logarithm of the magnitude of the gamma function.
    #[must_use]
    fn log_gamma(self) -> Self;
    /// The natural logarithm of 1 + self.
    #[must_use]
    fn log1p(self) -> Self;
    /// The cumulative distribution function of the standard normal distribution.
    #[must_use]
    fn norm_cdf(self) -> Self;
    /// The x at which [`norm_cdf`](Self::norm_cdf) is `self`, which must be in (0, 1); the relative error is below 1e-13.
    #[must_use]
    fn inv_norm_cdf(self) -> Self;
    /// The reciprocal of the cube root.
    #[must_use]
    fn rcbrt(self) -> Self;
    /// The number clamped to [0, 1]; 0 for NaN.
    #[must_use]
    fn saturate(self) -> Self;
    /// self · 2^exp.
    #[must_use]
    fn scale_by_n(self, exp: i32) -> Self;
    /// The sine and the cosine of π · self.
    #[must_use]
    fn sincospi(self) -> (Self, Self);
    /// sin(π · self), exact for multiples of ½.
    #[must_use]
    fn sinpi(self) -> Self;
    /// The gamma function.
    #[must_use]
    fn gamma(self) -> Self;
    /// The Bessel function Y₀.
    #[must_use]
    fn y0(self) -> Self;
    /// The Bessel function Y₁.
    #[must_use]
    fn y1(self) -> Self;
    /// The Bessel function Yₙ of order n.
    #[must_use]
    fn yn(self, order: i32) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! float_ext {
    (
        $ty:ident, |$x:ident| $to:expr, |$y:ident| $from:expr,
        $erf:ident, $erfc:ident, $frexp:ident, $ilogb:ident, $j0:ident, $j1:ident, $jn:ident, $ldexp:ident, $lgamma:ident,
        $tgamma:ident, $y0:ident, $y1:ident, $yn:ident
    ) => {
        impl FloatExt for $ty {
            fn cospi(self) -> Self {
                self.sincospi().1
            }
            fn error_function(self) -> Self {
                libm::$erf(self)
            }
            fn complementary_error_function(self) -> Self {
                libm::$erfc(self)
            }
            fn inv_complementary_error_function(self) -> Self {
                let $x = self;
                let $y = inv_complementary_error_function($to);
                $from
            }
            fn scaled_complementary_error_function(self) -> Self {
                let $x = self;
                let $y = erfcx($to);
                $from
            }
            fn frexp(self) -> (Self, i32) {
                libm::$frexp(self)
            }
            fn unbiased_exp(self) -> i32 {
                libm::$ilogb(self)
            }
            fn j0(self) -> Self {
                libm::$j0(self)
            }
            fn j1(self) -> Self {
                libm::$j1(self)
            }
            fn jn(self, order: i32) -> Self {
                libm::$jn(order, self)
            }
            fn ldexp(self, exp: i32) -> Self {
                libm::$ldexp(self, exp)
            }
            fn log_gamma(self) -> Self {
                libm::$lgamma(self)
            }
            fn log1p(self) -> Self {
                GpuFloat::ln_1p(self)
            }
            fn norm_cdf(self) -> Self {
                let $x = self;
                let $y = norm_cdf($to);
                $from
            }
            fn inv_norm_cdf(self) -> Self {
                let $x = self;
                let $y = inv_norm_cdf($to);
                $from
            }
            fn rcbrt(self) -> Self {
                1.0 / GpuFloat::cbrt(self)
            }
            fn saturate(self) -> Self {
                if self > 1.0 {
                    1.0
                } else if self > 0.0 {
                    self
                } else {
                    0.0
                }
            }
            fn scale_by_n(self, exp: i32) -> Self {
                libm::$ldexp(self, exp)
            }
            fn sincospi(self) -> (Self, Self) {
                let $x = self;
                let (sin, cos) = sincospi($to);
                let rounded = |$y: f64| -> $ty { $from };
                (rounded(sin), rounded(cos))
            }
            fn sinpi(self) -> Self {
                self.sincospi().0
            }
            fn gamma(self) -> Self {
                libm::$tgamma(self)
            }
            fn y0(self) -> Self {
                libm::$y0(self)
            }
            fn y1(self) -> Self {
                libm::$y1(self)
            }
            fn yn(self, order: i32) -> Self {
                libm::$yn(order, self)
            }
        }
    };
}

float_ext!(
    f32,
    |x| f64::from(x),
    |y| y as f32,
    erff,
    erfcf,
    frexpf,
    ilogbf,
    j0f,
    j1f,
    jnf,
    ldexpf,
    lgammaf,
    tgammaf,
    y0f,
    y1f,
    ynf
);
float_ext!(
    f64,
    |x| x,
    |y| y,
    erf,
    erfc,
    frexp,
    ilogb,
    j0,
    j1,
    jn,
    ldexp,
    lgamma,
    tgamma,
    y0,
    y1,
    yn
);

/// sin(πx) and cos(πx): the argument is reduced exactly to [-¼, ¼] plus quarter turns.
fn sincospi(x: f64) -> (f64, f64) {
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    let turns = libm::fmod(x, 2.0);
    let quarters = GpuFloat::round(2.0 * turns);
    let (sin, cos) = GpuFloat::sin_cos(core::f64::consts::PI * (turns - 0.5 * quarters));
    let (sin, cos) = match quarters as i32 & 3 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    };
    // A result of -0.0 occurs only for the argument -0.0.
    (
        if sin == 0.0 {
            GpuFloat::copysign(0.0, x)
        } else {
            sin
        },
        cos + 0.0,
    )
}

/// e^(x²) erfc(x).
fn erfcx(x: f64) -> f64 {
    /// From here on, erfc approaches underflow, and a few terms of the asymptotic series suffice.
    const ASYMPTOTIC_FROM: f64 = 25.0;
    if x < ASYMPTOTIC_FROM {
        // Without this correction, the rounding error of the square would be multiplied by e^(x²).
        let square = x * x;
        let rounding = GpuFloat::mul_add(x, x, -square);
        let power = GpuFloat::exp(square);
        return if power.is_finite() {
            power * (1.0 + rounding) * libm::erfc(x)
        } else {
            2.0 * power
        };
    }
    // Abramowitz & Stegun 7.1.23: 1/(x√π) Σ (-1)^k (2k-1)!! / (2x²)^k
    let step = 0.5 / (x * x);
    let (mut sum, mut term) = (1.0, 1.0);
    for k in 1..8 {
        term *= -step * f64::from(2 * k - 1);
        sum += term;
    }
    sum / (x * 1.772_453_850_905_516)
}

/// ½ erfc(-x/√2).
fn norm_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// The inverse of the error function, NaN outside of [-1, 1].
pub(crate) fn inv_error_function(y: f64) -> f64 {
    let magnitude = GpuFloat::abs(y);
    if magnitude > 0.5 {
        // The difference is exact.
        let tail = inv_norm_cdf_of_tail(0.5 * (1.0 - magnitude));
        return GpuFloat::copysign(tail * core::f64::consts::FRAC_1_SQRT_2, y);
    }
    inv_error_function_near_0(y)
}

/// The inverse of the complementary error function, NaN outside of [0, 2].
fn inv_complementary_error_function(y: f64) -> f64 {
    if (0.5..=1.5).contains(&y) {
        // The difference is exact.
        return inv_error_function_near_0(1.0 - y);
    }
    -inv_norm_cdf_of_tail(0.5 * y) * core::f64::consts::FRAC_1_SQRT_2
}

/// The inverse of [`norm_cdf`], NaN outside of [0, 1].
fn inv_norm_cdf(p: f64) -> f64 {
    if (0.25..=0.75).contains(&p) {
        // The difference is exact.
        return core::f64::consts::SQRT_2 * inv_error_function_near_0(2.0 * p - 1.0);
    }
    inv_norm_cdf_of_tail(p)
}

/// The inverse of the error function in [-½, ½], by Halley's iteration.
fn inv_error_function_near_0(y: f64) -> f64 {
    /// √π / 2
    const HALF_ROOT_PI: f64 = 0.886_226_925_452_758;
    if GpuFloat::abs(y) < 1e-8 {
        // The first term of the series.
        return y * HALF_ROOT_PI;
    }
    // Winitzki's approximation (2008), whose relative error is below 0.002: √(b² - log/a) - b without cancellation.
    let (a, log) = (0.147, libm::log1p(-y * y));
    let b = 2.0 / (core::f64::consts::PI * a) + 0.5 * log;
    let square = -log / a / (GpuFloat::sqrt(b * b - log / a) + b);
    let mut x = GpuFloat::copysign(GpuFloat::sqrt(square), y);
    for _ in 0..2 {
        // f = erf(x) - y, f' = 2/√π e^(-x²), f'' = -2 x f'
        let step = (libm::erf(x) - y) * HALF_ROOT_PI * GpuFloat::exp(x * x);
        x -= step / (1.0 + x * step);
    }
    x
}

/// The inverse of [`norm_cdf`] outside of [¼, ¾], by Halley's iteration from an approximation for the smaller tail.
fn inv_norm_cdf_of_tail(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if (0.25..=0.75).contains(&p) {
        // 2p - 1 is exact.
        return core::f64::consts::SQRT_2 * inv_error_function(2.0 * p - 1.0);
    }
    let tail = if p < 0.5 { p } else { 1.0 - p };
    if tail == 0.0 {
        return if p < 0.5 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    // Abramowitz & Stegun 26.2.23, error below 4.5e-4.
    let t = GpuFloat::sqrt(-2.0 * GpuFloat::ln(tail));
    let mut x = (2.515517 + t * (0.802853 + t * 0.010328))
        / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
        - t;
    for _ in 0..3 {
        // (Φ(x) - tail)/φ(x) without underflow: Φ(x)/φ(x) = √(π/2) erfcx(-x/√2), and φ(x) is computed from its logarithm.
        let ratio = 1.253_314_137_315_500_3 * erfcx(-x * core::f64::consts::FRAC_1_SQRT_2);
        let density = -0.5 * x * x - 0.918_938_533_204_672_8;
        let error = ratio - GpuFloat::exp(GpuFloat::ln(tail) - density);
        x -= error / (1.0 + 0.5 * x * error);
    }
    if p < 0.5 { x } else { -x }
}
