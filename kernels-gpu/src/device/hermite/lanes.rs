//! Forces on few of a small number of bodies, and potentials: a block computes the force on one body, each thread computes partial
//! sums, and the block folds them.

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::record::vector;
use super::{Launch, Record, fold, width};
use crate::number::each;
use crate::physics::pair;
use crate::physics::summation::partial_sums::SHORT_PARTIAL_SUMS;

/// The number of threads per block for `parts` partial sums.
pub const fn threads(parts: u32) -> u32 {
    match parts {
        0..32 => 32,
        32..MOST_THREADS => parts,
        _ => MOST_THREADS,
    }
}

/// Number of terms that a thread computes at the same time, so that the waits for memory and for results overlap.
const AT_ONCE: usize = 4;

/// Largest number of threads per block.
const MOST_THREADS: u32 = SHORT_PARTIAL_SUMS as u32;

/// The bytes of dynamic shared memory for `values` numbers of each of `parts` partial sums.
pub const fn shared_bytes(values: usize, parts: u32) -> u32 {
    8 * values as u32 * parts
}

/// Computes the force on the body of this block and writes it to `out[body · 3D + component]`.
///
/// # Safety
/// `predicted` must be valid for sums · terms records, `places` for `count` numbers less than that, and `out` for count · 3D numbers.
/// Blocks must have [`threads`] threads and [`shared_bytes`] for 3D values; all threads must call this. There must be at most
/// [`SHORT_PARTIAL_SUMS`] parts.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn pull<A: Record<D>, const D: usize>(
    launch: &Launch,
    predicted: *const f64,
    places: *const u32,
    out: *mut f64,
) {
    let body = thread::block_idx_x() as usize;
    // SAFETY: the caller guarantees this; `out` has 3D numbers for the body.
    unsafe {
        let out = out.add(body * const { 3 * D });
        pull_at::<A, D>(launch, predicted, *places.add(body), |component, value| {
            *out.add(component as usize) = value;
        });
    }
}

/// Computes the force on the body at `place` by a block. `set` takes each of its components, from one thread.
///
/// # Safety
/// The same as for [`pull`], with the same place for all threads of the block. There must be a barrier between two calls.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) unsafe fn pull_at<A: Record<D>, const D: usize>(
    launch: &Launch,
    predicted: *const f64,
    place: u32,
    set: impl Fn(u32, f64),
) {
    let part = thread::thread_idx_x();
    let parts = launch.parts();
    // SAFETY: the places are those of predicted bodies.
    let record = |place: u32| unsafe { predicted.add(place as usize * const { width(D) }) };
    // SAFETY: the caller provides this much shared memory.
    let values = unsafe { SharedSlice::<f64>::dynamic(0, 3 * D * parts as usize) };
    if part < parts {
        // SAFETY: the place is that of a predicted body.
        let i = unsafe { A::read(record(place)).1 };
        let softening2 = A::number(launch.softening2);
        let mut sum = A::zero();
        let first = launch.first + part * launch.stride;
        let mut term = 0;
        while term < launch.terms {
            let read = |n: u32| {
                let place = first + (term + n).min(launch.terms - 1) * launch.sums;
                // SAFETY: the place is below sums · terms.
                unsafe { A::read(record(place)) }
            };
            let j = [read(0), read(1), read(2), read(3)];
            let (all, _) = A::terms_of(
                [&i; AT_ONCE],
                [&j[0].1, &j[1].1, &j[2].1, &j[3].1],
                [j[0].0, j[1].0, j[2].0, j[3].0],
                softening2,
            );
            each!(AT_ONCE, |n| if term + (n as u32) < launch.terms {
                A::add(all[n].0, &all[n].1, &mut sum);
            });
            term += AT_ONCE as u32;
        }
        let totals = A::totals(&sum);
        let stride = parts as usize;
        let mut at = part as usize;
        let mut d = 0;
        while d < D {
            // SAFETY: the index is below 3D · parts, and a barrier follows.
            unsafe {
                values.set(at, totals[d].x);
                values.set(at + stride, totals[d].y);
                values.set(at + 2 * stride, totals[d].z);
            }
            at += 3 * stride;
            d += 1;
        }
    }
    thread::sync_threads();
    // SAFETY: every part has set its values before the barrier.
    unsafe {
        fold::force_by_warps::<D, _>(
            |component| move |part| values.get((component * parts + part) as usize),
            parts,
            set,
        );
    }
}

/// The potential at the body of this block due to all other bodies.
///
/// # Safety
/// The same as for [`pull`], with `out` for `count` numbers and one value per part in shared memory. Body i must be at place i, and a
/// record must have `width` numbers.
#[inline(always)]
pub unsafe fn potential(launch: &Launch, predicted: *const f64, out: *mut f64, width: u32) {
    let body = thread::block_idx_x();
    let mut part = thread::thread_idx_x();
    let parts = launch.parts();
    // SAFETY: places are below sums · terms.
    let record = |place: u32| unsafe { predicted.add(place as usize * width as usize) };
    // SAFETY: the caller provides this much shared memory.
    let values = unsafe { SharedSlice::<f64>::dynamic(0, parts as usize) };
    // SAFETY: these are the second to fourth numbers of a record.
    let i = unsafe { vector(record(body).add(1)) };
    while part < parts {
        let mut sum = 0.0;
        let mut place = launch.first + part * launch.stride;
        let mut term = 0;
        while term < launch.terms {
            // SAFETY: as above.
            let (mass, j) = unsafe { (*record(place), vector(record(place).add(1))) };
            let mass = if place == body { 0.0 } else { mass };
            sum += pair::potential(mass, pair::separation::<f64, 3>(i, j, launch.softening2).1);
            place += launch.sums;
            term += 1;
        }
        // SAFETY: part < parts; a barrier follows.
        unsafe { values.set(part as usize, sum) };
        part += thread::block_dim_x();
    }
    let mut half = parts / 2;
    while half >= MOST_THREADS {
        thread::sync_threads();
        part = thread::thread_idx_x();
        while part < half {
            let at = part as usize;
            // SAFETY: at + half < parts, and only this thread uses these two values between the barriers.
            unsafe { values.set(at, values.get(at) + values.get(at + half as usize)) };
            part += thread::block_dim_x();
        }
        half /= 2;
    }
    thread::sync_threads();
    // SAFETY: every part has set its value before the barrier; body < count.
    unsafe {
        fold::by_warps::<1, _>(
            |_| move |part| values.get(part as usize),
            1,
            parts.min(MOST_THREADS),
            |_, sum| *out.add(body as usize) = sum,
        );
    }
}
