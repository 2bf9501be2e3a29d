//! The forms of bodies in the memory of a GPU, in shared memory and in registers.

use cuda_std::shared::{F2, F4, SharedSlice, SharedValue};

use crate::physics::hermite::arithmetic::{
    Arithmetic, Plain, SplitBody, SplitF32, SplitSum, split,
};
use crate::{Real, Vec3};

/// Number of values of a predicted body with `d` vectors: mass and vectors, padded to an even number.
pub const fn width(d: usize) -> usize {
    (1 + 3 * d).next_multiple_of(2)
}

/// Number of values of a star of order `p`: mass, time and vectors.
pub const fn star_width(p: usize) -> usize {
    2 + 3 * p
}

/// Largest number of values of a predicted body.
const WIDEST: usize = width(4);

/// Two adjacent numbers, which are loaded together.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Two(f64, f64);

/// Reads two numbers.
///
/// # Safety
/// `from` must be valid for two numbers and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn two(from: *const f64) -> (f64, f64) {
    // SAFETY: the caller guarantees this.
    let Two(a, b) = unsafe { *from.cast() };
    (a, b)
}

/// Writes two numbers.
///
/// # Safety
/// `to` must be valid for two numbers and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn put_two(to: *mut f64, a: f64, b: f64) {
    // SAFETY: the caller guarantees this.
    unsafe { *to.cast() = Two(a, b) };
}

/// Reads `N` vectors, an even number, two numbers at a time. Where the threads of a warp read records side by side, a load takes as long
/// as there are records, however much of each it reads.
///
/// # Safety
/// `from` must be valid for 3 `N` numbers and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn aligned_vectors<const N: usize>(from: *const f64) -> [Vec3<f64>; N] {
    const { assert!(N.is_multiple_of(2)) };
    let mut v = [Vec3::zero(); N];
    let mut k = 0;
    while k < N {
        // SAFETY: the caller guarantees this.
        let [a, b, c] = unsafe {
            let at = from.add(3 * k);
            [two(at), two(at.add(2)), two(at.add(4))]
        };
        v[k] = Vec3 {
            x: a.0,
            y: a.1,
            z: b.0,
        };
        v[k + 1] = Vec3 {
            x: b.1,
            y: c.0,
            z: c.1,
        };
        k += 2;
    }
    v
}

/// Writes a predicted body, two numbers at a time.
///
/// # Safety
/// `to` must be valid for [`width`] numbers and aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn put_predicted<const D: usize>(
    to: *mut f64,
    mass: f64,
    motion: &[Vec3<f64>; D],
) {
    let n = all_numbers(mass, motion);
    let mut k = 0;
    while k < const { width(D) / 2 } {
        // SAFETY: the caller guarantees this.
        unsafe { put_two(to.add(2 * k), n[2 * k], n[2 * k + 1]) };
        k += 1;
    }
}

/// The numbers of a predicted body.
#[inline(always)]
fn all_numbers<const D: usize>(mass: f64, motion: &[Vec3<f64>; D]) -> [f64; WIDEST] {
    let mut n = [0.0; WIDEST];
    n[0] = mass;
    let mut k = 0;
    while k < D {
        n[1 + 3 * k] = motion[k].x;
        n[2 + 3 * k] = motion[k].y;
        n[3 + 3 * k] = motion[k].z;
        k += 1;
    }
    n
}

/// Reads a vector from memory.
///
/// # Safety
/// `from` must be valid for three numbers.
#[inline(always)]
pub(super) unsafe fn vector(from: *const f64) -> Vec3<f64> {
    // SAFETY: the caller guarantees this.
    unsafe {
        Vec3 {
            x: *from,
            y: *from.add(1),
            z: *from.add(2),
        }
    }
}

/// A precision of the force kernels.
pub trait Record<const D: usize>: Arithmetic<D, Number: Real<Mask = bool> + SharedValue> {
    /// The type of the words of shared memory.
    type Word: SharedValue;
    /// Words of a body in shared memory, of 16 bytes each: an odd number, so that threads that read adjacent bodies use all banks.
    const WORDS: usize;
    /// Number of bodies whose forces a thread computes.
    const BODIES: usize;

    /// The number nearest to `x`.
    fn number(x: f64) -> Self::Number;

    /// A predicted body with this motion, and its mass.
    fn of(mass: f64, motion: &[Vec3<f64>; D]) -> (Self::Number, Self::Body);

    /// Reads a predicted body and its mass.
    ///
    /// # Safety
    /// `from` must be valid for [`width`] numbers and aligned to 16 bytes.
    #[inline(always)]
    unsafe fn read(from: *const f64) -> (Self::Number, Self::Body) {
        // SAFETY: the caller guarantees this.
        let n = unsafe { numbers::<D>(from) };
        Self::of(n[0], &vectors(&n))
    }

    /// Writes a body to a tile.
    ///
    /// # Safety
    /// The same as for [`SharedSlice::set`], for the words of body `index`.
    unsafe fn stage(
        tile: SharedSlice<Self::Word>,
        index: usize,
        mass: Self::Number,
        body: &Self::Body,
    );

