//! Keeps the queue of a rank's devices filled.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kernels_gpu::device::fetch::TILE;

use super::Supply;
use super::mailbox::{Channel, Received};
use super::message::Message;
use crate::queue::{Pace, Queue, Share};
use crate::sink::Sink;
use crate::value::{ValueSlice, ValueVec};
use trisolar_run::{EngineError, Monitor};

/// Interval at which a rank checks whether its devices need more pixels, which is also the longest time that results wait before
/// they are sent.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// Time after which an unanswered request is repeated, because rank 0 may have assumed that the rank has enough pixels.
const REQUEST_REPEAT_INTERVAL: Duration = Duration::from_millis(8);
/// Interval at which a rank reports its progress to rank 0.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Decides when to ask for more pixels: when half of the pixels are used up.
#[derive(Default)]
struct RefillRule {
    enough: u64,
}

impl RefillRule {
    fn is_low(&self, pace: Pace) -> bool {
        pace.backlog <= self.enough
    }

    /// Records that `more` pixels arrived in addition to the `before` that were left.
    fn refilled(&mut self, before: u64, more: u64) {
        self.enough = (before + more) / 2;
    }
}

/// Pixels that a device of this kind takes in one piece.
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
            // The queue of all ranks has the error itself.
            queue.end_with(EngineError::Cancelled);
        }
    }
}

impl FromShare<'_> {
    fn try_feed(&self, queue: &Queue<'_>) -> Result<(), EngineError> {
        self.share.set_capacity(queue.capacity());
        self.share.ready();
        let mut refill = RefillRule::default();
        while queue.end().is_none() {
            let pace = queue.pace();
            if refill.is_low(pace) {
                let spans = self.share.draw(pace, u64::MAX, unit(self.engine))?.spans;
                if !spans.is_empty() {
                    let count = spans.iter().map(|s| s.end - s.start).sum();
                    refill.refilled(pace.backlog, count);
                    queue.add(spans);
                } else if self.share.is_over()? {
                    queue.close();
                    return Ok(());
                }
            }
            self.share.check()?;
            queue.pause(CHECK_INTERVAL);
        }
        Ok(())
    }
}

/// Passes on the results and the progress of rank 0's devices.
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

/// The devices of another rank: rank 0 grants their pixels and receives their results.
pub(super) struct Granted<'a> {
    pub channel: &'a Channel<'a>,
    /// The engine's name.
    pub engine: &'static str,
    /// Results to be sent.
    pub out: Mutex<Vec<(u64, ValueVec)>>,
    /// Whether the results are no longer needed.
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
        let mut refill = RefillRule::default();
        // The times of the last report and of the last request to rank 0, and the number of its grants.
        let (mut told, mut asked, mut grants) = (None, None, 0);
        let lately = |then: Option<Instant>, most| then.is_some_and(|then| then.elapsed() < most);
        while queue.end().is_none() {
            self.send();
            if told.is_none() && queue.has_started() {
                let (capacity, unit) = (queue.capacity(), unit(self.engine));
                self.channel.send(&Message::Ready { capacity, unit });
                told = Some(Instant::now());
            }
            let (pace, steps) = (queue.pace(), queue.steps_done());
            if told.is_some() && refill.is_low(pace) && !lately(asked, REQUEST_REPEAT_INTERVAL) {
                self.channel.send(&Message::Ask {
                    backlog: pace.backlog,
                    rate: pace.rate,
                    steps,
                    number: grants,
                });
                (told, asked) = (Some(Instant::now()), Some(Instant::now()));
            } else if told.is_some() && !lately(told, REPORT_INTERVAL) {
                self.channel.send(&Message::Steps(steps));
                told = Some(Instant::now());
            }
            match self.channel.receive(CHECK_INTERVAL) {
                Received::Message(Message::Grant(spans)) => {
                    let count = spans.iter().map(|s| s.end - s.start).sum();
                    refill.refilled(queue.pace().backlog, count);
                    queue.add(spans);
                    (asked, grants) = (None, grants + 1);
                }
                Received::Message(Message::End) => return queue.close(),
                Received::Message(Message::Cancel) | Received::Closed => {
                    self.unwanted.store(true, Ordering::Relaxed);
                    queue.end_with(EngineError::Cancelled);
                }
                Received::Message(_) | Received::Timeout => {}
            }
        }
    }
}

impl Granted<'_> {
    /// Sends the computed values to rank 0.
    fn send(&self) {
        let out = std::mem::take(&mut *self.out.lock().expect("nobody panics with it"));
        if !out.is_empty() {
            self.channel.send(&Message::Results(out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_asked_for_when_half_of_it_is_used_up() {
        let mut refill = RefillRule::default();
        let low = |refill: &RefillRule, backlog| refill.is_low(Pace { backlog, rate: 1.0 });
        assert!(low(&refill, 0));
        refill.refilled(20, 80);
        assert!(!low(&refill, 51));
        assert!(low(&refill, 50));
    }
}
