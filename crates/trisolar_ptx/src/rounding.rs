//! Floating-point arithmetic with directions of rounding, exact in every format: values are integers times powers of two.

use std::cmp::Ordering;

use crate::instruction::{Rounding, Type};

/// A format: bits of the significand with the hidden one, and bits of the exponent.
fn format(ty: Type) -> (u32, u32) {
    match ty {
        Type::F16 => (11, 5),
        Type::Bf16 => (8, 8),
        Type::F32 => (24, 8),
        _ => (53, 11),
    }
}

/// A number: `(-1)^negative · m · 2^e`.
#[derive(Clone, Copy, Debug)]
struct Number {
    negative: bool,
    m: u128,
    e: i32,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Nan,
    Infinite(bool),
    Finite(Number),
}

fn unpack(bits: u64, ty: Type) -> Value {
    let (precision, exponents) = format(ty);
    let fraction = bits & ((1 << (precision - 1)) - 1);
    let exponent = (bits >> (precision - 1) & ((1 << exponents) - 1)) as i32;
    let negative = bits >> (precision + exponents - 1) & 1 != 0;
    let bias = (1 << (exponents - 1)) - 1;
    if exponent == (1 << exponents) - 1 {
        return match fraction {
            0 => Value::Infinite(negative),
            _ => Value::Nan,
        };
    }
    let hidden = u64::from(exponent != 0) << (precision - 1);
    Value::Finite(Number {
        negative,
        m: u128::from(fraction | hidden),
        e: exponent.max(1) - bias - precision as i32 + 1,
    })
}

fn infinite(negative: bool, ty: Type) -> u64 {
    let (precision, exponents) = format(ty);
    let sign = u64::from(negative) << (precision + exponents - 1);
    sign | ((1 << exponents) - 1) << (precision - 1)
}

/// PTX's number that is none.
pub(crate) fn nan(ty: Type) -> u64 {
    match ty {
        Type::F16 | Type::Bf16 => 0x7fff,
        Type::F32 => 0x7fff_ffff,
        _ => 0x7ff8_0000_0000_0000,
    }
}

/// The decision of rounding: whether to take the larger magnitude, where `half` compares what is cut off with half a unit.
fn is_up(rounding: Rounding, negative: bool, is_odd: bool, half: Ordering, is_exact: bool) -> bool {
    match rounding {
        Rounding::Nearest => half == Ordering::Greater || half == Ordering::Equal && is_odd,
        Rounding::Away => half != Ordering::Less,
        Rounding::Zero => false,
        Rounding::Down => negative && !is_exact,
        Rounding::Up => !negative && !is_exact,
    }
}

/// The nearest number of a format in a direction. `more` says that the value is a little larger in magnitude than `m · 2^e`; then `m` must
/// have at least two bits more than the format.
fn round(number: Number, more: bool, ty: Type, rounding: Rounding) -> u64 {
    let Number { negative, m, e } = number;
    let (precision, exponents) = format(ty);
    let sign = u64::from(negative) << (precision + exponents - 1);
    if m == 0 {
        return sign;
    }
    let bias = (1 << (exponents - 1)) - 1;
    let least = 2 - bias - precision as i32;
    let length = 128 - m.leading_zeros() as i32;
    // The unit of the result.
    let unit = (e + length - precision as i32).max(least);
    let cut = unit - e;
    let mut kept = match cut {
        ..=0 => m << -cut,
        1..=127 => m >> cut,
        _ => 0,
    };
    if cut > 0 || more {
        let (half, is_exact) = match cut {
            ..=0 => (Ordering::Less, !more),
            1..=127 => {
                let lost = m & ((1 << cut) - 1);
                let half = (lost.cmp(&(1 << (cut - 1)))).then(match more {
                    true => Ordering::Greater,
                    false => Ordering::Equal,
                });
                (half, lost == 0 && !more)
            }
            _ => (Ordering::Less, false),
        };
        if is_up(rounding, negative, kept & 1 != 0, half, is_exact) {
            kept += 1;
        }
    }
    let mut unit = unit;
    if kept >> precision != 0 {
        kept >>= 1;
        unit += 1;
    }
    if kept >> (precision - 1) == 0 {
        return sign | kept as u64;
    }
    let exponent = unit + bias + precision as i32 - 1;
    if exponent >= (1 << exponents) - 1 {
        let finite = match rounding {
            Rounding::Zero => true,
            Rounding::Down => !negative,
            Rounding::Up => negative,
            _ => false,
        };
        return infinite(negative, ty) - u64::from(finite);
    }
    sign | (exponent as u64) << (precision - 1) | kept as u64 & ((1 << (precision - 1)) - 1)
}

