//! The functions of libdevice: their signatures, integers against wider integers, directions of rounding against exact errors, and
//! transcendental functions against tabulated values.

use cuda_std::intrinsics::{self as nv, *};
use proptest::prelude::*;

/// Counts the functions of a type, each of which must have it.
macro_rules! signatures {
    ($($type:ty: $($name:ident)*;)*) => {{
        let mut count = 0;
        $($( let _: $type = nv::$name; count += 1; )*)*
        count
    }};
}

#[test]
fn all_names_of_rust_cuda_have_its_signatures() {
    #[rustfmt::skip]
    let count = signatures! {
        unsafe fn(i32) -> i32: abs brev clz ffs popc;
        unsafe fn(i64) -> i64: brevll llabs;
        unsafe fn(i64) -> i32: clzll ffsll popcll;
        unsafe fn(i32, i32) -> i32: hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd;
        unsafe fn(i64, i64) -> i64: llmax llmin mul64hi ullmax ullmin umul64hi;
        unsafe fn(i32, i32, i32) -> i32: byte_perm sad usad;
        unsafe fn(f64) -> f64: acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rd drcp_rn drcp_ru drcp_rz dsqrt_rd dsqrt_rn
            dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p log2 logb
            nearbyint normcdf normcdfinv rcbrt rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1;
        unsafe fn(f32) -> f32: acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erfcf erfcinvf erfcxf erff erfinvf
            exp10f exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf floorf
            frcp_rd frcp_rn frcp_ru frcp_rz frsqrt_rn fsqrt_rd fsqrt_rn fsqrt_ru fsqrt_rz j0f j1f lgammaf log10f log1pf log2f logbf
            logf nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf
            truncf y0f y1f;
        unsafe fn(f64, f64) -> f64: atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn
            dmul_ru dmul_rz fdim fmax fmin fmod hypot nextafter pow remainder;
        unsafe fn(f32, f32) -> f32: atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf fdiv_rd fdiv_rn
            fdiv_ru fdiv_rz fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd fsub_rn fsub_ru fsub_rz hypotf nextafterf powf
            remainderf;
        unsafe fn(f64, f64, f64) -> f64: fma fma_rd fma_rn fma_ru fma_rz;
        unsafe fn(f32, f32, f32) -> f32: fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz;
        unsafe fn(f64) -> f32: double2float_rd double2float_rn double2float_ru double2float_rz;
        unsafe fn(f64) -> i32: double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd
            double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand signbitd;
        unsafe fn(f64) -> i64: double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru
            double2ull_rz double_as_longlong llrint llround;
        unsafe fn(f32) -> i32: finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru
            float2uint_rz float_as_int ilogbf isinff isnanf signbitf;
        unsafe fn(f32) -> i64: float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz
            llrintf llroundf;
        unsafe fn(f32) -> i16: float2half_rn;
        unsafe fn(i16) -> f32: half2float;
        unsafe fn(i32, i32) -> f64: hiloint2double;
        unsafe fn(i32) -> f64: int2double_rn uint2double_rn;
        unsafe fn(i32) -> f32: int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd uint2float_rn uint2float_ru
            uint2float_rz;
        unsafe fn(i64) -> f64: ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd ull2double_rn
            ull2double_ru ull2double_rz;
        unsafe fn(i64) -> f32: ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz;
        unsafe fn(i32, f64) -> f64: jn yn;
        unsafe fn(i32, f32) -> f32: jnf ynf;
        unsafe fn(f64, i32) -> f64: ldexp powi scalbn;
        unsafe fn(f32, i32) -> f32: ldexpf powif scalbnf;
        unsafe fn(f32, *mut f32, *mut f32) -> (): fast_sincosf sincosf sincospif;
        unsafe fn(f64, *mut f64, *mut f64) -> (): sincos sincospi;
        unsafe fn(f64, *mut i32) -> f64: frexp;
        unsafe fn(f32, *mut i32) -> f32: frexpf;
        unsafe fn(f64, *mut f64) -> f64: modf;
        unsafe fn(f32, *mut f32) -> f32: modff;
        unsafe fn(*mut i8) -> f64: nan;
        unsafe fn(*mut i8) -> f32: nanf;
        unsafe fn(f64, f64, *mut i32) -> f64: remquo;
        unsafe fn(f32, f32, *mut i32) -> f32: remquof;
    };
    assert_eq!(count, 319);
}

/// Any bits, and often those near the ends of the range.
fn words() -> impl Strategy<Value = i32> {
    prop_oneof![
        any::<i32>(),
        -3..3i32,
        Just(i32::MIN),
        Just(i32::MAX),
        Just(i32::MIN + 1)
    ]
}

