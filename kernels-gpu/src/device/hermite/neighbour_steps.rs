//! Whole block steps of the Ahmad–Cohen scheme on the device, many in each launch, as [`steps`] takes those of the plain
//! scheme.
//!
//! A block step begins with the list of the bodies that are due. A warp for each of them sums the force of its neighbours, predicts
//! these itself, and corrects the body. If any regular step ends, all bodies are predicted beside that list, all warps sum the forces of all
//! bodies on those whose regular steps end and mark the near ones, and after a barrier a warp for each of these bodies makes its list,
//! splits the force and corrects the body.
//!
//! Only irregular steps can be of the kind that the host has to perform. Nothing but corrected steps and the numbers of bodies at each
//! length has been written when that is known, so that the host can repeat the block.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::misc::clock;
use cuda_std::warp::{sync_warp, warp_vote_ballot};
use cuda_std::{GridBarrier, thread};

use super::irregular::{self, Motion};
#[cfg(doc)]
use super::levels::LEVELS;
use super::levels::{change_level, number_of, of_lane, shortest_step};
use super::neighbours::{self, ListSize, Marking, Marks};
use super::problem::{
    Block, COUNTS, IS_CLAMPED, REST_WIDTH, STOPPED, State, Steps, TOTALS, counter, moved_width,
};
use super::record::{put_predicted, vector};
use super::report::{
    ACTIVE, AT_END, CLAMPED, FOR_HOST, LENGTHS, OPEN_PAIRS, OVERFLOWS, PAIRS, REGULAR, count_up,
    tell,
};
use super::settle::append;
#[cfg(doc)]
use super::steps;
use super::tiles::{Capacity, Shape};
use super::{Launch, Record, fold, motion_at, put_all, star_width, tiles, vectors, width};
use crate::Vec3;
use crate::physics::hermite::ahmad_cohen::{
    Force, Regular, irregular_step, next_radius, regular_step, without_neighbours,
};
use crate::physics::hermite::step::{Accuracy, halvings, longest_at};

/// The order of the scheme.
const ORDER: usize = 4;
/// Number of vectors of a force and of a predicted body.
const VECTORS: usize = 2;
/// Values of a force.
const COMPONENTS: usize = 3 * VECTORS;

/// Values of the parts of a body's force: the radius of its neighbours, the time of the regular force, its step, the irregular force and
/// the regular force.
pub const PARTS_WIDTH: usize = IRREGULAR + 2 * COMPONENTS;
const RADIUS: usize = 0;
const REGULAR_TIME: usize = 1;
const REGULAR_STEP: usize = 2;
const IRREGULAR: usize = 3;
const REGULAR_FORCE: usize = IRREGULAR + COMPONENTS;

/// Index of the irregular force in a corrected step; position, velocity, acceleration and jerk come before it.
const MOVED_IRREGULAR: usize = 2 + 3 * ORDER;

/// The problem of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct NeighbourSteps {
    /// What all block steps have; `few`, `iterations` and `devices` are not used, and `room` also counts the marks.
    pub steps: Steps,
    /// Parameters of the criterion for regular steps.
    pub regular: Accuracy,
    /// Square of the softening length for irregular forces.
    pub softening2: f64,
    /// The length of the lists.
    pub lists: ListSize,
    /// The blocks that run at a time.
    pub capacity: Capacity,
}

/// The addresses of the arrays that [`State`] has not.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourState {
    /// The time at which the step of each body ends.
    pub next: *mut f64,
    /// The parts of the force on each body, [`PARTS_WIDTH`] numbers.
    pub parts: *mut f64,
    /// The radii to try first for the next lists.
    pub radii: *mut f64,
    /// The neighbours of each body, as many places as a list has room for.
    pub lists: *mut u32,
    /// Number of neighbours of each body.
    pub lengths: *mut u32,
    /// Places of the bodies whose regular steps end, with room for all bodies.
    pub due: *mut u32,
    /// [`mark_words`](neighbours::mark_words) numbers for each of the job's `room` bodies, 0 before and after the launch.
    pub marks: *mut u32,
    /// Number of bodies with regular steps of each of [`LEVELS`] lengths.
    pub levels: *const AtomicU32,
}

