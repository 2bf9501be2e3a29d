//! Planetary systems, one for each thread, in launches of a few steps.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

use crate::planets::kepler::Phase;
use crate::planets::system::{MANY, SOME};
use crate::planets::{
    Adaptive, Alone, Follow, General, MAX_PLANETS, Notes, Observed, Plan, Record, System,
    WithTangent,
};

/// Systems to follow, and the destination of their records. Passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanetsJob {
    /// The starts of all systems.
    pub plan: *const Plan,
    /// The systems between launches.
    pub systems: *mut System<f64, MAX_PLANETS>,
    /// What is observed of them, if anything is.
    pub notes: *mut Notes<f64>,
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

/// Whether the states of systems are in shared memory, because registers have no room for them.
const fn is_shared<F: Follow, const N: usize>() -> bool {
    (N == SOME || N == MANY) && !F::GENERAL
}

/// Words of 8 bytes of shared memory that a thread needs for its system: an odd number, so that the threads of a warp use all banks.
#[must_use]
pub const fn planets_shared_words<F: Follow, const N: usize>() -> usize {
    if !is_shared::<F, N>() {
        return 0;
    }
    size_of::<[Phase<f64>; N]>() / 8 * (1 + F::TANGENT as usize) + 1
}

/// Takes up to `job.steps` steps of each system, and adds the number of systems that have not ended to `job.open`. `F` says whether they have
/// a tangent vector, other [physics](crate::planets::Physics) or another integrator, and whether something is observed of them. `N` is their number
/// of planets, [`SOME`] for 5 to 7, or [`MAX_PLANETS`] for any number.
///
/// # Parameters
/// - `job`: the systems, by value
/// - `begins`: 1 in the first launch, which makes the starts; otherwise 0
///
/// # Thread mapping
/// Thread i of a one-dimensional grid has the system `job.items[i]`; surplus threads return at once. A block has [`planets_shared_words`] words of dynamic
/// shared memory for each thread.
///
/// # Safety
/// `job.plan` and `job.open` must be valid, `job.systems`, `job.records`, `job.items` and, if systems are observed, `job.notes` for `job.count`
/// elements, of which nothing else uses any but the items during the launch, the launch must have the shared memory, and the plan must have `N`
/// planets, or at most as many if `N` is [`SOME`] or [`MAX_PLANETS`].
#[kernel(instances(
    alone: <Alone, MAX_PLANETS>,
    tangent: <WithTangent, MAX_PLANETS>,
    alone_2: <Alone, 2>,
    tangent_2: <WithTangent, 2>,
    alone_3: <Alone, 3>,
    tangent_3: <WithTangent, 3>,
    alone_4: <Alone, 4>,
    tangent_4: <WithTangent, 4>,
    alone_7: <Alone, SOME>,
    tangent_7: <WithTangent, SOME>,
    alone_8: <Alone, MANY>,
    tangent_8: <WithTangent, MANY>,
    general_alone: <General<Alone>, MAX_PLANETS>,
    general_tangent: <General<WithTangent>, MAX_PLANETS>,
    general_alone_2: <General<Alone>, 2>,
    general_tangent_2: <General<WithTangent>, 2>,
    general_alone_3: <General<Alone>, 3>,
    general_tangent_3: <General<WithTangent>, 3>,
    adaptive_alone: <Adaptive<Alone>, MAX_PLANETS>,
    adaptive_tangent: <Adaptive<WithTangent>, MAX_PLANETS>,
    adaptive_alone_2: <Adaptive<Alone>, 2>,
    adaptive_tangent_2: <Adaptive<WithTangent>, 2>,
    adaptive_alone_3: <Adaptive<Alone>, 3>,
    adaptive_tangent_3: <Adaptive<WithTangent>, 3>,
    observed_alone: <General<Observed<Alone>>, MAX_PLANETS>,
    observed_tangent: <General<Observed<WithTangent>>, MAX_PLANETS>,
    observed_alone_2: <General<Observed<Alone>>, 2>,
    observed_tangent_2: <General<Observed<WithTangent>>, 2>,
    observed_alone_3: <General<Observed<Alone>>, 3>,
    observed_tangent_3: <General<Observed<WithTangent>>, 3>,
    observed_adaptive_alone: <Adaptive<Observed<Alone>>, MAX_PLANETS>,
    observed_adaptive_tangent: <Adaptive<Observed<WithTangent>>, MAX_PLANETS>,
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
        if F::OBSERVES {
            // SAFETY: as above.
            unsafe {
                *job.notes.add(i as usize) = Notes::begin(&*place, count, &plan.observation);
            }
        }
    }
    let mut step = 0;
    let goes_on;
    if const { is_shared::<F, N>() } {
        let mut none = [Phase::default(); N];
        // SAFETY: the caller guarantees the memory, of which each thread has a part of its own.
        let (states, tangents) = unsafe {
            let own = dynamic_shared_mem::<f64>()
                .add(thread::thread_idx_x() as usize * const { planets_shared_words::<F, N>() })
                .cast::<[Phase<f64>; N]>();
            match F::TANGENT {
                true => (&mut *own, &mut *own.add(1)),
                false => (&mut *own, &mut none),
            }
        };
        // SAFETY: as for `place`; the first launch has written it.
        let before = unsafe { &mut *place };
        *states = before.states;
        if F::TANGENT {
            *tangents = before.tangents;
        }
        let mut planets = before.planets;
        let mut system = before.elsewhere(states, tangents, &mut planets);
        while step < job.steps && system.goes_on() {
            system.wisdom_holman::<F>(count, &plan.physics);
            step += 1;
        }
        goes_on = system.goes_on();
        if step > 0 {
            before.take_over::<F, _>(&system);
        }
    } else {
        // No function that is not inlined takes a reference to the system in progress, so that it can be in registers.
        // SAFETY: as for `place`; the first launch has written it.
        let mut system = unsafe { *place };
        let mut notes = match F::OBSERVES {
            // SAFETY: as for `place`.
            true => unsafe { *job.notes.add(i as usize) },
            false => Notes::default(),
        };
        while step < job.steps && system.goes_on() {
            system.step::<F>(count, &plan.physics);
            if F::OBSERVES {
                notes.note(&mut system, count, &plan.observation);
            }
            step += 1;
        }
        goes_on = system.goes_on();
        if step > 0 {
            // SAFETY: as for `place`.
            unsafe { *place = system };
            if F::OBSERVES {
                // SAFETY: as for `place`.
                unsafe { *job.notes.add(i as usize) = notes };
            }
        }
    }
    // SAFETY: as for `place`.
    unsafe {
        if goes_on {
            (*job.open).fetch_add(1, Ordering::Relaxed);
        } else if step > 0 {
            *record = (*place).record::<F>(count, &plan.physics);
            if F::OBSERVES {
                *record =
                    (*job.notes.add(i as usize)).completed(*record, &*place, &plan.observation);
            }
        }
    }
}
