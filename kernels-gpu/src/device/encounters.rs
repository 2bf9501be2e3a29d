//! Encounters on a GPU: each thread has a few runs and takes their steps in lockstep with its warp; work that is rare in each run is
//! postponed until many threads of the warp have some.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::thread;
use cuda_std::warp::{sync_warp, warp_vote_any, warp_vote_ballot};

use super::timer_ns;
use crate::encounters::hierarchy::NO_PAIR;
use crate::encounters::run::{Encounter, Minimum};
use crate::encounters::start::{BodiesStart, Plan, Start};
use crate::encounters::step::{Pairs, Scheme, Stage, StepControl, StepMasses, Watch, advance};
use crate::encounters::vector::dot;
use crate::encounters::{Record, Settings, Verdict};
use crate::number::Bits;

/// Runs to integrate, and the destination of their records. Passed by value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Job {
    /// The parameters of the integration.
    pub settings: Settings,
    /// The stages of the composition, `stage_count` of them.
    pub stages: *const Stage,
    /// The rule for the starts of all runs; run `first` is the first one of this job.
    pub plan: *const Plan,
    /// The starts of the runs of this job, listed individually; null if they follow `plan`.
    pub bodies: *const BodiesStart,
    /// Records of the runs of this job.
    pub records: *mut Record,
    /// The number of the first run.
    pub first: u64,
    /// The number of runs.
    pub count: u64,
    /// The number of stages.
    pub stage_count: u32,
    /// Padding, which is 0.
    pub unused: u32,
}

/// The counters that the threads of a launch share. All are 0 before the first launch.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shared {
    /// The next run, counted from the first of the job.
    pub next: AtomicU64,
    /// Runs that have ended.
    pub ended: AtomicU64,
}

/// The most runs that a thread has in progress at a time.
pub const RUNS_PER_THREAD: usize = 4;

/// A run in progress, in memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Run {
    /// Comes first so that the data that every block of steps needs start a cache line.
    encounter: Encounter,
    pairs: Pairs<f64>,
    distances: [i32; 3],
    growth: [i32; 3],
    /// One of the constants of this type.
    state: u32,
    unused: u32,
    /// Padding to whole cache lines.
    padding: [u64; 7],
}

const _: () = assert!(size_of::<Run>().is_multiple_of(128));

impl Run {
    /// The place is free.
    const FREE: u32 = 0;
    /// The run's next block of steps can begin.
    const READY: u32 = 1;
    /// The survey after a block of steps found something to settle.
    const FOUND: u32 = 2;
}

/// The runs of a thread between launches. All zero before the first launch.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Thread {
    runs: [Run; RUNS_PER_THREAD],
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
        // SAFETY: `integrate` requires `count` stages, and `advance` asks for no others.
        unsafe { *self.stages.add(j as usize) }
    }
}

/// Keeps the pericentre of a thread's run until the end of the block of steps, where all threads of the warp evaluate theirs together;
/// in a single step at most one of them usually has one.
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
        // Two pericentres in one step are rare.
        self.look();
        *self.last = Minimum::of(s, &self.masses, until, P);
    }
}