fn long_words() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -3..3i64, Just(i64::MIN), Just(i64::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn integers_of_32_bits(x in words(), y in words(), z in words()) {
        let (a, b, c) = (i128::from(x), i128::from(y), i128::from(z));
        let (ua, ub, uc) = (i128::from(x as u32), i128::from(y as u32), i128::from(z as u32));
        prop_assert_eq!(abs(x), a.abs() as i32);
        prop_assert_eq!((nv::max(x, y), nv::min(x, y)), (if a > b { x } else { y }, if a < b { x } else { y }));
        prop_assert_eq!((umax(x, y), umin(x, y)), (if ua > ub { x } else { y }, if ua < ub { x } else { y }));
        prop_assert_eq!((hadd(x, y), rhadd(x, y)), ((a + b).div_euclid(2) as i32, (a + b + 1).div_euclid(2) as i32));
        prop_assert_eq!((uhadd(x, y), urhadd(x, y)), (((ua + ub) / 2) as i32, ((ua + ub + 1) / 2) as i32));
        prop_assert_eq!((mulhi(x, y), umulhi(x, y)), ((a * b).div_euclid(1 << 32) as i32, (ua * ub / (1 << 32)) as i32));
        prop_assert_eq!((sad(x, y, z), usad(x, y, z)), (((a - b).abs() + c) as i32, ((ua - ub).abs() + uc) as i32));
        let low = |x: i128| x.rem_euclid(1 << 24);
        let signed = |x: i128| if low(x) < 1 << 23 { low(x) } else { low(x) - (1 << 24) };
        prop_assert_eq!((mul24(x, y), umul24(x, y)), ((signed(a) * signed(b)) as i32, (low(ua) * low(ub)) as i32));
        let bit = |n: u32| ua >> n & 1;
        prop_assert_eq!(popc(x) as i128, (0..32).map(bit).sum::<i128>());
        prop_assert_eq!(brev(x) as u32 as i128, (0..32).map(|n| bit(n) << (31 - n)).sum::<i128>());
        prop_assert_eq!(clz(x) as u32, 32 - (0..32).filter(|n| bit(*n) == 1).map(|n| n + 1).max().unwrap_or(0));
        prop_assert_eq!(ffs(x) as u32, (0..32).find(|n| bit(*n) == 1).map_or(0, |n| n + 1));
        let bytes = [x.to_le_bytes(), y.to_le_bytes()].concat();
        let selected = [0, 4, 8, 12].map(|at| bytes[(z >> at & 7) as usize]);
        prop_assert_eq!(byte_perm(x, y, z), i32::from_le_bytes(selected));
        prop_assert_eq!((int2double_rn(x), uint2double_rn(x)), (a as f64, ua as f64));
        prop_assert_eq!((float_as_int(int_as_float(x)), double2hiint(hiloint2double(x, y))), (x, x));
        prop_assert_eq!(double2loint(hiloint2double(x, y)), y);
    }

    #[test]
    fn integers_of_64_bits(x in long_words(), y in long_words()) {
        let (a, b) = (i128::from(x), i128::from(y));
        let (ua, ub) = (u128::from(x as u64), u128::from(y as u64));
        prop_assert_eq!(llabs(x), a.abs() as i64);
        prop_assert_eq!((llmax(x, y), llmin(x, y)), (if a > b { x } else { y }, if a < b { x } else { y }));
        prop_assert_eq!((ullmax(x, y), ullmin(x, y)), (if ua > ub { x } else { y }, if ua < ub { x } else { y }));
        prop_assert_eq!((mul64hi(x, y), umul64hi(x, y)), ((a * b).div_euclid(1 << 64) as i64, (ua * ub / (1 << 64)) as i64));
        let bit = |n: u32| ua >> n & 1;
        prop_assert_eq!(popcll(x) as u128, (0..64).map(bit).sum::<u128>());
        prop_assert_eq!(brevll(x) as u64 as u128, (0..64).map(|n| bit(n) << (63 - n)).sum::<u128>());
        prop_assert_eq!(clzll(x) as u32, 64 - (0..64).filter(|n| bit(*n) == 1).map(|n| n + 1).max().unwrap_or(0));
        prop_assert_eq!(ffsll(x) as u32, (0..64).find(|n| bit(*n) == 1).map_or(0, |n| n + 1));
        prop_assert_eq!(double_as_longlong(longlong_as_double(x)), x);
    }
}

/// Whether `down`, `up` and `zero` are the neighbours of an exact value, of which `compare` says how it compares with a number.
fn are_neighbours<F: Number>(
    [down, up, zero]: [F; 3],
    compare: impl Fn(F) -> std::cmp::Ordering,
) -> Result<(), TestCaseError> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let at_down = compare(down);
    prop_assert!(at_down != Less, "{down:?} is above");
    prop_assert!(compare(up) != Greater, "{up:?} is below");
    if at_down == Equal {
        prop_assert!(up == down);
    } else {
        prop_assert_eq!(down.next(), up);
    }
    prop_assert_eq!(zero, if down < F::default() { up } else { down });
    Ok(())
}

trait Number: Copy + PartialOrd + Default + std::fmt::Debug {
    /// The next larger number.
    fn next(self) -> Self;
}
impl Number for f32 {
    fn next(self) -> Self {
        self.next_up()
    }
}
impl Number for f64 {
    fn next(self) -> Self {
        self.next_up()
    }
}

/// A sum as the nearest number and its error, which is exact (Knuth 1969).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

fn finite() -> impl Strategy<Value = f32> {
    any::<u32>()
        .prop_map(f32::from_bits)
        .prop_filter("finite", |x| x.is_finite())
}

/// Numbers of a similar magnitude, so that sums cancel.
fn near_one() -> impl Strategy<Value = f64> {
    (-2.0..2.0f64, -30..30i32).prop_map(|(x, e)| x * f64::powi(2.0, e))
}

/// How the exact value `high + low` compares with a number.
fn compared(high: f64, low: f64) -> impl Fn(f32) -> std::cmp::Ordering {
    move |x| ((high - f64::from(x)) + low).total_cmp(&0.0)
}