/// The sum of two numbers.
fn sum(a: Number, b: Number, rounding: Rounding) -> (Number, bool) {
    let (mut high, mut low) = match (a.m, b.m) {
        (0, 0) => {
            let negative = match a.negative == b.negative {
                true => a.negative,
                false => rounding == Rounding::Down,
            };
            return (Number { negative, ..a }, false);
        }
        (0, _) => return (b, false),
        (_, 0) => return (a, false),
        _ if a.e >= b.e => (a, b),
        _ => (b, a),
    };
    // As far to the left as there is room, but no farther than the other one.
    let shift = (high.m.leading_zeros() as i32 - 2)
        .min(high.e - low.e)
        .max(0);
    high.m <<= shift;
    high.e -= shift;
    let cut = high.e - low.e;
    let mut more = false;
    if cut > 0 {
        let lost = match cut {
            1..=127 => low.m & ((1 << cut) - 1),
            _ => low.m,
        };
        low.m = match cut {
            1..=127 => low.m >> cut,
            _ => 0,
        };
        more = lost != 0;
    }
    let e = high.e;
    if high.negative == low.negative {
        let m = high.m + low.m;
        return (Number { m, e, ..high }, more);
    }
    // What was lost of a number that is subtracted makes the difference a little smaller.
    let low_m = low.m + u128::from(more);
    match high.m.cmp(&low_m) {
        Ordering::Equal if !more => {
            let negative = rounding == Rounding::Down;
            (Number { negative, m: 0, e }, false)
        }
        Ordering::Less => {
            let m = low_m - high.m - u128::from(more);
            (Number { m, e, ..low }, more)
        }
        _ => {
            let m = high.m - low_m;
            (Number { m, e, ..high }, more)
        }
    }
}

fn product(a: Number, b: Number) -> Number {
    Number {
        negative: a.negative != b.negative,
        m: a.m * b.m,
        e: a.e + b.e,
    }
}

pub(crate) fn add(a: u64, b: u64, ty: Type, rounding: Rounding) -> u64 {
    match (unpack(a, ty), unpack(b, ty)) {
        (Value::Finite(a), Value::Finite(b)) => {
            let (number, more) = sum(a, b, rounding);
            round(number, more, ty, rounding)
        }
        (Value::Infinite(a), Value::Infinite(b)) if a != b => nan(ty),
        (Value::Infinite(sign), Value::Finite(_) | Value::Infinite(_))
        | (Value::Finite(_), Value::Infinite(sign)) => infinite(sign, ty),
        _ => nan(ty),
    }
}

pub(crate) fn mul(a: u64, b: u64, ty: Type, rounding: Rounding) -> u64 {
    match (unpack(a, ty), unpack(b, ty)) {
        (Value::Finite(a), Value::Finite(b)) => round(product(a, b), false, ty, rounding),
        (Value::Infinite(a), Value::Infinite(b)) => infinite(a != b, ty),
        (Value::Infinite(sign), Value::Finite(n)) | (Value::Finite(n), Value::Infinite(sign))
            if n.m != 0 =>
        {
            infinite(sign != n.negative, ty)
        }
        _ => nan(ty),
    }
}

