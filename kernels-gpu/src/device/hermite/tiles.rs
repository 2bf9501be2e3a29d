//! Forces on many bodies: a thread computes the forces on several bodies, with the source bodies in tiles of shared memory.

use cuda_std::shared::SharedSlice;
use cuda_std::thread;

use super::{Launch, Record, width};
use crate::Vec3;

/// The bytes of dynamic shared memory for a tile with one body per thread of a block.
pub const fn shared_bytes(words: usize, threads: u32) -> u32 {
    16 * words as u32 * threads
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

/// Computes one partial sum of the forces on `I` bodies per thread, and writes it to `partial[(component · parts + part) · count +
/// body]`.
///
/// # Safety
/// `predicted` must be valid for sums · terms records, `places` for `count` numbers less than that, and `partial` for 3D · parts ·
/// count numbers. The dynamic shared memory must have [`shared_bytes`]; all threads of the block must call this.
#[inline(always)]
pub unsafe fn pull<A: Record<D>, const D: usize, const I: usize>(
    launch: &Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
) {
    // SAFETY: the caller guarantees this.
    unsafe { pull_unit::<A, D, I>(launch, predicted, places, partial, thread::block_idx_x()) };
}

/// Computes one partial sum of the forces on one group of bodies with a block. Units number the groups of each part.
///
/// # Safety
/// The same as for [`pull`], with a unit below groups · parts that is the same for all threads of the block.
#[inline(always)]
pub(super) unsafe fn pull_unit<A: Record<D>, const D: usize, const I: usize>(
    launch: &Launch,
    predicted: *const f64,
    places: *const u32,
    partial: *mut f64,
    unit: u32,
) {
    const {
        assert!(I == A::BODIES, "as many bodies as the launch expects");
        assert!(I == 2 || I == 4);
    };
    let threads = thread::block_dim_x();
    let t = thread::thread_idx_x();
    let groups = launch.count.div_ceil(threads * I as u32);
    let part = unit / groups;
    let first = unit % groups * threads * I as u32 + t;
    // SAFETY: the places are those of predicted bodies.
    let record = |place: u32| unsafe { predicted.add(place as usize * const { width(D) }) };
    let body = |k: usize| {
        // Threads beyond the last body compute the same as the last one, and write nothing.
        let body = (first + k as u32 * threads).min(launch.count - 1);
        // SAFETY: body < count.
        unsafe { A::read(record(*places.add(body as usize))).1 }
    };
    let mut i = [body(0); I];
    each!(k below I { i[k] = body(k) });
    let softening2 = A::number(launch.softening2);
    // SAFETY: the caller provides this much shared memory.
    let tile = unsafe { SharedSlice::<A::Word>::dynamic(0, A::WORDS * threads as usize) };
    let sum_of = launch.first + part * launch.stride;
    let mut sum = [A::zero(); I];
    let mut done = 0;
    while done < launch.terms {
        let filled = (launch.terms - done).min(threads);
        if t < filled {
            // SAFETY: the place is below sums · terms; the barriers separate this from the reads.
            unsafe {
                let (mass, other) = A::read(record((done + t) * launch.sums + sum_of));
                A::stage(tile, t as usize, mass, &other);
            }
        }
        thread::sync_threads();
        let mut j = 0;
        while j < filled {
            // SAFETY: j < filled.
            let (mass, other) = unsafe { A::staged(tile, j as usize) };
            let [s0, s1, rest @ ..] = &mut sum[..] else {
                unreachable!()
            };
            A::pull_two([&i[0], &i[1]], &other, mass, softening2, [s0, s1]);
            if let [s2, s3] = rest {
                A::pull_two([&i[2], &i[3]], &other, mass, softening2, [s2, s3]);
            }
            each!(k below I { sum[k] = A::now(sum[k]) });
            j += 1;
        }
        thread::sync_threads();
        done += filled;
    }
    each!(k below I {
        let body = first + k as u32 * threads;
        if body < launch.count {
            // SAFETY: the index is that of a body in the part.
            unsafe { leave::<D>(launch, partial, part, body, &A::totals(&sum[k])) };
        }
    });
}

/// Writes the force of a part on a body.
///
/// # Safety
/// `partial` must be valid for 3D · parts · count numbers, with part < parts and body < count.
#[inline(always)]
unsafe fn leave<const D: usize>(
    launch: &Launch,
    partial: *mut f64,
    part: u32,
    body: u32,
    totals: &[Vec3<f64>; D],
) {
    let stride = launch.parts() as usize * launch.count as usize;
    let mut at = part as usize * launch.count as usize + body as usize;
    let mut d = 0;
    while d < D {
        // SAFETY: the indices are within 3D · parts · count numbers.
        unsafe {
            *partial.add(at) = totals[d].x;
            *partial.add(at + stride) = totals[d].y;
            *partial.add(at + 2 * stride) = totals[d].z;
        }
        at += 3 * stride;
        d += 1;
    }
}