macro_rules! directions {
    ($name:ident($($x:expr),*)) => {
        pastey::paste! { [[<$name _rd>]($($x),*), [<$name _ru>]($($x),*), [<$name _rz>]($($x),*)] }
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    /// Sums, products, quotients and roots of any numbers, subnormal ones, too, against exact values in `f64`.
    #[test]
    fn directions_of_f32(x in finite(), y in finite(), z in finite()) {
        let (a, b, c) = (f64::from(x), f64::from(y), f64::from(z));
        let sum = two_sum(a, b);
        are_neighbours(directions!(fadd(x, y)), compared(sum.0, sum.1 + 0.0))?;
        let difference = two_sum(a, -b);
        are_neighbours(directions!(fsub(x, y)), compared(difference.0, difference.1 + 0.0))?;
        are_neighbours(directions!(fmul(x, y)), compared(a * b, 0.0))?;
        let fused = two_sum(a * b, c);
        are_neighbours(directions!(fmaf(x, y, z)), compared(fused.0, fused.1 + 0.0))?;
        // x / y compared with q is x compared with q y, the other way round for a negative y. The exact product has 48 bits, but
        // an infinite bound is on the side of its sign.
        let quotient = |x: f64| move |q: f32| match q.is_infinite() {
            true => 0.0f64.total_cmp(&f64::from(q)),
            false => ((x - f64::from(q) * b) * b.signum() + 0.0).total_cmp(&0.0),
        };
        if y != 0.0 {
            are_neighbours(directions!(fdiv(x, y)), quotient(a))?;
            are_neighbours(directions!(frcp(y)), quotient(1.0))?;
        }
        let root = |r: f32| (a.abs() - f64::from(r) * f64::from(r)).total_cmp(&0.0);
        are_neighbours(directions!(fsqrt(x.abs())), root)?;
        prop_assert_eq!((fadd_rn(x, y), fsub_rn(x, y), fmul_rn(x, y), fdiv_rn(x, 3.0)), (x + y, x - y, x * y, x / 3.0));
        prop_assert_eq!((fmaf_rn(x, y, z), frcp_rn(3.0 + a as f32), fsqrt_rn(x.abs())), (x.mul_add(y, z), 1.0 / (3.0 + x), x.abs().sqrt()));
    }

    /// The same for `f64`, with the exact errors of the rounded operations (Boldo & Muller 2011 for the fused one).
    #[test]
    fn directions_of_f64(x in near_one(), y in near_one(), z in near_one()) {
        prop_assume!(x != 0.0 && y != 0.0);
        let by_error = |nearest: f64, error: f64| {
            move |r: f64| match r.total_cmp(&nearest) {
                std::cmp::Ordering::Equal => (error + 0.0).total_cmp(&0.0),
                other => other.reverse(),
            }
        };
        let (sum, error) = two_sum(x, y);
        are_neighbours(directions!(dadd(x, y)), by_error(sum + 0.0, error))?;
        let product = x * y;
        are_neighbours(directions!(dmul(x, y)), by_error(product, x.mul_add(y, -product)))?;
        for (a, rounded) in [(x, directions!(ddiv(x, y))), (1.0, directions!(drcp(y)))] {
            let quotient = a / y;
            are_neighbours(rounded, by_error(quotient, (-quotient).mul_add(y, a) * y))?;
        }
        let root = x.abs().sqrt();
        are_neighbours(directions!(dsqrt(x.abs())), by_error(root, (-root).mul_add(root, x.abs())))?;
        let fused = x.mul_add(y, z);
        let (alpha, low) = two_sum(z, x.mul_add(y, -product));
        let (beta, rest) = two_sum(product, alpha);
        let (error, _) = two_sum((beta - fused) + rest, low);
        are_neighbours(directions!(fma(x, y, z)), by_error(fused, error))?;
        prop_assert_eq!((dadd_rn(x, y), dmul_rn(x, y), ddiv_rn(x, y)), (x + y, x * y, x / y));
        prop_assert_eq!((drcp_rn(x), dsqrt_rn(x.abs()), fma_rn(x, y, z)), (1.0 / x, x.abs().sqrt(), fused));
    }

    #[test]
    fn directions_of_conversions_to_numbers(x in any::<f64>().prop_filter("finite", |x| x.is_finite()), l in long_words()) {
        let x = if l % 2 == 0 { x } else { x.clamp(-1e30, 1e30) % 1e-40 + f64::from(l as i32) * 1e-42 };
        are_neighbours(directions!(double2float(x)), compared(x, 0.0))?;
        prop_assert_eq!(double2float_rn(x), x as f32);
        let (i, signed) = (l as i32, i128::from(l));
        let unsigned = i128::from(l as u64);
        // An f32 or f64 of this size is an integer that fits.
        let single = |exact: i128| move |r: f32| exact.cmp(&(r as i128));
        let double = |exact: i128| move |r: f64| exact.cmp(&(r as i128));
        are_neighbours(directions!(int2float(i)), single(i.into()))?;
        are_neighbours(directions!(uint2float(i)), single((i as u32).into()))?;
        are_neighbours(directions!(ll2float(l)), single(signed))?;
        are_neighbours(directions!(ull2float(l)), single(unsigned))?;
        are_neighbours(directions!(ll2double(l)), double(signed))?;
        are_neighbours(directions!(ull2double(l)), double(unsigned))?;
        prop_assert_eq!((int2float_rn(i), uint2float_rn(i)), (i as f32, i as u32 as f32));
        prop_assert_eq!((ll2float_rn(l), ull2float_rn(l)), (l as f32, l as u64 as f32));
        prop_assert_eq!((ll2double_rn(l), ull2double_rn(l)), (l as f64, l as u64 as f64));
    }

    #[test]
    fn conversions_to_integers(x in prop_oneof![-1e3..1e3f64, -1e20..1e20f64, (-50..50i32).prop_map(|n| f64::from(n) / 2.0)]) {
        // The reference holds the whole integer before it is limited to the type.
        let to = |x: f64, low: i128, high: i128| (x as i128).clamp(low, high);
        let even = |x: f64| {
            let down = x.floor();
            let up = x - down > 0.5 || x - down == 0.5 && down % 2.0 != 0.0;
            if up { down + 1.0 } else { down }
        };
        macro_rules! check {
            ($($name:ident $x:expr, $ty:ident;)*) => {pastey::paste! {$({
                let (x, wide) = ($x, f64::from($x));
                let limited = |whole: f64| to(whole, $ty::MIN.into(), $ty::MAX.into()) as $ty as i64;
                let as_type = |found: i64| found as $ty as i64;
                prop_assert_eq!(as_type([<$name _rn>](x).into()), limited(even(wide)));
                prop_assert_eq!(as_type([<$name _rd>](x).into()), limited(wide.floor()));
                prop_assert_eq!(as_type([<$name _ru>](x).into()), limited(wide.ceil()));
                prop_assert_eq!(as_type([<$name _rz>](x).into()), limited(wide.trunc()));
            })*}};
        }
        let single = x as f32;
        check! {
            double2int x, i32; double2uint x, u32; double2ll x, i64; double2ull x, u64;
            float2int single, i32; float2uint single, u32; float2ll single, i64; float2ull single, u64;
        }
        prop_assert_eq!((llrint(x), llrintf(single)), (double2ll_rn(x), float2ll_rn(single)));
        prop_assert_eq!((llround(x), llroundf(single)), (x.round() as i64, single.round() as i64));
    }
}

#[test]
fn rounding_at_the_ends_of_the_range() {
    let (least, most) = (f32::from_bits(1), f32::MAX);
    let same = |found: f32, expected: f32| {
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{found} is not {expected}"
        );
    };
    same(fadd_rd(most, most), most);
    same(fadd_rz(most, most), most);
    same(fadd_ru(most, most), f32::INFINITY);
    same(fadd_rd(-most, -most), f32::NEG_INFINITY);
    same(fadd_ru(-most, -most), -most);
    same(fmul_ru(1e-30, 1e-30), least);
    same(fmul_rd(1e-30, 1e-30), 0.0);
    same(fmul_rd(-1e-30, 1e-30), -least);
    same(fmul_rz(-1e-30, 1e-30), -0.0);
    same(fmul_ru(-0.0, 2.0), -0.0);
    // An exact zero is negative only if rounding is downwards.
    same(fadd_rd(1.0, -1.0), -0.0);
    same(fadd_ru(1.0, -1.0), 0.0);
    same(fsub_rd(0.0, 0.0), -0.0);
    same(fmaf_rd(2.0, 3.0, -6.0), -0.0);
    same(fmaf_rz(2.0, 3.0, -6.0), 0.0);
    same(fmaf_ru(0.0, -3.0, -0.0), -0.0);
    same(fdiv_rd(1.0, 0.0), f32::INFINITY);
    same(fdiv_ru(-1.0, most), -f32::from_bits(0x0020_0000));
    same(fsqrt_ru(-0.0), -0.0);
    assert!(
        fsqrt_rd(-1.0).is_nan() && fdiv_rz(0.0, 0.0).is_nan() && fadd_rd(f32::NAN, 1.0).is_nan()
    );
    assert_eq!(dadd_ru(f64::MAX, f64::MAX), f64::INFINITY);
    assert_eq!(dadd_rz(-f64::MAX, -f64::MAX), -f64::MAX);
    assert_eq!(dmul_ru(1e-200, 1e-200), f64::from_bits(1));
    assert_eq!(dmul_ru(1e-200, -1e-200).to_bits(), (-0.0f64).to_bits());
    assert_eq!(ddiv_rd(5e-324, 2.0), 0.0);
    assert_eq!(double2float_rd(1e300), f32::MAX);
    assert_eq!(double2float_ru(1e-300), least);
    assert_eq!(double2float_rz(f64::NEG_INFINITY), f32::NEG_INFINITY);
    assert_eq!((double2int_rn(f64::NAN), float2ull_rz(f32::NAN)), (0, 0));
    assert_eq!((float2uint_ru(-7.5), double2int_rd(1e300)), (0, i32::MAX));
}

