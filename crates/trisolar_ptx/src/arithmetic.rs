//! What instructions that only compute do with bits.

use crate::instruction::{APPROX, FTZ, Instruction, Op, Rounding, SAT, Type};
use crate::rounding;

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_f32(x: f32) -> u64 {
    u64::from(x.to_bits())
}

/// A value of a signed or unsigned type.
#[inline]
pub(crate) fn integer(bits: u64, ty: Type) -> i128 {
    match ty {
        Type::S8 => i128::from(bits as i8),
        Type::S16 => i128::from(bits as i16),
        Type::S32 => i128::from(bits as i32),
        Type::S64 => i128::from(bits as i64),
        _ => i128::from(bits & ty.mask()),
    }
}

/// Zero of the same sign instead of a subnormal number.
fn flushed(bits: u64, ty: Type) -> u64 {
    match ty {
        Type::F32 if bits & 0x7f80_0000 == 0 => bits & 0x8000_0000,
        Type::F64 if bits & 0x7ff0_0000_0000_0000 == 0 => bits & 1 << 63,
        _ => bits,
    }
}

fn wide(bits: u64, ty: Type) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits),
        Type::F32 => f64::from(f32_of(bits)),
        _ => f64::from_bits(rounding::convert(bits, ty, Type::F64, Rounding::Nearest)),
    }
}

fn narrow(x: f64, ty: Type) -> u64 {
    match ty {
        Type::F64 => x.to_bits(),
        Type::F32 => of_f32(x as f32),
        _ => rounding::convert(x.to_bits(), Type::F64, ty, Rounding::Nearest),
    }
}

/// Clamped to [0, 1]; what is no number becomes 0.
fn saturated(bits: u64, ty: Type) -> u64 {
    let x = wide(bits, ty);
    match x {
        x if x > 0.0 && x < 1.0 => bits,
        x if x >= 1.0 => narrow(1.0, ty),
        _ => 0,
    }
}

/// The instructions of floating-point numbers.
#[inline]
pub(crate) fn float(i: &Instruction, a: u64, b: u64, c: u64) -> u64 {
    let ty = i.ty;
    if i.flags == 0 && i.rounding == Rounding::Nearest {
        // What kernels consist of.
        if ty == Type::F64 {
            let [x, y, z] = [a, b, c].map(f64::from_bits);
            match i.op {
                Op::Add => return (x + y).to_bits(),
                Op::Sub => return (x - y).to_bits(),
                Op::MulLo => return (x * y).to_bits(),
                Op::Fma => return x.mul_add(y, z).to_bits(),
                Op::Div => return (x / y).to_bits(),
                Op::Rcp => return (1.0 / x).to_bits(),
                Op::Sqrt => return x.sqrt().to_bits(),
                _ => {}
            }
        } else if ty == Type::F32 {
            let [x, y, z] = [a, b, c].map(f32_of);
            match i.op {
                Op::Add => return of_f32(x + y),
                Op::Sub => return of_f32(x - y),
                Op::MulLo => return of_f32(x * y),
                Op::Fma => return of_f32(x.mul_add(y, z)),
                Op::Div => return of_f32(x / y),
                Op::Rcp => return of_f32(1.0 / x),
                Op::Sqrt => return of_f32(x.sqrt()),
                _ => {}
            }
        }
    }
    let ftz = i.flags & FTZ != 0;
    let flush = |bits| if ftz { flushed(bits, ty) } else { bits };
    let [a, b, c] = [a, b, c].map(|bits| flush(bits & ty.mask()));
    let sign = 1 << (8 * ty.bytes() - 1);
    let direction = i.rounding;
    let result = match i.op {
        Op::Add => rounding::add(a, b, ty, direction),
        Op::Sub => rounding::add(a, b ^ sign, ty, direction),
        Op::MulLo => rounding::mul(a, b, ty, direction),
        Op::Fma => rounding::fma(a, b, c, ty, direction),
        Op::Abs => a & !sign,
        Op::Neg => a ^ sign,
        // The second operand's bits with the first one's sign.
        Op::Copysign => b & !sign | a & sign,
        Op::Min | Op::Max => {
            let (x, y) = (wide(a, ty), wide(b, ty));
            let first = match i.op {
                Op::Min => x < y || x == y && a & sign != 0,
                _ => x > y || x == y && a & sign == 0,
            };
            match (x.is_nan(), y.is_nan()) {
                (true, true) => rounding::nan(ty),
                (true, false) => b,
                (false, true) => a,
                _ if first => a,
                _ => b,
            }
        }
        // Approximate instructions are defined here as computed in twice the precision and rounded.
        Op::Div if i.flags & APPROX != 0 => {
            let reciprocal = flush(narrow(1.0 / wide(b, ty), ty));
            match wide(reciprocal, ty) {
                r if r == 0.0 || r.is_infinite() => narrow(wide(a, ty) * r, ty),
                _ => narrow(wide(a, ty) / wide(b, ty), ty),
            }
        }
        Op::Div => rounding::div(a, b, ty, direction),
        Op::Rcp if i.flags & APPROX != 0 => narrow(1.0 / wide(a, ty), ty),
        Op::Rcp => rounding::div(narrow(1.0, ty), a, ty, direction),
        Op::Sqrt if i.flags & APPROX != 0 => narrow(wide(a, ty).sqrt(), ty),
        Op::Sqrt => rounding::sqrt(a, ty, direction),
        Op::Rsqrt => narrow(rsqrt(wide(a, ty)), ty),
        Op::Ex2 => narrow(wide(a, ty).exp2(), ty),
        Op::Lg2 => narrow(wide(a, ty).log2(), ty),
        Op::Sin => narrow(wide(a, ty).sin(), ty),
        Op::Cos => narrow(wide(a, ty).cos(), ty),
        _ => narrow(wide(a, ty).tanh(), ty),
    };
    let result = flush(result);
    match i.flags & SAT {
        0 => result,
        _ => saturated(result, ty),
    }
}