    /// Reads a body from a tile.
    ///
    /// # Safety
    /// The same as for [`SharedSlice::get`], for the words of body `index`.
    unsafe fn staged(tile: SharedSlice<Self::Word>, index: usize) -> (Self::Number, Self::Body);

    /// The value of a sum in `f64`.
    fn totals(sum: &Self::Sum) -> [Vec3<f64>; D];

    /// The value in `f64` of a component that [`add_component`](Arithmetic::add_component) has summed.
    fn total(sum: &[Self::Number; 2], of_first: bool) -> f64;

    /// Calls `f` with each number of a sum and its index. All numbers together take at most 24 `D` bytes.
    fn each_number(sum: &Self::Sum, f: impl Fn(usize, Self::Number));

    /// The sum whose numbers `f` gives, in the order of [`each_number`](Self::each_number).
    fn sum_of(f: impl Fn(usize) -> Self::Number) -> Self::Sum;
}

/// Reads the numbers of a predicted body.
///
/// # Safety
/// The same as for [`Record::read`].
#[inline(always)]
unsafe fn numbers<const D: usize>(from: *const f64) -> [f64; WIDEST] {
    let mut n = [0.0; WIDEST];
    let mut k = 0;
    while k < const { width(D) / 2 } {
        // SAFETY: the caller guarantees this.
        (n[2 * k], n[2 * k + 1]) = unsafe { two(from.add(2 * k)) };
        k += 1;
    }
    n
}

/// The vectors of a body from its numbers, of which the first is the mass.
#[inline(always)]
fn vectors<const D: usize>(n: &[f64; WIDEST]) -> [Vec3<f64>; D] {
    let at = |k: usize| Vec3 {
        x: n[1 + 3 * k],
        y: n[2 + 3 * k],
        z: n[3 + 3 * k],
    };
    let mut v = [at(0); D];
    let mut k = 1;
    while k < D {
        v[k] = at(k);
        k += 1;
    }
    v
}

impl<const D: usize> Record<D> for Plain<f64> {
    type Word = F2;
    const WORDS: usize = (width(D) / 2) | 1;
    const BODIES: usize = 2;

    #[inline(always)]
    fn number(x: f64) -> f64 {
        x
    }

    #[inline(always)]
    fn of(mass: f64, motion: &[Vec3<f64>; D]) -> (f64, Self::Body) {
        (mass, *motion)
    }

    #[inline(always)]
    unsafe fn stage(tile: SharedSlice<F2>, index: usize, mass: f64, body: &Self::Body) {
        let n = all_numbers(mass, body);
        let mut k = 0;
        while k < const { width(D) / 2 } {
            // SAFETY: the caller guarantees this.
            unsafe {
                tile.set(
                    index * <Self as Record<D>>::WORDS + k,
                    F2::new(n[2 * k], n[2 * k + 1]),
                )
            };
            k += 1;
        }
    }

    #[inline(always)]
    unsafe fn staged(tile: SharedSlice<F2>, index: usize) -> (f64, Self::Body) {
        let mut n = [0.0; WIDEST];
        let mut k = 0;
        while k < const { width(D) / 2 } {
            // SAFETY: the caller guarantees this.
            let two = unsafe { tile.get(index * <Self as Record<D>>::WORDS + k) };
            n[2 * k] = two.x;
            n[2 * k + 1] = two.y;
            k += 1;
        }
        (n[0], vectors(&n))
    }

    #[inline(always)]
    fn totals(sum: &Self::Sum) -> [Vec3<f64>; D] {
        *sum
    }

    #[inline(always)]
    fn total(sum: &[f64; 2], _of_first: bool) -> f64 {
        sum[0]
    }

    #[inline(always)]
    fn each_number(sum: &Self::Sum, f: impl Fn(usize, f64)) {
        let mut d = 0;
        while d < D {
            each_of(&sum[d], |k, x| f(3 * d + k, x));
            d += 1;
        }
    }

    #[inline(always)]
    fn sum_of(f: impl Fn(usize) -> f64) -> Self::Sum {
        vectors_of(f)
    }
}

/// The `N` vectors whose components `number` gives, one vector after another.
#[inline(always)]
pub(super) fn vectors_of<const N: usize>(number: impl Fn(usize) -> f64) -> [Vec3<f64>; N] {
    let mut vectors = [Vec3::zero(); N];
    let mut n = 0;
    while n < N {
        vectors[n] = vector_of(|k| number(3 * n + k));
        n += 1;
    }
    vectors
}

/// Calls `f` with each component of a vector.
#[inline(always)]
fn each_of<T: Copy>(v: &Vec3<T>, f: impl Fn(usize, T)) {
    f(0, v.x);
    f(1, v.y);
    f(2, v.z);
}

/// The vector whose components `f` gives.
#[inline(always)]
fn vector_of<T>(f: impl Fn(usize) -> T) -> Vec3<T> {
    Vec3 {
        x: f(0),
        y: f(1),
        z: f(2),
    }
}

