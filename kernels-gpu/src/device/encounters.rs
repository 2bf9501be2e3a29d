//! Encounters on a GPU: threads with a few runs each, which take steps together, and do what is rare together.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::thread;
use cuda_std::warp::{sync_warp, warp_vote_any, warp_vote_ballot};

use super::timer_ns;
use crate::encounters::hierarchy::NO_PAIR;
use crate::encounters::run::{Encounter, Minimum};
use crate::encounters::start::{BodiesStart, Plan, Start};
use crate::encounters::step::{Course, Pairs, Scheme, Stage, StepMasses, Watch, advance};
use crate::encounters::vector::dot;
use crate::encounters::{Record, Settings, Verdict};
use crate::number::Bits;

/// Runs to integrate, and where their records go. Passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Job {
    /// How they are integrated.
    pub settings: Settings,
    /// The stages of the composition.
    pub stages: *const Stage,
    /// Starts of all runs, from the first of the plan on.
    pub plan: *const Plan,
    /// Starts of the runs of this job, one by one; null for those of the plan.
    pub bodies: *const BodiesStart,
    /// Records of the runs of this job.
    pub records: *mut Record,
    /// The first run.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// How many stages there are.
    pub stage_count: u32,
    /// Zero.
    pub unused: u32,
}

/// What the threads of a launch share. All zero before the first launch.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shared {
    /// The next run, counted from the first of the job.
    pub next: AtomicU64,
    /// Runs that have ended.
    pub ended: AtomicU64,
}

/// Runs that a thread has under way at most.
pub const RUNS: usize = 4;

/// A run under way, in memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Run {
    /// First what every block of steps needs, at the start of a cache line.
    encounter: Encounter,
    pairs: Pairs<f64>,
    distances: [i32; 3],
    growth: [i32; 3],
    /// One of this type's constants.
    state: u32,
    unused: u32,
    /// Fills cache lines.
    padding: [u64; 9],
}

const _: () = assert!(size_of::<Run>().is_multiple_of(128));

impl Run {
    /// No run: the place is free.
    const FREE: u32 = 0;
    /// Its next block of steps can begin.
    const READY: u32 = 1;
    /// After a block of steps in which the survey found something to settle.
    const FOUND: u32 = 2;
}

/// A thread's runs between launches. Before the first launch all zero.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Thread {
    runs: [Run; RUNS],
}

#[derive(Clone, Copy)]
struct Table {
    stages: *const Stage,
    count: u32,
}

impl Scheme for Table {
    #[inline(always)]
    fn stages(&self) -> u32 {
        self.count
    }

    #[inline(always)]
    fn stage(&self, j: u32) -> Stage {
        // SAFETY: `integrate` asks for as many stages as `count` says, and asks for none beyond.
        unsafe { *self.stages.add(j as usize) }
    }
}

/// Remembers the pericentre of a thread's run until the end of the block of steps, where the threads of a warp look at theirs together:
/// in a step at most one of them passes one.
struct Passages<'a> {
    encounter: &'a mut Encounter,
    masses: StepMasses<f64>,
    last: &'a mut Minimum,
}

impl Passages<'_> {
    #[inline(always)]
    fn look(&mut self) {
        if self.last.pair != NO_PAIR as u32 {
            self.encounter.look_at(self.last);
            self.last.pair = NO_PAIR as u32;
        }
    }

    #[inline(always)]
    fn put<const P: usize>(&mut self, s: &Pairs<f64>, until: f64) {
        // Two in a step are rare.
        self.look();
        *self.last = Minimum::of(s, &self.masses, until, P);
    }
}

impl Watch<f64> for Passages<'_> {
    #[inline(always)]
    fn passage(&mut self, s: &Pairs<f64>, until: f64, turned: &[i32; 3], near: &mut i32) {
        let mut turned = *turned;
        if self.last.pair != NO_PAIR as u32 {
            // Two in a block are rare. After the first, the second may not be of interest.
            self.look();
            *near = self.encounter.near();
            let ask = |x: &[f64; 3]| f64::high_difference(Bits::high(dot(x, x)), *near);
            turned[0] &= ask(&s.x[0]);
            turned[1] &= ask(&s.x[1]);
            turned[2] &= ask(&s.x[2]);
        }
        // Not in a loop: an index that is not known would put the state into local memory.
        if turned[0] < 0 {
            self.put::<0>(s, until);
        }
        if turned[1] < 0 {
            self.put::<1>(s, until);
        }
        if turned[2] < 0 {
            self.put::<2>(s, until);
        }
    }
}