/// Takes block steps. All threads of the grid must call this.
///
/// # Safety
/// The pointers must be valid as [`State`] and [`NeighbourState`] require, and nothing else may use their memory. Blocks must be whole
/// warps with shared memory for [`tiles`]. All blocks of the grid must be resident at the same time.
#[inline(always)]
pub unsafe fn neighbour_steps<A: Record<VECTORS>, const I: usize>(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
) {
    let steps = &job.steps;
    let mut barrier = GridBarrier::new(at.control);
    let leader = thread::index_1d() == 0;
    let (mut time, mut number, mut taken, mut pairs, mut ended) = (steps.time, 0, 0, 0, 0);
    let mut cycles = [0; 4];
    loop {
        let begin = clock();
        // SAFETY: whole warps call it; all threads that changed levels have passed the barrier.
        let (step, regular_step) = unsafe {
            (
                shortest_step(
                    steps.longest,
                    of_lane(|level| number_of::<false>(at.levels, level, 0)),
                ),
                shortest_step(
                    steps.longest,
                    of_lane(|level| number_of::<false>(split.levels, level, 0)),
                ),
            )
        };
        let next = time + step;
        let block = Block {
            before: time,
            time: next,
            number,
        };
        // The bodies with the shortest regular step are due at all of its multiples.
        let regular = longest_at(steps.longest, next) >= regular_step;
        if next > steps.end {
            ended = AT_END;
        }
        let last = ended == AT_END || number >= steps.most_blocks || pairs >= steps.most_pairs;
        // SAFETY: each thread has places of its own.
        unsafe { settle(job, at, split, &block, regular, last) };
        if last {
            break;
        }
        // SAFETY: all threads of the grid call it.
        unsafe { barrier.wait() };
        let listed = clock();
        // SAFETY: no thread changes these counters before the next barrier.
        let (count, due) = unsafe {
            (
                counter(at, COUNTS, number).load(Relaxed),
                counter(at, TOTALS, number).load(Relaxed),
            )
        };
        if leader {
            // SAFETY: these are the next block's counters; the threads that used them before have passed two barriers.
            unsafe {
                counter(at, COUNTS, number + 1).store(0, Relaxed);
                counter(at, TOTALS, number + 1).store(0, Relaxed);
            }
        }
        // SAFETY: `count` places are listed.
        unsafe { irregular_steps(job, at, split, &block, count) };
        let alone = clock();
        // SAFETY: all threads of the grid call it; `due` places are listed, and all bodies are predicted if there are any.
        let correcting =
            unsafe { regular_steps::<A, I>(job, at, split, &block, due, &mut barrier) };
        // SAFETY: all threads of the grid call it.
        unsafe { barrier.wait() };
        let done = clock();
        cycles[0] += listed - begin;
        if due == 0 {
            cycles[3] += done - listed;
        } else {
            cycles[1] += done - alone - correcting;
            cycles[2] += correcting;
            cycles[3] += alone - listed;
        }
        // SAFETY: no thread sets it before the next barrier.
        let stopped = unsafe { stopped(at) };
        if stopped != 0 {
            ended = stopped as u64;
            break;
        }
        if leader {
            // SAFETY: the logarithm is below 32; other threads count pairs only before the last barrier and after the next one.
            unsafe {
                count_up(at.report, ACTIVE + count.ilog2() as usize, 1);
                let open = &*at.report.add(OPEN_PAIRS);
                count_up(at.report, PAIRS, open.load(Relaxed));
                open.store(0, Relaxed);
            }
        }
        time = next;
        number += 1;
        taken += count as u64;
        pairs += due as u64 * steps.bodies as u64 + count as u64 * job.lists.capacity as u64;
    }
    if leader {
        // SAFETY: the report is valid.
        unsafe { tell(at.report, time, number, taken, ended, &cycles) };
    }
}

/// The reason to stop, or 0.
///
/// # Safety
/// `at.control` must be valid.
#[inline(always)]
unsafe fn stopped(at: &State) -> u32 {
    // SAFETY: the caller guarantees this.
    unsafe { (*at.control.add(STOPPED)).load(Relaxed) }
}

