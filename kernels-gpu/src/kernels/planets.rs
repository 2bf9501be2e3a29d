//! Planetary systems, one for each thread, in launches of a few steps.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::prelude::*;

use crate::planets::{Alone, Follow, MAX_PLANETS, Plan, Record, System, WithTangent};

/// Systems to follow, and the destination of their records. Passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanetsJob {
    /// The starts of all systems.
    pub plan: *const Plan,
    /// The systems between launches.
    pub systems: *mut System<f64, MAX_PLANETS>,
    /// Their records.
    pub records: *mut Record,
    /// Systems that have not ended.
    pub open: *const AtomicU64,
    /// The number of the first system.
    pub first: u64,
    /// Number of systems.
    pub count: u32,
    /// Steps of a launch.
    pub steps: u32,
}

/// Takes up to `job.steps` steps of each system, and adds the number of systems that have not ended to `job.open`. `F` says whether they have
/// a tangent vector.
///
/// # Parameters
/// - `job`: the systems, by value
/// - `begins`: 1 in the first launch, which makes the starts; otherwise 0
///
/// # Thread mapping
/// Thread i of a one-dimensional grid has the system `job.first + i`; surplus threads return at once.
///
/// # Safety
/// `job.plan` and `job.open` must be valid, and `job.systems` and `job.records` for `job.count` elements, which nothing else uses during the
/// launch.
#[kernel(instances(alone: Alone, tangent: WithTangent))]
pub unsafe fn planets<F: Follow>(job: PlanetsJob, begins: u32) {
    let i = thread::index_1d();
    if i >= job.count {
        return;
    }
    // SAFETY: the caller guarantees the pointers; each thread has its own i.
    let (plan, place, record) = unsafe {
        let i = i as usize;
        (&*job.plan, job.systems.add(i), job.records.add(i))
    };
    let count = plan.count as usize;
    let mut system = if begins == 1 {
        plan.begin(job.first + i as u64)
    } else {
        // SAFETY: as above; the first launch has written it.
        unsafe { *place }
    };
    let mut step = 0;
    while step < job.steps && system.goes_on() {
        system.step::<F>(count);
        step += 1;
    }
    // SAFETY: as above.
    unsafe {
        if system.goes_on() {
            *place = system;
            (*job.open).fetch_add(1, Ordering::Relaxed);
        } else if step > 0 {
            *place = system;
            *record = system.record::<F>(count);
        }
    }
}
