//! The functions of libdevice, except for the fast ones, whose bits are not the same everywhere.

use cuda_std::intrinsics as nv;
use cuda_std::prelude::*;

use crate::{Out, Random};

/// Appends the results of functions of the same arguments. The words of three functions are combined to one.
macro_rules! each {
    ($out:ident: $put:expr; $arguments:tt: $($name:ident)*) => {{
        let put = $put;
        let (mut sum, mut count) = (0u64, 0);
        $(
            sum = sum.rotate_left(21).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ put(nv::$name $arguments);
            count += 1;
            if count % 3 == 0 {
                $out.put(sum);
            }
        )*
        $out.put(sum);
    }};
}

/// The bits of a number, in which all NaNs are equal.
fn bits(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

fn bits_f32(x: f32) -> u64 {
    if x.is_nan() {
        u64::MAX
    } else {
        x.to_bits().into()
    }
}

/// Arithmetic and conversions with directions of rounding.
#[kernel]
pub unsafe fn intrinsics_rounding(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let (x, y, z) = (random.any_f64(), random.any_f64(), random.any_f64());
    each!(out: bits; (x, y): dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn dmul_ru dmul_rz);
    each!(out: bits; (x, y): copysign fmax fmin fmod fdim nextafter remainder);
    each!(out: bits; (x): drcp_rd drcp_rn drcp_ru drcp_rz dsqrt_rd dsqrt_rn dsqrt_ru dsqrt_rz);
    each!(out: bits; (x): ceil floor fabs logb nearbyint rint round rsqrt sqrt trunc);
    each!(out: bits; (x, y, z): fma fma_rd fma_rn fma_ru fma_rz);
    each!(out: bits_f32; (x): double2float_rd double2float_rn double2float_ru double2float_rz);
    each!(out: |n| n as u64; (x): double2int_rd double2int_rn double2int_ru double2int_rz double2uint_rd double2uint_rn double2uint_ru);
    each!(out: |n| n as u64; (y): double2uint_rz ilogb isfinited isinfd isnand double2hiint double2loint);
    each!(out: |n| n as u64; (z): double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru);
    each!(out: |n| n as u64; (z): double2ull_rz llrint llround);
    let a = f32::from_bits(random.bits() as u32);
    let (b, c) = (y as f32, z as f32);
    each!(out: bits_f32; (a, b): fadd_rd fadd_rn fadd_ru fadd_rz fdiv_rd fdiv_rn fdiv_ru fdiv_rz fmul_rd fmul_rn fmul_ru fmul_rz);
    each!(out: bits_f32; (a, b): fsub_rd fsub_rn fsub_ru fsub_rz copysignf fmaxf fminf fmodf fdimf nextafterf remainderf);
    each!(out: bits_f32; (a): frcp_rd frcp_rn frcp_ru frcp_rz fsqrt_rd fsqrt_rn fsqrt_ru fsqrt_rz frsqrt_rn rsqrtf sqrtf);
    each!(out: bits_f32; (a): ceilf floorf fabsf logbf nearbyintf rintf roundf saturatef truncf);
    each!(out: bits_f32; (a, b, c): fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz);
    each!(out: |n| n as u64; (b): float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru);
    each!(out: |n| n as u64; (b): float2uint_rz ilogbf finitef isinff isnanf);
    each!(out: |n| n as u64; (c): float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz);
    each!(out: |n| n as u64; (c): llrintf llroundf);
    out.put(nv::float2half_rn(if a.is_nan() { 1.0 } else { a }) as u64);
    out.put(bits_f32(nv::half2float(random.bits() as i16)));
    let (i, l) = (
        random.bits() as i32,
        random.bits() as i64 >> random.below(60),
    );
    each!(out: bits_f32; (i): int2float_rd int2float_rn int2float_ru int2float_rz uint2float_rd uint2float_rn uint2float_ru uint2float_rz);
    each!(out: bits_f32; (l): ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz);
    each!(out: bits; (l): ll2double_rd ll2double_rn ll2double_ru ll2double_rz ull2double_rd ull2double_rn ull2double_ru ull2double_rz);
    each!(out: bits; (i): int2double_rn uint2double_rn);
}

/// Functions of integers.
#[kernel]
pub unsafe fn intrinsics_integers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for _ in 0..4 {
        let shift = random.below(30) as u32;
        let (x, y, z) = (
            random.bits() as i32 >> shift,
            random.bits() as i32,
            random.bits() as i32,
        );
        each!(out: |n| n as u64; (x): abs brev clz ffs popc);
        each!(out: |n| n as u64; (x, y): hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd);
        each!(out: |n| n as u64; (x, y, z): byte_perm sad usad);
        let (x, y) = (random.bits() as i64 >> shift, random.bits() as i64);
        each!(out: |n| n as u64; (x): brevll llabs);
        each!(out: |n: i32| n as u64; (x): clzll ffsll popcll);
        each!(out: |n| n as u64; (x, y): llmax llmin mul64hi ullmax ullmin umul64hi);
    }
}

/// Transcendental functions.
#[kernel]
pub unsafe fn intrinsics_functions(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let (x, y, p) = (random.moderate(), random.moderate(), random.unit());
    let n = random.below(7) as i32 - 1;
    each!(out: bits; (x): atan cbrt cos cosh cospi erf erfc erfcx exp exp10 exp2 expm1 j0 j1 lgamma normcdf rcbrt sin sinh sinpi);
    each!(out: bits; (x): asinh tan tanh tgamma acosh log log10 log1p log2 y0 y1);
    each!(out: bits; (p): acos asin atanh erfcinv erfinv normcdfinv);
    each!(out: bits; (x, y): atan2 hypot pow);
    each!(out: bits; (n, x): jn yn);
    each!(out: bits; (x, n): ldexp powi scalbn);
    let (x, y, p) = (x as f32, y as f32, p as f32);
    each!(out: bits_f32; (x): atanf cbrtf cosf coshf cospif erff erfcf erfcxf expf exp10f exp2f expm1f j0f j1f lgammaf normcdff rcbrtf);
    each!(out: bits_f32; (x): sinf sinhf sinpif asinhf tanf tanhf tgammaf acoshf logf log10f log1pf log2f y0f y1f);
    each!(out: bits_f32; (p): acosf asinf atanhf erfcinvf erfinvf normcdfinvf);
    each!(out: bits_f32; (x, y): atan2f hypotf powf);
    each!(out: bits_f32; (n, x): jnf ynf);
    each!(out: bits_f32; (x, n): ldexpf powif scalbnf);
}
