//! The items of a CPU thread with SIMD lanes, each of which takes another item as soon as its own has ended.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trisolar_run::queue::{Pace, Share};
use trisolar_run::{EngineError, Workers};

use super::contract::{Ensemble, Task};

/// Interval at which a thread delivers its values and checks for a cancellation.
const DELIVERY_INTERVAL: Duration = Duration::from_millis(5);
/// Largest number of items that a thread draws at a time.
const MAX_ITEMS_PER_DRAW: u64 = 64;

/// The data that the threads share.
struct Shared<'a, E: Ensemble> {
    task: &'a Task<'a, E>,
    share: Share<'a>,
    threads: u64,
    began: Instant,
    ended: AtomicU64,
}

/// The items of a thread.
#[allow(missing_debug_implementations)]
pub struct LaneItems<'a, E: Ensemble, T> {
    shared: &'a Shared<'a, E>,
    /// Items that were drawn and not begun.
    drawn: Range<u64>,
    /// Values that were not delivered.
    ended: Vec<(u64, T)>,
    /// Calls since the last reading of the clock.
    calls: u32,
    looked: Instant,
    failed: Option<EngineError>,
}

impl<E, T> LaneItems<'_, E, T>
where
    E: for<'x> Ensemble<Slice<'x> = &'x [T]>,
    T: Copy + 'static,
{
    /// The ensemble.
    pub fn spec(&self) -> &E {
        self.shared.task.spec
    }

    /// The number of the next item, if there is one.
    pub fn next_item(&mut self) -> Option<u64> {
        if self.drawn.is_empty()
            && let Err(error) = self.draw()
        {
            self.failed = Some(error);
        }
        self.drawn.next()
    }

    /// Takes the value of an item.
    pub fn ended(&mut self, item: u64, value: T) {
        self.ended.push((item, value));
        self.shared.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the thread has to stop. Every so many `calls` it reads the clock, and delivers what it has.
    pub fn stopped(&mut self, calls: u32) -> bool {
        self.calls += 1;
        if self.calls >= calls && self.failed.is_none() {
            self.calls = 0;
            if self.looked.elapsed() >= DELIVERY_INTERVAL {
                self.failed = self.look().err();
                self.looked = Instant::now();
            }
        }
        self.failed.is_some()
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
        let drawn = share.draw_for_thread(pace, MAX_ITEMS_PER_DRAW, threads)?;
        self.drawn = drawn.unwrap_or_default();
        Ok(())
    }

    /// Delivers the values of items that have ended.
    fn deliver(&mut self) -> Result<(), EngineError> {
        let Shared { task, share, .. } = self.shared;
        self.ended.sort_unstable_by_key(|(item, _)| *item);
        for items in self.ended.chunk_by(|a, b| a.0 + 1 == b.0) {
            let values: Vec<T> = items.iter().map(|(_, value)| *value).collect();
            task.deliver(*share, items[0].0, &values)?;
        }
        self.ended.clear();
        Ok(())
    }

    /// Delivers values, reports progress, and checks for a cancellation.
    fn look(&mut self) -> Result<(), EngineError> {
        let Shared { share, ended, .. } = self.shared;
        self.deliver()?;
        share.report(ended.load(Ordering::Relaxed));
        share.check()
    }

    /// Does the work until the task is done.
    fn work(&mut self, work: &impl Fn(&mut Self)) -> Result<(), EngineError> {
        loop {
            work(self);
            // Values are also delivered after the computation was ended, because a file keeps them.
            let delivered = self.deliver();
            self.failed.take().map_or(delivered, Err)?;
            if !self.shared.share.wait()? {
                return Ok(());
            }
        }
    }
}

/// Computes items of the task on all threads: `work` computes those that the items it is given can draw.
///
/// # Errors
/// Those of the queue and of the sink.
pub fn on_lanes<E, T>(
    task: &Task<'_, E>,
    workers: &Workers,
    share: Share<'_>,
    work: impl Fn(&mut LaneItems<'_, E, T>) + Sync,
) -> Result<(), EngineError>
where
    E: for<'x> Ensemble<Slice<'x> = &'x [T]>,
    T: Copy + Send + 'static,
{
    let shared = Shared {
        task,
        share,
        threads: workers.threads() as u64,
        began: Instant::now(),
        ended: AtomicU64::new(0),
    };
    let results = workers.broadcast(|_| {
        let mut items = LaneItems {
            shared: &shared,
            drawn: 0..0,
            ended: Vec::new(),
            calls: 0,
            looked: Instant::now(),
            failed: None,
        };
        items.work(&work)
    });
    results.into_iter().collect()
}
