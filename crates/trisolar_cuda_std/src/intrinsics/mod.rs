//! The functions of NVIDIA's libdevice (`__nv_sin`, `__nv_fadd_rd`, …) by the names of rust-cuda's module: without the prefix.
//!
//! libdevice itself is not used. Signatures are rust-cuda's, which has `i32` and `i64` for unsigned integers, too. Functions that
//! take a pointer are `unsafe`; the others are safe, so that calls in an `unsafe` block compile as well.
//!
//! - **Exact**: integers, reinterpretations, conversions, roundings, `sqrt`, `fma`, `fmod`, `remainder`, and the functions with a
//!   suffix for the direction of rounding: `rn` to the nearest number (halves to the even one), `rd` down, `ru` up, `rz` towards
//!   zero. Contraction never merges these with other operations.
//! - **Accurate**: transcendental functions, over the crate `libm`. They have the same bits on a GPU and in the emulator, which
//!   differ from libdevice's. `f32` is within 2 ULP (`tgammaf` 4), `f64` within 2 ULP, except for: `exp10`, `lgamma` 4; `erfinv`,
//!   `erfcinv`, `normcdfinv`, `tgamma` 8; `normcdf` and `erfcx` 2 (1 + x²); Bessel functions and `lgamma` near their zeros, where
//!   the absolute error is below 2e-15 (1e-6 for `f32`).
//! - **Fast**: the functions `fast_*` are the GPU's instructions of [`approx`], whose bits differ between a GPU and the emulator.
//!
//! A conversion of a number to an integer gives the nearest value of the type where the number is outside of it, and 0 for NaN, as
//! Rust's `as` does. (libdevice leaves this undefined.)

mod rounding;

pub use rounding::*;

use crate::float::GpuFloat;
use crate::float_ext::{self, FloatExt};
use crate::{approx, f16};

/// Declares functions by their bodies.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) -> $result:ty = $body:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name($($arg: $ty),*) -> $result {
            $body
        }
    )*};
}

