//! Keeps the queue of a rank's devices filled.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::mailbox::{Heard, Line};
use super::message::{Message, Piece};
use crate::queue::{Pace, Queue, Share, Supply};
use crate::{EngineError, Monitor};

/// Interval at which a rank checks whether its devices need more items, which is also the longest time that results wait before
/// they are sent.
const TICK: Duration = Duration::from_millis(2);
/// Time after which an unanswered request is repeated, because rank 0 may have assumed that the rank has enough items.
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

    /// Records that `more` items arrived in addition to the `before` that were left.
    fn got(&mut self, before: u64, more: u64) {
        self.enough = (before + more) / 2;
    }
}

/// Rank 0's devices draw from the queue of all ranks.
#[allow(missing_debug_implementations)]
pub struct FromShare<'a> {
    /// Their share of that queue.
    pub share: Share<'a>,
    /// Items that the devices take as one piece.
    pub unit: u64,
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
                let spans = self.share.draw(pace, u64::MAX, self.unit)?.spans;
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

/// Watches rank 0's devices: how far they are, and whether the run has ended for all ranks.
#[allow(missing_debug_implementations)]
pub struct ToShare<'a>(pub Share<'a>);

impl Monitor for ToShare<'_> {
    fn progress(&self, done: u64, _: u64) {
        self.0.report(done);
    }

    fn cancelled(&self) -> bool {
        self.0.check().is_err()
    }
}

/// Another rank's devices, whose items rank 0 grants and whose results it gets.
#[allow(missing_debug_implementations)]
pub struct Granted<'a> {
    line: &'a Line<'a>,
    /// Items that the devices take as one piece.
    unit: u64,
    /// Results to be sent.
    out: Mutex<Vec<Piece>>,
    /// Whether nobody wants them any more.
    unwanted: AtomicBool,
}

impl<'a> Granted<'a> {
    pub(super) fn new(line: &'a Line<'a>, unit: u64) -> Self {
        Self {
            line,
            unit,
            out: Mutex::default(),
            unwanted: AtomicBool::new(false),
        }
    }

    /// Takes the results of `count` items from number `first` on, to be sent to rank 0.
    pub fn put(&self, first: u64, count: u64, bytes: &[u8]) {
        let mut out = self.out.lock().expect("nobody panics with it");
        match out.last_mut() {
            Some(last) if last.first + last.count == first => {
                last.count += count;
                last.bytes.extend(bytes);
            }
            _ => out.push(Piece {
                first,
                count,
                bytes: bytes.to_vec(),
            }),
        }
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
                let (capacity, unit) = (queue.capacity(), self.unit);
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
