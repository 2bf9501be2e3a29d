//! Forces on active bodies with the source bodies in tiles of shared memory.
//!
//! The threads of a block form rows of [`Shape::lanes`] threads. Each thread computes the forces on `I` bodies. The threads of a row have
//! different bodies and the same partial sums; the rows have the same bodies and different partial sums, which the block folds. With few
//! active bodies, short rows therefore keep all threads busy.

use core::mem::MaybeUninit;

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::{Launch, Record, fold, ratio, width};
use crate::physics::summation::partial_sums::{MAX_WAITING, SHORT_PARTIAL_SUMS, nth_to_merge};
use crate::{Real, Vec3};

/// Least number of threads in a row.
const MIN_LANES: u32 = 8;

/// A row of fewer threads has two bodies per thread in its tile, so that it waits for memory less often.
const MIN_TILE_BODIES: u32 = 2 * MIN_LANES;

/// The bytes of dynamic shared memory for the tiles of a block, and for folding the sums of its rows for `derivatives` vectors.
pub const fn shared_bytes(words: usize, derivatives: usize, threads: u32) -> u32 {
    let tiles = 16 * words as u32 * threads / MIN_LANES * MIN_TILE_BODIES;
    let sums = 8 * 3 * derivatives as u32 * threads;
    if tiles > sums { tiles } else { sums }
}

/// How a block divides its work among its threads, and how many partial sums a launch leaves for [`fold`](mod@fold).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Shape {
    /// Threads in a row, a power of two that divides the number of threads of a block.
    pub lanes: u32,
    /// Number of sums that remain for each body, a power of two up to [`SHORT_PARTIAL_SUMS`]. Times the number of rows it is at most the
    /// number of partial sums.
    pub remaining: u32,
}

/// The blocks that a device can run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Capacity {
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Number of blocks of all of them.
    pub blocks: u32,
}

/// The time that a block spends on its bodies, barriers and its fold, in terms of a partial sum.
const UNIT_TERMS: u32 = 8;
/// A multiprocessor with as many blocks as fit is so many times as fast as with one.
const SPEED_UP: u32 = 2;

impl Shape {
    /// The fastest shape by a simple model, for `launch.count` bodies, `bodies` of them per thread, in blocks of `threads`. The model
    /// counts terms of partial sums, in the rounds of blocks that the device needs.
    #[inline(always)]
    pub fn fastest(launch: &Launch, threads: u32, bodies: u32, capacity: &Capacity) -> Self {
        // All but the capacity are powers of two: a division takes longer than the whole of the rest.
        let parts = launch.parts();
        let mut best = Self::with_lanes(threads, threads, parts);
        let mut least = u64::MAX;
        let mut lanes = threads;
        while lanes >= MIN_LANES && ratio(threads, lanes) <= parts {
            let shape = Self::with_lanes(lanes, threads, parts);
            let units = shape.units(launch.count, bodies);
            let sums = ratio(parts, shape.remaining * ratio(threads, lanes));
            let terms = sums * launch.terms + UNIT_TERMS;
            let rounds = SPEED_UP * units.div_ceil(capacity.blocks);
            let load = units.div_ceil(capacity.multiprocessors);
            let cost = if rounds > load { rounds } else { load } as u64 * terms as u64;
            if cost < least {
                (best, least) = (shape, cost);
            }
            lanes >>= 1;
        }
        best
    }

    /// The shape with rows of this length.
    #[inline(always)]
    fn with_lanes(lanes: u32, threads: u32, parts: u32) -> Self {
        let remaining = ratio(parts, ratio(threads, lanes));
        Self {
            lanes,
            remaining: remaining.min(SHORT_PARTIAL_SUMS as u32),
        }
    }

    /// Number of blocks for `count` bodies with `bodies` of them per thread.
    #[inline(always)]
    pub fn units(&self, count: u32, bodies: u32) -> u32 {
        let group = self.lanes * bodies;
        ratio(count + group - 1, group) * self.remaining
    }
}

/// Evaluates `$body` for each `$k` below `I` = 2 or 4. The repetitions are written out because LLVM does not unroll loops this long,
/// and an array with a run-time index would be in local memory.
macro_rules! each {
    ($k:ident below $bodies:ident $body:block) => {{
        let $k = 0;
        $body
    }
    {
        let $k = 1;
        $body
    }
    if $bodies == 4 {
        {
            let $k = 2;
            $body
        }
        let $k = 3;
        $body
    }};
}

