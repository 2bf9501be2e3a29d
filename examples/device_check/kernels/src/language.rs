//! What the language and `alloc` have.

use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use core::fmt::Write;

use cuda_std::glam::{DVec3, Mat3, Vec3};
use cuda_std::prelude::*;

use crate::{Out, Random};

extern crate alloc;

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> &'static str {
        "shape"
    }
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        core::f64::consts::PI * self.0 * self.0
    }
    fn name(&self) -> &'static str {
        "circle"
    }
}

fn ackermann(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

static TABLE: [fn(u64) -> u64; 4] = [
    |x| x.wrapping_mul(3),
    |x| x ^ 0x5555,
    |x| x.rotate_left(9),
    |x| x / 7,
];

/// Trait objects, function pointers, closures, recursion, generics, matrices.
#[kernel]
pub unsafe fn dispatch(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let (square, circle) = (Square(random.unit()), Circle(random.unit()));
    for _ in 0..4 {
        let shape: &dyn Shape = if random.below(2) == 0 {
            &square
        } else {
            &circle
        };
        out.put_f64(shape.area());
        out.put(shape.name().len() as u64);
        let f = TABLE[random.below(4) as usize];
        out.put(f(random.bits()));
    }
    out.put(ackermann(2, random.below(4)));
    let factor = random.bits();
    let scaled = |x: u64| x.wrapping_mul(factor);
    let apply = |f: &dyn Fn(u64) -> u64| f(f(3));
    out.put(apply(&scaled));
    let v = Vec3::new(random.unit() as f32, 2.0, random.unit() as f32);
    let m = Mat3::from_cols(v, Vec3::Y, v.cross(Vec3::X));
    let w = m * v;
    out.put_f32(w.x + w.y + w.z);
    let d = DVec3::splat(random.unit()).cross(DVec3::new(1.0, random.unit(), 3.0));
    out.put_f64(d.dot(d));
    let kind: Result<u32, &str> = match random.below(3) {
        0 => Ok(17),
        1 => Err("one"),
        _ => Err("other"),
    };
    out.put(kind.map_or_else(|text| text.len() as u64, u64::from));
}

/// Iterators and closures.
#[kernel]
pub unsafe fn iterators(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let mut a = [0u64; 24];
    a.iter_mut().for_each(|x| *x = random.below(100));
    out.put(
        a.iter()
            .zip(a.iter().skip(1))
            .filter(|(x, y)| x < y)
            .count() as u64,
    );
    out.put(
        a.chunks(5)
            .map(|c| c.iter().max().copied().unwrap_or(0))
            .sum(),
    );
    out.put(
        a.windows(3)
            .map(|w| w[0] * w[1] + w[2])
            .fold(1, u64::wrapping_mul),
    );
    let (evens, odds): (u64, u64) = a.iter().fold((0, 0), |(e, o), x| {
        if x.is_multiple_of(2) {
            (e + x, o)
        } else {
            (e, o + x)
        }
    });
    out.put(evens << 32 | odds);
    out.put(a.iter().rev().step_by(3).sum());
    out.put(a.iter().position(|x| *x == 3).unwrap_or(99) as u64);
    out.put(a[random.below(24) as usize]);
    'outer: for i in 0..24u64 {
        for j in 0..i {
            if a[i as usize] + a[j as usize] > 190 {
                out.put(i << 8 | j);
                break 'outer;
            }
        }
    }
}

/// Sorting and searching.
#[kernel]
pub unsafe fn sorting(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let mut a = [0u64; 24];
    a.iter_mut().for_each(|x| *x = random.below(100));
    let mut sorted = a;
    sorted.sort_unstable();
    out.put(sorted.iter().enumerate().map(|(i, x)| i as u64 * x).sum());
    out.put(sorted.binary_search(&a[3]).is_ok().into());
    out.put(sorted.partition_point(|x| *x < 50) as u64);
    let mut by_digit = a;
    by_digit.sort_unstable_by_key(|x| core::cmp::Reverse((x % 10, *x)));
    by_digit.iter().for_each(|x| out.put(*x));
    let mut short = [a[0] as u32, a[1] as u32, a[2] as u32];
    short.sort_unstable();
    short.iter().for_each(|x| out.put((*x).into()));
}