#[test]
fn reciprocal_roots_of_f32_are_correctly_rounded() {
    // All significands, with an even and an odd exponent: 1/√x is between r - h and r + h for half a unit h, so (r ± h)² x is on
    // both sides of 1. In integers: x = n 2^e, r ± h = (2m ± 1) 2^k / 2.
    for bits in 0x3f80_0000..0x4080_0000u32 {
        let (x, r) = (f32::from_bits(bits), frsqrt_rn(f32::from_bits(bits)));
        let scaled = |x: f32, by: f64| (f64::from(x) * by) as u128;
        let (n, twice) = (scaled(x, 16777216.0), scaled(r, 33554432.0 * 2.0));
        // The unit in the last place of r, which is in [½, 1]: 2^-24 below 1.
        let one = 1u128 << (24 + 26 * 2);
        let half = if r == 1.0 { 4 } else { 2 };
        let below = if r == 1.0 { 2 } else { half };
        assert!(
            (twice - below).pow(2) * n < one && (twice + half).pow(2) * n > one,
            "{x} {r}"
        );
    }
    assert_eq!(frsqrt_rn(0.0), f32::INFINITY);
    assert_eq!(frsqrt_rn(1e-45), (1.0 / f64::from(1e-45f32).sqrt()) as f32);
}

/// Distance in units of the last place of `f64`, which a subnormal number has in common with the smallest normal one.
fn ulps(a: f64, b: f64) -> f64 {
    let unit = (b.abs().next_up() - b.abs()).max(5e-324);
    if a == b { 0.0 } else { ((a - b) / unit).abs() }
}

/// The same for `f32`.
fn ulps_f32(a: f32, b: f64) -> f64 {
    let near = (b as f32).abs();
    if f64::from(a) == b || a == b as f32 {
        0.0
    } else {
        ((f64::from(a) - b) / f64::from(near.next_up() - near)).abs()
    }
}

/// The errors that the module's documentation states, in units of the last place, of a function at `x` whose value is `y`.
fn allowed(name: &str, x: f64, y: f64) -> f64 {
    match name {
        "exp10" => 4.0,
        "erfinv" | "erfcinv" | "normcdfinv" | "tgamma" => 8.0,
        "normcdf" | "erfcx" => 2.0 * (1.0 + x * x),
        // Near a zero the absolute error counts.
        "j0" | "j1" | "jn" | "y0" | "y1" | "yn" | "lgamma" => {
            4.0f64.max(2e-15 / (y.abs() * f64::EPSILON / 2.0))
        }
        _ => 2.0,
    }
}

/// Compares functions of `f64` and `f32` with values that were computed with 40 digits.
macro_rules! tabulated {
    ($($wide:ident $single:ident: $($x:tt => $y:expr),*;)*) => {{
        let mut wrong = Vec::new();
        $($({
            let (x, y): (f64, f64) = (tabulated!(@last $x), $y);
            let name = stringify!($wide);
            let error = ulps(tabulated!(@call $wide $x), y);
            if error > allowed(name, x, y) {
                wrong.push(format!("{name}{}: {error} ULP", stringify!($x)));
            }
            // Rounding the argument changes the value, so the reference of f32 is the function of f64.
            let exact = tabulated!(@wide $wide $x);
            let error = ulps_f32(tabulated!(@single $single $x), exact);
            let tiny = exact.abs() < f64::from(f32::MIN_POSITIVE) || exact.abs() > f64::from(f32::MAX);
            if !tiny && error > allowed_f32(name, exact) {
                wrong.push(format!("{name}f{}: {error} ULP", stringify!($x)));
            }
        })*)*
        assert!(wrong.is_empty(), "{wrong:#?}");
    }};
    (@last ($a:expr, $b:expr)) => { $b };
    (@last ($x:expr)) => { $x };
    (@call $f:ident ($a:expr, $b:expr)) => { nv::$f($a, $b) };
    (@call $f:ident ($x:expr)) => { nv::$f($x) };
    (@single $f:ident ($a:expr, $b:expr)) => { nv::$f(Rounded::narrow($a), f64::narrow($b)) };
    (@single $f:ident ($x:expr)) => { nv::$f(f64::narrow($x)) };
    (@wide $f:ident ($a:expr, $b:expr)) => { nv::$f(Rounded::rounded($a), f64::rounded($b)) };
    (@wide $f:ident ($x:expr)) => { nv::$f(f64::rounded($x)) };
}

/// An argument of a function of `f32`: a number, or an integer, which stays as it is.
trait Rounded: Copy {
    type Single;
    fn narrow(self) -> Self::Single;
    /// The argument of the function of `f64`.
    fn rounded(self) -> Self;
}
impl Rounded for f64 {
    type Single = f32;
    fn narrow(self) -> f32 {
        self as f32
    }
    fn rounded(self) -> Self {
        f64::from(self as f32)
    }
}
impl Rounded for i32 {
    type Single = i32;
    fn narrow(self) -> i32 {
        self
    }
    fn rounded(self) -> Self {
        self
    }
}

/// The errors of the functions of `f32`.
fn allowed_f32(name: &str, y: f64) -> f64 {
    match name {
        "j0" | "j1" | "jn" | "y0" | "y1" | "yn" | "lgamma" => {
            2.0f64.max(1e-6 / (y.abs() * f64::from(f32::EPSILON) / 2.0))
        }
        "tgamma" => 4.0,
        _ => 2.0,
    }
}

