//! Numbers, structures and flow of control that compilers for GPUs get wrong easily.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "what every kernel requires is that of the crate; indices are below BLOCK, the arrays' length, and a barrier is between writes \
              of elements and reads of others"
)]

use core::num::NonZeroU32;

use cuda_std::prelude::*;
use cuda_std::warp::{warp_shuffle_idx, warp_vote_ballot};

use crate::{BLOCK, Out, Random};

const N: usize = BLOCK as usize;

#[derive(Clone, Copy)]
enum Form {
    Point,
    Line(u32),
    Area { a: f32, b: f64 },
    Text(&'static str),
    Deep(Option<NonZeroU32>, bool),
}

#[inline(never)]
fn formed(kind: u64, x: u64) -> Form {
    match kind {
        0 => Form::Point,
        1 => Form::Line(x as u32),
        2 => Form::Area {
            a: x as u32 as f32,
            b: x as f64,
        },
        3 => Form::Text(["", "one", "twelve"][(x % 3) as usize]),
        _ => Form::Deep(NonZeroU32::new(x as u32 & 1), x & 2 == 0),
    }
}

#[inline(never)]
fn numbered(form: Form) -> Result<u64, u8> {
    Ok(match form {
        Form::Point => return Err(7),
        Form::Line(x @ 0..100) => u64::from(x),
        Form::Line(x) => u64::from(x) << 8,
        Form::Area { a, .. } if a < 1e9 => a.to_bits().into(),
        Form::Area { b, .. } => b.to_bits(),
        Form::Text(text) => text
            .bytes()
            .fold(text.len() as u64, |sum, byte| sum * 257 + u64::from(byte)),
        Form::Deep(Some(one), true) => u64::from(one.get()) + 11,
        Form::Deep(None, flag) => u64::from(flag) + 21,
        Form::Deep(..) => return Err(9),
    })
}

fn dense(x: u64) -> u64 {
    match x {
        0 => 17,
        1 => 4,
        2 => 99,
        3 => x << 9,
        4 => 1,
        5 => 1000,
        6 => 3,
        7 => 8,
        8 => 0,
        9 => 12,
        10 => x * x,
        11 => 5,
        12 => 77,
        13 => 6,
        14 => 2,
        15 => 31,
        _ => u64::MAX,
    }
}

/// Enums with data and niches, and matches of many arms.
#[kernel]
pub unsafe fn enums(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    for _ in 0..12 {
        let form = formed(random.below(6), random.bits() >> random.below(64));
        out.put(numbered(form).unwrap_or_else(|e| u64::from(e) << 40));
        out.put(dense(random.below(18)));
    }
    let all: [Form; 4] = core::array::from_fn(|i| formed(i as u64, random.bits()));
    out.put(numbered(all[random.below(4) as usize]).map_or(1, |x| x ^ 1));
}

struct Row {
    name: &'static str,
    values: &'static [u16],
    other: Option<&'static Row>,
}
const SHORT: [u16; 3] = [500, 600, 700];
static FIRST: Row = Row {
    name: "first",
    values: &[1, 2, 3, 4],
    other: None,
};
static SECOND: Row = Row {
    name: "the second",
    values: &SHORT,
    other: Some(&FIRST),
};
const ROWS: [&Row; 3] = [
    &FIRST,
    &SECOND,
    &Row {
        name: "",
        values: &[],
        other: Some(&SECOND),
    },
];
const POWERS: [f64; 8] = {
    let (mut all, mut i) = ([1.0; 8], 1);
    while i < 8 {
        all[i] = all[i - 1] * -2.5;
        i += 1;
    }
    all
};

/// Constant arrays with references, by indices that are known at run time only.
#[kernel]
pub unsafe fn constant_arrays(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    for _ in 0..12 {
        let row = ROWS[random.below(3) as usize];
        out.put(
            row.values.iter().copied().map(u64::from).sum::<u64>() << 8 | row.name.len() as u64,
        );
        let other = row.other.map_or(b'-', |other| {
            other.name.as_bytes()[random.below(5) as usize]
        });
        out.put(other.into());
        out.put_f64(POWERS[random.below(8) as usize]);
        out.put(
            row.values
                .get(random.below(5) as usize)
                .copied()
                .unwrap_or(9)
                .into(),
        );
    }
}

/// Integers of 128 bits.
#[kernel]
pub unsafe fn wide_integers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let mut put = |x: u128| {
        out.put(x as u64);
        out.put((x >> 64) as u64);
    };
    for _ in 0..2 {
        let a = u128::from(random.bits()) << 64 | u128::from(random.bits());
        let b = (u128::from(random.bits()) << 64 | u128::from(random.bits())) >> random.below(128);
        let (a, b) = (core::hint::black_box(a), b | 1);
        let shift = random.below(128) as u32;
        put(a.wrapping_mul(b));
        put(a / b);
        put(a % b);
        put((a as i128 / (b as i128 | 1)) as u128);
        put((a as i128).wrapping_rem(-(b as i128 >> 1 | 1)) as u128);
        put(a.rotate_left(shift) ^ a >> shift ^ b << (shift ^ 64));
        put(((a as i128) >> shift) as u128);
        put((a.leading_zeros() + 1000 * b.trailing_zeros() + 1_000_000 * a.count_ones()).into());
        put(a.checked_add(b).unwrap_or(1)
            ^ a.saturating_sub(b)
            ^ u128::from(a.overflowing_mul(b).1));
        put(a.swap_bytes() ^ b.reverse_bits());
    }
}

