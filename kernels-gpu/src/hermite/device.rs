//! Hermite forces on a GPU: what the kernels are made of.
//!
//! A body is a record of f64. Of a star: mass, time, `order` vectors. Predicted: mass and `order` / 2 vectors, padded
//! to an even number ([`width`]). Body s has place s; the places up to the next multiple of the number of partial sums
//! ([`order`](super::order)) hold zeros.

use core::mem::MaybeUninit;

use cuda_std::shared::{F2, SharedSlice};
use cuda_std::thread;
use cuda_std::warp::warp_shuffle_down;

use super::{force, predict};
use crate::Vec3;

/// Numbers of a predicted body with `d` vectors.
pub const fn width(d: usize) -> usize {
    (1 + 3 * d).next_multiple_of(2)
}

/// Numbers of a star of order `p`.
pub const fn star_width(p: usize) -> usize {
    2 + 3 * p
}

/// Bodies of a tile in shared memory.
pub const TILE: usize = 32;

/// Bytes of dynamic shared memory a force kernel needs with `d` vectors.
pub const fn shared_bytes(d: usize) -> usize {
    TILE * width(d) * 8
}

/// What a launch of a force kernel is about.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Launch {
    /// Softening length squared, [`softening2`](force::softening2).
    pub softening2: f64,
    /// Partial sums G, a power of two.
    pub sums: u32,
    /// Bodies of each, those of mass 0 included.
    pub terms: u32,
    /// Bodies that are pulled.
    pub count: u32,
    /// Partial sums that a thread computes and folds, a power of two up to G. It changes no bits.
    pub share: u32,
}

impl Launch {
    /// Blocks that cover all pairs.
    pub const fn blocks(&self, threads: u32) -> u32 {
        self.count.div_ceil(threads) * (self.sums / self.share)
    }

    /// The partial sums that remain to be folded for each body.
    pub const fn rest(&self) -> u32 {
        self.sums / self.share
    }
}

/// Three numbers from memory.
///
/// # Safety
/// `from` is valid for three numbers.
#[inline(always)]
unsafe fn vector(from: *const f64) -> Vec3<f64> {
    // SAFETY: the caller's promise.
    unsafe {
        Vec3 {
            x: *from,
            y: *from.add(1),
            z: *from.add(2),
        }
    }
}

/// Writes three numbers.
///
/// # Safety
/// `to` is valid for three numbers, each `stride` from the one before.
#[inline(always)]
unsafe fn put(to: *mut f64, stride: usize, v: Vec3<f64>) {
    // SAFETY: the caller's promise.
    unsafe {
        *to = v.x;
        *to.add(stride) = v.y;
        *to.add(2 * stride) = v.z;
    }
}

/// Predicts the star of this thread to `time`.
///
/// # Safety
/// `stars` and `predicted` are valid for `places` records each; a thread a place is enough.
#[inline(always)]
pub unsafe fn predict_star<const P: usize, const D: usize>(
    stars: *const f64,
    predicted: *mut f64,
    time: f64,
    places: u32,
) {
    let place = thread::index_1d();
    if place >= places {
        return;
    }
    // SAFETY: place < places.
    unsafe {
        let star = stars.add(place as usize * star_width(P));
        let to = predicted.add(place as usize * width(D));
        let mut x = [vector(star.add(2)); P];
        let mut k = 1;
        while k < P {
            x[k] = vector(star.add(2 + 3 * k));
            k += 1;
        }
        let motion = predict::predict::<f64, P, D>(&x, time - *star.add(1));
        *to = *star;
        let mut k = 0;
        while k < D {
            put(to.add(1 + 3 * k), 1, motion[k]);
            k += 1;
        }
    }
}

const ZERO: Vec3<f64> = Vec3 {
    x: 0.0,
    y: 0.0,
    z: 0.0,
};

/// Levels of the tree over partial sums.
const LEVELS: usize = 8;

