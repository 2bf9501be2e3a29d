//! `basic`: the threads of a block share tiles of bodies in shared memory (Nyland, Harris & Prins 2007), and each thread sums the
//! forces on `K` bodies.

use cuda_std::thread;

use super::{Body, DeviceNumber};
use crate::Vec3;
use crate::number::each;
use crate::physics::pair::one_sided;

/// The problem of a launch of the basic solver.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Basic<S> {
    /// Softening length squared.
    pub softening2: S,
    /// Number of bodies.
    pub n: u32,
    /// Number of bodies per chunk, [`chunk_length`](crate::physics::summation::all_pairs::chunk_length).
    pub chunk: u32,
    /// Number of parts into which the chunks are divided; the blocks of each part are consecutive in the grid.
    pub splits: u32,
    /// First of the bodies whose accelerations are computed.
    pub first: u32,
    /// Number of these bodies.
    pub count: u32,
}

impl<S> Basic<S> {
    /// Number of chunks.
    #[inline(always)]
    pub fn chunks(&self) -> u32 {
        self.n.div_ceil(self.chunk)
    }
}

/// Computes the accelerations of `K` bodies per thread due to one part of the chunks.
///
/// With a single part, `sums` receives the sum over all chunks (`count` values). With more, it receives the sum of each chunk, chunk
/// by chunk (chunks × count values), for [`combine`].
///
/// # Safety
/// The same as for the kernels that call it: `bodies` must be valid for `n` values and `sums` for what is written; the dynamic shared
/// memory must hold a body for each thread of a block; all threads of the block must call this.
#[inline(always)]
pub unsafe fn basic<S: DeviceNumber, const K: usize, const UNROLL: usize>(
    job: &Basic<S>,
    bodies: *const Body<S>,
    sums: *mut Body<S>,
) {
    let threads = thread::block_dim_x();
    let t = thread::thread_idx_x();
    let groups = job.count.div_ceil(threads * K as u32);
    let group = thread::block_idx_x() % groups;
    let split = thread::block_idx_x() / groups;
    let mine = group * threads * K as u32 + t;
    let mut p = [Vec3::zero(); K];
    let mut k = 0;
    while k < K {
        // Threads beyond the last body compute the same as the last one, and write nothing.
        let i = (mine + k as u32 * threads).min(job.count - 1) + job.first;
        // SAFETY: i < n.
        p[k] = unsafe { *bodies.add(i as usize) }.vector();
        k += 1;
    }
    let chunks = job.chunks();
    let mut chunk = split * chunks / job.splits;
    let last_chunk = (split + 1) * chunks / job.splits;
    let mut begun = false;
    while chunk < last_chunk {
        let mut a = [Vec3::zero(); K];
        let mut base = chunk * job.chunk;
        let end = (base + job.chunk).min(job.n);
        while base < end {
            let filled = threads.min(end - base);
            if t < filled {
                // SAFETY: base + t < end <= n; the barriers separate this from the reads.
                unsafe {
                    S::stage(
                        threads as usize,
                        t as usize,
                        *bodies.add((base + t) as usize),
                    )
                };
            }
            thread::sync_threads();
            let mut j = 0;
            let mut pull = |j: u32| {
                // SAFETY: j < filled.
                let b = unsafe { S::staged(threads as usize, j as usize) };
                one_sided::<S, K, 3>(&p, &mut a, b.vector(), b.g, job.softening2);
            };
            while j + UNROLL as u32 <= filled {
                // Unrolled by hand, because LLVM does not unroll loops this long.
                pull(j);
                if UNROLL >= 2 {
                    pull(j + 1);
                }
                if UNROLL >= 4 {
                    pull(j + 2);
                    pull(j + 3);
                }
                if UNROLL >= 8 {
                    pull(j + 4);
                    pull(j + 5);
                    pull(j + 6);
                    pull(j + 7);
                }
                if UNROLL >= 16 {
                    pull(j + 8);
                    pull(j + 9);
                    pull(j + 10);
                    pull(j + 11);
                    pull(j + 12);
                    pull(j + 13);
                    pull(j + 14);
                    pull(j + 15);
                }
                j += UNROLL as u32;
            }
            while j < filled {
                pull(j);
                j += 1;
            }
            thread::sync_threads();
            base += threads;
        }
        let slot = if job.splits == 1 {
            0
        } else {
            chunk as usize * job.count as usize
        };
        k = 0;
        while k < K {
            let i = mine + k as u32 * threads;
            if i < job.count {
                // SAFETY: i < count, and the slot is that of a chunk.
                let place = unsafe { &mut *sums.add(slot + i as usize) };
                let before = if begun {
                    *place
                } else {
                    Body::new(Vec3::zero(), S::zero())
                };
                *place = plus(before, a[k]);
            }
            k += 1;
        }
        begun = job.splits == 1;
        chunk += 1;
    }
}

/// Adds up the sums of [`basic`] over `chunks` chunks for body i, in ascending order.
///
/// # Safety
/// `sums` must be valid for chunks × count values, and i < count.
#[inline(always)]
pub unsafe fn combine<S: DeviceNumber>(
    sums: *const Body<S>,
    count: u32,
    chunks: u32,
    i: u32,
) -> Body<S> {
    let mut total = Body::new(Vec3::zero(), S::zero());
    let mut chunk = 0;
    while chunk < chunks {
        // SAFETY: chunk < chunks and i < count.
        let sum = unsafe { *sums.add(chunk as usize * count as usize + i as usize) };
        total = plus(total, sum.vector());
        chunk += 1;
    }
    total
}

/// The acceleration of the body at `p` due to the bodies of a chunk, which are read from global memory.
///
/// # Safety
/// `bodies` must be valid for `n` values.
#[inline(always)]
pub unsafe fn chunk_sum<S: DeviceNumber>(
    job: &Basic<S>,
    bodies: *const Body<S>,
    p: Vec3<S>,
    chunk: u32,
) -> Vec3<S> {
    let mut a = [Vec3::zero()];
    let mut j = chunk * job.chunk;
    let end = (j + job.chunk).min(job.n);
    let mut pull = |b: Body<S>| one_sided::<S, 1, 3>(&[p], &mut a, b.vector(), b.g, job.softening2);
    while j + 4 <= end {
        // Four loads in flight at a time; the additions keep their order.
        let mut b = [Body::default(); 4];
        // SAFETY: j + 3 < n.
        each!(4, |k| b[k] = unsafe { *bodies.add(j as usize + k) });
        each!(4, |k| pull(b[k]));
        j += 4;
    }
    while j < end {
        // SAFETY: j < n.
        pull(unsafe { *bodies.add(j as usize) });
        j += 1;
    }
    a[0]
}

/// The acceleration of one body due to all bodies, which are read from global memory: the plain form of [`basic`].
///
/// # Safety
/// `bodies` must be valid for `n` values, and i < n.
#[inline(always)]
pub unsafe fn plain<S: DeviceNumber>(job: &Basic<S>, bodies: *const Body<S>, i: u32) -> Body<S> {
    // SAFETY: i < n.
    let p = unsafe { *bodies.add(i as usize) }.vector();
    let mut total = Body::default();
    let mut chunk = 0;
    while chunk < job.chunks() {
        // SAFETY: the caller guarantees this.
        total = plus(total, unsafe { chunk_sum(job, bodies, p, chunk) });
        chunk += 1;
    }
    total
}

#[inline(always)]
fn plus<S: DeviceNumber>(total: Body<S>, a: Vec3<S>) -> Body<S> {
    Body::new(total.vector() + a, S::zero())
}
