//! Encounters on a GPU: a thread takes the next run when its own has ended, and stores its run at the end of a launch.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::thread;

use super::timer_ns;
use crate::encounters::run::Encounter;
use crate::encounters::start::{BodiesStart, Plan, Start};
use crate::encounters::step::{Course, Pairs, Scheme, Stage, Watch, advance};
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

/// A thread's run between launches. Before the first launch all zero.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Thread {
    pairs: Pairs<f64>,
    encounter: Encounter,
    distances: [i32; 3],
    growth: [i32; 3],
    /// Whether it has a run: 1.
    busy: u64,
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

/// A pericentre that was passed and has not been looked at.
struct Passage {
    pairs: Pairs<f64>,
    until: f64,
    turned: [i32; 3],
    waits: bool,
}

impl Passage {
    const NONE: Self = Self {
        pairs: Pairs {
            x: [[0.0; 3]; 3],
            w: [[0.0; 3]; 2],
            time: 0.0,
        },
        until: 0.0,
        turned: [0; 3],
        waits: false,
    };
}

/// Remembers the pericentres of a thread's run until the end of the block of steps, where the threads of a warp look at theirs together:
/// in a step at most one of them passes one. What is of interest then depends on the pericentres before, so that it is asked again.
struct Passages<'a> {
    encounter: &'a mut Encounter,
    last: &'a mut Passage,
}

impl Passages<'_> {
    #[inline(always)]
    fn look(&mut self) {
        if self.last.waits {
            passed(self.encounter, self.last);
        }
    }
}

impl Watch<f64> for Passages<'_> {
    #[inline(always)]
    fn passage(&mut self, s: &Pairs<f64>, until: f64, turned: &[i32; 3], _: &mut i32) {
        // Two in a block are rare.
        self.look();
        *self.last = Passage {
            pairs: *s,
            until,
            turned: *turned,
            waits: true,
        };
    }
}

#[inline(never)]
fn passed(encounter: &mut Encounter, last: &mut Passage) {
    let near = encounter.near();
    let mut p = 0;
    while p < 3 {
        let x = &last.pairs.x[p];
        if f64::high_difference(Bits::high(dot(x, x)), near) >= 0 {
            last.turned[p] = 0;
        }
        p += 1;
    }
    encounter.passage(&last.pairs, last.until, last.turned);
    last.waits = false;
}

/// # Safety
/// As [`integrate`].
#[inline(never)]
unsafe fn fetch(job: &Job, number: u64, thread: &mut Thread) {
    let run = job.first + number;
    let bodies = if job.bodies.is_null() {
        // SAFETY: the caller's promise.
        unsafe { (*job.plan).bodies(run) }
    } else {
        // SAFETY: the caller's promise: there are `count` of them, and `number` is below it.
        unsafe { *job.bodies.add(number as usize) }
    };
    let start = Start::new(&bodies);
    thread.encounter.begin_again(run, &start, &job.settings);
    thread.pairs = start.pairs;
}

/// Looks at a run after a block; true if it has ended and its record is written.
///
/// # Safety
/// As [`integrate`].
#[inline(never)]
unsafe fn looked(job: &Job, thread: &mut Thread) -> bool {
    let mut record = Record::default();
    let Thread {
        pairs, encounter, ..
    } = thread;
    if encounter.look(pairs, &job.settings, &mut record) == Verdict::GoOn {
        return false;
    }
    let number = encounter.run - job.first;
    // SAFETY: the caller's promise: there is room for `count` records, and `number` is below it.
    unsafe { *job.records.add(number as usize) = record };
    true
}

/// Integrates runs for about `slice_ns` nanoseconds; launched again with the same memory it goes on where it stopped.
///
/// # Safety
/// Of `job`: `stages` must be valid for as many as it says, at least one; `plan` for one, or `bodies` for `count`; `records` for
/// writing `count`. `threads` must be valid for as many values as the grid has threads, and `shared` for one. Nobody else may use
/// `threads` and `records` meanwhile.
#[inline(always)]
pub unsafe fn integrate(job: &Job, slice_ns: u64, threads: *mut Thread, shared: *const Shared) {
    // SAFETY: the caller's promise.
    let (mine, shared) = unsafe { (threads.add(thread::index_1d() as usize), &*shared) };
    // SAFETY: a place of its own for each thread.
    let mut thread = unsafe { *mine };
    let scheme = Table {
        stages: job.stages,
        count: job.stage_count,
    };
    let began = timer_ns();
    let mut blocks = 0_u32;
    let mut last = Passage::NONE;
    loop {
        if thread.busy == 0 {
            let number = shared.next.fetch_add(1, Ordering::Relaxed);
            if number >= job.count {
                break;
            }
            // SAFETY: the caller's promise.
            unsafe { fetch(job, number, &mut thread) };
            thread.busy = 1;
            let mut course = Course::<f64>::new();
            course.watch_from(0, &thread.pairs);
            (thread.distances, thread.growth) = (course.distances, course.growth);
        }
        let mut pairs = thread.pairs;
        let encounter = &mut thread.encounter;
        let masses = encounter.masses.step;
        let mut course = Course::<f64> {
            binding: 2.0 * encounter.binding,
            step: job.settings.step * encounter.masses.least_action,
            left: encounter.left(),
            distances: thread.distances,
            growth: thread.growth,
            near: encounter.near(),
        };
        let jumps = encounter.jumps;
        let last = &mut last;
        let mut watch = Passages { encounter, last };
        advance(
            &mut pairs,
            &masses,
            &mut course,
            job.settings.block,
            scheme,
            &mut watch,
        );
        watch.look();
        thread.pairs = pairs;
        (thread.distances, thread.growth) = (course.distances, course.growth);
        // SAFETY: the caller's promise.
        if unsafe { looked(job, &mut thread) } {
            thread.busy = 0;
            shared.ended.fetch_add(1, Ordering::Relaxed);
        } else if thread.encounter.jumps != jumps {
            let mut course = Course::<f64>::new();
            course.watch_from(0, &thread.pairs);
            (thread.distances, thread.growth) = (course.distances, course.growth);
        }
        blocks += 1;
        if blocks.is_multiple_of(16) && timer_ns() - began >= slice_ns {
            break;
        }
    }
    // SAFETY: as above.
    unsafe { *mine = thread };
}
