//! A queue that receives items while it is used, as in one of several processes.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{Pace, Queue, Share};
use crate::EngineError;

/// Where the items of a run come from while it is under way.
pub trait Supply: Sync {
    /// Runs beside the devices and adds items to their queue until there are no more, and then closes it.
    fn feed(&self, queue: &Queue<'_>);
}

impl Queue<'_> {
    /// More items may come, until [`close`](Self::close).
    pub fn open(&self) {
        self.lock().open = true;
    }

    /// These items have come.
    pub fn add(&self, spans: Vec<Range<u64>>) {
        let mut state = self.lock();
        for span in spans.into_iter().filter(|s| !s.is_empty()) {
            let count = span.end - span.start;
            state.left += count;
            state.missing += count;
            state.total += count;
            state.free.push_back(span);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// No more items will come.
    pub fn close(&self) {
        self.lock().open = false;
        self.changed.notify_all();
    }

    /// Waits until all devices are ready; false if the run has ended before.
    pub fn wait_for_start(&self) -> bool {
        let mut state = self.lock();
        while state.end.is_none() && state.started.is_none() {
            let paused = self
                .changed
                .wait_timeout(state, super::CANCELLATION_CHECK_INTERVAL);
            state = paused.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        state.end.is_none()
    }

    /// Whether all devices are ready.
    pub fn has_started(&self) -> bool {
        self.lock().started.is_some()
    }

    /// Waits for something to change, but not for long.
    pub fn pause(&self, most: Duration) {
        let paused = self.changed.wait_timeout(self.lock(), most);
        drop(paused);
    }

    /// The total backlog and speed of the devices.
    pub fn pace(&self) -> Pace {
        let (state, now) = (self.lock(), Instant::now());
        let active = || state.members.iter().filter(|m| !m.gone);
        let before: f64 = active().map(|m| m.backlog(now)).sum();
        Pace {
            backlog: state.left + before as u64,
            rate: active().map(|m| m.pace.rate).sum(),
        }
    }

    /// Items that the devices take at a time, taken together.
    pub fn capacity(&self) -> u64 {
        self.lock().members.iter().map(|m| m.capacity).sum()
    }

    /// Steps that the devices have accounted for.
    pub fn steps_done(&self) -> u64 {
        self.lock().members.iter().map(|m| m.steps).sum()
    }
}

impl Share<'_> {
    /// The device turns out to work on so many items at a time.
    pub fn set_capacity(&self, items: u64) {
        self.queue.lock().members[self.member].capacity = items.max(1);
    }

    /// Whether there is nothing left to do, nor will be.
    ///
    /// # Errors
    /// What ended the run.
    pub fn is_over(&self) -> Result<bool, EngineError> {
        self.check()?;
        Ok(!self.queue.unfinished())
    }

    /// Ends the run for all with this error, or what ended it before.
    pub fn fail(&self, error: EngineError) -> EngineError {
        self.queue.end_with(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::Unattended;

    #[test]
    fn a_device_waits_for_items_that_may_come_and_is_done_when_none_will() {
        let stored = Mutex::new(Vec::new());
        let queue = Queue::new(&[], 5, &[4], &Unattended);
        queue.open();
        let share = queue.share(0);
        assert!(share.ready());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for spans in [vec![4..9], vec![], vec![0..4, 9..9, 9..10]] {
                    std::thread::sleep(Duration::from_millis(5));
                    assert!(queue.unfinished());
                    queue.add(spans);
                }
                std::thread::sleep(Duration::from_millis(5));
                queue.close();
            });
            while share.wait().expect("nothing fails") {
                for span in share.draw(Pace::default(), 3, 1).expect("draws").spans {
                    let put = || {
                        stored.lock().expect("no panic").extend(span.clone());
                        Ok(())
                    };
                    share.deliver(span.clone(), put).expect("delivers");
                }
            }
        });
        assert!(share.is_over().expect("nothing failed"));
        assert_eq!(queue.delivered(), [10]);
        let mut stored = stored.into_inner().expect("no panic");
        stored.sort_unstable();
        assert_eq!(stored, (0..10).collect::<Vec<u64>>());
    }
}
