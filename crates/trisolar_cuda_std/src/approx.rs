//! The GPU's fast, inexact instructions.
//!
//! All of them flush subnormal arguments and results to zero of the same sign. Their results differ between a GPU and the
//! emulator, which computes each function in `f64`, rounds it to the nearest number (wrong by one ULP in about one of many
//! million cases) and flushes it in the same way. Code whose bits must be the same everywhere must not use them.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Zero of the same sign instead of a subnormal number.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! flushed {
    ($x:expr) => {{
        let x = $x;
        if x.is_subnormal() { 0.0 * x } else { x }
    }};
}

macro_rules! approx {
    ($($(#[$doc:meta])* $name:ident, $ty:ident, $reg:ident, $ptx:literal, |$x:ident| $host:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name(x: $ty) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: $ty;
                // SAFETY: the instruction only computes from registers.
                unsafe {
                    asm!(concat!($ptx, " {}, {};"), out($reg) result, in($reg) x,
                        options(pure, nomem, nostack, preserves_flags));
                }
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let $x = f64::from(flushed!(x));
                flushed!($host as $ty)
            }
        }
    )*};
}

approx! {
    /// 1/√x: `rsqrt.approx.ftz.f32`, relative error below 2^-22.9.
    rsqrt_f32, f32, reg32, "rsqrt.approx.ftz.f32", |x| rsqrt(x);
    /// 1/√x: `rsqrt.approx.ftz.f64`. The result is only a seed, whose lower 32 bits are 0. In the emulator it is accurate to 1
    /// ULP.
    rsqrt_f64, f64, reg64, "rsqrt.approx.ftz.f64", |x| rsqrt(x);
    /// 1/x: `rcp.approx.ftz.f32`, within 1 ULP.
    rcp_f32, f32, reg32, "rcp.approx.ftz.f32", |x| 1.0 / x;
    /// 1/x: `rcp.approx.ftz.f64`. The result is only a seed, whose lower 32 bits are 0.
    rcp_f64, f64, reg64, "rcp.approx.ftz.f64", |x| 1.0 / x;
    /// √x: `sqrt.approx.ftz.f32`, relative error below 2^-22.
    sqrt_f32, f32, reg32, "sqrt.approx.ftz.f32", |x| x.sqrt();
    /// 2^x: `ex2.approx.ftz.f32`, relative error below 2^-22.
    exp2_f32, f32, reg32, "ex2.approx.ftz.f32", |x| libm::exp2(x);
    /// log₂ x: `lg2.approx.ftz.f32`, absolute error below 2^-22 for x in [0.5, 2].
    log2_f32, f32, reg32, "lg2.approx.ftz.f32", |x| libm::log2(x);
    /// sin x: `sin.approx.ftz.f32`, absolute error below 2^-20.5 for |x| <= 2π.
    sin_f32, f32, reg32, "sin.approx.ftz.f32", |x| libm::sin(x);
    /// cos x: `cos.approx.ftz.f32`, absolute error below 2^-20.5 for |x| <= 2π.
    cos_f32, f32, reg32, "cos.approx.ftz.f32", |x| libm::cos(x);
}

/// x/y: `div.approx.ftz.f32`, within 2 ULP for |y| in [2^-126, 2^126]. For larger |y| the quotient is 0, or NaN if x is infinite.
#[inline(always)]
#[must_use]
pub fn div_f32(x: f32, y: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let result: f32;
        // SAFETY: the instruction only computes from registers.
        unsafe {
            asm!("div.approx.ftz.f32 {}, {}, {};", out(reg32) result, in(reg32) x, in(reg32) y,
                options(pure, nomem, nostack, preserves_flags));
        }
        result
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let (x, reciprocal) = (flushed!(x), flushed!((1.0 / f64::from(flushed!(y))) as f32));
        // The reciprocal is only a guard for divisors whose reciprocal is flushed: the quotient itself is rounded once.
        let quotient = match reciprocal == 0.0 || reciprocal.is_infinite() {
            true => f64::from(x) * f64::from(reciprocal),
            false => f64::from(x) / f64::from(y),
        };
        flushed!(quotient as f32)
    }
}

/// 1/√x to within 1 ULP. Rounding the root of the rounded quotient would be less accurate.
#[cfg(not(target_arch = "nvptx64"))]
fn rsqrt(x: f64) -> f64 {
    let y = 1.0 / x.sqrt();
    if !y.is_normal() || !x.is_normal() {
        return y;
    }
    // One Newton step with the residual 1 - x y² in twice the precision.
    let z = x * y;
    let rounding = x.mul_add(y, -z);
    let residual = (-z).mul_add(y, 1.0) - rounding * y;
    y.mul_add(0.5 * residual, y)
}
