//! Whole block steps on the device, many in each launch: finding the particles that are due, prediction, forces, correction and the
//! choice of the next steps, with barriers for the whole grid between them and without copies.
//!
//! A launch ends at a given time, after a number of steps, or before a block that the host has to perform: one with a step that was
//! much too long, that is too short to advance the time, or whose result is not finite. Such a block changes nothing.
//!
//! A launch also ends before a block with many active bodies, after it has listed them and predicted all bodies. The kernel for forces,
//! which needs fewer registers and so runs more threads at a time, then computes the forces, and the next launch begins with the correction.
//!
//! Corrected steps are written to separate records. The first phase of the next block copies them to the stars, because only then do
//! all threads know whether the block is valid.
//!
//! Several devices that reach each other's memory perform the same block steps together ([`together`]): each holds and predicts all
//! particles, and computes the forces on its share of those that are due.

use core::sync::atomic::Ordering::Relaxed;

use cuda_std::misc::clock;
use cuda_std::shared::SharedSlice;
use cuda_std::{GridBarrier, thread};

use super::chains::{self, Division, Predicted, Sums};
use super::correction::{Start, change_levels, correct_body, replace};
use super::levels::{number_of, of_lane, settle_levels, shortest_step};
use super::problem::{Block, COUNTS, STOPPED, State, Steps, TOTALS, counter, stop_sign};
use super::record::vectors_of;
use super::report::{ACTIVE, AT_END, FOR_FORCES, FOR_HOST, count_up, hand_over, tell};
use super::settle::{Held, first_place, settle};
use super::together;
use super::{Launch, Record, fold, lanes, star_width, vectors};

/// Takes block steps, with `MANY` together with other devices. All threads of the grid must call this.
///
/// # Safety
/// The pointers must be valid as [`State`] requires, and nothing else may use their memory. Blocks must have as many threads as
/// [`lanes::threads`] requires and shared memory for [`lanes`] and [`chains`]. All blocks of the grid must be resident at the same
/// time.
#[inline(always)]
pub unsafe fn steps<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
) {
    const { assert!(P == 2 * D, "order P has P / 2 forces") };
    let mut barrier = together::Barrier::new(at.control);
    let leader = thread::index_1d() == 0;
    // The last block step is not counted before all threads know whether it is valid: its end, and the number of its active bodies.
    let (mut next, mut total) = (job.time, 0u32);
    let (mut time, mut number, mut taken, mut pairs, mut ended) = (job.time, 0, 0, 0, 0);
    let mut cycles = [0; 3];
    loop {
        let begin = clock();
        // All is read before anything is waited for; the stars, which are many numbers, come last.
        // SAFETY: all threads that set these have passed the barrier, and only this thread changes its stars.
        let (stopped, numbers, held) = unsafe {
            (
                (*at.control.add(STOPPED)).load(Relaxed),
                of_lane(|level| number_of::<MANY>(at.levels, level, number)),
                Held::<P>::two(job, at, first_place()),
            )
        };
        if number > 0 {
            ended = reason_to_stop::<MANY>(stopped, number - 1);
            if ended != 0 {
                number -= 1;
                break;
            }
            if leader {
                // SAFETY: the logarithm is below 32.
                unsafe { count_up(at.report, ACTIVE + total.ilog2() as usize, 1) };
            }
            time = next;
            taken += total as u64;
            pairs += total as u64 * (job.bodies as u64 * job.iterations as u64);
        }
        // SAFETY: whole warps call it.
        next = time + unsafe { shortest_step(job.longest, numbers) };
        let block = Block {
            before: time,
            time: next,
            number,
        };
        if next > job.end {
            ended = AT_END;
        }
        let begun = number == 0 && job.begun.total > 0 && ended == 0;
        let last = ended == AT_END || number >= job.most_blocks || pairs >= job.most_pairs;
        if !begun {
            // SAFETY: each thread has places of its own.
            unsafe { settle::<P, D, MANY>(job, at, &block, held, last) };
        }
        if last && !MANY {
            break;
        }
        // SAFETY: all threads of the grid call it; the first block changes the levels, which no thread reads before the next barrier.
        unsafe {
            barrier.grid.wait();
            if MANY {
                settle_levels(at.levels, number);
            }
        }
        if last {
            break;
        }
        let listed = clock();
        // The body that this block has if each has its own; it is read before the number of bodies is known.
        // SAFETY: the list has room for all bodies and had places before the launch; no thread changes it or these counters before the next
        // barrier.
        let (count, own) = unsafe {
            let own = *(at.active).add(thread::block_idx_x().min(job.bodies - 1) as usize);
            let (count, all) = if begun {
                (job.begun.own, job.begun.total)
            } else {
                counted::<MANY>(at, number)
            };
            total = all;
            (count, own)
        };
        if total >= job.many && !begun {
            cycles[0] += listed - begin;
            if leader {
                // SAFETY: the report is valid.
                unsafe { hand_over(at.report, count, total) };
            }
            ended = FOR_FORCES;
            break;
        }
        if leader {
            // SAFETY: these are the next block's counters; the threads that used them before have passed two barriers.
            unsafe {
                counter(at, COUNTS, number + 1).store(0, Relaxed);
                counter(at, TOTALS, number + 1).store(0, Relaxed);
            }
        }
        // SAFETY: all threads of the grid call it; `count` places are listed.
        let correcting =
            unsafe { evaluate::<A, P, D, MANY>(job, at, &block, count, own, begun, &mut barrier) };
        // SAFETY: all threads of all grids call it.
        unsafe { barrier.wait_for_all::<MANY>(&job.devices, at.everywhere) };
        cycles[0] += listed - begin;
        cycles[1] += clock() - listed - correcting;
        cycles[2] += correcting;
        number += 1;
    }
    if leader {
        // SAFETY: the report is valid.
        unsafe { tell(at.report, time, number, taken, ended, &cycles) };
    }
}