/// Longer slices and other elements: quick, merge and heap sort, partial orders.
#[kernel]
pub unsafe fn long_sorting(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let hash = |h: u64, x: u64| (h ^ x).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
    let mut numbers: Vec<f64> = (0..150).map(|_| random.any_f64()).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let bits = |x: &f64| if x.is_nan() { 1 } else { x.to_bits() };
    out.put(numbers.iter().map(bits).fold(7, hash));
    let mut pairs: Vec<(u8, u32)> = (0..130).map(|i| (random.below(9) as u8, i)).collect();
    pairs.sort();
    out.put(
        pairs
            .iter()
            .map(|p| u64::from(p.0) << 32 | u64::from(p.1))
            .fold(7, hash),
    );
    pairs.sort_by_key(|p| core::cmp::Reverse(p.1 % 5));
    out.put(
        pairs
            .iter()
            .map(|p| u64::from(p.0) << 32 | u64::from(p.1))
            .fold(7, hash),
    );
    let mut bytes: Vec<u8> = (0..90).map(|_| random.bits() as u8).collect();
    let (_, median, _) = bytes.select_nth_unstable(45);
    out.put((*median).into());
    bytes.sort_unstable();
    bytes.dedup();
    out.put(bytes.iter().map(|x| u64::from(*x)).fold(7, hash));
    let mut words: Vec<String> = (0..40)
        .map(|_| format!("{:x}", random.below(5000)))
        .collect();
    words.sort_unstable();
    out.put(
        words
            .iter()
            .flat_map(|w| w.bytes())
            .map(u64::from)
            .fold(7, hash),
    );
    let mut signed: Vec<i16> = (0..64).map(|_| random.bits() as i16).collect();
    signed.sort_by(|a, b| b.cmp(a));
    out.put(signed.iter().map(|x| *x as u64).fold(7, hash));
    let heap: BinaryHeap<u32> = (0..60).map(|_| random.bits() as u32).collect();
    out.put(
        heap.into_sorted_vec()
            .iter()
            .map(|x| u64::from(*x))
            .fold(7, hash),
    );
    let mut wide = [(0u64, 0u128); 21];
    wide.iter_mut()
        .for_each(|w| *w = (random.below(3), u128::from(random.bits()) << 17));
    wide.sort_unstable();
    out.put(wide.iter().map(|w| w.0 ^ (w.1 >> 9) as u64).fold(7, hash));
}

/// Layouts: packed and unaligned fields, unions, enums with niches, large moves, booleans, characters.
#[kernel]
pub unsafe fn layouts(seed: u64, out: *mut u64, _scratch: *mut u64) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed {
        a: u8,
        b: u64,
        c: u16,
        d: f32,
    }
    #[derive(Clone, Copy)]
    enum Kind {
        None,
        Small(u8),
        Large([u64; 5]),
        Text(&'static str),
    }
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let mut list = [Packed {
        a: 0,
        b: 0,
        c: 0,
        d: 0.0,
    }; 7];
    for item in &mut list {
        *item = Packed {
            a: random.bits() as u8,
            b: random.bits(),
            c: random.bits() as u16,
            d: random.moderate() as f32,
        };
    }
    list.swap(0, random.below(7) as usize);
    for Packed { a, b, c, d } in list {
        out.put(u64::from(a) ^ b ^ u64::from(c) << 40);
        out.put_f32(d);
    }
    let bytes: [u8; 24] = core::array::from_fn(|_| random.bits() as u8);
    for at in 0..5 {
        // SAFETY: eight bytes from 3 · at on, of 24.
        out.put(unsafe { bytes.as_ptr().add(3 * at).cast::<u64>().read_unaligned() });
    }
    out.put(u64::from_be_bytes(*bytes.first_chunk().expect("24 bytes")));
    let mut kinds = [Kind::None; 6];
    for kind in &mut kinds {
        *kind = match random.below(4) {
            0 => Kind::None,
            1 => Kind::Small(random.bits() as u8),
            2 => Kind::Large(core::array::from_fn(|_| random.bits())),
            _ => Kind::Text("niche"),
        };
    }
    kinds.rotate_left(random.below(6) as usize);
    for kind in kinds {
        out.put(match kind {
            Kind::None => 1,
            Kind::Small(x) => x.into(),
            Kind::Large(list) => list.iter().fold(0, |h, x| h ^ x),
            Kind::Text(text) => text.len() as u64 + 1000,
        });
    }
    let maybe = (random.below(2) == 0).then(|| core::num::NonZeroU32::new(random.bits() as u32));
    out.put(maybe.flatten().map_or(3, |x| u64::from(x.get())));
    let letter = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('?');
    let mut room = [0; 4];
    out.put(
        letter
            .encode_utf8(&mut room)
            .bytes()
            .fold(letter.into(), |h, b| h << 8 | u64::from(b)),
    );
    out.put(letter.is_alphanumeric().into());
    let wide: i128 = i128::from(random.bits() as i64) * i128::from(random.bits() as i64);
    out.put((wide.unsigned_abs().isqrt() & 0xffff) as u64);
    out.put(wide.checked_div(i128::from(random.bits())).unwrap_or(0) as u64);
    out.put(u64::from_str_radix("1f3a", 16 + random.below(2) as u32).unwrap_or(0));
    let time = core::time::Duration::from_nanos(random.bits());
    out.put(time.as_secs() ^ u64::from(time.subsec_micros()));
}