/// 1/√x to within 1 ULP: one Newton step with the residual 1 - x y² in twice the precision.
fn rsqrt(x: f64) -> f64 {
    let y = 1.0 / x.sqrt();
    if !y.is_normal() || !x.is_normal() {
        return y;
    }
    let z = x * y;
    let error = x.mul_add(y, -z);
    let residual = (-z).mul_add(y, 1.0) - error * y;
    y.mul_add(0.5 * residual, y)
}

/// Whether a comparison holds.
#[inline]
pub(crate) fn compares(code: u8, ty: Type, a: u64, b: u64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match ty {
        Type::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        Type::F32 => f32_of(a).partial_cmp(&f32_of(b)),
        Type::F16 | Type::Bf16 => wide(a, ty).partial_cmp(&wide(b, ty)),
        Type::S64 => Some((a as i64).cmp(&(b as i64))),
        Type::S32 => Some((a as i32).cmp(&(b as i32))),
        Type::S16 => Some((a as i16).cmp(&(b as i16))),
        Type::S8 => Some((a as i8).cmp(&(b as i8))),
        _ => Some((a & ty.mask()).cmp(&(b & ty.mask()))),
    };
    let Some(order) = order else {
        // Without order: `ne` is false, and so is `num`.
        return matches!(code, 10..=15 | 17);
    };
    match code {
        0 | 10 => order == Equal,
        1 | 11 => order != Equal,
        2 | 6 | 12 => order == Less,
        3 | 7 | 13 => order != Greater,
        4 | 8 | 14 => order == Greater,
        5 | 9 | 15 => order != Less,
        code => code == 16,
    }
}