/// The numbers of a block's active bodies: of this device, and of all devices.
///
/// # Safety
/// The same as for [`counter`].
#[inline(always)]
unsafe fn counted<const MANY: bool>(at: &State, number: u64) -> (u32, u32) {
    // SAFETY: the caller guarantees this.
    let count = unsafe { counter(at, COUNTS, number).load(Relaxed) };
    if !MANY {
        return (count, count);
    }
    // SAFETY: as above.
    (count, unsafe { counter(at, TOTALS, number).load(Relaxed) })
}

/// The reason to stop after block step `number`, or 0.
#[inline(always)]
fn reason_to_stop<const MANY: bool>(stopped: u32, number: u64) -> u64 {
    if !MANY || stopped == together::ALONE {
        stopped as u64
    } else if stopped == stop_sign::<MANY>(number) {
        FOR_HOST
    } else {
        0
    }
}

/// Computes the forces on the active bodies, unless they are known because the block has `begun`, and corrects these, `iterations`
/// times. Returns the cycles that this thread spent on correction. `own` is the place that the list of active bodies has at the number of this
/// thread block; it is used only if the list is that long.
///
/// # Safety
/// The same as for [`steps`]; `count` places must be listed, and a barrier must follow the prediction.
#[inline(always)]
pub(super) unsafe fn evaluate<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    count: u32,
    own: u32,
    begun: bool,
    barrier: &mut together::Barrier,
) -> u64 {
    let launch = Launch { count, ..job.force };
    let mut correcting = 0;
    let mut iteration = 0;
    while iteration < job.iterations {
        if iteration > 0 {
            // SAFETY: all threads of all grids call it; each replaces its own bodies between two barriers.
            unsafe {
                barrier.wait_for_all::<MANY>(&job.devices, at.everywhere);
                replace::<P, D, MANY>(job, at, block, count);
                barrier.wait_for_all::<MANY>(&job.devices, at.everywhere);
            }
        }
        iteration += 1;
        let last = iteration == job.iterations;
        if count <= job.few && !begun {
            let (mut k, mut place) = (thread::block_idx_x(), own);
            while k < count {
                // SAFETY: the place is the same for all threads of the block.
                correcting +=
                    unsafe { step_one::<A, P, D, MANY>(job, at, block, &launch, place, last) };
                k += thread::grid_dim_x();
                if k < count {
                    // SAFETY: k is below the number of listed places.
                    place = unsafe { *at.active.add(k as usize) };
                }
            }
        } else {
            // SAFETY: all threads of the grid call it.
            correcting += unsafe {
                let (begun, grid) = (begun && iteration == 1, &mut barrier.grid);
                step_many::<A, P, D, MANY>(job, at, block, &launch, begun, last, grid)
            };
        }
    }
    correcting
}