/// Copies the corrected steps of the last block to the bodies. Then, unless this was the last block, lists those that are due and those
/// whose regular steps end; if there can be any of the latter (`regular`), also predicts all bodies.
///
/// # Safety
/// The same as for [`neighbour_steps`]; a barrier must separate this from the corrections.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn settle(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    regular: bool,
    last: bool,
) {
    let lane = thread::thread_idx_x() % 32;
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    // `first` is the same for all lanes of a warp, so that they vote together.
    let mut first = thread::index_1d() - lane;
    while first < job.steps.bodies {
        let place = first + lane;
        let mut due = [false; 2];
        if place < job.steps.bodies {
            // SAFETY: only this thread works on the body.
            unsafe {
                let mut next = *split.next.add(place as usize);
                if next == block.before {
                    next = take_over(job, at, split, block, place);
                }
                if !last {
                    due[0] = next == block.time;
                    due[1] = due[0] && find_radius(job, split, block, place);
                    if regular {
                        predict_body(at, block, place);
                    }
                }
            }
        }
        if !last {
            let lists = [(COUNTS, at.active), (TOTALS, split.due)];
            let mut k = 0;
            while k < 2 {
                // SAFETY: whole warps call it, because first is the same for all lanes; the lists have room for all bodies.
                unsafe {
                    let votes = warp_vote_ballot(u32::MAX, due[k]);
                    if votes != 0 {
                        let count = counter(at, lists[k].0, block.number);
                        append(count, lists[k].1, votes, due[k], place);
                    }
                }
                k += 1;
            }
        }
        first += threads;
    }
}

/// Copies the corrected step of a body that was active in the last block, and counts it. Returns the end of its next step.
///
/// # Safety
/// The same as for [`settle`], for a body that only this thread works on.
#[inline(always)]
unsafe fn take_over(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    place: u32,
) -> f64 {
    let place = place as usize;
    // SAFETY: the caller guarantees this.
    unsafe {
        let moved = at.moved.add(place * const { moved_width(ORDER) });
        let star = at.stars.add(place * const { star_width(ORDER) });
        let rest = at.rest.add(place * REST_WIDTH);
        let level = halvings(job.steps.longest, *rest);
        count_up(at.report, LENGTHS + level as usize, 1);
        if *moved.add(1) == IS_CLAMPED {
            count_up(at.report, CLAMPED, 1);
        }
        *rest = *moved;
        *star.add(1) = block.before;
        put_all(star.add(2), &vectors::<ORDER>(moved.add(2)));
        let irregular = split.parts.add(place * PARTS_WIDTH + IRREGULAR);
        put_all(irregular, &vectors::<VECTORS>(moved.add(MOVED_IRREGULAR)));
        let next = block.before + *moved;
        *split.next.add(place) = next;
        next
    }
}

/// The regular force on a body.
///
/// # Safety
/// `parts` must be those of a body.
#[inline(always)]
unsafe fn regular_of(parts: *const f64) -> Regular {
    // SAFETY: the caller guarantees this.
    unsafe {
        Regular {
            force: vectors(parts.add(REGULAR_FORCE)),
            time: *parts.add(REGULAR_TIME),
            step: *parts.add(REGULAR_STEP),
        }
    }
}

/// Whether the regular step of a body ends; if so, finds the radius for its next list.
///
/// # Safety
/// The same as for [`take_over`].
#[inline(always)]
unsafe fn find_radius(
    job: &NeighbourSteps,
    split: &NeighbourState,
    block: &Block,
    place: u32,
) -> bool {
    let place = place as usize;
    // SAFETY: the caller guarantees this.
    unsafe {
        let parts = split.parts.add(place * PARTS_WIDTH);
        let due = regular_of(parts).is_due(block.time);
        if due {
            let (radius, length) = (*parts.add(RADIUS), *split.lengths.add(place));
            *split.radii.add(place) = next_radius(radius, job.lists.wanted, length);
        }
        due
    }
}

/// Predicts a body.
///
/// # Safety
/// The same as for [`take_over`].
#[inline(always)]
unsafe fn predict_body(at: &State, block: &Block, place: u32) {
    // SAFETY: the caller guarantees this.
    unsafe {
        let (mass, motion) = motion_at::<ORDER, VECTORS>(at.stars, block.time, place);
        let to = at.predicted.add(place as usize * const { width(VECTORS) });
        put_predicted(to, mass, &motion);
    }
}

/// Sums the irregular forces on the active bodies and corrects these. The first warps of the grid begin last, because they also begin with
/// the regular forces.
///
/// # Safety
/// The same as for [`neighbour_steps`]; `count` places must be listed.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn irregular_steps(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    count: u32,
) {
    let warps = thread::grid_dim_x() * thread::block_dim_x() / 32;
    let lane = thread::thread_idx_x() % 32;
    let mut k = warps - 1 - thread::index_1d() / 32;
    while k < count {
        // SAFETY: k is the same for all lanes of the warp, below the number of listed places.
        unsafe {
            let place = *at.active.add(k as usize);
            let list = split
                .lists
                .add(place as usize * job.lists.capacity as usize);
            let length = *split.lengths.add(place as usize);
            let read = |place| motion_at::<ORDER, VECTORS>(at.stars, block.time, place);
            let (motion, force) = irregular::force(read, place, list, length, job.softening2);
            if lane == 0 {
                count_up(at.report, OPEN_PAIRS, length as u64);
                correct_irregular(job, at, split, block, place, motion, force);
            }
        }
        k += warps;
    }
}