/// Computes sums of the forces on the bodies of this block, and writes them to `partial[(component · remaining + sum) · count + body]`.
///
/// # Safety
/// `predicted` must be valid for sums · terms records, `places` for `count` numbers less than that, and `partial` for 3D · remaining ·
/// count numbers. The dynamic shared memory must have [`shared_bytes`]; all threads of the block must call this.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn pull<A: Record<D>, const D: usize, const I: usize>(
    launch: &Launch,
    shape: &Shape,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    let unit = thread::block_idx_x();
    // SAFETY: the caller guarantees this.
    unsafe {
        pull_unit::<A, D, I, _>(launch, shape, predicted, places, partial, unit, &Unwatched);
    }
}

/// What is done with near bodies while the forces are summed.
pub(super) trait Watch {
    /// Whether anything is.
    const WATCHES: bool;

    /// The softened square of the distance up to which a body is near to the listed one of number `body`.
    ///
    /// # Safety
    /// `body` must be below the number of listed bodies.
    unsafe fn limit(&self, body: u32) -> f64;

    /// Takes the body at `place`, which is near to the listed one of number `body` or is that body. More than one thread may say the same.
    ///
    /// # Safety
    /// The same as for [`limit`](Self::limit), with a place of a body or of padding.
    unsafe fn near(&self, body: u32, place: u32);
}

/// Nothing is done with near bodies.
pub(super) struct Unwatched;

impl Watch for Unwatched {
    const WATCHES: bool = false;

    #[inline(always)]
    unsafe fn limit(&self, _body: u32) -> f64 {
        0.0
    }

    #[inline(always)]
    unsafe fn near(&self, _body: u32, _place: u32) {}
}

/// Sums of a thread that wait to be merged with others. The array is in local memory because its index is only known at run time.
struct Waiting<const D: usize, const I: usize> {
    values: MaybeUninit<[[[Vec3<f64>; D]; I]; MAX_WAITING]>,
}

impl<const D: usize, const I: usize> Waiting<D, I> {
    /// The address of the sum of body `k` that waits at `level`.
    ///
    /// # Safety
    /// `level` must be less than [`MAX_WAITING`], and `k` less than `I`.
    #[inline(always)]
    unsafe fn at(&mut self, level: usize, k: usize) -> *mut Vec3<f64> {
        // SAFETY: the caller guarantees that the index is within the array.
        unsafe {
            self.values
                .as_mut_ptr()
                .cast::<Vec3<f64>>()
                .add((level * I + k) * D)
        }
    }
}