impl<R: Bits<High = i32>> Watch<R> for Passages<'_> {
    #[inline(always)]
    fn passage(&mut self, s: &Pairs<R>, until: R, turned: &[i32; 3], near: &mut i32) {
        let (s, until) = (&s.take(0), until.to_f64(0));
        let mut turned = *turned;
        if self.last.pair != NO_PAIR as u32 {
            // Two pericentres in one block are rare. After the first has been evaluated, the second may no longer be of interest.
            self.look();
            *near = self.encounter.near();
            let ask = |x: &[f64; 3]| f64::high_difference(Bits::high(dot(x, x)), *near);
            turned[0] &= ask(&s.x[0]);
            turned[1] &= ask(&s.x[1]);
            turned[2] &= ask(&s.x[2]);
        }
        // Not a loop, because a run-time index would put the state into local memory.
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

/// Starts to observe the distances of a run's pairs.
fn watch(run: &mut Run) {
    let mut control = StepControl::<f64>::new();
    control.watch_from(0, &run.pairs);
    (run.distances, run.growth) = (control.distances, control.growth);
}

/// Begins a run.
///
/// # Safety
/// The same as for [`integrate`].
#[inline(never)]
unsafe fn fetch(job: &Job, number: u64, run: &mut Run) {
    let name = job.first + number;
    let bodies = if job.bodies.is_null() {
        // SAFETY: the caller guarantees this.
        unsafe { (*job.plan).bodies(name) }
    } else {
        // SAFETY: the caller guarantees `count` starts, and `number` is less.
        unsafe { *job.bodies.add(number as usize) }
    };
    let start = Start::new(&bodies);
    run.encounter.begin_again(name, &start, &job.settings);
    run.pairs = start.pairs;
    watch(run);
    run.state = Run::READY;
}

/// Settles what the survey of a run found; returns true if the run has ended and its record is written.
///
/// # Safety
/// The same as for [`integrate`].
#[inline(never)]
unsafe fn settled(job: &Job, run: &mut Run) -> bool {
    run.state = Run::READY;
    let mut record = Record::default();
    let Run {
        pairs, encounter, ..
    } = run;
    let verdict = encounter.settle(pairs, &job.settings, &mut record);
    if verdict == Verdict::Ended {
        let number = encounter.run - job.first;
        // SAFETY: the caller guarantees room for `count` records, and `number` is less.
        unsafe { *job.records.add(number as usize) = record };
        run.state = Run::FREE;
        return true;
    }
    if verdict == Verdict::Moved {
        watch(run);
    }
    false
}

/// The states of a thread's runs, one bit for each run. The run that takes steps is in none of these sets.
#[derive(Clone, Copy)]
struct Places {
    /// Runs whose next block of steps can begin.
    ready: u32,
    /// Runs that were put aside after a block of steps.
    aside: u32,
    /// Places without a run.
    free: u32,
    /// Whether a run takes steps.
    under_way: bool,
    /// Whether there may be more runs to begin.
    more: bool,
}

impl Places {
    /// The places of a thread at the start of a launch.
    fn of(runs: &[Run; RUNS_PER_THREAD]) -> Self {
        let mut this = Self {
            ready: 0,
            aside: 0,
            free: 0,
            under_way: false,
            more: true,
        };
        let mut place = 0;
        while place < RUNS_PER_THREAD {
            match runs[place].state {
                Run::FREE => this.free |= 1 << place,
                Run::READY => this.ready |= 1 << place,
                _ => this.aside |= 1 << place,
            }
            place += 1;
        }
        this
    }

    /// Whether the thread can take another block of steps.
    fn goes_on(&self) -> bool {
        self.under_way || self.ready != 0
    }
}

/// Settles the runs that a thread put aside, and begins new ones in free places.
///
/// # Safety
/// The same as for [`integrate`]; `runs` must be the thread's.
#[inline(never)]
unsafe fn attend(
    job: &Job,
    shared: &Shared,
    runs: *mut [Run; RUNS_PER_THREAD],
    mut places: Places,
) -> Places {
    // SAFETY: the caller guarantees this.
    let runs = unsafe { &mut *runs };
    let mut ended = 0;
    while places.aside != 0 {
        let place = places.aside.trailing_zeros();
        let bit = 1 << place;
        places.aside ^= bit;
        // SAFETY: the caller guarantees this.
        if unsafe { settled(job, &mut runs[place as usize % RUNS_PER_THREAD]) } {
            places.free |= bit;
            ended += 1;
        } else {
            places.ready |= bit;
        }
    }
    if ended != 0 {
        shared.ended.fetch_add(ended, Ordering::Relaxed);
    }
    // The last runs go to threads that have no other, so that all threads finish at about the same time.
    let threads = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let last = RUNS_PER_THREAD as u64 * threads;
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
        // SAFETY: the caller guarantees this.
        unsafe { fetch(job, number, &mut runs[place as usize % RUNS_PER_THREAD]) };
    }
    places
}