/// Begins to watch the distances of a run.
fn watch(run: &mut Run) {
    let mut course = Course::<f64>::new();
    course.watch_from(0, &run.pairs);
    (run.distances, run.growth) = (course.distances, course.growth);
}

/// Begins a run.
///
/// # Safety
/// As [`integrate`].
#[inline(never)]
unsafe fn fetch(job: &Job, number: u64, run: &mut Run) {
    let name = job.first + number;
    let bodies = if job.bodies.is_null() {
        // SAFETY: the caller's promise.
        unsafe { (*job.plan).bodies(name) }
    } else {
        // SAFETY: the caller's promise: there are `count` of them, and `number` is below it.
        unsafe { *job.bodies.add(number as usize) }
    };
    let start = Start::new(&bodies);
    run.encounter.begin_again(name, &start, &job.settings);
    run.pairs = start.pairs;
    watch(run);
    run.state = Run::READY;
}

/// Settles what the survey of a run found; true if it has ended and its record is written.
///
/// # Safety
/// As [`integrate`].
#[inline(never)]
unsafe fn settled(job: &Job, run: &mut Run) -> bool {
    run.state = Run::READY;
    let jumps = run.encounter.jumps;
    let mut record = Record::default();
    let Run {
        pairs, encounter, ..
    } = run;
    if encounter.settle(pairs, &job.settings, &mut record) == Verdict::Ended {
        let number = encounter.run - job.first;
        // SAFETY: the caller's promise: there is room for `count` records, and `number` is below it.
        unsafe { *job.records.add(number as usize) = record };
        run.state = Run::FREE;
        return true;
    }
    if run.encounter.jumps != jumps {
        watch(run);
    }
    false
}

/// Which of a thread's runs are in which state, a bit each. The one that takes steps is in none of these.
#[derive(Clone, Copy)]
struct Places {
    /// Those whose next block of steps can begin.
    ready: u32,
    /// Those that were put aside after a block of steps.
    aside: u32,
    /// Places without a run.
    free: u32,
    /// Whether a run takes steps.
    under_way: bool,
    /// Whether there may be more runs to begin.
    more: bool,
}

impl Places {
    /// The places of a thread before it has looked into them.
    fn of(runs: &[Run; RUNS]) -> Self {
        let mut this = Self {
            ready: 0,
            aside: 0,
            free: 0,
            under_way: false,
            more: true,
        };
        let mut place = 0;
        while place < RUNS {
            match runs[place].state {
                Run::FREE => this.free |= 1 << place,
                Run::READY => this.ready |= 1 << place,
                _ => this.aside |= 1 << place,
            }
            place += 1;
        }
        this
    }

    /// Whether a block of steps can follow.
    fn goes_on(&self) -> bool {
        self.under_way || self.ready != 0
    }
}

/// Looks at the runs that a thread put aside, and begins new ones in free places.
///
/// # Safety
/// As [`integrate`]; `runs` must be the thread's.
#[inline(never)]
unsafe fn attend(job: &Job, shared: &Shared, runs: *mut [Run; RUNS], mut places: Places) -> Places {
    // SAFETY: the caller's promise.
    let runs = unsafe { &mut *runs };
    let mut ended = 0;
    while places.aside != 0 {
        let place = places.aside.trailing_zeros();
        let bit = 1 << place;
        places.aside ^= bit;
        // SAFETY: the caller's promise.
        if unsafe { settled(job, &mut runs[place as usize % RUNS]) } {
            places.free |= bit;
            ended += 1;
        } else {
            places.ready |= bit;
        }
    }
    if ended != 0 {
        shared.ended.fetch_add(ended, Ordering::Relaxed);
    }
    // The last runs are for threads that have no other, so that all threads end at about the same time.
    let threads = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let last = RUNS as u64 * threads;
    while places.free != 0 && places.more {
        if places.goes_on() && shared.next.load(Ordering::Relaxed) + last >= job.count {
            break;
        }
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= job.count {
            places.more = false;
            break;
        }
        let place = places.free.trailing_zeros();
        let bit = 1 << place;
        places.free ^= bit;
        places.ready |= bit;
        // SAFETY: the caller's promise.
        unsafe { fetch(job, number, &mut runs[place as usize % RUNS]) };
    }
    places
}

