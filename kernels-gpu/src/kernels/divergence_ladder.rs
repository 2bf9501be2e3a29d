//! The rungs of the ladder of divergence kernels. Each rung changes one thing.
//!
//! # Parameters
//! - `plan`: the map, by value
//! - `times`: `plan.count` numbers of steps, in pixel order
//!
//! # Thread mapping
//! Thread i of a one-dimensional grid computes pixel i; surplus threads return at once. (The last rung differs.)
//!
//! # Safety
//! `times` must be valid for writes of `plan.count` values, and nothing else may use it during the launch.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;

use crate::ladder::{
    Arithmetic, Plan, Powers, Products, SingleRoot, System, step, together, together_squared,
};

/// Number of values that [`divergence_ladder_memory`] keeps in memory for each pixel.
pub const LADDER_STATE: usize = 36;

/// Rung 1: the state is in global memory, which every step reads and writes; powers use the general power function; every pixel takes
/// all steps.
///
/// `state` holds [`LADDER_STATE`] × `plan.count` numbers, grouped by kind.
///
/// # Safety
/// The same as for the module; additionally, `state` must be valid for reads and writes, and nothing else may use it during the
/// launch.
#[kernel]
pub unsafe fn divergence_ladder_memory(plan: Plan, state: *mut f64, times: *mut u32) {
    let i = thread::index_1d();
    if i >= plan.count {
        return;
    }
    let (i, count) = (i as usize, plan.count as usize);
    // SAFETY: i < count and k < LADDER_STATE; each thread has its own i.
    unsafe {
        save(state, i, count, &plan.start(i as u32));
        *times.add(i) = 0;
    }
    let mut still_together = true;
    let mut taken = 0;
    while taken < plan.steps {
        // SAFETY: as above.
        unsafe {
            let mut twins = load(state, i, count);
            still_together &= together::<Powers>(&twins, &plan);
            if still_together {
                *times.add(i) += 1;
            }
            step::<Powers>(&mut twins[0], &plan);
            step::<Powers>(&mut twins[1], &plan);
            save(state, i, count, &twins);
        }
        taken += 1;
    }
}

/// Reads the state of pixel `i`.
///
/// # Safety
/// `state` must be valid for [`LADDER_STATE`] × `count` values, and i < count.
#[inline(always)]
unsafe fn load(state: *const f64, i: usize, count: usize) -> [System; 2] {
    let system = |s: usize| {
        // SAFETY: the caller guarantees this.
        let at = |n: usize| unsafe { *state.add((s * 18 + n) * count + i) };
        let three = |n: usize| {
            [
                [at(n), at(n + 1), at(n + 2)],
                [at(n + 3), at(n + 4), at(n + 5)],
                [at(n + 6), at(n + 7), at(n + 8)],
            ]
        };
        System {
            p: three(0),
            v: three(9),
        }
    };
    [system(0), system(1)]
}

/// Writes the state of pixel `i` back.
///
/// # Safety
/// The same as for [`load`].
#[inline(always)]
unsafe fn save(state: *mut f64, i: usize, count: usize, twins: &[System; 2]) {
    let mut s = 0;
    while s < 2 {
        let mut n = 0;
        while n < 9 {
            // SAFETY: the caller guarantees this.
            unsafe {
                *state.add((s * 18 + n) * count + i) = twins[s].p[n / 3][n % 3];
                *state.add((s * 18 + 9 + n) * count + i) = twins[s].v[n / 3][n % 3];
            }
            n += 1;
        }
        s += 1;
    }
}

/// Takes all steps and counts those that begin with the twins together.
#[inline(always)]
fn all_steps<A: Arithmetic>(
    plan: &Plan,
    pixel: u32,
    near: impl Fn(&[System; 2], &Plan) -> bool,
) -> u32 {
    let mut twins = plan.start(pixel);
    let (mut still_together, mut times, mut taken) = (true, 0, 0);
    while taken < plan.steps {
        still_together &= near(&twins, plan);
        times += still_together as u32;
        step::<A>(&mut twins[0], plan);
        step::<A>(&mut twins[1], plan);
        taken += 1;
    }
    times
}

/// Returns the number of steps until the twins part.
#[inline(always)]
fn until_parted<A: Arithmetic>(plan: &Plan, pixel: u32) -> u32 {
    let mut twins = plan.start(pixel);
    let mut times = 0;
    while times < plan.steps && together_squared::<A>(&twins, plan) {
        times += 1;
        step::<A>(&mut twins[0], plan);
        step::<A>(&mut twins[1], plan);
    }
    times
}

macro_rules! rungs {
    ($($(#[$doc:meta])* $name:ident: |$plan:ident, $pixel:ident| $times:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// See the module.
        #[kernel]
        pub unsafe fn $name(plan: Plan, times: *mut u32) {
            let $pixel = thread::index_1d();
            if $pixel < plan.count {
                let $plan = &plan;
                // SAFETY: the pixel is below plan.count; each thread has one of its own.
                unsafe { *times.add($pixel as usize) = $times };
            }
        }
    )*};
}

rungs!(
    /// Rung 2: the state in registers.
    divergence_ladder_registers: |plan, i| all_steps::<Powers>(plan, i, together::<Powers>);
    /// Rung 3: products instead of powers, and no root in the test.
    divergence_ladder_products: |plan, i| all_steps::<Products>(plan, i, together_squared::<Products>);
    /// Rung 4: a pixel ends when its twins part.
    divergence_ladder_early_exit: |plan, i| until_parted::<Products>(plan, i);
    /// Rung 5: roots in `f32`.
    divergence_ladder_single_root: |plan, i| until_parted::<SingleRoot>(plan, i);
);

/// Rung 6: threads fetch the next pixel when theirs is done; otherwise the same as rung 4.
///
/// # Thread mapping
/// One-dimensional, with as many threads as the device can run concurrently.
///
/// # Safety
/// The same as for the module; additionally, `next` must point to 0 before the launch.
#[kernel]
pub unsafe fn divergence_ladder_fetch(plan: Plan, next: *const AtomicU32, times: *mut u32) {
    // SAFETY: the caller guarantees this.
    let next = unsafe { &*next };
    let fetch = || next.fetch_add(1, Ordering::Relaxed);
    let mut pixel = fetch();
    if pixel >= plan.count {
        return;
    }
    let mut twins = plan.start(pixel);
    let mut taken = 0;
    // This is one loop with a rarely taken branch, because in nested loops the threads of a warp would wait for each other.
    loop {
        if taken == plan.steps || !together_squared::<Products>(&twins, &plan) {
            // SAFETY: pixel < plan.count, and only this thread was given the pixel.
            unsafe { *times.add(pixel as usize) = taken };
            pixel = fetch();
            if pixel >= plan.count {
                return;
            }
            twins = plan.start(pixel);
            taken = 0;
            continue;
        }
        taken += 1;
        step::<Products>(&mut twins[0], &plan);
        step::<Products>(&mut twins[1], &plan);
    }
}