/// `cvt`.
pub(crate) fn converted(i: &Instruction, a: u64) -> u64 {
    let (from, to) = (i.from, i.ty);
    let saturates = i.flags & SAT != 0;
    let flush = |bits, ty| match i.flags & FTZ {
        0 => bits,
        _ => flushed(bits, ty),
    };
    if from.is_float() {
        let a = flush(a & from.mask(), from);
        if to.is_float() {
            if i.code != 0 {
                // To an integral number of the same type; a zero keeps its sign.
                let sign = a & 1 << (8 * from.bytes() - 1);
                let x = wide(a, from);
                let limit = (1u64 << 52) as f64;
                let whole = match rounding::to_integer(a, from, i.rounding) {
                    Some(n) if x.abs() < limit => {
                        rounding::from_integer(n, from, Rounding::Nearest)
                            & !(1 << (8 * from.bytes() - 1))
                            | sign
                    }
                    Some(_) => a,
                    None => rounding::nan(from),
                };
                let result = rounding::convert(whole, from, to, Rounding::Nearest);
                return if saturates {
                    saturated(result, to)
                } else {
                    result
                };
            }
            let result = match (from, to) {
                _ if from == to => a,
                // A number that is none keeps the bits that have room, as on the CPU.
                (Type::F32, Type::F64) => f64::from(f32_of(a)).to_bits(),
                (Type::F64, Type::F32) if i.rounding == Rounding::Nearest => {
                    of_f32(f64::from_bits(a) as f32)
                }
                _ => rounding::convert(a, from, to, i.rounding),
            };
            let result = flush(result, to);
            return if saturates {
                saturated(result, to)
            } else {
                result
            };
        }
        // Conversions to integers clamp.
        let bits = 8 * to.bytes();
        let (least, most) = match to.is_signed() {
            true => (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        let value = match rounding::to_integer(a, from, i.rounding) {
            Some(value) => value.clamp(least, most),
            None if from != Type::F64 && bits < 64 => 0,
            None => 1 << (bits - 1),
        };
        return value as u64 & to.mask();
    }
    let value = integer(a, from);
    if to.is_float() {
        let result = rounding::from_integer(value, to, i.rounding);
        return if saturates {
            saturated(result, to)
        } else {
            result
        };
    }
    if saturates {
        let bits = 8 * to.bytes();
        let (least, most) = match to.is_signed() {
            true => (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        return value.clamp(least, most) as u64 & to.mask();
    }
    // A register is wider than a small type: signed numbers fill it.
    match to.bytes() {
        1 | 2 if to.is_signed() => integer(value as u64, to) as u64 & 0xffff_ffff,
        _ => value as u64 & to.mask(),
    }
}

/// The instructions of integers, except those with a carry.
#[inline]
pub(crate) fn whole(i: &Instruction, a: u64, b: u64, c: u64) -> u64 {
    let ty = i.ty;
    let mask = ty.mask();
    let bits = 8 * ty.bytes();
    let result = match i.op {
        Op::Add if i.flags & SAT != 0 => {
            let sum = i64::from(a as i32) + i64::from(b as i32);
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u64
        }
        Op::Sub if i.flags & SAT != 0 => {
            let difference = i64::from(a as i32) - i64::from(b as i32);
            difference.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u64
        }
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::MulLo => a.wrapping_mul(b),
        Op::MadLo => a.wrapping_mul(b).wrapping_add(c),
        Op::MulHi | Op::MadHi => {
            let high = match ty.is_signed() {
                true => ((integer(a, ty) * integer(b, ty)) >> bits) as u64,
                false => ((integer(a, ty) as u128 * integer(b, ty) as u128) >> bits) as u64,
            };
            if i.op == Op::MadHi {
                high.wrapping_add(c)
            } else {
                high
            }
        }
        // The result has twice the bits.
        Op::MulWide | Op::MadWide => {
            let product = match ty {
                Type::S32 => i64::from(a as i32).wrapping_mul(i64::from(b as i32)) as u64,
                Type::U32 => u64::from(a as u32) * u64::from(b as u32),
                _ => (integer(a, ty) * integer(b, ty)) as u64,
            };
            let sum = if i.op == Op::MadWide {
                product.wrapping_add(c)
            } else {
                product
            };
            return if bits == 32 { sum } else { sum & 0xffff_ffff };
        }
        Op::Div | Op::Rem => {
            let (x, y) = (integer(a, ty), integer(b, ty));
            match (y, i.op) {
                // PTX leaves these open; hardware gives these values.
                (0, Op::Div) => u64::MAX,
                (0, _) => a,
                (_, Op::Div) => (x / y) as u64,
                _ => (x % y) as u64,
            }
        }
        Op::Abs => integer(a, ty).unsigned_abs() as u64,
        Op::Neg => a.wrapping_neg(),
        Op::Min => {
            if integer(a, ty) <= integer(b, ty) {
                a
            } else {
                b
            }
        }
        Op::Max => {
            if integer(a, ty) >= integer(b, ty) {
                a
            } else {
                b
            }
        }
        Op::Sad => {
            let distance = (integer(a, ty) - integer(b, ty)).unsigned_abs() as u64;
            distance.wrapping_add(c)
        }
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Not => !a,
        Op::Cnot => u64::from(a & mask == 0),
        Op::Shl => match b & 0xffff_ffff {
            n if n >= u64::from(bits) => 0,
            n => a << n,
        },
        Op::Shr => {
            let n = (b & 0xffff_ffff).min(u64::from(bits));
            match ty.is_signed() {
                true => (integer(a, ty) >> n) as u64,
                false => ((a & mask) as u128 >> n) as u64,
            }
        }
        Op::Shf => {
            let n = match i.code & 2 {
                0 => (c & 0xffff_ffff).min(32),
                _ => c & 31,
            };
            let both = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
            match i.code & 1 {
                0 => both.checked_shr(n as u32).unwrap_or(0),
                _ => (u128::from(both) << n >> 32) as u64,
            }
        }
        Op::Bfe => {
            let (start, length) = (b & 255, c & 255);
            let most = u64::from(bits) - 1;
            let sign = match ty.is_signed() {
                true if length > 0 => a >> (start + length - 1).min(most) & 1,
                _ => 0,
            };
            let mut result = if start > most { 0 } else { (a & mask) >> start };
            let kept = length.min((most + 1).saturating_sub(start));
            if kept < 64 {
                result &= (1 << kept) - 1;
                if sign != 0 {
                    result |= u64::MAX << kept;
                }
            }
            result
        }
        Op::Popc => return u64::from((a & mask).count_ones()),
        Op::Clz => return u64::from((a & mask).leading_zeros() + bits - 64),
        Op::Brev => a.reverse_bits() >> (64 - bits),
        Op::Bfind => {
            let value = match integer(a, ty) {
                negative if negative < 0 => !negative as u64,
                value => value as u64,
            } & mask;
            return match value.checked_ilog2() {
                None => 0xffff_ffff,
                Some(n) if i.code != 0 => u64::from(bits - 1 - n),
                Some(n) => u64::from(n),
            };
        }
        Op::Prmt => permuted(i.code, a, b, c),
        Op::Lop3 => (0..8).filter(|n| i.code >> n & 1 != 0).fold(0, |sum, n| {
            let pick = |bit, x: u64| if n & bit != 0 { x } else { !x };
            sum | pick(4, a) & pick(2, b) & pick(1, c)
        }),
        Op::Dp4a => {
            let lane = |x: u64, ty: Type, n: u32| {
                let byte = x >> (8 * n) & 255;
                if ty.is_signed() {
                    i64::from(byte as i8)
                } else {
                    byte as i64
                }
            };
            let sum: i64 = (0..4).map(|n| lane(a, ty, n) * lane(b, i.from, n)).sum();
            (sum as u64).wrapping_add(c)
        }
        _ => 0,
    };
    result & mask
}

/// `bfi`, which has four operands, the last of them in the list behind the others.
pub(crate) fn inserted(ty: Type, a: u64, b: u64, start: u64, length: u64) -> u64 {
    let bits = u64::from(8 * ty.bytes());
    let (start, length) = (start & 255, length & 255);
    if start >= bits || length == 0 {
        return b & ty.mask();
    }
    let kept = length.min(bits - start);
    let field = (u64::MAX >> (64 - kept)) << start;
    (b & !field | a << start & field) & ty.mask()
}

fn permuted(mode: u8, a: u64, b: u64, selector: u64) -> u64 {
    let both = (b & 0xffff_ffff) << 32 | a & 0xffff_ffff;
    let byte = |n: u64| both >> (8 * (n & 7)) & 255;
    let s = selector & 3;
    (0..4)
        .map(|n| {
            let value = match mode {
                0 => {
                    let choice = selector >> (4 * n) & 15;
                    let value = byte(choice);
                    match choice & 8 {
                        0 => value,
                        _ => 255 * (value >> 7),
                    }
                }
                1 => byte(n + s),
                2 => byte(s.wrapping_sub(n) & 7),
                3 => byte(s),
                4 => byte(n.max(s)),
                5 => byte(n.min(s)),
                _ => byte(2 * (s & 1) + (n & 1)),
            };
            value << (8 * n)
        })
        .sum()
}

/// `testp`.
pub(crate) fn tested(code: u8, ty: Type, a: u64) -> bool {
    let x = wide(a & ty.mask(), ty);
    let subnormal = x != 0.0 && flushed(a & ty.mask(), ty) != a & ty.mask();
    match code {
        0 => x.is_finite(),
        1 => x.is_infinite(),
        2 => !x.is_nan(),
        3 => x.is_nan(),
        4 => x.is_finite() && x != 0.0 && !subnormal,
        _ => subnormal,
    }
}

/// The result of an atomic operation or of one step of a reduction.
pub(crate) fn combined(code: u8, ty: Type, old: u64, b: u64, c: u64) -> u64 {
    let order = |is_less: bool| if is_less { old } else { b };
    let result = match code {
        0 if ty == Type::F32 => of_f32(f32_of(old) + f32_of(b)),
        0 if ty.is_float() => match ty {
            Type::F64 => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
            _ => rounding::add(old, b & ty.mask(), ty, Rounding::Nearest),
        },
        0 => old.wrapping_add(b),
        1 => order(integer(old, ty) <= integer(b, ty)),
        2 => order(integer(old, ty) >= integer(b, ty)),
        3 => old & b,
        4 => old | b,
        5 => old ^ b,
        6 => b,
        7 if old & ty.mask() == b & ty.mask() => c,
        7 => old,
        8 if old & ty.mask() >= b & ty.mask() => 0,
        8 => old.wrapping_add(1),
        _ if old & ty.mask() == 0 || old & ty.mask() > b & ty.mask() => b,
        _ => old.wrapping_sub(1),
    };
    result & ty.mask()
}