#[test]
#[rustfmt::skip]
#[allow(clippy::approx_constant, reason = "the values of functions, whatever they are")]
fn functions_have_their_tabulated_values() {
    tabulated! {
        acos acosf: (-0.35233447033367526) => 1.9308606905012196, (-0.6983016521509962) => 2.3438184238910953, (0.3018689460797075) => 1.264143879753075, (-0.8551274266649145) => 2.596592915703357, (0.0717640086133784) => 1.4989705766731998, (-0.2686221661748289) => 1.8427586648023249, (-0.8840021504505864) => 2.655151494997266, (1e-09) => 1.5707963257948967;
        acosh acoshf: (1.0000001) => 0.0004472135919037347, (1.5) => 0.9624236501192069, (25.864350926281592) => 3.9456388675372267, (2.837287263657259) => 1.703385045501312, (22.24863849945691) => 3.794922564672163, (4.422915755156328) => 2.1669143898687673, (1e+200) => 461.2101657793691;
        asin asinf: (-0.8185739733122699) => -0.9589239767015245, (-0.15096162171497207) => -0.15154097071157752, (0.6537042493440761) => 0.7124690945208577, (-0.7523960777007088) => -0.8516920865583805, (-0.5535220707859709) => -0.5865873401717507, (0.2548664448111786) => 0.2577095843873876, (0.8954178849140113) => 1.109368907796501, (1e-09) => 1e-09;
        asinh asinhf: (0.7710294861749869) => 0.7098859301452443, (-1.0331952534921984) => -0.9046524717894178, (4.762551055929201) => 2.2647747604947384, (-4.534173193822437) => -2.2167342172744693, (3.5846845904867948) => 1.9887285742991077, (1e-09) => 1e-09, (1e+200) => 461.2101657793691;
        atan atanf: (-2.1039071366832376) => -1.1270982295160306, (-3.5574491664256245) => -1.296767614875863, (-3.8220776192163166) => -1.314894780963618, (-1.9151817589806566) => -1.0895911313064797, (3.1612635912003135) => 1.2644267426545748, (1e-09) => 1e-09, (1e+200) => 1.5707963267948966;
        atanh atanhf: (0.18072637992393747) => 0.1827334928864383, (0.5816001636624663) => 0.664877426873749, (0.6389134689261841) => 0.7563355772164381, (0.3723975427257312) => 0.3912037921431441, (0.5477444657095578) => 0.6151533026274516, (0.06278897497332314) => 0.06287168495392353, (1e-09) => 1e-09, (0.999999) => 7.254328619247669;
        cbrt cbrtf: (-44.03988300337674) => -3.531414686643097, (-29.404128718067348) => -3.0865224374105757, (18.039997318178592) => 2.6226811179483094, (-7.240769433059711) => -1.9346165832922682, (-18.585282962320846) => -2.64884406508558, (1e-300) => 1e-100, (1e+300) => 1e+100;
        cos cosf: (1.7112372701527754) => -0.13997973023072613, (-0.9363124725844933) => 0.5927619009946409, (-4.004660062726353) => -0.650109789218657, (5.887589630449824) => 0.9227671793393937, (3.9798886745914253) => -0.668730712461238, (-511806.9785556942) => -0.7683216868850429, (148847.42051734193) => 0.32535448395235284, (50393.00762290298) => -0.28658747397343426, (1e+22) => 0.523214785395139;
        cosh coshf: (22.508249734405737) => 2979741991.9883566, (13.766717366353056) => 476189.0345542378, (-12.723734106588807) => 167809.8758277833, (28.810490849554924) => 1626324487569.1226, (-22.916053304702274) => 4480077239.311056;
        cospi cospif: (-1.6375435642954557) => 0.418784023244703, (5.142818591304987) => -0.9010214103741554, (-6.960309306789904) => -0.9922360212029152, (-0.22073799048388842) => 0.7690333277196167, (-9.215854859051246) => -0.7787484314077917, (1234567.25) => -0.7071067811865476;
        erf erff: (1.0092951392063707) => 0.8465235214322137, (1.587425197276879) => 0.9752291866651613, (0.438155641664304) => 0.46450889533937817, (2.2528668709853292) => 0.998557627950788, (-1.1175149229114194) => -0.8859857978453842, (1e-09) => 1.1283791670955127e-09;
        erfc erfcf: (12.991793424294164) => 2.1545073178006868e-75, (10.670507173415423) => 1.8737161295009498e-51, (10.33758969849732) => 2.1075934392503847e-48, (7.4927226199325005) => 3.099704919606164e-26, (16.319258951788452) => 7.5401994352620895e-118, (18.72766518748256) => 1.4461047760577311e-154, (7.904261760651822) => 5.206969036954225e-29;
        erfcinv erfcinvf: (1.3250213668398554) => -0.2965075461934711, (0.13012546664249505) => 1.0702819911943096, (1.3989542021827592) => -0.3697441513145302, (1.2913151319647842) => -0.2641913109858576, (1.9763299601439355) => -1.5997888664813864, (1.6374110774872355) => -0.6437804282485862, (1e-09) => 4.320005384913445, (1e-100) => 15.065574702592645, (1e-290) => 25.766790135462426, (1.0000001) => -8.862269259701992e-08;
        erfcx erfcxf: (-1.2924268074351046) => 10.26908425837491, (-0.6852513453197351) => 2.6668426793927758, (1.011916295305129) => 0.42434968826852987, (-2.8646224316664686) => 7325.988525812609, (-0.22982828220140483) => 1.3229024757502341, (7.537306230476704) => 0.074210830137787, (6.1615864510067615) => 0.09040448663113097, (4.591769321945381) => 0.12014208911452834;
        erfinv erfinvf: (0.5364659769450415) => 0.5183375665929104, (-0.7413195559626315) => -0.7986880537903988, (-0.5047703326061714) => -0.4822572062132784, (-0.21810059373354584) => -0.19575871879898563, (0.7428439482525988) => 0.801249991471071, (-0.8388373975997228) => -0.9907783238951461, (-0.10162519810133808) => -0.09030788981560285, (1e-09) => 8.86226925452758e-10, (1e-300) => 8.86226925452758e-301, (0.5) => 0.4769362762044699, (0.9999999) => 3.7665625816384707;
        exp expf: (2.966394548642242) => 19.421768966392026, (23.003029586490747) => 9774370937.144966, (19.156790270144477) => 208779717.3538378, (21.83906818191091) => 3052015966.7088304, (-13.294736129166171) => 1.6833307648698485e-06, (-740.5) => 2.5e-322, (700.1) => 1.120899771073261e+304, (1e-09) => 1.000000001;
        exp10 exp10f: (-5.082208967298087) => 8.275438827602473e-06, (-8.473730080102513) => 3.3594634457113694e-09, (23.051569631893024) => 1.12608100277129e+23, (27.463872237839475) => 2.90986095979571e+27, (-20.944745652533463) => 1.1356757370327493e-21, (300.1) => 1.258925411794233e+300, (-320.3) => 5.01e-321;
        exp2 exp2f: (-19.426936290577782) => 1.4187616891081595e-06, (-16.082587990827854) => 1.4409821691810475e-05, (-15.999834979148332) => 1.52605345196554e-05, (-0.9022361795186029) => 0.5350567494182913, (5.347410223935341) => 40.712791071633525, (1000.1) => 1.1484144900614846e+301, (-1070.3) => 6.4e-323;
        expm1 expm1f: (-14.235202842087723) => -0.9999993427509654, (-29.754383796896164) => -0.9999999999998803, (-4.8632099324803235) => -0.992274354752332, (-7.844785626316476) => -0.999608210411501, (3.9804734223835183) => 52.54237638769359, (1e-09) => 1.0000000005000001e-09;
        j0 j0f: (18.123917021003813) => 0.009902946899348838, (7.619746285439113) => 0.24841322674782995, (0.6196573228311344) => 0.9062854785630009, (4.703709976365108) => -0.26829396425352303, (7.048003297980053) => 0.29995832185620985, (-17.840284271048393) => -0.043216996864793904, (15.98132040231809) => -0.1731790783740144;
        j1 j1f: (11.19877962824291) => -0.2037129002660641, (14.98052736537906) => 0.2056088777566218, (11.914924847862643) => -0.22829732870558034, (-4.304843724349254) => 0.17344877840399092, (-4.040846707189081) => 0.0814567996284693, (-15.85851625158703) => -0.11506795554509208, (5.37158262742836) => -0.3458578284354745;
        lgamma lgammaf: (3.2061662987725104) => 0.8915709253598579, (3.4606460305669398) => 1.1578169341588416, (10.517282953763607) => 13.980442793843707, (8.19892906982766) => 8.928742425439248, (17.068677246393936) => 30.864540366487653, (2.7235226341243206) => 0.4536862918543089, (-2.5) => -0.056243716497674054, (1e+100) => 2.2925850929940456e+102, (1e-05) => 11.512919692895826;
        log logf: (0.0011664095067831504) => -6.753825046208845, (0.7563246613971397) => -0.2792845486957587, (0.5073218401129825) => -0.678609683664629, (1.818049610172855) => 0.5977642837068702, (0.12750443333072847) => -2.0596041437667614, (1e-300) => -690.7755278982137, (1e+300) => 690.7755278982137;
        log10 log10f: (4.371661886869099) => 0.6406465653670202, (3.0703449389423936) => 0.487187169178818, (0.7427524266544572) => -0.12915592063379863, (1.2612887827853863) => 0.10081453337042369, (1.7369477302685077) => 0.23978674947904158, (1e-300) => -300.0, (1e+300) => 300.0;
        log1p log1pf: (1.1849806371696947) => 0.7816069668010548, (-0.2629466154268305) => -0.305094954445707, (4.09362155890769) => 1.6279890822599563, (4.958616330228283) => 1.7848382947664323, (1.7959367549596026) => 1.0281672042872634, (1e-09) => 9.999999995e-10;
        log2 log2f: (2.4191732820813474) => 1.2745141112962939, (0.42942330778082793) => -1.2195275965010175, (0.5109380837408423) => -0.9687796211259654, (1.713179191215009) => 0.7766760590441185, (1.3237844585859004) => 0.4046682385775456, (1e-300) => -996.5784284662087, (1e+300) => 996.5784284662087;
        normcdf normcdff: (1.9731322687293629) => 0.9757597526506067, (-2.0313683368414113) => 0.021108821945434654, (-2.861425673728511) => 0.002108701894605086, (2.7059134372482125) => 0.9965941600445637, (0.1695443702527486) => 0.5673157624621166, (-10.1) => 2.762109471764517e-24, (-30.2) => 1.1842914786109379e-200;
        normcdfinv normcdfinvf: (0.1536704881211089) => -1.0208173636884197, (0.542308977364472) => 0.1062524652246019, (0.036501641593725154) => -1.7928101674300023, (0.5275472521195403) => 0.06910568514148759, (0.9689312178645934) => 1.8653128553108356, (0.8560585296838755) => 1.0627773341911217, (1e-09) => -5.9978070150076865, (1e-100) => -21.273453560965326, (0.2499999) => -0.6744900648826232, (0.5000001) => 2.506628273311648e-07;
        rcbrt rcbrtf: (19.619678590780183) => 0.3707683923259381, (-23.888480277063806) => -0.3472192750680002, (-13.330020823882116) => -0.42175126191965195, (-33.295796546566365) => -0.3108399737586175, (27.19379084020312) => 0.332539634960051, (1e-300) => 1e+100, (1e+300) => 1e-100;
        rsqrt rsqrtf: (26.62961987464395) => 0.19378382163649271, (38.95274456690886) => 0.1602252539168216, (16.48324975238812) => 0.24630803554015826, (11.152083655159256) => 0.2994483957299642, (40.57556233867975) => 0.15698845893993843, (1e-300) => 1e+150, (1e+300) => 1e-150, (3e-310) => 5.773502691896267e+154;
        sin sinf: (9.698521011817817) => -0.2703370034202596, (7.052575974933212) => 0.6956976633008606, (6.1215716957133495) => -0.16091099977548384, (6.366658866507464) => 0.08337665476192799, (4.797460407514283) => -0.9963836079627961, (-546521.0199368303) => 0.13671091546974132, (35277.448487011134) => -0.4834396942547966, (-288874.91329008364) => 0.7273090086332528, (1e+22) => -0.8522008497671888, (1e-09) => 1e-09;
        sinh sinhf: (-28.261190955518074) => -938964749478.1218, (-28.323775474676133) => -999607255332.0255, (-13.234887657058213) => -279774.85698153137, (-14.449538203934607) => -942594.0898247311, (11.551316502007403) => 51956.87472962599, (1e-09) => 1e-09;
        sinpi sinpif: (9.130301526826756) => -0.3980170778395756, (-1.055446444665531) => 0.1733105931295873, (8.740424025524845) => 0.728056085109915, (9.760761164057204) => -0.6828019914941418, (9.100012626426665) => -0.3090547197755365, (1234567.25) => -0.7071067811865476, (1e-09) => 3.1415926535897936e-09;
        tan tanf: (-2.7072822927626783) => 0.4638483623770567, (-5.590753540075251) => 0.8294325725152915, (-5.463083465385441) => 1.071932560781508, (-6.065876731613655) => 0.22079510367759997, (-5.91253273447554) => 0.38861409615763615, (248132.79487563646) => 0.40210202580343174, (800616.6757682285) => 0.740753119662267, (680871.0545585796) => -0.03808702974476364, (1e-09) => 1e-09;
        tanh tanhf: (-0.12315944243077048) => -0.12254049317730138, (0.9178682570460541) => 0.7248873835164114, (1.7978624690979608) => 0.9465842050587991, (-2.491329081297719) => -0.986381735404146, (0.9635139012293648) => 0.7458401549144781, (1e-09) => 1e-09;
        tgamma tgammaf: (45.49787916383097) => 1.7639775977023058e+55, (39.13691391649469) => 8.623813894154024e+44, (37.53200894553987) => 2.5314640386847735e+42, (23.95383395524061) => 2.2346825603855765e+22, (9.00823374504492) => 41037.12324269448, (39.47785800791179) => 3.00216092973006e+45, (-2.5) => -0.9453087204829419, (170.3) => 1.99158755723589e+305, (1e-05) => 99999.42279422555;
        y0 y0f: (6.717092277305737) => -0.11114785855622906, (16.03638902104415) => 0.08928005636750132, (19.435980050744952) => -0.03690630848610498, (7.977186051882017) => 0.21985244629413914, (8.08759767556726) => 0.2364204305288146, (18.94126042865137) => -0.11812425664447712, (14.523493446120883) => 0.1921516463563319;
        y1 y1f: (3.48307283344072) => 0.40891568492916924, (2.6280635092275) => 0.19971242411904602, (3.107898937591647) => 0.3514366624795899, (18.106556705091464) => -0.011827381291892862, (16.149389442440704) => 0.1885528095546869, (3.0088687440030957) => 0.32704190929460153, (16.5475585226552) => 0.19569803166206015;
        atan2 atan2f: (8.645506982046548, 2.8308292692483583) => 1.2543649182359247, (-2.6926647811649485, 0.8758807917620253) => -1.25630757378972, (-6.642290663829893, -8.7436271131901) => -2.491930005102981, (8.476023190279758, 2.69414405412895) => 1.2630405929061812, (0.4784588477829992, 7.805246491033682) => 0.061223037963643735, (-1.1914301383652592, 6.691372703809273) => -0.17620801887150786;
        hypot hypotf: (5.87079453267398, -5.201237928093321) => 7.843411530036607, (-4.466973395421832, -3.726600251936059) => 5.81733622486584, (-4.670290933949978, 1.5558690269873097) => 4.922636065856768, (-4.331433685136217, -1.4577740504182142) => 4.5701666217770915, (-6.6406738229373, 7.380307013680017) => 9.928115653980827, (-2.6318875688413392, -0.7531022435087937) => 2.737516239988277;
        pow powf: (5.25013894837665, 72.77341941756717) => 2.566205874884879e+52, (3.7856544363815865, 75.18979518167959) => 2.9532551479517166e+43, (4.514840470082084, 5.72849323846809) => 5624.897532023938, (4.711559270284497, -86.6331237770244) => 4.804440188104378e-59, (3.9611242114644902, -57.040580291004225) => 7.944893359973455e-35, (0.03539233643077788, 53.85068108859991) => 7.207321714831837e-79;
        jn jnf: (4, 3.260399935641229) => 0.16846327993859506, (3, 11.35127468559316) => 0.24073497045563164, (7, 13.805461612401901) => -0.1791948239892011, (9, 15.793313269626772) => -0.20739176568368026, (3, 17.72294238154422) => 0.19001813092180792, (2, 5.3456392603402545) => -0.0694778865009503;
        yn ynf: (6, 1.3228784468702333) => -498.34021726220453, (3, 10.40042283995025) => -0.2067946161592057, (2, 15.319866280505323) => -0.17765633953403884, (3, 9.143343674760057) => -0.22568889178203935, (5, 14.008254549690468) => -0.005268114372917014, (9, 10.409045013778401) => -0.12393661488182126;
    }
}

