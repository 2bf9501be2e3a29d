//! The pixels that a CPU thread is computing, which it draws from the queue and delivers in batches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernels_gpu::Real;
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::lanes::{IDLE, LaneState, Pixel};
use kernels_gpu::map::Job;
use kernels_gpu::quantity::Quantity;

use super::{Task, Value};
use trisolar_run::queue::{Pace, Share};
use trisolar_run::{EngineError, Workers};

/// Rounds of steps after which a thread reports its progress and checks for cancellation: a few milliseconds.
pub(super) const ROUNDS_PER_SLICE: u32 = 1 << 13;
/// The largest batch, in pixels. A batch is large enough to last at least [`MIN_BATCH_TIME`], if this limit allows it.
const MAX_BATCH_PIXELS: u64 = 1 << 12;
/// Intended least duration of a batch.
const MIN_BATCH_TIME: Duration = Duration::from_millis(2);

/// The data that the threads of a run share.
pub(super) struct SharedBatches<'a> {
    pub task: &'a Task<'a>,
    pub job: &'a Job,
    pub share: Share<'a>,
    pub lanes: u64,
    /// Steps that each thread has reported.
    steps: Vec<AtomicU64>,
    began: Instant,
}

impl<'a> SharedBatches<'a> {
    pub fn new(workers: &Workers, task: &'a Task<'a>, job: &'a Job, share: Share<'a>) -> Self {
        Self {
            task,
            job,
            share,
            lanes: workers.simd().lanes() as u64,
            steps: (0..workers.threads()).map(|_| AtomicU64::new(0)).collect(),
            began: Instant::now(),
        }
    }

    pub fn threads(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Records the steps of `thread`. The first thread reports the steps of all threads to the monitor.
    pub fn report(&self, thread: usize, steps: u64) {
        self.steps[thread].store(steps, Ordering::Relaxed);
        if thread == 0 {
            self.share.report(self.accounted());
        }
    }

    fn accounted(&self) -> u64 {
        self.steps.iter().map(|s| s.load(Ordering::Relaxed)).sum()
    }

    /// Pixels per second of all threads together.
    pub fn rate(&self) -> f64 {
        let seconds = self.began.elapsed().as_secs_f64();
        self.accounted() as f64 / f64::from(self.job.steps) / seconds.max(1e-3)
    }
}

/// Pixels that are drawn together and delivered together, and the value of each.
struct Batch<V> {
    first: u64,
    values: Vec<V>,
    /// Number of unfinished pixels.
    missing: usize,
    began: Instant,
}

/// Pixels from the queue in batches. A pixel's slot is the batch's number · [`MAX_BATCH_PIXELS`] and its place in the batch.
pub(super) struct Batches<'a, V> {
    pub shared: &'a SharedBatches<'a>,
    /// Batches with unfinished pixels; `None` for numbers that are free.
    open: Vec<Option<Batch<V>>>,
    /// The next pixel of the last batch drawn, and its end.
    next: Pixel,
    end: u64,
    /// Pixels of the next batch.
    size: u64,
    finished: u64,
    failed: Option<EngineError>,
}

impl<'a, V: Value> Batches<'a, V> {
    pub fn new(shared: &'a SharedBatches<'a>) -> Self {
        Self {
            shared,
            open: Vec::new(),
            next: Pixel { number: 0, slot: 0 },
            end: 0,
            size: shared.lanes,
            finished: 0,
            failed: None,
        }
    }

    /// The next pixel, from a new batch if necessary.
    #[inline(always)]
    pub fn next_pixel(&mut self) -> Option<Pixel> {
        if self.next.number == self.end && !self.draw() {
            return None;
        }
        let pixel = self.next;
        self.next = Pixel {
            number: pixel.number + 1,
            slot: pixel.slot + 1,
        };
        Some(pixel)
    }

    /// The value of a pixel.
    #[inline(always)]
    pub fn value(&mut self, slot: u32) -> &mut V {
        let (number, place) = (
            slot / MAX_BATCH_PIXELS as u32,
            slot % MAX_BATCH_PIXELS as u32,
        );
        let batch = self.open[number as usize].as_mut().expect("it is open");
        &mut batch.values[place as usize]
    }

    /// Marks a pixel as done; its value is final.
    #[inline(always)]
    pub fn count(&mut self, slot: u32) {
        self.finished += 1;
        let number = slot as usize / MAX_BATCH_PIXELS as usize;
        let batch = self.open[number].as_mut().expect("it is open");
        batch.missing -= 1;
        if batch.missing == 0 {
            self.deliver(number);
        }
    }

    /// Called after at most [`ROUNDS_PER_SLICE`] rounds of steps: reports the steps of the thread and returns whether it continues. Errors are
    /// those of
    /// the queue and of the delivery of values.
    ///
    /// Inlined into a function with the lanes' instruction set: each of its callers has one of its own.
    #[inline(always)]
    pub fn go_on<Q: Quantity, I: MapIntegrator, R: Real>(
        &mut self,
        thread: usize,
        lanes: &mut LaneState<Q, I, R>,
        went: u32,
    ) -> Result<bool, EngineError> {
        let shared = self.shared;
        let under_way: u64 = (0..R::LANES)
            .filter(|lane| lanes.pixel.as_ref()[*lane] < IDLE)
            .map(|lane| u64::from(lanes.progress(lane)))
            .sum();
        shared.report(
            thread,
            self.finished * u64::from(shared.job.steps) + under_way,
        );
        self.failed.take().map_or(Ok(()), Err)?;
        shared.share.check()?;
        if went < ROUNDS_PER_SLICE && !shared.share.wait()? {
            return Ok(false);
        }
        // There may be new pixels: those of a device that failed, or those that another process sent.
        lanes.ask_again();
        Ok(true)
    }

    /// Draws the next batch; false if there is none.
    #[inline(never)]
    fn draw(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        // The pixels are begun one after the other, but within a short time.
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
        let number = match self.open.iter().position(Option::is_none) {
            Some(number) => number,
            None => {
                self.open.push(None);
                self.open.len() - 1
            }
        };
        let values = vec![V::default(); (span.end - span.start) as usize];
        self.open[number] = Some(Batch {
            first: span.start,
            missing: values.len(),
            values,
            began: Instant::now(),
        });
        self.next = Pixel {
            number: span.start,
            slot: (number as u64 * MAX_BATCH_PIXELS) as u32,
        };
        self.end = span.end;
        true
    }

    /// Delivers a finished batch.
    #[inline(never)]
    fn deliver(&mut self, number: usize) {
        let batch = self.open[number].take().expect("it was open");
        if batch.began.elapsed() < MIN_BATCH_TIME {
            self.size = (self.size * 2).min(MAX_BATCH_PIXELS);
        }
        let SharedBatches { task, share, .. } = self.shared;
        if let Err(error) = task.deliver(*share, batch.first, V::slice(&batch.values)) {
            self.failed.get_or_insert(error);
        }
    }
}
