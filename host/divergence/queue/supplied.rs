//! A queue that receives pixels while it is used, as in one of several processes.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{Pace, Queue, Share};
use trisolar_run::EngineError;

impl Queue<'_> {
    /// Allows further pixels to be added until [`close`](Self::close).
    pub fn open(&self) {
        self.lock().open = true;
    }

    /// Adds pixels that have arrived.
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

    /// Declares that no more pixels will arrive.
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

    /// Waits until something changes, but at most for this time.
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

    /// Sum of the numbers of pixels that the devices compute at a time.
    pub fn capacity(&self) -> u64 {
        self.lock().members.iter().map(|m| m.capacity).sum()
    }

    /// Steps that the devices have reported.
    pub fn steps_done(&self) -> u64 {
        self.lock().members.iter().map(|m| m.steps).sum()
    }
}

impl Share<'_> {
    /// Sets the number of pixels that the device computes at a time, once it is known.
    pub fn set_capacity(&self, pixels: u64) {
        self.queue.lock().members[self.member].capacity = pixels.max(1);
    }

    /// Whether all pixels are done and no more will arrive.
    ///
    /// # Errors
    /// What ended the run.
    pub fn is_over(&self) -> Result<bool, EngineError> {
        self.check()?;
        Ok(!self.queue.unfinished())
    }

    /// Ends the run for all devices with this error; returns the error with which the run ended first.
    pub fn fail(&self, error: EngineError) -> EngineError {
        self.queue.end_with(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unattended;
    use crate::sink::Memory;
    use crate::value::{ValueSlice, ValueType, ValueVec};

    #[test]
    fn a_device_waits_for_pixels_that_may_come_and_is_done_when_none_will() {
        let sink = Memory::new(ValueType::U32, 10).expect("memory");
        let queue = Queue::new(&[], 5, &[4], &sink, &Unattended);
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
                    let times: Vec<u32> = span.clone().map(|n| n as u32).collect();
                    share
                        .deliver(span.start, ValueSlice::U32(&times))
                        .expect("delivers");
                }
            }
        });
        assert!(share.is_over().expect("nothing failed"));
        assert_eq!(queue.delivered(), [10]);
        assert_eq!(sink.into_values(), ValueVec::U32((0..10).collect()));
    }
}