#[test]
fn functions_behind_pointers() {
    let (mut a, mut b, mut n) = (0.0, 0.0, 0);
    let (mut c, mut d) = (0.0f32, 0.0f32);
    // SAFETY: the pointers are those of variables, and the texts end with zeros.
    unsafe {
        sincos(1.25, &mut a, &mut b);
        assert_eq!((a, b), (sin(1.25), cos(1.25)));
        sincospi(1.25, &mut a, &mut b);
        assert_eq!((a, b), (sinpi(1.25), cospi(1.25)));
        sincosf(1.25, &mut c, &mut d);
        assert_eq!((c, d), (sinf(1.25), cosf(1.25)));
        sincospif(0.5, &mut c, &mut d);
        assert_eq!((c, d), (1.0, 0.0));
        fast_sincosf(1.25, &mut c, &mut d);
        assert_eq!((c, d), (fast_sinf(1.25), fast_cosf(1.25)));
        assert_eq!((frexp(-6.0, &mut n), n), (-0.75, 3));
        assert_eq!((frexpf(0.375, &mut n), n), (0.75, -1));
        assert_eq!((frexp(0.0, &mut n), n), (0.0, 0));
        assert_eq!((modf(-2.75, &mut a), a), (-0.75, -2.0));
        assert_eq!((modff(2.75, &mut c), c), (0.75, 2.0));
        assert_eq!(
            (modf(f64::NEG_INFINITY, &mut a).to_bits(), a),
            ((-0.0f64).to_bits(), f64::NEG_INFINITY)
        );
        assert_eq!((remquo(29.0, 3.0, &mut n), n & 7), (-1.0, 10 & 7));
        assert_eq!((remquof(-29.0, 3.0, &mut n), -n & 7), (1.0, 10 & 7));
        let text = |text: &std::ffi::CStr| text.as_ptr().cast_mut().cast::<i8>();
        for (tag, payload) in [
            (c"", 0),
            (c"77", 77),
            (c"0x1fA", 0x1fa),
            (c"017", 0o17),
            (c"12x", 0),
        ] {
            assert_eq!(nan(text(tag)).to_bits(), 0x7ff8_0000_0000_0000 | payload);
            assert_eq!(nanf(text(tag)).to_bits(), 0x7fc0_0000 | payload as u32);
        }
    }
}