pub(crate) fn fma(a: u64, b: u64, c: u64, ty: Type, rounding: Rounding) -> u64 {
    match (unpack(a, ty), unpack(b, ty), unpack(c, ty)) {
        (Value::Finite(a), Value::Finite(b), Value::Finite(c)) => {
            let (number, more) = sum(product(a, b), c, rounding);
            round(number, more, ty, rounding)
        }
        (Value::Finite(_), Value::Finite(_), Value::Infinite(sign)) => infinite(sign, ty),
        _ => add(mul(a, b, ty, rounding), c, ty, rounding),
    }
}

pub(crate) fn div(a: u64, b: u64, ty: Type, rounding: Rounding) -> u64 {
    match (unpack(a, ty), unpack(b, ty)) {
        (Value::Finite(a), Value::Finite(b)) => {
            let negative = a.negative != b.negative;
            if b.m == 0 {
                return match a.m {
                    0 => nan(ty),
                    _ => infinite(negative, ty),
                };
            }
            // With the divisor at its full length, 64 bits more are enough for every format.
            let shift = b.m.leading_zeros() as i32 - 75;
            let b = Number {
                m: b.m << shift,
                e: b.e - shift,
                ..b
            };
            let shift = a.m.leading_zeros().min(127) as i32;
            let m = a.m << shift;
            let number = Number {
                negative,
                m: m / b.m,
                e: a.e - shift - b.e,
            };
            round(number, !m.is_multiple_of(b.m), ty, rounding)
        }
        (Value::Infinite(sign), Value::Finite(n)) => infinite(sign != n.negative, ty),
        (Value::Finite(n), Value::Infinite(sign)) => round(
            Number {
                m: 0,
                e: 0,
                negative: n.negative != sign,
            },
            false,
            ty,
            rounding,
        ),
        _ => nan(ty),
    }
}

pub(crate) fn sqrt(a: u64, ty: Type, rounding: Rounding) -> u64 {
    match unpack(a, ty) {
        Value::Finite(n) if n.m == 0 => a,
        Value::Finite(n) if !n.negative => {
            let mut shift = n.m.leading_zeros() as i32 - 1;
            shift -= (n.e - shift) & 1;
            let (m, e) = (n.m << shift, n.e - shift);
            let root = m.isqrt();
            let number = Number {
                negative: false,
                m: root,
                e: e / 2,
            };
            round(number, root * root != m, ty, rounding)
        }
        Value::Infinite(false) => a,
        _ => nan(ty),
    }
}

/// A number of one format in another one.
pub(crate) fn convert(a: u64, from: Type, to: Type, rounding: Rounding) -> u64 {
    match unpack(a, from) {
        Value::Finite(number) => round(number, false, to, rounding),
        Value::Infinite(sign) => infinite(sign, to),
        Value::Nan => nan(to),
    }
}

/// An integer as a floating-point number.
pub(crate) fn from_integer(value: i128, to: Type, rounding: Rounding) -> u64 {
    let number = Number {
        negative: value < 0,
        m: value.unsigned_abs(),
        e: 0,
    };
    round(number, false, to, rounding)
}

