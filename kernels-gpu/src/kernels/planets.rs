//! Planetary systems, one for each thread, in launches of a few steps.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::prelude::*;

use crate::planets::system::SOME;
use crate::planets::{
    Adaptive, Alone, Follow, General, MAX_PLANETS, Plan, Record, System, WithTangent,
};

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
    /// Their numbers.
    pub items: *const u64,
    /// Number of systems.
    pub count: u32,
    /// Steps of a launch.
    pub steps: u32,
}

/// Takes up to `job.steps` steps of each system, and adds the number of systems that have not ended to `job.open`. `F` says whether they have
/// a tangent vector and other [physics](crate::planets::Physics) or another integrator, and `N` is their number of planets, [`SOME`] for 5 to 8, or [`MAX_PLANETS`] for any number.
///
/// # Parameters
/// - `job`: the systems, by value
/// - `begins`: 1 in the first launch, which makes the starts; otherwise 0
///
/// # Thread mapping
/// Thread i of a one-dimensional grid has the system `job.items[i]`; surplus threads return at once.
///
/// # Safety
/// `job.plan` and `job.open` must be valid, `job.systems`, `job.records` and `job.items` for `job.count` elements, of which nothing else uses
/// the first two during the launch, and the plan must have `N` planets, or at most as many if `N` is above 4.
#[kernel(instances(
    alone: <Alone, MAX_PLANETS>,
    tangent: <WithTangent, MAX_PLANETS>,
    alone_2: <Alone, 2>,
    tangent_2: <WithTangent, 2>,
    alone_3: <Alone, 3>,
    tangent_3: <WithTangent, 3>,
    alone_4: <Alone, 4>,
    tangent_4: <WithTangent, 4>,
    alone_8: <Alone, SOME>,
    tangent_8: <WithTangent, SOME>,
    general_alone: <General<Alone>, MAX_PLANETS>,
    general_tangent: <General<WithTangent>, MAX_PLANETS>,
    general_alone_2: <General<Alone>, 2>,
    general_tangent_2: <General<WithTangent>, 2>,
    general_alone_3: <General<Alone>, 3>,
    general_tangent_3: <General<WithTangent>, 3>,
    adaptive_alone: <Adaptive<Alone>, MAX_PLANETS>,
    adaptive_tangent: <Adaptive<WithTangent>, MAX_PLANETS>,
))]
pub unsafe fn planets<F: Follow, const N: usize>(job: PlanetsJob, begins: u32) {
    let i = thread::index_1d();
    if i >= job.count {
        return;
    }
    // SAFETY: the caller guarantees the pointers; each thread has its own i, and a system of fewer planets needs less room.
    let (plan, place, record) = unsafe {
        let systems = job.systems.cast::<System<f64, N>>();
        let i = i as usize;
        (&*job.plan, systems.add(i), job.records.add(i))
    };
    let count = plan.count as usize;
    if begins == 1 {
        // SAFETY: as above.
        unsafe { *place = plan.begin::<F, N>(*job.items.add(i as usize)) };
    }
    // No function takes a reference to the system in progress, so that it can be in registers.
    // SAFETY: as above; the first launch has written it.
    let mut system = unsafe { *place };
    let mut step = 0;
    while step < job.steps && system.goes_on() {
        system.step::<F>(count, &plan.physics);
        step += 1;
    }
    let goes_on = system.goes_on();
    // SAFETY: as above.
    unsafe {
        if step > 0 {
            *place = system;
        }
        if goes_on {
            (*job.open).fetch_add(1, Ordering::Relaxed);
        } else if step > 0 {
            *record = (*place).record::<F>(count, &plan.physics);
        }
    }
}