#[test]
fn exact_functions_and_special_values() {
    assert_eq!(
        (rint(2.5), nearbyintf(-3.5), nv::round(2.5), roundf(-2.5)),
        (2.0, -4.0, 3.0, -3.0)
    );
    assert_eq!(
        (ceil(-0.5), floorf(-0.5), nv::trunc(-1.5), truncf(1.5)),
        (0.0, -1.0, -1.0, 1.0)
    );
    assert_eq!((nv::sqrt(2.0), sqrtf(2.0)), (2f64.sqrt(), 2f32.sqrt()));
    assert_eq!(
        (nv::fma(3.0, 1e-30, -3e-30), fmaf(3.0, 5.0, 7.0)),
        (3f64.mul_add(1e-30, -3e-30), 22.0)
    );
    assert_eq!(
        (ceilf(0.5), floor(0.5), rintf(0.5), nearbyint(1.5)),
        (1.0, 0.0, 0.0, 2.0)
    );
    assert_eq!(
        (
            fabs(-1.5),
            fabsf(-1.5),
            nv::copysign(1.5, -0.0),
            copysignf(-1.5, 2.0)
        ),
        (1.5, 1.5, -1.5, 1.5)
    );
    assert_eq!(
        (
            fmod(-7.5, 2.0),
            fmodf(7.5, 2.0),
            remainder(7.5, 2.0),
            remainderf(5.0, 2.0)
        ),
        (-1.5, 1.5, -0.5, 1.0)
    );
    assert_eq!(
        (fdim(3.0, 1.0), fdim(1.0, 3.0), fdimf(3.0, 1.0)),
        (2.0, 0.0, 2.0)
    );
    for (x, y, most, least) in [
        (1.0, 2.0, 2.0f64, 1.0f64),
        (f64::NAN, 2.0, 2.0, 2.0),
        (1.0, f64::NAN, 1.0, 1.0),
        (-0.0, 0.0, 0.0, -0.0),
        (0.0, -0.0, 0.0, -0.0),
    ] {
        assert_eq!(
            (fmax(x, y).to_bits(), fmin(x, y).to_bits()),
            (most.to_bits(), least.to_bits())
        );
        let (x, y, most, least) = (x as f32, y as f32, most as f32, least as f32);
        assert_eq!(
            (fmaxf(x, y).to_bits(), fminf(x, y).to_bits()),
            (most.to_bits(), least.to_bits())
        );
    }
    assert!(fmax(f64::NAN, f64::NAN).is_nan() && fminf(f32::NAN, f32::NAN).is_nan());
    assert_eq!(
        (nextafter(1.0, 2.0), nextafterf(1.0, 0.0)),
        (1f64.next_up(), 1f32.next_down())
    );
    assert_eq!(
        (
            ldexp(0.75, 4),
            ldexpf(0.75, -1),
            scalbn(3.0, 1),
            scalbnf(3.0, -1)
        ),
        (12.0, 0.375, 6.0, 1.5)
    );
    assert_eq!(
        (
            powi(-2.0, 3),
            powi(2.0, i32::MIN),
            powif(-2.0, -3),
            powif(0.0, 0)
        ),
        (-8.0, 0.0, -0.125, 1.0)
    );
    assert_eq!(
        (
            ilogb(0.3),
            ilogb(0.0),
            ilogb(f64::INFINITY),
            ilogb(f64::NAN)
        ),
        (-2, i32::MIN, i32::MAX, i32::MIN)
    );
    assert_eq!((ilogbf(1e-45), ilogbf(0.0)), (-149, i32::MIN));
    assert_eq!(
        (logb(5e-324), logb(0.0), logb(f64::NEG_INFINITY)),
        (-1074.0, f64::NEG_INFINITY, f64::INFINITY)
    );
    assert_eq!((logbf(9.0), logbf(-0.0)), (3.0, f32::NEG_INFINITY));
    assert!(logb(f64::NAN).is_nan() && logbf(f32::NAN).is_nan());
    assert_eq!(
        [-1.0, 0.25, 7.0, f32::NAN].map(saturatef),
        [0.0, 0.25, 1.0, 0.0]
    );
    let values = [1.5, 5e-324, -0.0, f64::INFINITY, f64::NAN];
    assert_eq!(values.map(isfinited), [1, 1, 1, 0, 0]);
    assert_eq!(values.map(isinfd), [0, 0, 0, 1, 0]);
    assert_eq!(values.map(isnand), [0, 0, 0, 0, 1]);
    assert_eq!([-1.5, -0.0, 0.0].map(signbitd), [1, 1, 0]);
    let values = values.map(|x| x as f32);
    assert_eq!(values.map(finitef), [1, 1, 1, 0, 0]);
    assert_eq!(values.map(isinff), [0, 0, 0, 1, 0]);
    assert_eq!(values.map(isnanf), [0, 0, 0, 0, 1]);
    assert_eq!([-1.5, -0.0, 0.0].map(signbitf), [1, 1, 0]);
    assert_eq!(
        (
            float2half_rn(1.0),
            float2half_rn(65504.0),
            half2float(0x3555)
        ),
        (0x3c00, 0x7bff, 0.333_251_95)
    );
    assert!(
        jn(-1, 2.0).is_nan()
            && ynf(-1, 2.0).is_nan()
            && erfinv(1.5).is_nan()
            && normcdfinv(-0.1).is_nan()
    );
    assert_eq!(
        (erfinv(1.0), erfinvf(-1.0), erfcinv(0.0), erfcinvf(2.0)),
        (
            f64::INFINITY,
            f32::NEG_INFINITY,
            f64::INFINITY,
            f32::NEG_INFINITY
        )
    );
}