/// Corrects an active body for the change of its irregular force, and stops all threads if the host has to perform the block.
///
/// # Safety
/// The same as for [`neighbour_steps`], for a body that only this thread works on.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn correct_irregular(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    place: u32,
    motion: Motion,
    force: Force,
) {
    let steps = &job.steps;
    let place = place as usize;
    // SAFETY: the caller guarantees this.
    unsafe {
        let parts = split.parts.add(place * PARTS_WIDTH);
        let start = vectors::<VECTORS>(parts.add(IRREGULAR));
        let regular = regular_of(parts);
        let dt = block.time - *at.stars.add(place * const { star_width(ORDER) } + 1);
        let limits = steps.limits(block.time);
        let forces = [start, force];
        let eta = steps.accuracy.eta;
        let step = irregular_step(motion, forces, &regular, dt, block.time, eta, &limits);
        if !step.finite || step.abrupt || (step.clamped && steps.shortest == 0.0) {
            (*at.control.add(STOPPED)).store(FOR_HOST as u32, Relaxed);
        }
        let moved = at.moved.add(place * const { moved_width(ORDER) });
        *moved = step.step;
        *moved.add(1) = if step.clamped { IS_CLAMPED } else { 0.0 };
        put_all(moved.add(2), &step.motion);
        put_all(moved.add(MOVED_IRREGULAR), &force);
        if !regular.is_due(block.time) {
            let level = |step| halvings(steps.longest, step);
            change_level(at.levels, level(dt), level(step.step));
        }
    }
}

/// Sums the forces of all bodies on those whose regular steps end, makes their lists and corrects them, as many at a time as fit into the
/// memory. Returns the cycles that this thread spent on lists and corrections.
///
/// # Safety
/// The same as for [`neighbour_steps`]; `due` places must be listed, and a barrier must separate the prediction from this.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn regular_steps<A: Record<VECTORS>, const I: usize>(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    due: u32,
    barrier: &mut GridBarrier,
) -> u64 {
    let (steps, threads) = (&job.steps, thread::block_dim_x());
    let warps = thread::grid_dim_x() * threads / 32;
    let mut correcting = 0;
    let mut first = 0;
    while first < due {
        if first > 0 {
            // The last partial sums and marks have been read.
            // SAFETY: all threads of the grid call it.
            unsafe { barrier.wait() };
        }
        let count = (due - first).min(steps.room);
        let launch = Launch {
            count,
            ..steps.force
        };
        let shape = Shape::fastest(&launch, threads, I as u32, &job.capacity);
        let units = shape.units(count, I as u32);
        // SAFETY: the places from `first` on are listed.
        let places = unsafe { split.due.add(first as usize) };
        let marking = Marking {
            bodies: steps.bodies,
            softening2: launch.softening2,
            predicted: at.predicted,
            places,
            radii: split.radii,
            marks: split.marks,
        };
        let mut unit = thread::block_idx_x();
        while unit < units {
            // SAFETY: the unit is the same for all threads of the block; there is room for the marks of `count` bodies.
            unsafe {
                tiles::pull_unit::<A, VECTORS, I, _>(
                    &launch,
                    &shape,
                    at.predicted,
                    places,
                    at.partial,
                    unit,
                    &marking,
                );
            }
            unit += thread::grid_dim_x();
        }
        // SAFETY: all threads of the grid call it.
        unsafe { barrier.wait() };
        // SAFETY: no thread sets it before the next barrier, and it is the same for all threads.
        let stopped = unsafe { stopped(at) } != 0;
        let begin = clock();
        let mut k = thread::index_1d() / 32;
        while k < count {
            if stopped {
                // SAFETY: k is below the number of listed bodies, and the same for all lanes of the warp.
                unsafe { Marks::of(split.marks, k, steps.bodies) }.remove();
                k += warps;
                continue;
            }
            // SAFETY: k is the same for all lanes of the warp.
            unsafe {
                let force = folded(at.partial, k, count, shape.remaining);
                split_force(job, at, split, block, *places.add(k as usize), k, force);
            }
            k += warps;
        }
        correcting += clock() - begin;
        if stopped {
            break;
        }
        first += count;
    }
    correcting
}

