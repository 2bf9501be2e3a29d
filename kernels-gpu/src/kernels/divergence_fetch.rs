//! Divergence map, threads that fetch the next pixel when theirs is done.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_std::prelude::*;

use crate::divergence::{Feed, Job, Walker};

/// What the threads of a launch share. All zero at the start of a job.
#[derive(Debug)]
#[repr(C)]
pub struct Shared {
    /// Steps accounted for: those taken, and those that pixels which parted early will not take. At the end of
    /// the job it is count · steps.
    pub steps: AtomicU64,
    /// The next pixel to hand out, relative to the job's first.
    pub next: AtomicU32,
    /// Threads that still have a pixel at the end of the launch.
    pub busy: AtomicU32,
}

/// What a thread keeps from launch to launch.
pub type Thread = Walker<f64, 1>;

/// `times` of the pixels of a job, at most `budget` steps a thread; launched again with the same buffers it goes
/// on where it stopped, until `shared.busy` stays 0.
///
/// A thread whose pixel is done takes the next one at once, so no warp waits for its slowest pixel; and a launch ends
/// after a known number of steps, whatever the map, so that the host can report progress, stop, or leave the
/// display alone. Memory: 4 bytes a pixel and a constant number a thread.
///
/// # Parameters
/// - `job`: the map, by value
/// - `budget`: most steps a thread goes in this launch
/// - `times`: `job.count` numbers of steps, in pixel order
/// - `threads`: a [`Thread`] for each thread of the grid, [`Walker::fresh`] before the first launch
/// - `shared`: counters, zero before the first launch; the host sets `busy` to 0 before each further one
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
    budget: u32,
    times: *mut u32,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller vouches for `shared` and for a Thread for every thread of the grid.
    let (shared, slot) = unsafe { (&*shared, threads.add(thread::index_1d() as usize)) };
    // SAFETY: as above; the slot is this thread's alone.
    let mut walker = unsafe { *slot };
    let before = walker.taken[0];
    let mut feed = Fetch { job: &job, times, shared, credited: before };
    let went = walker.walk(&job, budget, &mut feed);
    let credited = feed.credited;
    // SAFETY: as above.
    unsafe { *slot = walker };
    if went == budget && walker.pixel[0] < crate::divergence::IDLE {
        shared.steps.fetch_add((walker.taken[0] - credited) as u64, Ordering::Relaxed);
        shared.busy.fetch_add(1, Ordering::Relaxed);
    }
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
        self.shared.steps.fetch_add((self.job.steps - self.credited) as u64, Ordering::Relaxed);
        self.credited = 0;
        // SAFETY: pixel < job.count, which the kernel's caller vouches for; it was handed to this thread alone.
        unsafe { *self.times.add(pixel as usize) = times };
    }
}