/// Rounds between two readings of the clock.
const ROUNDS_PER_CLOCK_READING: u32 = 16;
/// The number of threads of a warp with a run put aside from which on the whole warp settles such runs, even if every thread has
/// another run to continue.
const THREADS_TO_ATTEND: u32 = 16;

/// Integrates runs for about `slice_ns` nanoseconds. Another launch with the same memory continues where this one stopped.
///
/// In a round every thread takes a block of steps. Everything else (starts, pericentres, ends, jumps) takes as long as many steps, and
/// if each thread did it as soon as it is due, the rest of its warp would wait each time. Therefore a thread puts such a run aside and
/// continues with another one of its own, until enough threads of the warp have something to do.
///
/// `R` computes the steps; everything else is computed in `f64`.
///
/// # Safety
/// For `job`, `stages` must be valid for `stage_count` stages, at least one; `plan` must be valid for one value, or `bodies` for
/// `count`; and `records` must be valid for writing `count` records. `threads` must be valid for as many values as the grid has
/// threads, and `shared` for one. Nothing else may use `threads` and `records` during the launch. All threads of the grid must call
/// this function.
#[inline(always)]
pub unsafe fn integrate<R: Bits<High = i32>>(
    job: &Job,
    slice_ns: u64,
    threads: *mut Thread,
    shared: *const Shared,
) {
    // SAFETY: the caller guarantees a value for each thread of the grid.
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
    let mut pairs = Pairs::<R>::of(&Pairs::default());
    let (mut distances, mut growth) = ([0; 3], [0; 3]);
    let mut last = Minimum::NONE;
    let mut rounds = 0_u32;
    loop {
        if !places.under_way && places.ready != 0 {
            place = places.ready.trailing_zeros();
            places.ready ^= 1 << place;
            places.under_way = true;
            // SAFETY: each bit stands for one of the thread's places.
            unsafe {
                run = runs.cast::<Run>().add(place as usize);
                pairs = Pairs::of(&(*run).pairs);
                (distances, growth) = ((*run).distances, (*run).growth);
            }
        }
        // SAFETY: all lanes of a warp take part in every round until the loop ends for all of them.
        unsafe { sync_warp(u32::MAX) };
        if places.under_way {
            // SAFETY: the place belongs to this thread.
            let this = unsafe { &mut *run };
            let masses = this.encounter.masses.step;
            let mut control = StepControl::<R> {
                binding: R::from_f64(2.0 * this.encounter.binding),
                step: R::from_f64(job.settings.step * this.encounter.masses.pace),
                left: R::from_f64(this.encounter.left()),
                distances,
                growth,
                near: this.encounter.near(),
            };
            let count = this.encounter.block(&job.settings);
            let mut watch = Passages {
                encounter: &mut this.encounter,
                masses,
                last: &mut last,
            };
            advance(
                &mut pairs,
                &StepMasses::of(&masses),
                &mut control,
                count,
                scheme,
                &mut watch,
            );
            watch.look();
            (distances, growth) = (control.distances, control.growth);
            let mut state = pairs.take(0);
            let found = this.encounter.survey(&mut state, &job.settings);
            pairs.time = R::from_f64(state.time);
            if found {
                this.pairs = state;
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
        if asking != 0 || aside.count_ones() >= THREADS_TO_ATTEND {
            // SAFETY: the caller guarantees this.
            places = unsafe { attend(job, shared, runs, places) };
        }
        rounds += 1;
        if rounds.is_multiple_of(ROUNDS_PER_CLOCK_READING) {
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
            (*run).pairs = pairs.take(0);
            ((*run).distances, (*run).growth) = (distances, growth);
        }
    }
}