/// The pull of `launch.share` partial sums on the body of this thread, folded, written to
/// `partial[(component · count + body) · rest + part]`.
///
/// A block pulls at as many bodies as it has threads; blocks of the same bodies follow each other, a part each. The
/// sums g, g + G/share, … are visited in the order in which their tree is folded, so that a stack of partial results, one
/// a level, is enough.
///
/// # Safety
/// `predicted` is valid for sums · terms records, `places` for `count` numbers below that, `partial` for
/// count · 3D · rest numbers; the dynamic shared memory has [`shared_bytes`]; all threads of the block call this.
#[inline(always)]
pub unsafe fn pull<const D: usize>(
    launch: &Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    let width = const { width(D) };
    let threads = thread::block_dim_x();
    let t = thread::thread_idx_x();
    let rest = launch.rest();
    let part = thread::block_idx_x() % rest;
    let mine = thread::block_idx_x() / rest * threads + t;
    // Threads beyond the last body work on it as well, and write nothing.
    let body = mine.min(launch.count - 1);
    // SAFETY: body < count; its place is one of predicted.
    let i = unsafe {
        let from = predicted.add(*places.add(body as usize) as usize * width);
        let mut i = [ZERO; D];
        let mut k = 0;
        while k < D {
            i[k] = vector(from.add(1 + 3 * k));
            k += 1;
        }
        i
    };
    // SAFETY: the caller gives this much.
    let tile = unsafe { SharedSlice::<F2>::dynamic(0, TILE * width / 2) };
    // Left as it is until a level is written: it lies in slow memory.
    let mut stack = [const { MaybeUninit::<[Vec3<f64>; D]>::uninit() }; LEVELS];
    let bits = launch.share.trailing_zeros();
    let mut visit = 0;
    while visit < launch.share {
        let leaf = if bits == 0 {
            0
        } else {
            visit.reverse_bits() >> (32 - bits)
        };
        let sum_of = part + leaf * rest;
        let mut sum = [ZERO; D];
        let mut first = 0;
        while first < launch.terms {
            let filled = (launch.terms - first).min(TILE as u32);
            let pairs = filled * (width as u32 / 2);
            let mut at = t;
            while at < pairs {
                let term = at / (width as u32 / 2);
                let slot = (first + term) * launch.sums + sum_of;
                let offset = 2 * (at % (width as u32 / 2));
                // SAFETY: slot < sums · terms; the barriers separate this from the reads.
                unsafe {
                    let from = predicted.add(slot as usize * width + offset as usize);
                    tile.set(at as usize, F2::new(*from, *from.add(1)));
                }
                at += threads;
            }
            thread::sync_threads();
            let mut j = 0;
            while j < filled {
                let mut numbers = [0.0; 14];
                let mut k = 0;
                while k < width / 2 {
                    // SAFETY: j < filled.
                    let two = unsafe { tile.get(j as usize * (width / 2) + k) };
                    numbers[2 * k] = two.x;
                    numbers[2 * k + 1] = two.y;
                    k += 1;
                }
                let mut other = [ZERO; D];
                let mut k = 0;
                while k < D {
                    other[k] = Vec3 {
                        x: numbers[1 + 3 * k],
                        y: numbers[2 + 3 * k],
                        z: numbers[3 + 3 * k],
                    };
                    k += 1;
                }
                force::pair(&i, &other, numbers[0], launch.softening2, &mut sum);
                let mut k = 0;
                while k < D {
                    sum[k] = sum[k].now();
                    k += 1;
                }
                j += 1;
            }
            thread::sync_threads();
            first += filled;
        }
        let mut level = 0;
        let mut done = visit;
        while done & 1 == 1 {
            // SAFETY: a visit whose number ends in `level` + 1 ones comes after one that left its sum at this level.
            let before = unsafe { stack[level].assume_init_ref() };
            let mut k = 0;
            while k < D {
                sum[k] = before[k] + sum[k];
                k += 1;
            }
            level += 1;
            done >>= 1;
        }
        stack[level] = MaybeUninit::new(sum);
        visit += 1;
    }
    if mine < launch.count {
        // SAFETY: the last visit left the sum of all at this level.
        let folded = unsafe { stack[bits as usize].assume_init_ref() };
        let stride = launch.count as usize * rest as usize;
        let to = body as usize * rest as usize + part as usize;
        let mut k = 0;
        while k < D {
            // SAFETY: within count · 3D · rest numbers.
            unsafe { put(partial.add(3 * k * stride + to), stride, folded[k]) };
            k += 1;
        }
    }
}