proptest! {
    #[test]
    fn fast_functions_are_near_the_accurate_ones(x in 0.1f32..6.0, y in 0.1f32..6.0) {
        let near = |found: f32, expected: f32| (found - expected).abs() <= 4e-6 * expected.abs().max(1.0);
        for (found, expected) in [
            (fast_sinf(x), sinf(x)), (fast_cosf(x), cosf(x)), (fast_expf(x), expf(x)), (fast_logf(x), logf(x)),
            (fast_log2f(x), log2f(x)), (fast_log10f(x), log10f(x)), (fast_fdividef(x, y), x / y),
        ] {
            prop_assert!(near(found, expected), "{found} {expected}");
        }
        prop_assert!((fast_exp10f(x) / exp10f(x) - 1.0).abs() < 4e-6);
        prop_assert!((fast_powf(x, y) / powf(x, y) - 1.0).abs() < 4e-6);
        prop_assert!((fast_tanf(x) * cosf(x) - sinf(x)).abs() < 4e-6 * (1.0 + tanf(x).abs()));
    }
}

#[test]
fn fast_quotients_of_large_divisors_are_zero() {
    let large = f32::MAX;
    assert_eq!(
        (fast_fdividef(1.0, large), fast_fdividef(1e38, -large)),
        (0.0, -0.0)
    );
    assert!(fast_fdividef(f32::INFINITY, large).is_nan());
    assert_eq!(fast_fdividef(1.0, 1e-40), f32::INFINITY);
}