/// Remainders, also of and by subnormal numbers and by constants, and Euclid's.
#[kernel]
pub unsafe fn remainders(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    for _ in 0..6 {
        let (x, y) = (random.any_f64(), random.any_f64());
        let (a, b) = (
            f32::from_bits(random.bits() as u32),
            f32::from_bits((random.bits() as u32) >> random.below(20)),
        );
        out.put_f64(x % y);
        out.put_f32(a % b);
        out.put_f64(x % core::f64::consts::TAU);
        out.put_f32(a % 0.1);
        out.put_f32(a.rem_euclid(b));
        out.put_f64(x.div_euclid(y));
        out.put_f64((x / 360.0).floor().mul_add(-360.0, x));
        let n = (a / 0.75).round();
        out.put_f32(n.mul_add(-0.75, a));
        out.put_f32(a - 0.75 * (a / 0.75).trunc());
        out.put_f64(x.fract() - x % 1.0);
    }
}

/// Subnormal numbers, signed zeros, conversions at the edges.
#[kernel]
pub unsafe fn edges_of_numbers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    for _ in 0..5 {
        let a = f32::from_bits(random.bits() as u32 & 0x80ff_ffff);
        let b = f32::from_bits(random.bits() as u32 & 0x81ff_ffff);
        let (x, y) = (
            f64::from_bits(random.bits() & 0x801f_ffff_ffff_ffff),
            random.any_f64(),
        );
        out.put_f32(a + b);
        out.put_f32(a * 0.5 - b * 0.75);
        out.put_f32(a / b);
        out.put_f32(a.mul_add(b, a));
        out.put_f32(a.abs().sqrt());
        out.put_f64(f64::from(a) * 1e-300);
        out.put_f32(x as f32 + y as f32);
        out.put_f64(x * 0.5 + x * 0.25);
        out.put_f32(a.max(b).min(-0.0 * a));
        out.put_f64(y.clamp(-1.0, 1.0).copysign(x));
        out.put(u64::from(y as u8) | u64::from(y as i16 as u16) << 8 | u64::from(y as u32) << 24);
        out.put(y as i64 as u64 ^ (a as u64));
        out.put_f32(random.bits() as f32);
        out.put_f64((random.bits() as i64) as f64);
        out.put(
            u64::from(a.total_cmp(&b) as i8 as u8) | u64::from(a == b) << 8 | u64::from(a < b) << 9,
        );
    }
}