/// Does the work of [`pull`] for one group of bodies and one of the remaining sums. Units number the groups of each sum.
///
/// # Safety
/// The same as for [`pull`], with a unit below [`Shape::units`] that is the same for all threads of the block, and a barrier between two
/// calls.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn pull_unit<A: Record<D>, const D: usize, const I: usize, W: Watch>(
    launch: &Launch,
    shape: &Shape,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
    unit: u32,
    watch: &W,
) {
    const {
        assert!(I == A::BODIES, "as many bodies as the launch expects");
        assert!(I == 2 || I == 4);
    };
    let threads = thread::block_dim_x();
    let t = thread::thread_idx_x();
    let (lanes, remaining) = (shape.lanes, shape.remaining);
    let (rows, row, lane) = (threads / lanes, t / lanes, t % lanes);
    let groups = launch.count.div_ceil(lanes * I as u32);
    let class = unit / groups;
    let first = unit % groups * lanes * I as u32 + lane;
    // SAFETY: the places are those of predicted bodies.
    let record = |place: u32| unsafe { predicted.add(place as usize * const { width(D) }) };
    // Threads beyond the last body compute the same as the last one, and write nothing.
    let number = |k: usize| (first + k as u32 * lanes).min(launch.count - 1);
    let body = |k: usize| {
        // SAFETY: the number is below count.
        unsafe { A::read(record(*places.add(number(k) as usize))).1 }
    };
    let mut i = [body(0); I];
    each!(k below I { i[k] = body(k) });
    // SAFETY: the number is below count.
    let limit = |k: usize| A::number(unsafe { watch.limit(number(k)) });
    let mut limits = [A::number(0.0); I];
    each!(k below I { limits[k] = limit(k) });
    let softening2 = A::number(launch.softening2);
    let capacity = if lanes < MIN_TILE_BODIES {
        2 * lanes
    } else {
        lanes
    };
    // SAFETY: the caller provides this much shared memory.
    let tile = unsafe { SharedSlice::<A::Word>::dynamic(0, A::WORDS * (rows * capacity) as usize) };
    // The thread's partial sums are class + remaining · (row + rows · n) for n < own.
    let own = launch.parts() / (remaining * rows);
    let length = own * launch.terms;
    let mut waiting = Waiting::<D, I> {
        values: MaybeUninit::uninit(),
    };
    let place_of = |nth: u32, term: u32| {
        let part = class + remaining * (row + rows * nth_to_merge(nth, own));
        term * launch.sums + launch.first + part * launch.stride
    };
    // The thread fills every `lanes`-th place of its row's tiles, the next one with this term of its partial sum number `nth`.
    let (mut nth, mut term) = (0, lane);
    let mut next = || {
        while term >= launch.terms {
            term -= launch.terms;
            nth += 1;
        }
        // The last tile may have room for more than the partial sums of the thread.
        let place = place_of(nth.min(own - 1), term);
        term += lanes;
        // SAFETY: the place is below sums · terms.
        unsafe { A::read(record(place)) }
    };
    let mut sum = [A::zero(); I];
    let (mut done, mut left, mut step) = (0, launch.terms, 0u32);
    while done < length {
        let filled = (length - done).min(capacity);
        let at = (row * capacity + lane) as usize;
        if capacity > lanes {
            // Both are read before one is written, so that the waits for memory overlap.
            let (first, second) = (next(), next());
            // SAFETY: capacity is twice the number of lanes; barriers separate this from the reads.
            unsafe {
                A::stage(tile, at, first.0, &first.1);
                A::stage(tile, at + lanes as usize, second.0, &second.1);
            }
        } else {
            let only = next();
            // SAFETY: lane < capacity; barriers separate this from the reads.
            unsafe { A::stage(tile, at, only.0, &only.1) };
        }
        thread::sync_threads();
        let mut j = 0;
        while j < filled {
            let end = if left < filled - j { j + left } else { filled };
            left -= end - j;
            while j < end {
                // SAFETY: j < filled.
                let (mass, other) = unsafe { A::staged(tile, (row * capacity + j) as usize) };
                let [s0, s1, rest @ ..] = &mut sum[..] else {
                    unreachable!()
                };
                // A thread is near to few bodies. The place of such a body is found where it is needed.
                let tell = |k: usize, r2: [A::Number; 2]| {
                    let near = [r2[0].at_most(limits[k]), r2[1].at_most(limits[k + 1])];
                    if near[0] || near[1] {
                        let nth_and_term = done + j;
                        let place =
                            place_of(nth_and_term / launch.terms, nth_and_term % launch.terms);
                        // SAFETY: the numbers are below count, and the place is one of the partial sum's.
                        unsafe {
                            if near[0] {
                                watch.near(number(k), place);
                            }
                            if near[1] {
                                watch.near(number(k + 1), place);
                            }
                        }
                    }
                };
                let r2 = A::pull_two([&i[0], &i[1]], &other, mass, softening2, [s0, s1]);
                if W::WATCHES {
                    tell(0, r2);
                }
                if let [s2, s3] = rest {
                    let r2 = A::pull_two([&i[2], &i[3]], &other, mass, softening2, [s2, s3]);
                    if W::WATCHES {
                        tell(2, r2);
                    }
                }
                each!(k below I { sum[k] = A::now(sum[k]) });
                j += 1;
            }
            if left == 0 {
                each!(k below I {
                    // SAFETY: step < own, which has at most MAX_WAITING - 1 ones, and the levels below have been filled.
                    unsafe { merge(&mut waiting, k, step, A::totals(&sum[k])) };
                    sum[k] = A::zero();
                });
                left = launch.terms;
                step += 1;
            }
        }
        thread::sync_threads();
        done += filled;
    }
    let level = own.trailing_zeros() as usize;
    each!(k below I {
        // SAFETY: the last merge left the total at this level.
        let total = unsafe { waiting.at(level, k) };
        let body = first + k as u32 * lanes;
        if rows > 1 {
            // SAFETY: all threads call it; the bodies of lane 0 up to the last lane are consecutive.
            unsafe { fold_rows::<D>(launch, shape, partial, class, body - lane, total) };
        } else if body < launch.count {
            // SAFETY: the index is that of a body in the class.
            unsafe { leave::<D>(launch, remaining, partial, class, body, total) };
        }
    });
}

