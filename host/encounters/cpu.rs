//! Encounters on the CPU: threads with SIMD lanes. A lane gets another run as soon as its run has ended.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernels_gpu::encounters::lanes::{Runs, integrate};
use kernels_gpu::encounters::{Pairs, Record, Start};
use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;

use super::{Precision, Task};
use trisolar_run::queue::{Pace, Share};
use trisolar_run::{EngineError, Workers};
use trisolar_simd::{OnLanes, Simd, peak};

/// Interval at which a thread delivers its records and checks for a cancellation.
const DELIVERY_INTERVAL: Duration = Duration::from_millis(5);
/// Blocks of steps between two readings of the clock.
const STEP_BLOCKS_PER_CHECK: u32 = 64;
/// Largest number of runs that a thread draws at a time.
const MAX_RUNS_PER_DRAW: u64 = 64;

/// The limit of these cores: kicks per second if the `f64` operations of a kick never wait for one another. It is measured for this time.
pub fn kicks_limit(workers: &Workers, length: Duration) -> f64 {
    peak::operations_per_second(workers.simd(), workers.threads(), length)
        / Precision::F64.kick_operations()
}

/// Integrates runs of the task on these threads.
pub(super) fn on_lanes(
    task: &Task<'_>,
    workers: &Workers,
    share: Share<'_>,
) -> Result<(), EngineError> {
    let shared = Shared {
        task,
        share,
        threads: workers.threads() as u64,
        began: Instant::now(),
        ended: AtomicU64::new(0),
    };
    let results = workers.broadcast(|_| OfThread::new(&shared).work(workers.simd()));
    results.into_iter().collect()
}

/// The data that the threads share.
struct Shared<'a> {
    task: &'a Task<'a>,
    share: Share<'a>,
    threads: u64,
    began: Instant,
    ended: AtomicU64,
}

/// The runs of a thread.
struct OfThread<'a> {
    shared: &'a Shared<'a>,
    /// Runs that were drawn and not begun.
    drawn: Range<u64>,
    /// Records that were not delivered.
    ended: Vec<(u64, Record)>,
    /// Blocks since the last reading of the clock.
    blocks: u32,
    looked: Instant,
    failed: Option<EngineError>,
}

impl<'a> OfThread<'a> {
    fn new(shared: &'a Shared<'a>) -> Self {
        Self {
            shared,
            drawn: 0..0,
            ended: Vec::new(),
            blocks: 0,
            looked: Instant::now(),
            failed: None,
        }
    }

    fn draw(&mut self) -> Result<(), EngineError> {
        let &Shared {
            share,
            threads,
            began,
            ..
        } = self.shared;
        let ended = self.shared.ended.load(Ordering::Relaxed);
        let pace = Pace {
            backlog: 0,
            rate: ended as f64 / began.elapsed().as_secs_f64().max(1e-3),
        };
        let drawn = share.draw_for_thread(pace, MAX_RUNS_PER_DRAW, threads)?;
        self.drawn = drawn.unwrap_or_default();
        Ok(())
    }

    /// Delivers the records of ended runs.
    fn deliver(&mut self) -> Result<(), EngineError> {
        let Shared { task, share, .. } = self.shared;
        self.ended.sort_unstable_by_key(|(run, _)| *run);
        for runs in self.ended.chunk_by(|a, b| a.0 + 1 == b.0) {
            let records: Vec<Record> = runs.iter().map(|(_, record)| *record).collect();
            task.deliver(*share, runs[0].0, &records)?;
        }
        self.ended.clear();
        Ok(())
    }

    /// Delivers records, reports progress, and checks for a cancellation.
    fn look(&mut self) -> Result<(), EngineError> {
        let Shared { share, ended, .. } = self.shared;
        self.deliver()?;
        share.report(ended.load(Ordering::Relaxed));
        share.check()
    }

    /// Integrates runs until the task is done.
    fn work(&mut self, simd: Simd) -> Result<(), EngineError> {
        let task = self.shared.task;
        loop {
            lanes(simd, task, self);
            // Records are also delivered after the computation was ended, because a file keeps them.
            let delivered = self.deliver();
            self.failed.take().map_or(delivered, Err)?;
            if !self.shared.share.wait()? {
                return Ok(());
            }
        }
    }
}

impl Runs for OfThread<'_> {
    fn next(&mut self) -> Option<u64> {
        if self.drawn.is_empty()
            && let Err(error) = self.draw()
        {
            self.failed = Some(error);
        }
        self.drawn.next()
    }

    fn start(&mut self, run: u64) -> Start {
        self.shared.task.spec.start(run)
    }

    fn ended(&mut self, run: u64, record: &Record, _: &Pairs<f64>) {
        self.ended.push((run, *record));
        self.shared.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn stopped(&mut self) -> bool {
        self.blocks += 1;
        if self.blocks >= STEP_BLOCKS_PER_CHECK && self.failed.is_none() {
            self.blocks = 0;
            if self.looked.elapsed() >= DELIVERY_INTERVAL {
                self.failed = self.look().err();
                self.looked = Instant::now();
            }
        }
        self.failed.is_some()
    }
}

/// Scalar lanes, with the instruction for a fused multiply-add instead of a function call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma")]
fn scalar_fma(task: &Task<'_>, runs: &mut OfThread<'_>) {
    integrate::<f64, _>(task.spec.settings(), task.spec.stages(), runs);
}

/// A thread's work.
struct Integration<'a, 'b, 'c>(&'a Task<'b>, &'a mut OfThread<'c>);

impl OnLanes for Integration<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) {
        let Self(task, runs) = self;
        integrate::<D, _>(task.spec.settings(), task.spec.stages(), runs);
    }
}

/// Integrates the runs that the thread can draw.
fn lanes(simd: Simd, task: &Task<'_>, runs: &mut OfThread<'_>) {
    match simd {
        // SAFETY: the line above checks that the machine has the instruction.
        #[cfg(target_arch = "x86_64")]
        Simd::Scalar if trisolar_simd::has_fma() => unsafe { scalar_fma(task, runs) },
        _ => simd.run(Integration(task, runs)),
    }
}