/// The integer in a direction, or `None` for what is none; infinite numbers become the largest of `i128`.
pub(crate) fn to_integer(a: u64, from: Type, rounding: Rounding) -> Option<i128> {
    let Number { negative, m, e } = match unpack(a, from) {
        Value::Finite(number) => number,
        Value::Infinite(true) => return Some(i128::MIN),
        Value::Infinite(false) => return Some(i128::MAX),
        Value::Nan => return None,
    };
    let cut = -e;
    let value = match cut {
        ..=0 if -cut + 128 - (m.leading_zeros() as i32) > 126 && m != 0 => {
            return Some(if negative { i128::MIN } else { i128::MAX });
        }
        ..=0 => m << -cut,
        _ => {
            let (kept, lost, half) = match cut {
                1..=127 => (m >> cut, m & ((1 << cut) - 1), 1 << (cut - 1)),
                _ => (0, u128::from(m != 0), 2),
            };
            let up = is_up(
                rounding,
                negative,
                kept & 1 != 0,
                lost.cmp(&half),
                lost == 0,
            );
            kept + u128::from(up)
        }
    } as i128;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds, among them subnormal ones and neighbours of powers of two.
    fn numbers() -> Vec<u64> {
        let mut state = 1_u64;
        let mut bits = vec![0, 1 << 63, f64::INFINITY.to_bits(), 1, f64::MAX.to_bits()];
        for i in 0..400 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let random = state ^ state >> 29;
            bits.push(match i % 4 {
                0 => random,
                1 => random & !(0x7ff << 52) | (1023 - 3 + (random >> 20) % 7) << 52,
                2 => random & 0x800f_ffff_ffff_ffff,
                _ => random & 0xfff0_0000_0000_000f,
            });
        }
        bits
    }

    fn same(a: u64, b: f64) -> bool {
        a == b.to_bits() || f64::from_bits(a).is_nan() && b.is_nan()
    }

    #[test]
    fn to_nearest_is_what_the_processor_computes() {
        let (f64, near) = (Type::F64, Rounding::Nearest);
        let all = numbers();
        for (i, &a) in all.iter().enumerate() {
            let x = f64::from_bits(a);
            assert!(same(sqrt(a, f64, near), x.sqrt()), "{x:e}");
            let single = convert(a, f64, Type::F32, near) as u32;
            let expected = x as f32;
            assert!(single == expected.to_bits() || expected.is_nan(), "{x:e}");
            for &b in &all {
                let y = f64::from_bits(b);
                let c = all[(i * 7 + 3) % all.len()];
                let z = f64::from_bits(c);
                assert!(same(add(a, b, f64, near), x + y), "{x:e} + {y:e}");
                assert!(same(mul(a, b, f64, near), x * y), "{x:e} * {y:e}");
                assert!(same(div(a, b, f64, near), x / y), "{x:e} / {y:e}");
                let sum = fma(a, b, c, f64, near);
                assert!(same(sum, x.mul_add(y, z)), "{x:e} * {y:e} + {z:e}");
            }
        }
    }

    #[test]
    fn directions_enclose_the_exact_result() {
        let all = numbers();
        let value = f64::from_bits;
        for &a in &all {
            for &b in &all[..60] {
                for f in [add, mul, div] {
                    let [down, near, up, zero] = [
                        Rounding::Down,
                        Rounding::Nearest,
                        Rounding::Up,
                        Rounding::Zero,
                    ]
                    .map(|rounding| f(a, b, Type::F64, rounding));
                    if value(near).is_nan() {
                        continue;
                    }
                    assert!(value(down) <= value(near) && value(near) <= value(up));
                    assert!(down == up || near == down || near == up);
                    let inner = if value(up) <= 0.0 { up } else { down };
                    assert!(zero == inner || value(zero) == 0.0, "{:e}", value(zero));
                    if value(down) != value(up) {
                        assert_eq!(value(down).next_up().to_bits(), up, "{:e}", value(down));
                    }
                }
            }
        }
        let third = |rounding| {
            let (one, three) = (1.0_f64.to_bits(), 3.0_f64.to_bits());
            div(one, three, Type::F64, rounding)
        };
        assert_eq!(third(Rounding::Up), third(Rounding::Down) + 1);
    }

    #[test]
    fn integers_are_exact() {
        let half = |x: f64| to_integer(x.to_bits(), Type::F64, Rounding::Nearest);
        assert_eq!(
            [half(2.5), half(3.5), half(-2.5)],
            [Some(2), Some(4), Some(-2)]
        );
        assert_eq!(
            to_integer((-0.5_f64).to_bits(), Type::F64, Rounding::Down),
            Some(-1)
        );
        assert_eq!(half(f64::NAN), None);
        for n in [
            0,
            1,
            -1,
            i128::from(u64::MAX),
            i128::from(i64::MIN),
            (1 << 53) + 1,
        ] {
            let bits = from_integer(n, Type::F64, Rounding::Nearest);
            assert_eq!(f64::from_bits(bits), n as f64);
        }
    }
}
