//! Pixels under way on the CPU: threads × SIMD lanes, every lane refilled as soon as its pixel is done.

use std::time::Instant;

use kernels_gpu::divergence::{Course, Feed, IDLE, Job, Leave, Pixel, Twins, Walker};
use kernels_gpu::gravity::Relative;
use kernels_gpu::integrator::three_body::{ExplicitEuler, State};
use kernels_gpu::{Lanes, Vec3};

use super::super::cpu::{BATCH_TIME, CpuEngine, MAX_BATCH, SLICE, Shared};
use super::super::engine::EngineError;
use super::super::queue::{Pace, Share};
use super::{Item, Resuming, Stepper};
use crate::simd::Simd;

impl Stepper for CpuEngine {
    fn step(&self, task: &Resuming<'_>, share: Share<'_>) -> Result<(), EngineError> {
        let job = task.spec.job(0, 0);
        let shared = Shared::new(self, task.spec, &job, share);
        if !shared.begin() {
            return share.check();
        }
        let results = self
            .pool()
            .broadcast(|context| work(self.simd(), task, &shared, context.index()));
        results.into_iter().collect()
    }
}

/// A [`Lanes`] whose numbers can be looked at.
pub(super) trait Exposed: Lanes {
    /// The number in a lane.
    fn number(self, lane: usize) -> f64;
}

impl Exposed for f64 {
    #[inline(always)]
    fn number(self, _: usize) -> f64 {
        self
    }
}

#[cfg(target_arch = "x86_64")]
impl Exposed for crate::simd::F64x4 {
    #[inline(always)]
    fn number(self, lane: usize) -> f64 {
        self.to_array()[lane]
    }
}

#[cfg(target_arch = "x86_64")]
impl Exposed for crate::simd::F64x8 {
    #[inline(always)]
    fn number(self, lane: usize) -> f64 {
        self.to_array()[lane]
    }
}

type OneStep<R> = [Relative<R>; 0];

/// One lane of twins.
#[inline(always)]
fn one_lane<R: Exposed>(twins: &Twins<R, OneStep<R>>, lane: usize) -> Twins<f64, OneStep<f64>> {
    let vector = |v: Vec3<R>| Vec3 {
        x: v.x.number(lane),
        y: v.y.number(lane),
        z: v.z.number(lane),
    };
    let relative = |r: &Relative<R>| Relative {
        a: vector(r.a),
        b: vector(r.b),
    };
    let state = |s: &State<R, OneStep<R>>| State {
        q: relative(&s.q),
        u: relative(&s.u),
        memory: [],
    };
    Twins {
        a: state(&twins.a),
        b: state(&twins.b),
    }
}

/// Items that are drawn together and delivered together.
struct Batch {
    first: u64,
    items: Vec<Item>,
    /// Items not at their ends.
    missing: usize,
    began: Instant,
}

/// Items from the queue in batches. A slot is the batch's number · [`MAX_BATCH`] and the place in the batch.
struct Batches<'a> {
    task: &'a Resuming<'a>,
    shared: &'a Shared<'a>,
    /// Batches with items not at their ends; `None` for numbers that are free.
    open: Vec<Option<Batch>>,
    /// The next slot of the last batch drawn, and its end.
    next: u32,
    end: u32,
    /// Items of the next batch.
    size: u64,
    finished: u64,
    failed: Option<EngineError>,
}

impl<'a> Batches<'a> {
    fn new(task: &'a Resuming<'a>, shared: &'a Shared<'a>) -> Self {
        Self {
            task,
            shared,
            open: Vec::new(),
            next: 0,
            end: 0,
            size: shared.lanes,
            finished: 0,
            failed: None,
        }
    }

    /// What went wrong in the meantime.
    fn check(&mut self) -> Result<(), EngineError> {
        self.failed.take().map_or(Ok(()), Err)?;
        self.shared.share.check()
    }