/// Declares a function of `f64` and one of `f32` that have the same body.
macro_rules! pairs {
    ($($(#[$doc:meta])* $wide:ident $single:ident($($arg:ident),*) = $body:expr;)*) => {$(
        functions! {
            $(#[$doc])* $wide($($arg: f64),*) -> f64 = $body;
            $(#[$doc])* $single($($arg: f32),*) -> f32 = $body;
        }
    )*};
}

/// Declares functions that are those of the same name in `libm`.
macro_rules! of_libm {
    ($($(#[$doc:meta])* $wide:ident $single:ident($($arg:ident),*);)*) => {$(
        functions! {
            $(#[$doc])* $wide($($arg: f64),*) -> f64 = libm::$wide($($arg),*);
            $(#[$doc])* $single($($arg: f32),*) -> f32 = libm::$single($($arg),*);
        }
    )*};
}

of_libm! {
    /// The arc cosine in [0, π], NaN outside of [-1, 1].
    acos acosf(x);
    /// The inverse hyperbolic cosine, NaN below 1.
    acosh acoshf(x);
    /// The arc sine in [-π/2, π/2], NaN outside of [-1, 1].
    asin asinf(x);
    /// The inverse hyperbolic sine.
    asinh asinhf(x);
    /// The arc tangent in [-π/2, π/2].
    atan atanf(x);
    /// The angle of the vector (`y`, `x`) in [-π, π]. The first argument is the ordinate.
    atan2 atan2f(x, y);
    /// The inverse hyperbolic tangent, NaN outside of [-1, 1].
    atanh atanhf(x);
    /// The cube root.
    cbrt cbrtf(x);
    /// The cosine of an angle in radians.
    cos cosf(x);
    /// The hyperbolic cosine.
    cosh coshf(x);
    /// The error function.
    erf erff(x);
    /// 1 minus the error function.
    erfc erfcf(x);
    /// e to the power `x`.
    exp expf(x);
    /// 10 to the power `x`.
    exp10 exp10f(x);
    /// 2 to the power `x`.
    exp2 exp2f(x);
    /// e to the power `x`, minus 1, accurate near 0.
    expm1 expm1f(x);
    /// The positive difference: `x - y` if it is positive, otherwise 0.
    fdim fdimf(x, y);
    /// The remainder of `x / y` with the sign of `x`.
    fmod fmodf(x, y);
    /// √(x² + y²) without intermediate overflow.
    hypot hypotf(x, y);
    /// The Bessel function J₀.
    j0 j0f(x);
    /// The Bessel function J₁.
    j1 j1f(x);
    /// The natural logarithm of the magnitude of the gamma function.
    lgamma lgammaf(x);
    /// The natural logarithm.
    log logf(x);
    /// The logarithm to base 10.
    log10 log10f(x);
    /// The natural logarithm of 1 + `x`, accurate near 0.
    log1p log1pf(x);
    /// The logarithm to base 2.
    log2 log2f(x);
    /// The next number after `x` in the direction of `y`.
    nextafter nextafterf(x, y);
    /// `x` to the power `y`.
    pow powf(x, y);
    /// `x - n y` for the integer n nearest to `x / y`, the even one of two.
    remainder remainderf(x, y);
    /// The sine of an angle in radians.
    sin sinf(x);
    /// The hyperbolic sine.
    sinh sinhf(x);
    /// The tangent of an angle in radians.
    tan tanf(x);
    /// The hyperbolic tangent.
    tanh tanhf(x);
    /// The gamma function.
    tgamma tgammaf(x);
    /// The Bessel function Y₀.
    y0 y0f(x);
    /// The Bessel function Y₁.
    y1 y1f(x);
}

pairs! {
    /// The smallest integer not below `x`.
    ceil ceilf(x) = GpuFloat::ceil(x);
    /// The magnitude of `x` with the sign of `y`.
    copysign copysignf(x, y) = GpuFloat::copysign(x, y);
    /// cos(π x), exact for multiples of ½.
    cospi cospif(x) = FloatExt::cospi(x);
    /// The x whose complementary error function is the argument, which is in [0, 2].
    erfcinv erfcinvf(x) = FloatExt::inv_complementary_error_function(x);
    /// e^(x²) times the complementary error function.
    erfcx erfcxf(x) = FloatExt::scaled_complementary_error_function(x);
    /// The magnitude.
    fabs fabsf(f) = GpuFloat::abs(f);
    /// The largest integer not above `f`.
    floor floorf(f) = GpuFloat::floor(f);
    /// `x y + z`, rounded once.
    fma fmaf(x, y, z) = GpuFloat::mul_add(x, y, z);
    /// The larger number. A NaN counts as missing, and +0 is larger than -0.
    fmax fmaxf(x, y) = if x.is_nan() || y > x || (y == x && x.is_sign_negative()) { y } else { x };
    /// The smaller number. A NaN counts as missing, and -0 is smaller than +0.
    fmin fminf(x, y) = if x.is_nan() || y < x || (y == x && y.is_sign_negative()) { y } else { x };
    /// The nearest integer, halves to the even one.
    nearbyint nearbyintf(x) = GpuFloat::round_ties_even(x);
    /// The cumulative distribution function of the standard normal distribution.
    normcdf normcdff(x) = FloatExt::norm_cdf(x);
    /// The x at which `normcdf` is the argument, NaN outside of [0, 1].
    normcdfinv normcdfinvf(x) = FloatExt::inv_norm_cdf(x);
    /// The reciprocal of the cube root.
    rcbrt rcbrtf(x) = FloatExt::rcbrt(x);
    /// The nearest integer, halves to the even one.
    rint rintf(x) = GpuFloat::round_ties_even(x);
    /// The nearest integer, halves away from 0.
    round roundf(x) = GpuFloat::round(x);
    /// 1/√x, NaN below 0.
    rsqrt rsqrtf(x) = 1.0 / GpuFloat::sqrt(x);
    /// sin(π x), exact for multiples of ½.
    sinpi sinpif(x) = FloatExt::sinpi(x);
    /// The square root, correctly rounded.
    sqrt sqrtf(x) = GpuFloat::sqrt(x);
    /// The integer part.
    trunc truncf(x) = GpuFloat::trunc(x);
}

functions! {
    /// The x whose error function is the argument, NaN outside of [-1, 1].
    erfinv(x: f64) -> f64 = float_ext::inv_error_function(x);
    /// The x whose error function is the argument, NaN outside of [-1, 1].
    erfinvf(x: f32) -> f32 = float_ext::inv_error_function(f64::from(x)) as f32;
    /// The Bessel function Jₙ, NaN for n < 0.
    jn(n: i32, x: f64) -> f64 = if n < 0 { f64::NAN } else { libm::jn(n, x) };
    /// The Bessel function Jₙ, NaN for n < 0.
    jnf(n: i32, x: f32) -> f32 = if n < 0 { f32::NAN } else { libm::jnf(n, x) };
    /// The Bessel function Yₙ, NaN for n < 0.
    yn(n: i32, x: f64) -> f64 = if n < 0 { f64::NAN } else { libm::yn(n, x) };
    /// The Bessel function Yₙ, NaN for n < 0.
    ynf(n: i32, x: f32) -> f32 = if n < 0 { f32::NAN } else { libm::ynf(n, x) };
    /// `x` 2^`y`, rounded once.
    ldexp(x: f64, y: i32) -> f64 = libm::ldexp(x, y);
    /// `x` 2^`y`, rounded once.
    ldexpf(x: f32, y: i32) -> f32 = libm::ldexpf(x, y);
    /// `x` 2^`y`, rounded once.
    scalbn(x: f64, y: i32) -> f64 = libm::scalbn(x, y);
    /// `x` 2^`y`, rounded once.
    scalbnf(x: f32, y: i32) -> f32 = libm::scalbnf(x, y);
    /// `x` to the power `y`.
    powi(x: f64, y: i32) -> f64 = libm::pow(x, f64::from(y));
    /// `x` to the power `y`.
    powif(x: f32, y: i32) -> f32 = libm::pow(f64::from(x), f64::from(y)) as f32;
    /// The exponent of 2 of the leading bit: `i32::MIN` for 0 and NaN, `i32::MAX` for infinities.
    ilogb(x: f64) -> i32 = libm::ilogb(x);
    /// The exponent of 2 of the leading bit: `i32::MIN` for 0 and NaN, `i32::MAX` for infinities.
    ilogbf(x: f32) -> i32 = libm::ilogbf(x);
    /// The exponent of 2 of the leading bit as a number: -∞ for 0, +∞ for infinities.
    logb(x: f64) -> f64 = if x == 0.0 { f64::NEG_INFINITY } else if x.is_finite() { f64::from(libm::ilogb(x)) } else { x * x };
    /// The exponent of 2 of the leading bit as a number: -∞ for 0, +∞ for infinities.
    logbf(x: f32) -> f32 = if x == 0.0 { f32::NEG_INFINITY } else if x.is_finite() { libm::ilogbf(x) as f32 } else { x * x };
    /// The number clamped to [0, 1]; 0 for NaN.
    saturatef(x: f32) -> f32 = FloatExt::saturate(x);
    /// 1/√x, correctly rounded.
    frsqrt_rn(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;

    /// 1 if the number is finite, otherwise 0.
    isfinited(x: f64) -> i32 = x.is_finite().into();
    /// 1 if the number is finite, otherwise 0.
    finitef(x: f32) -> i32 = x.is_finite().into();
    /// 1 for an infinity, otherwise 0.
    isinfd(x: f64) -> i32 = x.is_infinite().into();
    /// 1 for an infinity, otherwise 0.
    isinff(x: f32) -> i32 = x.is_infinite().into();
    /// 1 for a NaN, otherwise 0.
    isnand(x: f64) -> i32 = x.is_nan().into();
    /// 1 for a NaN, otherwise 0.
    isnanf(x: f32) -> i32 = x.is_nan().into();
    /// The sign bit, also of zeros and NaNs.
    signbitd(x: f64) -> i32 = x.is_sign_negative().into();
    /// The sign bit, also of zeros and NaNs.
    signbitf(x: f32) -> i32 = x.is_sign_negative().into();

    /// The fast cosine; see [`approx::cos_f32`].
    fast_cosf(x: f32) -> f32 = approx::cos_f32(x);
    /// The fast sine; see [`approx::sin_f32`].
    fast_sinf(x: f32) -> f32 = approx::sin_f32(x);
    /// The fast sine divided by the fast cosine.
    fast_tanf(x: f32) -> f32 = approx::div_f32(approx::sin_f32(x), approx::cos_f32(x));
    /// The fast power of e: [`approx::exp2_f32`] of the product with log₂ e.
    fast_expf(x: f32) -> f32 = approx::exp2_f32(x * core::f32::consts::LOG2_E);
    /// The fast power of 10: [`approx::exp2_f32`] of the product with log₂ 10.
    fast_exp10f(x: f32) -> f32 = approx::exp2_f32(x * core::f32::consts::LOG2_10);
    /// The fast logarithm to base 2; see [`approx::log2_f32`].
    fast_log2f(x: f32) -> f32 = approx::log2_f32(x);
    /// The fast natural logarithm: [`approx::log2_f32`] times ln 2.
    fast_logf(x: f32) -> f32 = approx::log2_f32(x) * core::f32::consts::LN_2;
    /// The fast logarithm to base 10: [`approx::log2_f32`] times log₁₀ 2.
    fast_log10f(x: f32) -> f32 = approx::log2_f32(x) * core::f32::consts::LOG10_2;
    /// The fast power 2^(y log₂ x), NaN for x < 0.
    fast_powf(x: f32, y: f32) -> f32 = approx::exp2_f32(y * approx::log2_f32(x));
    /// The fast quotient; see [`approx::div_f32`].
    fast_fdividef(x: f32, y: f32) -> f32 = approx::div_f32(x, y);
}

functions! {
    /// The magnitude; that of the least integer wraps to itself.
    abs(x: i32) -> i32 = x.wrapping_abs();
    /// The magnitude; that of the least integer wraps to itself.
    llabs(x: i64) -> i64 = x.wrapping_abs();
    /// The bits in reverse order.
    brev(x: i32) -> i32 = x.reverse_bits();
    /// The bits in reverse order.
    brevll(x: i64) -> i64 = x.reverse_bits();
    /// The number of leading zeros, 32 for 0.
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    /// The number of leading zeros, 64 for 0.
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    /// The position of the lowest bit that is set, from 1; 0 for 0.
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The position of the lowest bit that is set, from 1; 0 for 0.
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    /// The number of bits that are set.
    popc(x: i32) -> i32 = x.count_ones() as i32;
    /// The number of bits that are set.
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    /// The larger number.
    max(x: i32, y: i32) -> i32 = x.max(y);
    /// The smaller number.
    min(x: i32, y: i32) -> i32 = x.min(y);
    /// The larger number.
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    /// The smaller number.
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    /// The larger unsigned number.
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    /// The smaller unsigned number.
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    /// The larger unsigned number.
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    /// The smaller unsigned number.
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    /// The mean, rounded down.
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    /// The mean, halves rounded up.
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    /// The mean of unsigned numbers, rounded down.
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    /// The mean of unsigned numbers, halves rounded up.
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    /// The lower 32 bits of the product of the lower 24 bits, which are signed numbers.
    mul24(x: i32, y: i32) -> i32 = ((x << 8) >> 8).wrapping_mul((y << 8) >> 8);
    /// The lower 32 bits of the product of the lower 24 bits, which are unsigned numbers.
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    /// The upper 32 bits of the product.
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    /// The upper 32 bits of the product of unsigned numbers.
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    /// The upper 64 bits of the product.
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    /// The upper 64 bits of the product of unsigned numbers.
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    /// |x - y| + z modulo 2³².
    sad(x: i32, y: i32, z: i32) -> i32 = (z as u32).wrapping_add(x.abs_diff(y)) as i32;
    /// |x - y| + z modulo 2³² of unsigned numbers.
    usad(x: i32, y: i32, z: i32) -> i32 = (z as u32).wrapping_add((x as u32).abs_diff(y as u32)) as i32;
    /// Four bytes of the eight of `x` (0 to 3) and `y` (4 to 7): byte n is the one that bits 4n to 4n + 2 of `z` number.
    byte_perm(x: i32, y: i32, z: i32) -> i32 = {
        let bytes = u64::from(x as u32) | u64::from(y as u32) << 32;
        let chosen = |n: u32| ((bytes >> (8 * ((z as u32 >> (4 * n)) & 7))) as u32 & 0xff) << (8 * n);
        (chosen(0) | chosen(1) | chosen(2) | chosen(3)) as i32
    };

    /// The bits of a number.
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    /// The number of these bits.
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    /// The bits of a number.
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    /// The number of these bits.
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    /// The upper 32 bits of a number.
    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    /// The lower 32 bits of a number.
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    /// The number with the upper bits `x` and the lower bits `y`.
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    /// The bits of the nearest number of 16 bits, halves to the even one.
    float2half_rn(f: f32) -> i16 = f16::from_f32(f).to_bits() as i16;
    /// The number of 16 bits with these bits.
    half2float(h: i16) -> f32 = f16::from_bits(h as u16).to_f32();
    /// The number, which is exact.
    int2double_rn(i: i32) -> f64 = i.into();
    /// The unsigned number, which is exact.
    uint2double_rn(i: i32) -> f64 = (i as u32).into();
    /// The nearest integer, halves to the even one.
    llrint(x: f64) -> i64 = GpuFloat::round_ties_even(x) as i64;
    /// The nearest integer, halves to the even one.
    llrintf(x: f32) -> i64 = GpuFloat::round_ties_even(x) as i64;
    /// The nearest integer, halves away from 0.
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    /// The nearest integer, halves away from 0.
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;
}

/// Declares the four conversions of a number to an integer. `$whole` is the integer type of the value and `$result` that of the
/// signature.
macro_rules! to_integers {
    ($($name:ident($from:ident) -> $whole:ident as $result:ident;)*) => {pastey::paste! {functions! {$(
        #[doc = concat!("The integer (`", stringify!($whole), "`) that is nearest, halves to the even one.")]
        [<$name _rn>](x: $from) -> $result = GpuFloat::round_ties_even(x) as $whole as $result;
        #[doc = concat!("The largest integer (`", stringify!($whole), "`) not above the number.")]
        [<$name _rd>](x: $from) -> $result = GpuFloat::floor(x) as $whole as $result;
        #[doc = concat!("The smallest integer (`", stringify!($whole), "`) not below the number.")]
        [<$name _ru>](x: $from) -> $result = GpuFloat::ceil(x) as $whole as $result;
        #[doc = concat!("The integer part (`", stringify!($whole), "`).")]
        [<$name _rz>](x: $from) -> $result = x as $whole as $result;
    )*}}};
}

to_integers! {
    double2int(f64) -> i32 as i32;
    double2uint(f64) -> u32 as i32;
    double2ll(f64) -> i64 as i64;
    double2ull(f64) -> u64 as i64;
    float2int(f32) -> i32 as i32;
    float2uint(f32) -> u32 as i32;
    float2ll(f32) -> i64 as i64;
    float2ull(f32) -> u64 as i64;
}

/// Declares functions with results behind pointers.
macro_rules! with_pointers {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) -> $result:ty = $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The pointers must be valid for what the function reads or writes there.
        #[inline]
        pub unsafe fn $name($($arg: $ty),*) -> $result {
            // SAFETY: the caller guarantees the pointers.
            unsafe { $body }
        }
    )*};
}

with_pointers! {
    /// Writes the sine and the cosine of an angle in radians.
    sincos(x: f64, sptr: *mut f64, cptr: *mut f64) -> () = { let of_x = libm::sincos(x); (*sptr, *cptr) = of_x };
    /// Writes the sine and the cosine of an angle in radians.
    sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) -> () = { let of_x = libm::sincosf(x); (*sptr, *cptr) = of_x };
    /// Writes sin(π x) and cos(π x).
    sincospi(x: f64, sptr: *mut f64, cptr: *mut f64) -> () = { let of_x = FloatExt::sincospi(x); (*sptr, *cptr) = of_x };
    /// Writes sin(π x) and cos(π x).
    sincospif(x: f32, sptr: *mut f32, cptr: *mut f32) -> () = { let of_x = FloatExt::sincospi(x); (*sptr, *cptr) = of_x };
    /// Writes the fast sine and cosine; see [`approx::sin_f32`].
    fast_sincosf(x: f32, sptr: *mut f32, cptr: *mut f32) -> () = (*sptr, *cptr) = (fast_sinf(x), fast_cosf(x));
    /// Splits a number into a fraction with magnitude in [0.5, 1) and an exponent of 2, which it writes. Zeros, infinities and NaNs
    /// are returned, with exponent 0.
    frexp(x: f64, b: *mut i32) -> f64 = { let (fraction, exponent) = libm::frexp(x); *b = exponent; fraction };
    /// Splits a number into a fraction with magnitude in [0.5, 1) and an exponent of 2, which it writes. Zeros, infinities and NaNs
    /// are returned, with exponent 0.
    frexpf(x: f32, b: *mut i32) -> f32 = { let (fraction, exponent) = libm::frexpf(x); *b = exponent; fraction };
    /// Writes the integer part and returns the fractional part, both with the number's sign.
    modf(x: f64, b: *mut f64) -> f64 = { let (fraction, whole) = libm::modf(x); *b = whole; fraction };
    /// Writes the integer part and returns the fractional part, both with the number's sign.
    modff(x: f32, b: *mut f32) -> f32 = { let (fraction, whole) = libm::modff(x); *b = whole; fraction };
    /// The same as [`remainder`]; writes at least the lower 3 bits of the quotient, with its sign.
    remquo(x: f64, y: f64, c: *mut i32) -> f64 = { let (rest, quotient) = libm::remquo(x, y); *c = quotient; rest };
    /// The same as [`remainderf`]; writes at least the lower 3 bits of the quotient, with its sign.
    remquof(x: f32, y: f32, quo: *mut i32) -> f32 = { let (rest, quotient) = libm::remquof(x, y); *quo = quotient; rest };
    /// A quiet NaN whose payload is the number in the text, which ends with a zero byte: decimal, octal (`0…`) or hexadecimal
    /// (`0x…`). The payload of any other text is 0.
    nan(tagp: *mut i8) -> f64 = f64::from_bits(f64::NAN.to_bits() | payload(tagp) & ((1 << 51) - 1));
    /// A quiet NaN whose payload is the number in the text; see [`nan`].
    nanf(tagp: *mut i8) -> f32 = f32::from_bits(f32::NAN.to_bits() | payload(tagp) as u32 & ((1 << 22) - 1));
}

/// The number in a text as for C's `strtoull` with base 0, or 0 where the text is no such number.
///
/// # Safety
/// The text must end with a zero byte.
unsafe fn payload(text: *const i8) -> u64 {
    // SAFETY: the caller guarantees the bytes up to the zero.
    let byte = |at: usize| unsafe { *text.add(at) as u8 };
    let (base, start) = match byte(0) {
        b'0' if byte(1) | 32 == b'x' => (16, 2),
        b'0' => (8, 0),
        _ => (10, 0),
    };
    let (mut number, mut at) = (0u64, start);
    while byte(at) != 0 {
        let Some(digit) = char::from(byte(at)).to_digit(base) else {
            return 0;
        };
        number = number.wrapping_mul(base.into()).wrapping_add(digit.into());
        at += 1;
    }
    number
}