/// Folds the partial sums of the force on body `k` of `count`, by a warp. Lane 0 has the result.
///
/// # Safety
/// `partial` must be valid for [`COMPONENTS`] · remaining · count numbers, k < count, and whole warps must call this.
#[inline(always)]
unsafe fn folded(partial: *const f64, k: u32, count: u32, remaining: u32) -> Force {
    let n = count as usize;
    // SAFETY: the caller guarantees this.
    let values: [f64; COMPONENTS] = unsafe {
        let sum = |component: usize, part: u32| {
            *partial.add((component * remaining as usize + part as usize) * n + k as usize)
        };
        fold::by_warp(sum, remaining)
    };
    let [x, y, z, u, v, w] = values;
    [Vec3 { x, y, z }, Vec3 { x: u, y: v, z: w }]
}

/// Makes the new list of a body whose regular step ends, by a warp; splits its force `all` (known to lane 0), and corrects it for the
/// change of the regular part. `k` is the number of its marks.
///
/// # Safety
/// The same as for [`neighbour_steps`], for a body that only this warp works on, after its irregular step. Whole warps must call this.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn split_force(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    place: u32,
    k: u32,
    all: Force,
) {
    // SAFETY: the caller guarantees this.
    unsafe {
        let list = split
            .lists
            .add(place as usize * job.lists.capacity as usize);
        let marks = Marks::of(split.marks, k, job.steps.bodies);
        let radius = *split.radii.add(place as usize);
        let made = neighbours::gather(place, at.predicted, radius, job.lists, marks, list);
        // Makes the list visible to all lanes.
        sync_warp(u32::MAX);
        let read = |place: u32| {
            let record = at.predicted.add(place as usize * const { width(VECTORS) });
            (*record, [vector(record.add(1)), vector(record.add(4))])
        };
        let (_, irregular) = irregular::force(read, place, list, made.length, job.softening2);
        if thread::thread_idx_x().is_multiple_of(32) {
            count_up(at.report, REGULAR, 1);
            count_up(at.report, PAIRS, made.length as u64);
            count_up(at.report, OVERFLOWS, made.overflowed as u64);
            *split.parts.add(place as usize * PARTS_WIDTH + RADIUS) = made.radius;
            correct_regular(job, at, split, block, place, made.length, [all, irregular]);
        }
    }
}

/// Corrects a body for the change of its regular force, and replaces the parts of its force by those with the new list of `length`
/// neighbours. `forces` are that of all bodies and that of the new neighbours.
///
/// # Safety
/// The same as for [`split_force`], for one thread.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn correct_regular(
    job: &NeighbourSteps,
    at: &State,
    split: &NeighbourState,
    block: &Block,
    place: u32,
    length: u32,
    [all, irregular]: [Force; 2],
) {
    let steps = &job.steps;
    let place = place as usize;
    let are_all = |length: u32| length + 1 == steps.bodies;
    // SAFETY: the caller guarantees this.
    unsafe {
        let parts = split.parts.add(place * PARTS_WIDTH);
        let moved = at.moved.add(place * const { moved_width(ORDER) });
        let before = regular_of(parts);
        // The same neighbours that were subtracted from the regular part at its start.
        let old = vectors::<VECTORS>(moved.add(MOVED_IRREGULAR));
        let end = without_neighbours(all, old, are_all(*split.lengths.add(place)));
        let dt = block.time - before.time;
        let limits = steps.limits(block.time);
        let corrected = vectors::<VECTORS>(moved.add(2));
        let ends = [before.force, end];
        let step = regular_step(corrected, ends, all, dt, &job.regular, &limits);
        let next = (*moved).min(step.step);
        *moved = next;
        put_all(moved.add(2), &step.motion);
        put_all(moved.add(MOVED_IRREGULAR), &irregular);
        let rest = without_neighbours(all, irregular, are_all(length));
        put_all(parts.add(REGULAR_FORCE), &rest);
        *parts.add(REGULAR_TIME) = block.time;
        *parts.add(REGULAR_STEP) = step.step;
        *split.lengths.add(place) = length;
        let level = |step| halvings(steps.longest, step);
        let taken = *at.rest.add(place * REST_WIDTH);
        change_level(at.levels, level(taken), level(next));
        change_level(split.levels, level(before.step), level(step.step));
    }
}
