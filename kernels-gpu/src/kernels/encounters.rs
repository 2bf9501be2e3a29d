//! Complete three-body encounters. Threads fetch the next run when one of theirs has ended.

use cuda_std::prelude::*;

use crate::device::encounters::{Job, Shared, Thread, integrate};
use crate::number::{Bits, Fast};

/// Integrates runs for about `slice_ns` nanoseconds. Another launch with the same memory continues where this one stopped; all runs
/// have ended when `shared.ended` is `job.count`. `R` computes the steps.
///
/// # Parameters
/// - `job`: the runs, by value
/// - `slice_ns`: time after which a thread ends this launch, checked every 16 blocks of steps
/// - `threads`: a [`Thread`] for each thread of the grid, all zero before the first launch
/// - `shared`: counters, all zero before the first launch
///
/// # Thread mapping
/// One-dimensional; any number of blocks of any size. Which thread integrates a run does not change its record.
///
/// # Safety
/// See [`integrate`].
#[kernel(instances(f64: f64, fast: Fast))]
pub unsafe fn encounters<R: Bits<High = i32>>(
    job: Job,
    slice_ns: u64,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller guarantees this.
    unsafe { integrate::<R>(&job, slice_ns, threads, shared) };
}