/// Folds `rest` partial results (a power of two up to 128) of each of `values` numbers: a warp a number.
///
/// # Safety
/// `partial` is valid for values · rest numbers, `out` for `values`; blocks are whole warps.
#[inline(always)]
pub unsafe fn fold(partial: *const f64, out: *mut f64, values: u32, rest: u32) {
    let lane = thread::thread_idx_x() % 32;
    let warps = thread::block_dim_x() / 32;
    let value = thread::block_idx_x() * warps + thread::thread_idx_x() / 32;
    if value >= values {
        return;
    }
    // SAFETY: value < values, and the index below `rest`.
    let at = |k: u32| unsafe { *partial.add(value as usize * rest as usize + k as usize) };
    let mut sum = 0.0;
    if lane < rest {
        sum = at(lane);
        if rest == 128 {
            sum = (sum + at(lane + 64)) + (at(lane + 32) + at(lane + 96));
        } else if rest == 64 {
            sum += at(lane + 32);
        }
    }
    let mut h = rest.min(32) / 2;
    while h > 0 {
        // SAFETY: all lanes of the warp are here.
        let other = unsafe { warp_shuffle_down(u32::MAX, sum, h, 32) }.0;
        sum += other;
        h /= 2;
    }
    if lane == 0 {
        // SAFETY: value < values.
        unsafe { *out.add(value as usize) = sum };
    }
}

/// Copies records to their places: `width` numbers each, from the number `skip` of a place on.
///
/// # Safety
/// `from` is valid for count · width numbers, `places` for `count`, `to` for records of `stride` numbers at those
/// places; they differ.
#[inline(always)]
pub unsafe fn scatter(
    from: *const f64,
    places: *const u32,
    to: *mut f64,
    count: u32,
    width: u32,
    stride: u32,
    skip: u32,
) {
    let at = thread::index_1d();
    if at >= count * width {
        return;
    }
    let (record, number) = (at / width, at % width);
    // SAFETY: record < count.
    unsafe {
        let place = *places.add(record as usize) as usize;
        *to.add(place * stride as usize + (skip + number) as usize) = *from.add(at as usize);
    }
}

/// Potential at the body of this thread, of all others.
///
/// # Safety
/// As [`pull`], with `out` for `count` numbers; body i is at place i, and a record has `width` numbers.
#[inline(always)]
pub unsafe fn potential(launch: &Launch, predicted: *const f64, out: *mut f64, width: u32) {
    let body = thread::index_1d();
    if body >= launch.count {
        return;
    }
    // SAFETY: places below sums · terms.
    let record = |place: u32| unsafe { predicted.add(place as usize * width as usize) };
    // SAFETY: the second to fourth number of a record.
    let i = unsafe { vector(record(body).add(1)) };
    let mut stack = [0.0; LEVELS];
    let bits = launch.sums.trailing_zeros();
    let mut visit = 0;
    while visit < launch.sums {
        let sum_of = visit.reverse_bits() >> (32 - bits);
        let mut sum = 0.0;
        let mut term = 0;
        while term < launch.terms {
            let place = term * launch.sums + sum_of;
            // SAFETY: as above.
            let (mass, j) = unsafe { (*record(place), vector(record(place).add(1))) };
            let mass = if place == body { 0.0 } else { mass };
            sum += force::potential(i, j, mass, launch.softening2);
            term += 1;
        }
        let mut level = 0;
        let mut done = visit;
        while done & 1 == 1 {
            sum += stack[level];
            level += 1;
            done >>= 1;
        }
        stack[level] = sum;
        visit += 1;
    }
    // SAFETY: body < count.
    unsafe { *out.add(body as usize) = stack[bits as usize] };
}