/// The bytes of dynamic shared memory of a thread block with a single body, at order `p`: those of [`lanes`] for `parts` partial sums, then the
/// force on the body, then its star.
pub const fn few_bytes(p: usize, parts: u32) -> u32 {
    let components = 3 * p / 2;
    lanes::shared_bytes(components, parts) + 8 * (components + star_width(p)) as u32
}

/// Computes the force on the body at `place` by a block, and corrects it. Returns the cycles that this thread spent on correction.
///
/// # Safety
/// The same as for [`evaluate`], with the same place for all threads of the block.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn step_one<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    launch: &Launch,
    place: u32,
    last: bool,
) -> u64 {
    let t = thread::thread_idx_x() as usize;
    let offset = lanes::shared_bytes(const { 3 * D }, launch.parts()) as usize;
    // SAFETY: the caller provides this much shared memory.
    let (force, star) = unsafe {
        let star = offset + const { 8 * 3 * D };
        (
            SharedSlice::<f64>::dynamic(offset, const { 3 * D }),
            SharedSlice::<f64>::dynamic(star, const { star_width(P) }),
        )
    };
    // The star is read while the force is computed.
    let own = t.min(const { star_width(P) - 1 });
    // SAFETY: the place is that of a star.
    let number = unsafe { *(at.stars).add(place as usize * const { star_width(P) } + own) };
    // SAFETY: each number has a place of its own, and a barrier follows. The first thread has read the numbers of the last call before the
    // barrier in `pull_at`, after which new ones are written.
    unsafe {
        lanes::pull_at::<A, D>(launch, at.predicted, place, |component, value| {
            force.set(component as usize, value);
        });
        if t < const { star_width(P) } {
            star.set(t, number);
        }
    }
    thread::sync_threads();
    let begin = clock();
    if t == 0 {
        // SAFETY: all numbers have been set; only this block works on the body.
        unsafe {
            let start = Start::of::<P>(block, place, |k| star.get(k));
            let force = vectors_of::<D>(|k| force.get(k));
            let corrected = correct_body::<P, D, MANY>(job, at, block, &start, &force, last);
            change_levels::<MANY>(job, at, block, &start, &corrected);
        }
    }
    clock() - begin
}