/// Negated and absolute values, also of the least numbers, and least and greatest numbers of three.
#[kernel]
pub unsafe fn negated_numbers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    for _ in 0..6 {
        let (a, b, c) = match random.below(2) {
            0 => (i16::MIN, i32::MIN, i64::MIN),
            _ => {
                let x = random.bits() as i64;
                (x as i16, x as i32, x)
            }
        };
        let (y, z) = (random.bits() as i32, random.bits() as i32);
        for word in [
            i64::from(a.wrapping_neg()),
            i64::from(a.saturating_neg()),
            i64::from(a.wrapping_abs()),
            i64::from(a.wrapping_abs().signum()),
            i64::from(b.wrapping_abs().signum()),
            c.wrapping_abs().signum(),
            i64::from(b.wrapping_abs().wrapping_rem(y | 1)),
            c.wrapping_abs().wrapping_rem(i64::from(y) | 1),
            c.wrapping_abs().min(0),
            i64::from(y.min(-(b >> 1)).min(z)),
            i64::from(y.max(b.wrapping_neg()).max(z)),
            i64::from((y as i16).min(-(a >> 1)).min(z as i16)),
        ] {
            out.put(word as u64);
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Wide {
    head: u8,
    values: [f64; 3],
    tail: u128,
}
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: f32,
    c: u64,
    d: f64,
    e: u16,
}

#[inline(never)]
fn widened(mut wide: Wide, x: u64) -> Wide {
    wide.head = wide.head.wrapping_add(x as u8);
    wide.values[(x % 3) as usize] += 1.5;
    wide.tail = wide.tail.rotate_left(x as u32 & 127);
    wide
}

/// Structures with wide and with no alignment, in own and in shared memory, by value and in arrays.
#[kernel]
pub unsafe fn alignments(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let t = thread::thread_idx_x() as usize;
    let (wide, packed) = (shared_array![Wide; 64], shared_array![Packed; 64]);
    let x = random.bits();
    let first = Wide {
        head: x as u8,
        values: [x as f64, 2.5, random.unit()],
        tail: u128::from(x) << 50,
    };
    *wide.add(t) = widened(first, x);
    let low = (x as f64 * 0.37).to_bits();
    *packed.add(t) = Packed {
        a: low as u8,
        b: random.unit() as f32,
        c: low,
        d: random.unit(),
        e: (low >> 8) as u16,
    };
    thread::sync_threads();
    let (mut two, other) = ([*wide.add((t + 1) % N), first], *packed.add((t * 7) % N));
    two[(x & 1) as usize] = widened(two[(x & 2) as usize / 2], random.bits());
    for one in two {
        out.put(u64::from(one.head) ^ one.tail as u64 ^ (one.tail >> 64) as u64);
        one.values.iter().for_each(|v| out.put_f64(*v));
    }
    out.put(u64::from(other.a) | u64::from(other.e) << 8);
    out.put_f32(other.b);
    out.put(other.c);
    out.put_f64(other.d);
    out.put(u64::from((&raw const two[1]).addr().is_multiple_of(64)) + size_of::<Wide>() as u64);
}

/// Bits of floating-point numbers, whole and in parts, also in memory.
#[kernel]
pub unsafe fn bits_of_floats(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let t = thread::thread_idx_x() as usize;
    let bytes = shared_array![[u8; 16]; 64].add(t).cast::<u8>();
    for _ in 0..6 {
        let (x, a) = (random.moderate() * 1.37, random.moderate() as f32 / 3.0);
        let sum = core::hint::black_box(a) + 0.1;
        // Parts of numbers that have just been computed.
        *bytes = sum.to_bits() as u8;
        bytes.add(2).cast::<u16>().write(sum.to_bits() as u16);
        bytes.add(4).cast::<u32>().write((x * 0.3).to_bits() as u32);
        bytes.add(8).cast::<u16>().write((x / 3.0).to_bits() as u16);
        bytes.add(10).write((x + 7.0).to_bits() as u8);
        bytes.add(11).write((f64::from(sum) * x) as i8 as u8);
        bytes
            .add(12)
            .cast::<[u8; 4]>()
            .write((sum * 0.7).to_be_bytes());
        let found: [u8; 16] = bytes.cast::<[u8; 16]>().read();
        out.put(u64::from_le_bytes(found[8..].try_into().unwrap_or([0; 8])));
        out.put(
            u64::from(found[0])
                | u64::from(found[2]) << 8
                | u64::from(found[3]) << 16
                | u64::from(found[4]) << 24,
        );
        let (high, low) = ((x.to_bits() >> 32) as u32, x.to_bits() as u32);
        out.put_f64(f64::from_bits(
            u64::from(high ^ 0x8000_0000) << 32 | u64::from(low),
        ));
        out.put_f32(f32::from_bits(sum.to_bits().wrapping_add(1)));
        let two: [f32; 2] = core::mem::transmute(x);
        out.put_f32(two[0]);
        out.put_f32(two[1]);
    }
}

/// A value that functions of several instances return, and chains of iterators.
trait Scale {
    const BY: u64;
    fn scaled<const K: usize>(self, of: [u64; K]) -> u64;
}
impl Scale for u32 {
    const BY: u64 = 3;
    fn scaled<const K: usize>(self, of: [u64; K]) -> u64 {
        of.iter()
            .map(|x| x.wrapping_mul(Self::BY))
            .fold(self.into(), |a, b| a ^ b)
    }
}
impl Scale for f32 {
    const BY: u64 = 5;
    fn scaled<const K: usize>(self, of: [u64; K]) -> u64 {
        of.iter().rev().fold(self.to_bits().into(), |a: u64, b| {
            a.rotate_left(Self::BY as u32) ^ b
        })
    }
}
fn adder(by: u64) -> impl Fn(u64) -> u64 {
    move |x| x.wrapping_add(by)
}
fn twice<F: Fn(u64) -> u64>(f: F) -> impl Fn(u64) -> u64 {
    move |x| f(f(x))
}

/// Generic functions, associated constants, closures of closures, iterators.
#[kernel]
pub unsafe fn instances(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let x = random.bits();
    out.put((x as u32).scaled([x, 1, 2]));
    out.put((x as u32 as f32).scaled([x, 1, 2]));
    out.put(1.5f32.scaled([x; 5]));
    out.put(twice(twice(adder(x)))(3));
    let f: [&dyn Fn(u64) -> u64; 3] = [&adder(1), &twice(adder(2)), &|y| y ^ x];
    out.put(
        (0..20)
            .map(|i| f[i % 3](i as u64))
            .zip(1..)
            .filter(|(a, b)| a % 3 != b % 3)
            .map(|(a, b)| a.wrapping_mul(b))
            .fold(0, u64::wrapping_add),
    );
    let squares = core::iter::successors(Some(x % 1000), |y| {
        (*y < 1 << 40).then(|| y * y % 99991 + y)
    });
    out.put(
        squares
            .take(30)
            .enumerate()
            .map(|(i, y)| y << (i % 5))
            .fold(0, u64::wrapping_add),
    );
    let mut kept = [0u64; 7];
    kept.iter_mut()
        .zip((x..).step_by(13))
        .for_each(|(k, y)| *k = y % 100);
    kept.sort_unstable_by(|a, b| b.cmp(a));
    out.put(
        kept.iter()
            .scan(1, |s, y| {
                *s = *s * 3 + y;
                Some(*s)
            })
            .take_while(|s| *s < 50_000)
            .last()
            .unwrap_or(0),
    );
    out.put(kept.iter().position(|y| y % 7 == 0).unwrap_or(99) as u64);
}

/// Loops that lanes leave at different times, around warp operations and barriers.
#[kernel]
pub unsafe fn divergent_flow(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let t = thread::thread_idx_x();
    let mut value = random.bits();
    let rounds = random.below(6);
    // The lanes that are still in the loop are those that a vote before it has found.
    for round in 0..6 {
        let stays = round < rounds;
        let mask = warp_vote_ballot(u32::MAX, stays);
        if stays {
            let first = mask.trailing_zeros();
            value ^= warp_shuffle_idx(mask, value, first, 32)
                .0
                .rotate_left(round as u32);
            if value.is_multiple_of(3) {
                value = value.wrapping_mul(5);
                continue;
            }
        }
        value = value.wrapping_add(u64::from(mask));
    }
    out.put(value);
    let mut sum = 0u64;
    'outer: for i in 0..10 {
        for j in 0..i {
            if (value >> j) & 3 == 0 {
                continue 'outer;
            }
            if sum > 1 << 50 {
                break 'outer;
            }
            sum += value >> (j + 8);
        }
        sum ^= 1 << i;
        if i > 3 {
            break;
        }
    }
    out.put(sum ^ u64::from(t));
}

/// Memory that is read through a slice, written through its address, and read again.
#[kernel]
pub unsafe fn changed_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let mut random = Random::new(seed);
    let mine = out.add(thread::index_1d() as usize * crate::WORDS + 50);
    let mut out = Out::new(out);
    for i in 0..8 {
        *mine.add(i) = random.bits();
    }
    for round in 0..3 {
        let before = core::slice::from_raw_parts(mine.cast_const(), 8)
            .iter()
            .fold(0, |a: u64, b| a.rotate_left(3) ^ b);
        out.put(before);
        let i = random.below(8) as usize;
        *mine.add(i) = before;
        out.put(core::slice::from_raw_parts(mine.cast_const(), 8)[i] ^ round);
        mine.add((i + 1) % 8).write_volatile(round);
        *mine.cast::<u8>().add(8 * i + 3) = 0x5a;
        out.put(*mine.add(i));
        let half = mine.cast::<f32>().add(2 * i);
        *half = round as f32 + 0.5;
        out.put((*mine.add(i)) & 0xffff_ffff);
    }
    core::ptr::write_bytes(mine, 0, 8);
}
