//! Many steps in one launch, for so few bodies that a step takes less time than the launch of a kernel.
//!
//! An integrator is a list of operations that is executed repeatedly. Each thread moves its own bodies. Accelerations are summed chunk
//! by chunk in the order of the basic solver, with barriers for the whole grid before and after.

use core::sync::atomic::AtomicU32;

use cuda_std::thread;

use super::tile::{Basic, chunk_sum, combine};
use super::{Body, DeviceNumber};
use cuda_std::GridBarrier;

/// An operation of [`System`](crate::integrator::System) on all bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Operation<S> {
    /// One of the constants below.
    pub kind: u32,
    /// Padding, so that every byte is data.
    pub unused: u32,
    /// Duration of the kick or drift.
    pub h: S,
}

/// a = accelerations.
pub const ACCELERATE: u32 = 0;
/// v += h · a.
pub const KICK: u32 = 1;
/// x += h · v.
pub const DRIFT: u32 = 2;

/// The problem of a launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Steps<S> {
    /// Softening length squared.
    pub softening2: S,
    /// Number of bodies.
    pub n: u32,
    /// Bodies per chunk.
    pub chunk: u32,
    /// Number of operations per step.
    pub operations: u32,
    /// Number of steps.
    pub steps: u32,
}

/// The addresses of the bodies' vectors: `n` values each, and chunks × n values in `sums`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct State<S> {
    /// Positions.
    pub x: *mut Body<S>,
    /// Velocities.
    pub v: *mut Body<S>,
    /// Accelerations.
    pub a: *mut Body<S>,
    /// Sums of each chunk.
    pub sums: *mut Body<S>,
}

/// Computes `to[i] += h · by[i]`, without the fourth component.
///
/// # Safety
/// Both must be valid at i, and nothing else may use `to[i]` during the call.
#[inline(always)]
pub unsafe fn advance<S: DeviceNumber>(to: *mut Body<S>, by: *const Body<S>, h: S, i: usize) {
    // SAFETY: the caller guarantees both.
    let (to, by) = unsafe { (&mut *to.add(i), &*by.add(i)) };
    *to = Body::new(to.vector().add_scaled(h, by.vector()), to.g);
}

/// Takes the steps. All threads of the grid must call this.
///
/// # Safety
/// The pointers must be valid for the arrays described above, and `operations` for the operations. `arrived` must be 0. All blocks of
/// the grid must be resident at the same time (a cooperative launch, or one block).
#[inline(always)]
pub unsafe fn steps<S: DeviceNumber>(
    job: &Steps<S>,
    at: &State<S>,
    operations: *const Operation<S>,
    arrived: *const AtomicU32,
) {
    let mut barrier = GridBarrier::new(arrived);
    let basic = Basic {
        softening2: job.softening2,
        n: job.n,
        chunk: job.chunk,
        splits: 1,
        first: 0,
        count: job.n,
    };
    let me = thread::index_1d();
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    let mut step = 0;
    while step < job.steps {
        let mut index = 0;
        while index < job.operations {
            // SAFETY: index < operations.
            let operation = unsafe { *operations.add(index as usize) };
            if operation.kind == ACCELERATE {
                // SAFETY: all threads of the grid call it.
                unsafe { barrier.wait() };
                // SAFETY: each thread has sums of its own, and no thread moves bodies between the barriers.
                unsafe { sum_chunks(&basic, at, me, threads) };
                // SAFETY: all threads of the grid call it.
                unsafe { barrier.wait() };
            }
            let mut i = me;
            while i < job.n {
                // SAFETY: each thread has its own i, and all threads that wrote sums have passed the barrier.
                unsafe {
                    match operation.kind {
                        ACCELERATE => {
                            *at.a.add(i as usize) = combine(at.sums, job.n, basic.chunks(), i);
                        }
                        KICK => advance(at.v, at.a, operation.h, i as usize),
                        _ => advance(at.x, at.v, operation.h, i as usize),
                    }
                }
                i += threads;
            }
            index += 1;
        }
        step += 1;
    }
}

/// Computes the sums of this thread's pairs of chunk and body.
///
/// # Safety
/// The same as for [`steps`].
#[inline(always)]
unsafe fn sum_chunks<S: DeviceNumber>(job: &Basic<S>, at: &State<S>, me: u32, threads: u32) {
    let mut unit = me;
    while unit < job.chunks() * job.n {
        let (chunk, i) = (unit / job.n, unit % job.n);
        // SAFETY: i < n, chunk < chunks.
        unsafe {
            let p = (*at.x.add(i as usize)).vector();
            *at.sums.add(unit as usize) = Body::new(chunk_sum(job, at.x, p, chunk), S::zero());
        }
        unit += threads;
    }
}
