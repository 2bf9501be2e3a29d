//! Keeps the queue of a rank's devices filled.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::mailbox::{Channel, Received};
use super::message::{Message, Piece};
use crate::queue::{Pace, Queue, Share, Supply};
use crate::{EngineError, Monitor};

/// Interval at which a rank checks whether its devices need more items, which is also the longest time that results wait before
/// they are sent.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// Time after which an unanswered request is repeated, because rank 0 may have assumed that the rank has enough items.
const REQUEST_REPEAT_INTERVAL: Duration = Duration::from_millis(8);
/// Interval at which a rank reports its progress to rank 0.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Decides when to ask for more items: when half of the available items are used up.
#[derive(Default)]
struct RefillRule {
    enough: u64,
}

impl RefillRule {
    fn is_low(&self, pace: Pace) -> bool {
        pace.backlog <= self.enough
    }

    /// Records that `more` items arrived in addition to the `before` that were left.
    fn refilled(&mut self, before: u64, more: u64) {
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
            // The queue of all ranks knows the error.
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
                let spans = self.share.draw(pace, u64::MAX, self.unit)?.spans;
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

/// The monitor of rank 0's devices, which passes on their progress and tells them when the run has ended for all ranks.
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

/// The devices of another rank, which compute items that rank 0 grants and send it the results.
#[allow(missing_debug_implementations)]
pub struct Granted<'a> {
    channel: &'a Channel<'a>,
    /// Items that the devices take as one piece.
    unit: u64,
    /// Results that wait to be sent.
    out: Mutex<Vec<Piece>>,
    /// Whether the run has ended, so that the results are not needed.
    unwanted: AtomicBool,
}

impl<'a> Granted<'a> {
    /// Items that rank 0 grants, for devices that take `unit` of them as one piece.
    pub fn new(channel: &'a Channel<'a>, unit: u64) -> Self {
        Self {
            channel,
            unit,
            out: Mutex::default(),
            unwanted: AtomicBool::new(false),
        }
    }

    /// Takes the results of `count` items from number `first` on, and sends them to rank 0.
    pub fn put(&self, first: u64, count: u64, bytes: &[u8]) {
        let mut out = self.out.lock().expect("never poisoned");
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
        let mut refill = RefillRule::default();
        // The times of the last report and of the last request to rank 0, and the number of grants.
        let (mut told, mut asked, mut grants) = (None, None, 0);
        let lately = |then: Option<Instant>, most| then.is_some_and(|then| then.elapsed() < most);
        while queue.end().is_none() {
            self.send();
            if told.is_none() && queue.has_started() {
                let (capacity, unit) = (queue.capacity(), self.unit);
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
    /// Sends the computed results to rank 0.
    fn send(&self) {
        let out = std::mem::take(&mut *self.out.lock().expect("never poisoned"));
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