/// Adds the sum of number `step` to those that wait for it; the result waits.
///
/// # Safety
/// `step` must have at most [`MAX_WAITING`] - 1 ones at its end, and the sums before it must have been merged.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn merge<const D: usize, const I: usize>(
    waiting: &mut Waiting<D, I>,
    k: usize,
    step: u32,
    mut sum: [Vec3<f64>; D],
) {
    let merges = step.trailing_ones() as usize;
    let mut level = 0;
    while level < merges {
        // SAFETY: the caller guarantees this.
        let other = unsafe { waiting.at(level, k) };
        let mut d = 0;
        while d < D {
            // SAFETY: a sum has D vectors.
            sum[d] = sum[d] + unsafe { *other.add(d) };
            d += 1;
        }
        level += 1;
    }
    // SAFETY: as above.
    let to = unsafe { waiting.at(merges, k) };
    let mut d = 0;
    while d < D {
        // SAFETY: a sum has D vectors.
        unsafe { *to.add(d) = sum[d] };
        d += 1;
    }
}

/// Folds the sums of the rows of a block for the bodies from `body` on, one for each thread of a row, and writes the results.
///
/// # Safety
/// The same as for [`pull_unit`]; `total` must be valid for the thread's `D` vectors.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_rows<const D: usize>(
    launch: &Launch,
    shape: &Shape,
    partial: *mut f64,
    class: u32,
    body: u32,
    total: *const Vec3<f64>,
) {
    let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
    let components = const { 3 * D as u32 };
    // SAFETY: the caller provides this much shared memory.
    let values = unsafe { SharedSlice::<f64>::dynamic(0, const { 3 * D } * threads as usize) };
    let mut d = 0;
    while d < D {
        // SAFETY: the index is below 3D · threads; barriers separate this from other uses.
        unsafe {
            let v = *total.add(d);
            values.set((3 * d as u32 * threads + t) as usize, v.x);
            values.set(((3 * d as u32 + 1) * threads + t) as usize, v.y);
            values.set(((3 * d as u32 + 2) * threads + t) as usize, v.z);
        }
        d += 1;
    }
    thread::sync_threads();
    let mut value = t;
    while value < components * shape.lanes {
        let (component, lane) = (value / shape.lanes, value % shape.lanes);
        // SAFETY: component < 3D and row < rows.
        let sum = fold::small_tree(
            |row| unsafe { values.get((component * threads + row * shape.lanes + lane) as usize) },
            threads / shape.lanes,
        );
        if body + lane < launch.count {
            let at = (component * shape.remaining + class) as usize * launch.count as usize;
            // SAFETY: the index is below 3D · remaining · count.
            unsafe { *partial.add(at + (body + lane) as usize) = sum };
        }
        value += threads;
    }
    thread::sync_threads();
}

/// Writes a sum of the force on a body.
///
/// # Safety
/// `partial` must be valid for 3D · remaining · count numbers, with class < remaining and body < count; `total` for `D` vectors.
#[inline(always)]
unsafe fn leave<const D: usize>(
    launch: &Launch,
    remaining: u32,
    partial: *mut f64,
    class: u32,
    body: u32,
    total: *const Vec3<f64>,
) {
    let stride = remaining as usize * launch.count as usize;
    let mut at = class as usize * launch.count as usize + body as usize;
    let mut d = 0;
    while d < D {
        // SAFETY: the indices are within 3D · remaining · count numbers.
        unsafe {
            let v = *total.add(d);
            *partial.add(at) = v.x;
            *partial.add(at + stride) = v.y;
            *partial.add(at + 2 * stride) = v.z;
        }
        at += 3 * stride;
        d += 1;
    }
}