/// What moves the elements of slices.
#[kernel]
pub unsafe fn slices(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let mut a = [0u64; 24];
    a.iter_mut().for_each(|x| *x = random.below(100));
    let mut b = a;
    b.reverse();
    b.swap(1, 20);
    out.put(b[random.below(24) as usize]);
    b[..9].rotate_left(4);
    b.rotate_right(random.below(24) as usize);
    b.iter().for_each(|x| out.put(*x));
    let (low, high) = b.split_at_mut(12);
    low.copy_from_slice(high);
    high.fill(3);
    low[1..].swap_with_slice(&mut high[1..]);
    b.copy_within(3..10, 9);
    b.iter().for_each(|x| out.put(*x));
    out.put((b[..5] == a[..5]).into());
    out.put((b[..7] < a[..7]).into());
}

/// The device's heap: vectors, boxes, maps, queues.
#[kernel]
pub unsafe fn collections(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let mut list: Vec<u64> = (0..20).map(|_| random.below(50)).collect();
    list.sort();
    list.dedup();
    list.insert(1, 1000);
    list.retain(|x| !x.is_multiple_of(5));
    out.put(list.len() as u64);
    out.put(list.iter().sum());
    let mut map = BTreeMap::new();
    for x in &list {
        *map.entry(x % 7).or_insert(0u64) += x;
    }
    map.iter().take(4).for_each(|(k, v)| out.put(k << 32 | v));
    let shapes: Vec<Box<dyn Shape>> = Vec::from([
        Box::new(Square(2.0)) as Box<dyn Shape>,
        Box::new(Circle(random.unit())),
    ]);
    out.put_f64(shapes.iter().map(|s| s.area()).sum());
    let mut queue: VecDeque<u64> = list.iter().copied().collect();
    queue.rotate_left(2);
    queue.pop_back();
    out.put(queue.iter().enumerate().map(|(i, x)| i as u64 * x).sum());
    let shared = Rc::new(list);
    let other = Rc::clone(&shared);
    out.put((Rc::strong_count(&shared) + other.len()) as u64);
}

/// Strings, formatting and parsing.
#[kernel]
pub unsafe fn text(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let (n, x) = (random.below(100_000), random.moderate());
    let mut line = format!("{n:>8}|{n:x}|{x:.3}|{x:?}|{:5}", x > 0.0);
    write!(line, " {:?} {:e}", (n as u8, "é\n"), x).ok();
    // FNV-1a of the bytes, and some of them.
    let hash = line.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    out.put(hash);
    out.put(line.len() as u64);
    out.put(line.chars().filter(|c| c.is_ascii_digit()).count() as u64);
    let number = n.to_string();
    out.put(number.parse().unwrap_or(1));
    out.put_f64(format!("{x}").parse().unwrap_or(0.0));
    out.put(line.find("é").map_or(0, |at| at as u64));
    let upper = line.to_uppercase();
    out.put(
        upper
            .split('|')
            .map(|part| part.trim().len() as u64)
            .fold(0, |h, n| 31 * h + n),
    );
    out.put("abc".cmp(&number[..1.min(number.len())]) as i8 as u64);
}
