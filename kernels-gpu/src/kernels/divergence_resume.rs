//! Divergence map of pixels that may be under way already: a list of them, each of which goes on where it is.

use core::sync::atomic::Ordering;

use cuda_std::prelude::*;

use super::divergence_fetch::{STRIDE, Shared, Thread};
use crate::device::timer_ns;
use crate::divergence::{Course, Feed, IDLE, Job, Leave, Pixel, Twins};
use crate::physics::three_body::Relative;

/// A pixel under way.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Item {
    /// Its systems.
    pub twins: Twins<f64, [Relative<f64>; 0]>,
    /// Steps that they have taken.
    pub taken: u32,
    /// How many of the last of these (0, 1 or 2) did not begin together.
    pub parted: u32,
}

impl Item {
    /// At step 0.
    pub fn new(twins: Twins<f64, [Relative<f64>; 0]>) -> Self {
        Self {
            twins,
            taken: 0,
            parted: 0,
        }
    }

    /// Whether there is anything left to compute, up to `steps` steps.
    pub fn goes_on(&self, steps: u32) -> bool {
        self.parted == 0 && self.taken < steps
    }

    /// The number of steps that began together, of `steps`. The item must have ended or have taken as many.
    pub fn times(&self, steps: u32) -> u32 {
        (self.taken - self.parted).min(steps)
    }
}

/// Steps the items of a list until their twins part or they have taken `job.steps` steps, for about `slice_ns` nanoseconds;
/// launched again with the same buffers it goes on where it stopped. The job is done when
/// `shared.steps` is `job.count` · `job.steps`.
///
/// # Parameters
/// - `job`: the map, by value; `count` is the number of items, `first` is not used
/// - `slice_ns`: as in [`divergence_fetch`](fn@super::divergence_fetch)
/// - `items`: `job.count` of them, each of which [goes on](Item::goes_on)
/// - `threads`, `shared`: as there
///
/// # Thread mapping
/// As there.
///
/// # Safety
/// `items` must be valid for reads and writes of `job.count` values; the others as there.
#[kernel]
pub unsafe fn divergence_resume(
    job: Job,
    slice_ns: u64,
    items: *mut Item,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller vouches for `shared` and for a Thread for every thread of the grid.
    let (shared, slot) = unsafe { (&*shared, threads.add(thread::index_1d() as usize)) };
    // SAFETY: as above; the slot is this thread's alone.
    let mut walker = unsafe { *slot };
    if walker.pixel[0] == IDLE {
        return;
    }
    let mut list = List {
        job: &job,
        items,
        shared,
    };
    let start = timer_ns();
    loop {
        walker.walk_course(&job, STRIDE, &mut list);
        if walker.pixel[0] == IDLE || timer_ns().wrapping_sub(start) >= slice_ns {
            break;
        }
    }
    // SAFETY: as above.
    unsafe { *slot = walker };
}

/// Items from the shared counter, and back to where they were.
struct List<'a> {
    job: &'a Job,
    items: *mut Item,
    shared: &'a Shared,
}

impl Feed for List<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        let slot = self.shared.next.fetch_add(1, Ordering::Relaxed);
        (slot < self.job.count).then_some(Pixel { number: 0, slot })
    }

    #[inline(always)]
    fn done(&mut self, _: u32, _: u32) {
        self.shared
            .steps
            .fetch_add(self.job.steps as u64, Ordering::Relaxed);
    }
}

impl Course<f64, [Relative<f64>; 0]> for List<'_> {
    #[inline(always)]
    fn resume(&mut self, index: u32) -> Option<(Twins<f64, [Relative<f64>; 0]>, u32)> {
        // SAFETY: index < job.count, which the kernel's caller vouches for; it was handed to this thread alone.
        let item = unsafe { &*self.items.add(index as usize) };
        Some((item.twins, item.taken))
    }

    #[inline(always)]
    fn leave(&mut self, index: u32, end: Leave<'_, f64, [Relative<f64>; 0]>) {
        let item = Item {
            twins: *end.twins,
            taken: end.taken,
            parted: end.parted,
        };
        // SAFETY: as above.
        unsafe { *self.items.add(index as usize) = item };
    }
}