    /// Draws the next batch; false if there is none.
    #[inline(never)]
    fn draw(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        // The items are begun one after the other, but soon.
        let pace = Pace {
            backlog: 0,
            rate: self.shared.rate(),
        };
        let threads = self.shared.threads();
        let span = match self.shared.share.draw_for_thread(pace, self.size, threads) {
            Ok(Some(span)) => span,
            Ok(None) => return false,
            Err(error) => {
                self.failed = Some(error);
                return false;
            }
        };
        let first = span.start;
        let items: Vec<Item> = span.map(|number| self.task.items.get(number)).collect();
        let number = match self.open.iter().position(Option::is_none) {
            Some(number) => number,
            None => {
                self.open.push(None);
                self.open.len() - 1
            }
        };
        self.next = (number as u64 * MAX_BATCH) as u32;
        self.end = self.next + items.len() as u32;
        self.open[number] = Some(Batch {
            first,
            missing: items.len(),
            items,
            began: Instant::now(),
        });
        true
    }

    /// Delivers a batch that is done.
    #[inline(never)]
    fn deliver(&mut self, number: usize) {
        let batch = self.open[number].take().expect("it was open");
        if batch.began.elapsed() < BATCH_TIME {
            self.size = (self.size * 2).min(MAX_BATCH);
        }
        self.task.items.put(batch.first, &batch.items);
        let times = self.task.times(&batch.items);
        if let Err(error) = self.shared.share.deliver(batch.first, &times) {
            self.failed.get_or_insert(error);
        }
    }

    #[inline(always)]
    fn item(&mut self, slot: u32) -> &mut Item {
        let (number, place) = (slot / MAX_BATCH as u32, slot % MAX_BATCH as u32);
        let batch = self.open[number as usize].as_mut().expect("it is open");
        &mut batch.items[place as usize]
    }
}

impl Feed for Batches<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<Pixel> {
        if self.next == self.end && !self.draw() {
            return None;
        }
        let slot = self.next;
        self.next += 1;
        Some(Pixel { number: 0, slot })
    }

    #[inline(always)]
    fn done(&mut self, slot: u32, _: u32) {
        self.finished += 1;
        let number = slot as usize / MAX_BATCH as usize;
        let batch = self.open[number].as_mut().expect("it is open");
        batch.missing -= 1;
        if batch.missing == 0 {
            self.deliver(number);
        }
    }
}

impl<R: Exposed> Course<R, OneStep<R>> for Batches<'_> {
    #[inline(always)]
    fn resume(&mut self, slot: u32) -> Option<(Twins<R, OneStep<R>>, u32)> {
        let item = self.item(slot);
        let state = |s: &State<f64, OneStep<f64>>| State::new(&s.q, &s.u);
        let twins = Twins {
            a: state(&item.twins.a),
            b: state(&item.twins.b),
        };
        Some((twins, item.taken))
    }

    #[inline(always)]
    fn leave(&mut self, slot: u32, end: Leave<'_, R, OneStep<R>>) {
        *self.item(slot) = Item {
            twins: one_lane(end.twins, end.lane),
            taken: end.taken,
            parted: end.parted,
        };
    }
}

fn work(
    simd: Simd,
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    match simd {
        Simd::Scalar => worker::<f64, 1>(task, shared, thread),
        // SAFETY: a CpuEngine holds only instruction sets that the machine has.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { worker_avx2(task, shared, thread) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { worker_avx512(task, shared, thread) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn worker_avx2(task: &Resuming<'_>, shared: &Shared<'_>, thread: usize) -> Result<(), EngineError> {
    worker::<crate::simd::F64x4, 4>(task, shared, thread)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn worker_avx512(
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    worker::<crate::simd::F64x8, 8>(task, shared, thread)
}

/// Steps items until the run is over. Inlined into a function with the lanes' instruction set.
#[inline(always)]
fn worker<R: Exposed, const N: usize>(
    task: &Resuming<'_>,
    shared: &Shared<'_>,
    thread: usize,
) -> Result<(), EngineError> {
    let job: &Job = shared.job;
    let mut walker = Walker::<R, N, ExplicitEuler>::fresh();
    let mut feed = Batches::new(task, shared);
    loop {
        let went = walker.walk_course(job, SLICE, &mut feed);
        let under_way: u64 = (walker.pixel.iter().zip(&walker.taken))
            .filter(|(pixel, _)| **pixel < IDLE)
            .map(|(_, taken)| u64::from(*taken))
            .sum();
        shared.report(thread, feed.finished * u64::from(job.steps) + under_way);
        feed.check()?;
        if went < SLICE {
            if !shared.share.wait()? {
                return Ok(());
            }
            walker.ask_again();
        }
    }
}
