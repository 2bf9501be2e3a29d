//! Integers up to 128 bits, and conversions.

use cuda_std::prelude::*;

use crate::{Out, Random};

/// Arithmetic and bits.
#[kernel]
pub unsafe fn integers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let (a, b, n) = (random.bits(), random.bits() | 1, random.below(64) as u32);
    let (x, y) = (a as i64, b as i64);
    for word in [
        a.wrapping_mul(b),
        a / b,
        a % b,
        (x.wrapping_div(y)) as u64,
        (x.wrapping_rem(y)) as u64,
        x.rem_euclid(y | 2) as u64,
        a.rotate_left(n),
        a >> n,
        (x >> n) as u64,
        a.leading_zeros().into(),
        (a << n).trailing_zeros().into(),
        a.count_ones().into(),
        a.swap_bytes(),
        a.reverse_bits(),
        a.saturating_add(b),
        x.saturating_sub(y) as u64,
        a.abs_diff(b),
        a.isqrt(),
        (a % 1009).pow(5),
        (a as u32).wrapping_mul(b as u32).into(),
        ((a as i32).wrapping_shr(n)) as u64,
        ((a as u16).wrapping_mul(b as u16)).into(),
        (a as i8).wrapping_add(b as i8) as u64,
        a.checked_mul(b).unwrap_or(7),
        u64::from(a.overflowing_add(b).1),
    ] {
        out.put(word);
    }
    let (a, b) = (
        u128::from(a) << 64 | u128::from(b),
        u128::from(random.bits()),
    );
    for word in [
        a.wrapping_mul(b),
        a / b,
        a % b,
        (a as i128 / -(b as i128)) as u128,
        a >> (n + 32),
        a.wrapping_sub(b << 70),
        a.leading_zeros().into(),
        a.wrapping_mul(a) ^ b.pow(2),
    ] {
        out.put(word as u64);
        out.put((word >> 64) as u64);
    }
}

/// Between all kinds of numbers: rounding, saturation, sign.
#[kernel]
pub unsafe fn conversions(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    for _ in 0..3 {
        let (x, n) = (random.any_f64(), random.bits());
        let y = x as f32;
        for word in [
            x as u64,
            x as i64 as u64,
            (x as u32).into(),
            x as i32 as u64,
            (x as u8).into(),
            x as i16 as u64,
            y as u64,
            y as i64 as u64,
            (y as u32).into(),
            y as i32 as u64,
        ] {
            out.put(word);
        }
        out.put_f32(y);
        out.put_f64(y.into());
        out.put_f64(n as f64);
        out.put_f64(n as i64 as f64);
        out.put_f64((n as u32).into());
        out.put_f32(n as f32);
        out.put_f32(n as i64 as f32);
        out.put_f32(n as i32 as f32);
        let half = f16::from_f64(x);
        out.put_f32(half.to_f32());
        out.put_f32(cuda_std::bf16::from_f32(y).to_f32());
    }
}
