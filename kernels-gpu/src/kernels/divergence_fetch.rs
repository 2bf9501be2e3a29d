//! Divergence map, threads that fetch the next pixel when theirs is done.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_std::prelude::*;

use crate::Lanes;
use crate::clock::timer_ns;
use crate::divergence::{Feed, IDLE, Job, Walker};
use crate::integrator::three_body::{ExplicitEuler, Integrator};

/// What the threads of a launch share. All zero at the start of a job.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// Steps accounted for: those taken, and those that pixels which parted early will not take. At the end of
    /// the job it is count · steps.
    pub steps: AtomicU64,
    /// The next pixel to hand out, relative to the job's first.
    pub next: AtomicU32,
    /// Threads that have found no pixel left.
    pub idle: AtomicU32,
}

/// Pairs of steps between two looks at the clock.
pub const STRIDE: u32 = 256;

/// What a thread keeps from launch to launch.
pub type Thread = Walker<f64, 1>;

/// `times` of the pixels of a job, for about `slice_ns` nanoseconds; launched again with the same buffers it goes
/// on where it stopped. The job is done when `shared.idle` is the number of threads.
///
/// A thread whose pixel is done takes the next one at once, so no warp waits for its slowest pixel; and a launch ends
/// after a known time, whatever the map, so that the host can report progress, stop, or leave the display alone.
/// (A known number of steps would not do: warps progress unequally, and the last ones would run alone.)
/// Memory: 4 bytes a pixel and a constant number a thread.
///
/// # Parameters
/// - `job`: the map, by value
/// - `slice_ns`: time after which a thread ends this launch; looked at every 256 pairs of steps
/// - `times`: `job.count` numbers of steps, in pixel order
/// - `threads`: a [`Thread`] for each thread of the grid, [`Walker::fresh`] before the first launch
/// - `shared`: counters, zero before the first launch
///
/// # Thread mapping
/// One-dimensional; any number of blocks of any size. Which thread computes a pixel does not change its result.
///
/// # Safety
/// `times` must be valid for writes of `job.count` values, `threads` for as many values as the grid has threads,
/// `shared` for one; nobody else may use the first two meanwhile.
#[kernel]
pub unsafe fn divergence_fetch(
    job: Job,
    slice_ns: u64,
    times: *mut u32,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch::<f64, ExplicitEuler>(&job, slice_ns, times, threads, shared) };
}

/// The body of [`divergence_fetch`], of any number and integrator.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn fetch<R: Lanes, I: Integrator<R>>(
    job: &Job,
    slice_ns: u64,
    times: *mut u32,
    threads: *mut Walker<R, 1, I>,
    shared: *const Shared,
) {
    // SAFETY: the caller vouches for `shared` and for a Thread for every thread of the grid.
    let (shared, slot) = unsafe { (&*shared, threads.add(thread::index_1d() as usize)) };
    // SAFETY: as above; the slot is this thread's alone.
    let mut walker = unsafe { *slot };
    if walker.pixel[0] == IDLE {
        return;
    }
    let mut feed = Fetch {
        job,
        times,
        shared,
        credited: walker.taken[0],
    };
    let start = timer_ns();
    loop {
        walker.walk(job, STRIDE, &mut feed);
        if walker.pixel[0] == IDLE || timer_ns().wrapping_sub(start) >= slice_ns {
            break;
        }
    }
    let credited = feed.credited;
    if walker.pixel[0] == IDLE {
        shared.idle.fetch_add(1, Ordering::Relaxed);
    } else {
        shared
            .steps
            .fetch_add((walker.taken[0] - credited) as u64, Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe { *slot = walker };
}

/// Pixels from the shared counter, results to memory.
struct Fetch<'a> {
    job: &'a Job,
    times: *mut u32,
    shared: &'a Shared,
    /// Steps of the present pixel that `shared.steps` already holds.
    credited: u32,
}

impl Feed for Fetch<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let pixel = self.shared.next.fetch_add(1, Ordering::Relaxed);
        (pixel < self.job.count).then_some(pixel)
    }

    #[inline(always)]
    fn done(&mut self, pixel: u32, times: u32) {
        self.shared
            .steps
            .fetch_add((self.job.steps - self.credited) as u64, Ordering::Relaxed);
        self.credited = 0;
        // SAFETY: pixel < job.count, which the kernel's caller vouches for; it was handed to this thread alone.
        unsafe { *self.times.add(pixel as usize) = times };
    }
}