/// The parts of a vector that [`split`] makes.
#[inline(always)]
fn split_vector(v: Vec3<f64>) -> (Vec3<f32>, Vec3<f32>) {
    let (x, y, z) = (split(v.x), split(v.y), split(v.z));
    (
        Vec3 {
            x: x.0,
            y: y.0,
            z: z.0,
        },
        Vec3 {
            x: x.1,
            y: y.1,
            z: z.1,
        },
    )
}

#[inline(always)]
fn narrowed(v: Vec3<f64>) -> Vec3<f32> {
    Vec3 {
        x: v.x as f32,
        y: v.y as f32,
        z: v.z as f32,
    }
}

#[inline(always)]
fn widened(v: Vec3<f32>) -> Vec3<f64> {
    Vec3 {
        x: v.x as f64,
        y: v.y as f64,
        z: v.z as f64,
    }
}

/// Splits a body's vectors into the two parts of a [`SplitBody`].
#[inline(always)]
pub fn split_body<const D: usize>(v: &[Vec3<f64>; D]) -> SplitBody<f32> {
    let (high, low) = split_vector(v[0]);
    let mut rates = [low; 3];
    let mut k = 1;
    while k < D {
        rates[k - 1] = narrowed(v[k]);
        k += 1;
    }
    SplitBody { high, low, rates }
}

impl<const D: usize> Record<D> for SplitF32<f32> {
    type Word = F4;
    const WORDS: usize = (4 + 3 * D).div_ceil(4) | 1;
    const BODIES: usize = 4;

    #[inline(always)]
    fn number(x: f64) -> f32 {
        x as f32
    }

    #[inline(always)]
    fn of(mass: f64, motion: &[Vec3<f64>; D]) -> (f32, SplitBody<f32>) {
        (mass as f32, split_body::<D>(motion))
    }

    #[inline(always)]
    unsafe fn stage(tile: SharedSlice<F4>, index: usize, mass: f32, body: &SplitBody<f32>) {
        let (h, l, [v, a, j]) = (body.high, body.low, body.rates);
        let first = index * <Self as Record<D>>::WORDS;
        // SAFETY: the caller guarantees this.
        unsafe {
            tile.set(first, F4::new(mass, h.x, h.y, h.z));
            tile.set(first + 1, F4::new(l.x, l.y, l.z, v.x));
            if D == 2 {
                tile.set(first + 2, F4::new(v.y, v.z, 0.0, 0.0));
            } else {
                tile.set(first + 2, F4::new(v.y, v.z, a.x, a.y));
            }
            if D == 3 {
                tile.set(first + 3, F4::new(a.z, 0.0, 0.0, 0.0));
            } else if D == 4 {
                tile.set(first + 3, F4::new(a.z, j.x, j.y, j.z));
            }
        }
    }

    #[inline(always)]
    unsafe fn staged(tile: SharedSlice<F4>, index: usize) -> (f32, SplitBody<f32>) {
        let first = index * <Self as Record<D>>::WORDS;
        // SAFETY: the caller guarantees this.
        let (p, q, r, s) = unsafe {
            let s = if D >= 3 {
                tile.get(first + 3)
            } else {
                F4::new(0.0, 0.0, 0.0, 0.0)
            };
            (tile.get(first), tile.get(first + 1), tile.get(first + 2), s)
        };
        let vec = |x, y, z| Vec3 { x, y, z };
        let body = SplitBody {
            high: vec(p.y, p.z, p.w),
            low: vec(q.x, q.y, q.z),
            rates: [vec(q.w, r.x, r.y), vec(r.z, r.w, s.x), vec(s.y, s.z, s.w)],
        };
        (p.x, body)
    }

    #[inline(always)]
    fn totals(sum: &SplitSum<f32>) -> [Vec3<f64>; D] {
        let mut v = [widened(sum.high) + widened(sum.low); D];
        let mut k = 1;
        while k < D {
            v[k] = widened(sum.rates[k - 1]);
            k += 1;
        }
        v
    }

    #[inline(always)]
    fn total([high, low]: &[f32; 2], of_first: bool) -> f64 {
        if of_first {
            *high as f64 + *low as f64
        } else {
            *high as f64
        }
    }

    #[inline(always)]
    fn each_number(sum: &SplitSum<f32>, f: impl Fn(usize, f32)) {
        each_of(&sum.high, &f);
        each_of(&sum.low, |k, x| f(3 + k, x));
        let mut d = 1;
        while d < D {
            each_of(&sum.rates[d - 1], |k, x| f(3 + 3 * d + k, x));
            d += 1;
        }
    }

    #[inline(always)]
    fn sum_of(f: impl Fn(usize) -> f32) -> SplitSum<f32> {
        let mut sum = SplitSum {
            high: vector_of(&f),
            low: vector_of(|k| f(3 + k)),
            rates: [Vec3::zero(); 3],
        };
        let mut d = 1;
        while d < D {
            sum.rates[d - 1] = vector_of(|k| f(3 + 3 * d + k));
            d += 1;
        }
        sum
    }
}