/// Rounds between two looks at the clock.
const ROUNDS: u32 = 16;
/// Threads of a warp with a run aside for which all look at theirs, although each has another run to go on with.
const ENOUGH: u32 = 16;

/// Integrates runs for about `slice_ns` nanoseconds; launched again with the same memory it goes on where it stopped.
///
/// In a round every thread takes a block of steps. What else there is to do (starts, pericentres, ends, jumps) takes as long as many
/// steps, and if each thread did it when its turn comes, its warp would wait for it every time. So the thread puts the run aside and goes
/// on with another one of its own, until enough threads of the warp have something to do.
///
/// # Safety
/// Of `job`: `stages` must be valid for as many as it says, at least one; `plan` for one, or `bodies` for `count`; `records` for
/// writing `count`. `threads` must be valid for as many values as the grid has threads, and `shared` for one. Nobody else may use
/// `threads` and `records` meanwhile. All threads of the grid must call this.
#[inline(always)]
pub unsafe fn integrate(job: &Job, slice_ns: u64, threads: *mut Thread, shared: *const Shared) {
    // SAFETY: the caller's promise: a place of its own for each thread.
    let (runs, shared) = unsafe {
        let mine = threads.add(thread::index_1d() as usize);
        (&raw mut (*mine).runs, &*shared)
    };
    let scheme = Table {
        stages: job.stages,
        count: job.stage_count,
    };
    let began = timer_ns();
    // SAFETY: as above.
    let mut places = Places::of(unsafe { &*runs });
    let (mut place, mut run) = (0, runs.cast::<Run>());
    let mut pairs = Pairs::<f64>::default();
    let (mut distances, mut growth) = ([0; 3], [0; 3]);
    let mut last = Minimum::NONE;
    let mut rounds = 0_u32;
    loop {
        if !places.under_way && places.ready != 0 {
            place = places.ready.trailing_zeros();
            places.ready ^= 1 << place;
            places.under_way = true;
            // SAFETY: a bit stands for one of the thread's places.
            unsafe {
                run = runs.cast::<Run>().add(place as usize);
                pairs = (*run).pairs;
                (distances, growth) = ((*run).distances, (*run).growth);
            }
        }
        // SAFETY: all lanes of a warp take part in every round, until it ends for all of them.
        unsafe { sync_warp(u32::MAX) };
        if places.under_way {
            // SAFETY: one of the thread's own.
            let this = unsafe { &mut *run };
            let masses = this.encounter.masses.step;
            let mut course = Course::<f64> {
                binding: 2.0 * this.encounter.binding,
                step: job.settings.step * this.encounter.masses.least_action,
                left: this.encounter.left(),
                distances,
                growth,
                near: this.encounter.near(),
            };
            let mut watch = Passages {
                encounter: &mut this.encounter,
                masses,
                last: &mut last,
            };
            advance(
                &mut pairs,
                &masses,
                &mut course,
                job.settings.block,
                scheme,
                &mut watch,
            );
            watch.look();
            (distances, growth) = (course.distances, course.growth);
            if this.encounter.survey(&mut pairs, &job.settings) {
                this.pairs = pairs;
                (this.distances, this.growth) = (distances, growth);
                this.state = Run::FOUND;
                places.aside |= 1 << place;
                places.under_way = false;
            }
        }
        let goes_on = places.goes_on();
        let asks = !goes_on && (places.aside != 0 || (places.free != 0 && places.more));
        // SAFETY: as above.
        let (going, asking, aside) = unsafe {
            (
                warp_vote_ballot(u32::MAX, goes_on),
                warp_vote_ballot(u32::MAX, asks),
                warp_vote_ballot(u32::MAX, places.aside != 0),
            )
        };
        if going | asking == 0 {
            break;
        }
        if asking != 0 || aside.count_ones() >= ENOUGH {
            // SAFETY: the caller's promise.
            places = unsafe { attend(job, shared, runs, places) };
        }
        rounds += 1;
        if rounds.is_multiple_of(ROUNDS) {
            let over = timer_ns() - began >= slice_ns;
            // SAFETY: as above.
            if unsafe { warp_vote_any(u32::MAX, over) } {
                break;
            }
        }
    }
    if places.under_way {
        // SAFETY: as above.
        unsafe {
            (*run).pairs = pairs;
            ((*run).distances, (*run).growth) = (distances, growth);
        }
    }
}
