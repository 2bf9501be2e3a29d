//! Functions of floating-point numbers.

use cuda_std::prelude::*;
use cuda_std::{FloatExt, GpuFloat};

use crate::{Out, Random};

/// Appends each function of `x`.
macro_rules! each {
    ($out:ident.$put:ident($x:expr): $($name:ident)*) => {{ $( $out.$put($x.$name()); )* }};
}

/// As `each!`, by the trait: on the host `std` may have some of these names one day.
macro_rules! further {
    ($out:ident.$put:ident($x:expr): $($name:ident)*) => {{ $( $out.$put(FloatExt::$name($x)); )* }};
}

/// What IEEE 754 defines: the same everywhere.
#[kernel]
pub unsafe fn exact_functions(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for _ in 0..3 {
        let (x, y, z) = (random.any_f64(), random.any_f64(), random.any_f64());
        out.put_f64(x + y);
        out.put_f64(x * y - z);
        out.put_f64(x / y);
        out.put_f64(x % z);
        out.put_f64(GpuFloat::mul_add(x, y, z));
        let x = GpuFloat::copysign(x, y);
        let of = |x: f64, out: &mut Out| {
            out.put_f64(GpuFloat::sqrt(x));
            out.put_f64(GpuFloat::floor(x));
            out.put_f64(GpuFloat::ceil(x));
            out.put_f64(GpuFloat::round(x));
            out.put_f64(GpuFloat::round_ties_even(x));
            out.put_f64(GpuFloat::trunc(x));
            out.put_f64(GpuFloat::fract(x));
        };
        of(x, &mut out);
        let (x, y, z) = (x as f32, y as f32, z as f32);
        out.put_f32(x + y);
        out.put_f32(x * y - z);
        out.put_f32(x / y);
        out.put_f32(x % z);
        out.put_f32(GpuFloat::mul_add(x, y, z));
        out.put_f32(GpuFloat::sqrt(x));
        out.put_f32(GpuFloat::floor(x));
        out.put_f32(GpuFloat::ceil(x));
        out.put_f32(GpuFloat::round(x));
        out.put_f32(GpuFloat::round_ties_even(x));
        out.put_f32(GpuFloat::trunc(x));
        out.put_f32(GpuFloat::fract(x));
        // Which of two zeros is the larger is nobody's promise.
        out.put_f32(x.max(y).min(z) + 0.0);
        out.put(u64::from(x < y) | u64::from(x == y) << 1 | u64::from(x >= z) << 2);
    }
}

/// The transcendental functions that `std` has.
#[kernel]
pub unsafe fn functions(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for round in 0..2 {
        let mut x = if round == 0 {
            random.any_f64()
        } else {
            random.moderate()
        };
        let (y, n) = (random.moderate(), random.below(9) as i32 - 4);
        let by_name = Number(x);
        each!(out.put_f64(by_name): exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p);
        each!(out.put_f64(by_name): sinh cosh tanh asinh acosh atanh);
        x = x.abs();
        out.put_f64(GpuFloat::powf(x, y));
        out.put_f64(GpuFloat::powi(x, n));
        out.put_f64(GpuFloat::hypot(x, y));
        out.put_f64(GpuFloat::atan2(x, y));
        out.put_f64(GpuFloat::log(x, y));
        out.put_f64(GpuFloat::rem_euclid(-x, y));
        out.put_f64(GpuFloat::div_euclid(-x, y));
        let (sine, cosine) = GpuFloat::sin_cos(x);
        out.put_f64(sine + cosine);
    }
}

/// [`functions`] of `f32`.
#[kernel]
pub unsafe fn functions_f32(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for round in 0..3 {
        let x = if round == 0 {
            random.any_f64()
        } else {
            random.moderate()
        } as f32;
        let (y, n) = (random.moderate() as f32, random.below(9) as i32 - 4);
        let x = Single(x);
        each!(out.put_f32(x): exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p);
        each!(out.put_f32(x): sinh cosh tanh asinh acosh atanh);
        let x = GpuFloat::abs(x.0);
        out.put_f32(GpuFloat::powf(x, y));
        out.put_f32(GpuFloat::powi(x, n));
        out.put_f32(GpuFloat::hypot(x, y));
        out.put_f32(GpuFloat::atan2(x, y));
        out.put_f32(GpuFloat::log(x, y));
        out.put_f32(GpuFloat::rem_euclid(-x, y));
    }
}

/// Error functions, gamma, Bessel and the like.
#[kernel]
pub unsafe fn further_functions(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for _ in 0..2 {
        let (x, p, n) = (random.moderate(), random.unit(), random.below(6) as i32);
        further!(out.put_f64(x): cospi sinpi error_function complementary_error_function scaled_complementary_error_function);
        further!(out.put_f64(x): j0 j1 log_gamma log1p norm_cdf rcbrt saturate gamma y0 y1);
        further!(out.put_f64(p): inv_complementary_error_function inv_norm_cdf);
        out.put_f64(FloatExt::jn(x, n) + FloatExt::yn(GpuFloat::abs(x), n));
        out.put_f64(FloatExt::ldexp(x, n) + FloatExt::scale_by_n(x, -n));
        let (fraction, exponent) = FloatExt::frexp(x);
        out.put_f64(fraction);
        out.put((exponent + FloatExt::unbiased_exp(x)) as u64);
        let x = x as f32;
        further!(out.put_f32(x): cospi sinpi error_function j0 log_gamma norm_cdf rcbrt gamma);
    }
}

/// The functions of a number by their names alone: `std` has methods of the same names on the host.
struct Number(f64);
/// The same as for [`Number`].
struct Single(f32);

macro_rules! by_name {
    ($type:ident: $($name:ident)*) => {
        impl $type {
            $( fn $name(&self) -> by_name!(@ $type) { GpuFloat::$name(self.0) } )*
        }
    };
    (@ Number) => { f64 };
    (@ Single) => { f32 };
}

by_name!(Number: exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);
by_name!(Single: exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);
