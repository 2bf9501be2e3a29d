//! Keeps the queue of a rank's devices filled.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kernels_gpu::device::fetch::TILE;

use super::message::Message;
use super::post::{Heard, Line};
use crate::queue::{Pace, Queue, Share};
use crate::sink::Sink;
use crate::value::{ValueSlice, ValueVec};
use trisolar_run::queue::Supply;
use trisolar_run::{EngineError, Monitor};

/// Interval at which a rank checks whether its devices need more pixels, which is also the longest time that results wait before
/// they are sent.
const TICK: Duration = Duration::from_millis(2);
/// Time after which an unanswered request is repeated, because rank 0 may have assumed that the rank has enough pixels.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(8);
/// Interval at which a rank reports its progress to rank 0.
const BETWEEN_NEWS: Duration = Duration::from_millis(100);

/// When to ask for more: when half of what there was is used up.
#[derive(Default)]
struct Appetite {
    enough: u64,
}

impl Appetite {
    fn is_hungry(&self, pace: Pace) -> bool {
        pace.backlog <= self.enough
    }

    /// Records that `more` pixels arrived in addition to the `before` that were left.
    fn got(&mut self, before: u64, more: u64) {
        self.enough = (before + more) / 2;
    }
}

/// Pixels that a device of this kind takes as one piece.
fn unit(engine: &str) -> u64 {
    if engine.starts_with("gpu") {
        u64::from(TILE)
    } else {
        1
    }
}

/// Rank 0's devices draw from the queue of all ranks.
pub(super) struct FromShare<'a> {
    pub share: Share<'a>,
    /// The engine's name.
    pub engine: &'static str,
}

impl Supply for FromShare<'_> {
    fn feed(&self, queue: &Queue<'_>) {
        if queue.wait_for_start() && self.try_feed(queue).is_err() {
            // What it was is known to the queue of all ranks.
            queue.end_with(EngineError::Cancelled);
        }
    }
}

impl FromShare<'_> {
    fn try_feed(&self, queue: &Queue<'_>) -> Result<(), EngineError> {
        self.share.set_capacity(queue.capacity());
        self.share.ready();
        let mut appetite = Appetite::default();
        while queue.end().is_none() {
            let pace = queue.pace();
            if appetite.is_hungry(pace) {
                let spans = self.share.draw(pace, u64::MAX, unit(self.engine))?.spans;
                if !spans.is_empty() {
                    let count = spans.iter().map(|s| s.end - s.start).sum();
                    appetite.got(pace.backlog, count);
                    queue.add(spans);
                } else if self.share.is_over()? {
                    queue.close();
                    return Ok(());
                }
            }
            self.share.check()?;
            queue.pause(TICK);
        }
        Ok(())
    }
}

/// What rank 0's devices deliver, and how far they are.
pub(super) struct ToShare<'a>(pub Share<'a>);

impl Sink for ToShare<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        self.0.deliver(first, values)
    }
}

impl Monitor for ToShare<'_> {
    fn progress(&self, done: u64, _: u64) {
        self.0.report(done);
    }

    fn cancelled(&self) -> bool {
        self.0.check().is_err()
    }
}

/// Another rank's devices, whose pixels rank 0 grants and whose results it gets.
pub(super) struct Granted<'a> {
    pub line: &'a Line<'a>,
    /// The engine's name.
    pub engine: &'static str,
    /// Results to be sent.
    pub out: Mutex<Vec<(u64, ValueVec)>>,
    /// Whether nobody wants them any more.
    pub unwanted: AtomicBool,
}

impl Sink for Granted<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let mut out = self.out.lock().expect("nobody panics with it");
        match out.last_mut() {
            Some((begin, all)) if *begin + all.len() as u64 == first => all.extend(values),
            _ => out.push((first, values.to_vec())),
        }
        Ok(())
    }
}

impl Monitor for Granted<'_> {
    fn cancelled(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }
}

impl Supply for Granted<'_> {
    fn feed(&self, queue: &Queue<'_>) {
        let mut appetite = Appetite::default();
        // When rank 0 was told something, when it was asked, and how often it gave.
        let (mut told, mut asked, mut grants) = (None, None, 0);
        let lately = |then: Option<Instant>, most| then.is_some_and(|then| then.elapsed() < most);
        while queue.end().is_none() {
            self.send();
            if told.is_none() && queue.has_started() {
                let (capacity, unit) = (queue.capacity(), unit(self.engine));
                self.line.say(&Message::Ready { capacity, unit });
                told = Some(Instant::now());
            }
            let (pace, steps) = (queue.pace(), queue.steps_done());
            if told.is_some() && appetite.is_hungry(pace) && !lately(asked, BETWEEN_QUESTIONS) {
                self.line.say(&Message::Ask {
                    backlog: pace.backlog,
                    rate: pace.rate,
                    steps,
                    number: grants,
                });
                (told, asked) = (Some(Instant::now()), Some(Instant::now()));
            } else if told.is_some() && !lately(told, BETWEEN_NEWS) {
                self.line.say(&Message::Steps(steps));
                told = Some(Instant::now());
            }
            match self.line.hear(TICK) {
                Heard::Message(Message::Grant(spans)) => {
                    let count = spans.iter().map(|s| s.end - s.start).sum();
                    appetite.got(queue.pace().backlog, count);
                    queue.add(spans);
                    (asked, grants) = (None, grants + 1);
                }
                Heard::Message(Message::End) => return queue.close(),
                Heard::Message(Message::Cancel) | Heard::Over => {
                    self.unwanted.store(true, Ordering::Relaxed);
                    queue.end_with(EngineError::Cancelled);
                }
                Heard::Message(_) | Heard::Nothing => {}
            }
        }
    }
}

impl Granted<'_> {
    /// What has been computed, to rank 0.
    fn send(&self) {
        let out = std::mem::take(&mut *self.out.lock().expect("nobody panics with it"));
        if !out.is_empty() {
            self.line.say(&Message::Results(out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_asked_for_when_half_of_it_is_used_up() {
        let mut appetite = Appetite::default();
        let hungry = |appetite: &Appetite, backlog| appetite.is_hungry(Pace { backlog, rate: 1.0 });
        assert!(hungry(&appetite, 0));
        appetite.got(20, 80);
        assert!(!hungry(&appetite, 51));
        assert!(hungry(&appetite, 50));
    }
}
