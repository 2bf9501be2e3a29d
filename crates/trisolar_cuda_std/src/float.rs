//! The functions that `std` adds to `f32` and `f64`, for code without `std`.

/// The functions that `std` adds to floating-point numbers.
///
/// The results have the same bits on a GPU and on the CPU. Rounding, `sqrt` and `mul_add` are instructions and correctly
/// rounded. The transcendental functions are those of the crate `libm`, which uses plain IEEE arithmetic in a fixed order and
/// has errors of about 1 ULP; the tests of this crate check that they are within 2 ULP of `std` (`atanh` within 4). In a crate
/// that uses `std`, `x.sin()` means `std`'s function, whose bits may differ: write `GpuFloat::sin(x)` there.
pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
    /// The largest integer not above the number.
    #[must_use = "returns the result, the number stays as it is"]
    fn floor(self) -> Self;
    /// The smallest integer not below the number.
    #[must_use = "returns the result, the number stays as it is"]
    fn ceil(self) -> Self;
    /// The nearest integer, halves away from 0.
    #[must_use = "returns the result, the number stays as it is"]
    fn round(self) -> Self;
    /// The nearest integer, halves to the even one.
    #[must_use = "returns the result, the number stays as it is"]
    fn round_ties_even(self) -> Self;
    /// The integer part.
    #[must_use = "returns the result, the number stays as it is"]
    fn trunc(self) -> Self;
    /// The fractional part: the number minus its integer part.
    #[must_use = "returns the result, the number stays as it is"]
    fn fract(self) -> Self;
    /// The magnitude.
    #[must_use = "returns the result, the number stays as it is"]
    fn abs(self) -> Self;
    /// 1 with the sign of the number, NaN for NaN.
    #[must_use = "returns the result, the number stays as it is"]
    fn signum(self) -> Self;
    /// The magnitude with the sign of another number.
    #[must_use = "returns the result, the number stays as it is"]
    fn copysign(self, sign: Self) -> Self;
    /// `self · a + b`, rounded once.
    #[must_use = "returns the result, the number stays as it is"]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The Euclidean quotient: the integer n with `self = n · rhs + self.rem_euclid(rhs)`.
    #[must_use = "returns the result, the number stays as it is"]
    fn div_euclid(self, rhs: Self) -> Self;
    /// The Euclidean remainder in [0, |rhs|), or |rhs| itself where the sum rounds up.
    #[must_use = "returns the result, the number stays as it is"]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// An integer power, by repeated multiplication.
    #[must_use = "returns the result, the number stays as it is"]
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`.
    #[must_use = "returns the result, the number stays as it is"]
    fn powf(self, n: Self) -> Self;
    /// The square root, correctly rounded.
    #[must_use = "returns the result, the number stays as it is"]
    fn sqrt(self) -> Self;
    /// e to the power of the number.
    #[must_use = "returns the result, the number stays as it is"]
    fn exp(self) -> Self;
    /// 2 to the power of the number.
    #[must_use = "returns the result, the number stays as it is"]
    fn exp2(self) -> Self;
    /// The natural logarithm.
    #[must_use = "returns the result, the number stays as it is"]
    fn ln(self) -> Self;
    /// The logarithm to a given base, as the quotient of two natural logarithms.
    #[must_use = "returns the result, the number stays as it is"]
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    #[must_use = "returns the result, the number stays as it is"]
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    #[must_use = "returns the result, the number stays as it is"]
    fn log10(self) -> Self;
    /// The cube root.
    #[must_use = "returns the result, the number stays as it is"]
    fn cbrt(self) -> Self;
    /// The length of the vector (self, other), without intermediate overflow.
    #[must_use = "returns the result, the number stays as it is"]
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    #[must_use = "returns the result, the number stays as it is"]
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    #[must_use = "returns the result, the number stays as it is"]
    fn cos(self) -> Self;
    /// The tangent of an angle in radians.
    #[must_use = "returns the result, the number stays as it is"]
    fn tan(self) -> Self;
    /// The arc sine in [-π/2, π/2], NaN outside of [-1, 1].
    #[must_use = "returns the result, the number stays as it is"]
    fn asin(self) -> Self;
    /// The arc cosine in [0, π], NaN outside of [-1, 1].
    #[must_use = "returns the result, the number stays as it is"]
    fn acos(self) -> Self;
    /// The arc tangent in [-π/2, π/2].
    #[must_use = "returns the result, the number stays as it is"]
    fn atan(self) -> Self;
    /// The angle of the vector (x = other, y = self) in [-π, π].
    #[must_use = "returns the result, the number stays as it is"]
    fn atan2(self, other: Self) -> Self;
    /// The sine and the cosine of an angle in radians.
    #[must_use = "returns the result, the number stays as it is"]
    fn sin_cos(self) -> (Self, Self);
    /// e to the power of the number, less 1, accurate near 0.
    #[must_use = "returns the result, the number stays as it is"]
    fn exp_m1(self) -> Self;
    /// The natural logarithm of 1 plus the number, accurate near 0.
    #[must_use = "returns the result, the number stays as it is"]
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    #[must_use = "returns the result, the number stays as it is"]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    #[must_use = "returns the result, the number stays as it is"]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    #[must_use = "returns the result, the number stays as it is"]
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine.
    #[must_use = "returns the result, the number stays as it is"]
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine.
    #[must_use = "returns the result, the number stays as it is"]
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent.
    #[must_use = "returns the result, the number stays as it is"]
    fn atanh(self) -> Self;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Uses `core`'s functions on the device, where `std`'s inherent functions do not exist.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($ty:ident, $name:ident($($argument:expr),*)) => { core::$ty::math::$name($($argument),*) };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! instruction {
    ($ty:ident, $name:ident($($argument:expr),*)) => { $ty::$name($($argument),*) };
}

macro_rules! gpu_float {
    ($ty:ident, $($libm:ident: $function:ident),*; $fmod:ident, $pow:ident, $hypot:ident, $atan2:ident, $sincos:ident) => {
        impl GpuFloat for $ty {
            #[inline]
            fn floor(self) -> Self { instruction!($ty, floor(self)) }
            #[inline]
            fn ceil(self) -> Self { instruction!($ty, ceil(self)) }
            #[inline]
            fn round(self) -> Self { instruction!($ty, round(self)) }
            #[inline]
            fn round_ties_even(self) -> Self { instruction!($ty, round_ties_even(self)) }
            #[inline]
            fn trunc(self) -> Self { instruction!($ty, trunc(self)) }
            #[inline]
            fn fract(self) -> Self { self - instruction!($ty, trunc(self)) }
            #[inline]
            fn abs(self) -> Self { <$ty>::from_bits(self.to_bits() & ((-0.0 as $ty).to_bits() - 1)) }
            #[inline]
            fn signum(self) -> Self { if self.is_nan() { self } else { GpuFloat::copysign(1.0, self) } }
            #[inline]
            fn copysign(self, sign: Self) -> Self {
 let magnitude = (-0.0 as $ty).to_bits() - 1;
 <$ty>::from_bits((self.to_bits() & magnitude) | (sign.to_bits() & !magnitude))
 }
            #[inline]
            fn mul_add(self, a: Self, b: Self) -> Self { instruction!($ty, mul_add(self, a, b)) }
            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
 let quotient = instruction!($ty, trunc(self / rhs));
 if libm::$fmod(self, rhs) < 0.0 {
 if rhs > 0.0 { quotient - 1.0 } else { quotient + 1.0 }
 } else {
 quotient
 }
 }
            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
 let rest = libm::$fmod(self, rhs);
 if rest < 0.0 { rest + GpuFloat::abs(rhs) } else { rest }
 }
            #[inline]
            fn powi(self, n: i32) -> Self {
 let (mut base, mut rest, mut power) = (self, n.unsigned_abs(), 1.0);
 while rest > 0 {
 if rest & 1 == 1 { power *= base; }
 base *= base;
 rest >>= 1;
 }
 if n < 0 { 1.0 / power } else { power }
 }
            #[inline]
            fn powf(self, n: Self) -> Self { libm::$pow(self, n) }
            #[inline]
            fn sqrt(self) -> Self { instruction!($ty, sqrt(self)) }
            #[inline]
            fn log(self, base: Self) -> Self { GpuFloat::ln(self) / GpuFloat::ln(base) }
            #[inline]
            fn hypot(self, other: Self) -> Self { libm::$hypot(self, other) }
            #[inline]
            fn atan2(self, other: Self) -> Self { libm::$atan2(self, other) }
            #[inline]
            fn sin_cos(self) -> (Self, Self) { libm::$sincos(self) }
            $(
                #[inline]
                fn $function(self) -> Self {
                    libm::$libm(self)
                }
            )*
        }
    };
}

gpu_float!(f32, expf: exp, exp2f: exp2, logf: ln, log2f: log2, log10f: log10, cbrtf: cbrt, sinf: sin, cosf: cos, tanf: tan, asinf: asin, acosf: acos, atanf: atan, expm1f: exp_m1, log1pf: ln_1p, sinhf: sinh, coshf: cosh, tanhf: tanh, asinhf: asinh, acoshf: acosh, atanhf: atanh; fmodf, powf, hypotf, atan2f, sincosf);
gpu_float!(f64, exp: exp, exp2: exp2, log: ln, log2: log2, log10: log10, cbrt: cbrt, sin: sin, cos: cos, tan: tan, asin: asin, acos: acos, atan: atan, expm1: exp_m1, log1p: ln_1p, sinh: sinh, cosh: cosh, tanh: tanh, asinh: asinh, acosh: acosh, atanh: atanh; fmod, pow, hypot, atan2, sincos);