/// Computes the forces on many bodies, unless the block has `begun`, and corrects them, as many at a time as fit into the memory. Returns
/// the cycles that this thread spent on correction.
///
/// # Safety
/// The same as for [`evaluate`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn step_many<A: Record<D>, const P: usize, const D: usize, const MANY: bool>(
    job: &Steps,
    at: &State,
    block: &Block,
    all: &Launch,
    begun: bool,
    last: bool,
    barrier: &mut GridBarrier,
) -> u64 {
    let threads = thread::block_dim_x();
    let components = const { 3 * D as u32 };
    // SAFETY: the source bodies take more shared memory than this, and are not used while it is.
    let folded = unsafe { SharedSlice::<f64>::dynamic(0, threads as usize) };
    let mut correcting = 0;
    let mut first = 0;
    while first < all.count {
        if first > 0 && !begun {
            // The last partial sums have been read.
            // SAFETY: all threads of the grid call it.
            unsafe { barrier.wait() };
        }
        let count = (all.count - first).min(job.room);
        let launch = Launch { count, ..*all };
        // Bodies that a block folds and corrects at a time, with a thread for each value, or for each body without a fold.
        let most = if begun { threads } else { threads / components };
        let group = count.div_ceil(thread::grid_dim_x()).min(most);
        let (t, mut from) = (thread::thread_idx_x(), thread::block_idx_x() * group);
        // SAFETY: the numbers are below that of the listed places.
        let (places, place) = unsafe {
            let places = at.active.add(first as usize);
            (places, *places.add(from.min(count - 1) as usize))
        };
        let (mut remaining, mut sums) = (0, Sums::new(at.partial, components, 0, 0, false));
        if !begun {
            // SAFETY: all threads of the grid call it; `count` places are listed.
            (remaining, sums) = unsafe { sum_forces::<A, D>(at, &launch, places) };
        }
        // The first body is read while the other blocks are waited for.
        // SAFETY: the place is that of a star.
        let mut start = unsafe { Start::read::<P>(at, block, place) };
        if !begun {
            // SAFETY: all threads of the grid call it.
            unsafe { barrier.wait() };
        }
        while from < count {
            let bodies = (count - from).min(group);
            if group == 1 && !begun {
                // SAFETY: the sums have been written; the component is below 3D and the sum below `remaining`. A barrier follows.
                unsafe {
                    let sum = |component| sums.by_class(component, from);
                    fold::force_by_warps::<D, _>(sum, remaining, |component, value| {
                        folded.set(component as usize, value);
                    });
                }
            } else if t < components * bodies && !begun {
                let (component, k) = (t / bodies, t % bodies);
                // SAFETY: each thread has a value of its own, and a barrier follows.
                unsafe {
                    let sum = |class| *sums.number(component, class, from + k);
                    let sum = fold::tree(sum, remaining);
                    folded.set((k * components + component) as usize, sum);
                }
            }
            // Makes the forces visible to the threads of the block.
            thread::sync_threads();
            let begin = clock();
            if t < bodies {
                let k = (first + from + t) as usize;
                // SAFETY: the forces have been computed, and each thread has bodies of its own.
                unsafe {
                    // The only body of a block has been read.
                    if group > 1 {
                        start = Start::read::<P>(at, block, *at.active.add(k));
                    }
                    let force = if begun {
                        vectors::<D>(at.forces.add(k * const { 3 * D }))
                    } else {
                        vectors_of::<D>(|n| folded.get((t * components) as usize + n))
                    };
                    let corrected =
                        correct_body::<P, D, MANY>(job, at, block, &start, &force, last);
                    change_levels::<MANY>(job, at, block, &start, &corrected);
                }
            }
            correcting += clock() - begin;
            from += thread::grid_dim_x() * group;
            if from < count && !begun {
                // The folded sums are overwritten.
                thread::sync_threads();
            }
        }
        first += count;
    }
    correcting
}

/// Computes sums of the forces on the bodies at `places`. Returns how many sums remain to be folded for each of them, and where they are.
///
/// # Safety
/// The same as for [`evaluate`]; `places` must be valid for `launch.count` numbers, and there must be room for the sums.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn sum_forces<A: Record<D>, const D: usize>(
    at: &State,
    launch: &Launch,
    places: *const u32,
) -> (u32, Sums) {
    let division = Division::among(launch, thread::block_dim_x(), thread::grid_dim_x());
    let components = const { 3 * D as u32 };
    // Warps fold the sums of few bodies.
    let by_warps = launch.count <= 2 * division.remaining;
    let sums = Sums::new(
        at.partial,
        components,
        division.remaining,
        launch.count,
        by_warps,
    );
    let bodies = Predicted {
        bodies: at.predicted,
        places,
    };
    let mut unit = thread::block_idx_x();
    while unit < division.units(launch.count) {
        // SAFETY: the unit is the same for all threads of the block; the caller guarantees the rest.
        unsafe { chains::pull_unit::<A, _, D>(launch, &division, &bodies, &sums, unit) };
        // The shared memory is used again.
        thread::sync_threads();
        unit += thread::grid_dim_x();
    }
    (division.remaining, sums)
}
