//! The queue of a run: the items (pixels of a map, encounters) that are not computed yet, which all devices of the run share.
//!
//! Every device draws [spans](Grant) of consecutive items and delivers their results. The queue limits the number of items so
//! that all devices finish together, whatever their speeds: each device reports its speed and its backlog, and no device draws more
//! items than it would compute in the remaining time of the whole run. Towards the end the portions become small. The items of a
//! device that fails go back to the queue.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::gpu::Stopwatch;
use crate::{EngineError, LONGEST_REACTION, Monitor};

mod supplied;

pub use supplied::Supply;

/// Time after which a device without work checks for a cancellation again.
const CANCELLATION_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Shortest time between two calls of the monitor.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// Largest backlog of a device. It is smaller if the [monitor](Monitor::reaction) needs a faster reaction, and near the end of the run.
pub const MAX_TIME_AHEAD: Duration = LONGEST_REACTION;
/// Smallest backlog of a device.
pub const MIN_TIME_AHEAD: Duration = Duration::from_millis(12);

/// The items that a device may compute next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Numbers of the items, in spans, each of which is in ascending order.
    pub spans: Vec<Range<u64>>,
    /// The time for which these items are expected to last. The device should draw again well before it is over.
    pub ahead: Duration,
}

/// The speed and the backlog of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Number of items that it has drawn but not begun.
    pub backlog: u64,
    /// Items that it computes per second, or 0 if that is not known yet.
    pub rate: f64,
}

/// The queue of a run.
#[allow(missing_debug_implementations)]
pub struct Queue<'a> {
    state: Mutex<QueueState>,
    changed: Condvar,
    monitor: &'a dyn Monitor,
    /// Steps of an item.
    steps: u64,
    /// The number of steps that the monitor was last told, and when.
    told: Mutex<(u64, Option<Instant>)>,
    /// Called when all devices are ready.
    at_start: Option<&'a (dyn Fn() + Sync)>,
}

struct QueueState {
    free: VecDeque<Range<u64>>,
    /// Number of items in `free`.
    left: u64,
    /// Number of items that have not been delivered.
    missing: u64,
    /// Number of items of the run that have arrived so far.
    total: u64,
    /// Whether more items may arrive.
    open: bool,
    members: Vec<QueueDevice>,
    /// The intended backlog of a device, as a time, unless the end is near.
    far: Duration,
    /// When all devices were ready.
    started: Option<Stopwatch>,
    /// The time from then to the last result.
    took: Option<Duration>,
    /// The error that ends the run for all devices.
    end: Option<EngineError>,
}

/// A device of the run.
struct QueueDevice {
    /// The spans that it has drawn and not delivered, by their first items.
    drawn: BTreeMap<u64, u64>,
    /// Number of items that it computes at a time.
    capacity: u64,
    pace: Pace,
    told: Instant,
    /// Number of steps that it has accounted for.
    steps: u64,
    delivered: u64,
    ready: bool,
    gone: bool,
}

impl QueueDevice {
    /// Records spans that it has drawn. Adjacent spans become one, because they may be delivered together.
    fn add(&mut self, span: &Range<u64>) {
        let (mut start, mut end) = (span.start, span.end);
        if let Some((&before, &its_end)) = self.drawn.range(..start).next_back()
            && its_end == start
        {
            start = before;
        }
        if let Some(after) = self.drawn.remove(&end) {
            end = after;
        }
        self.drawn.insert(start, end);
    }

    /// Estimated number of items that the device still has to compute.
    fn backlog(&self, now: Instant) -> f64 {
        let since = now.duration_since(self.told).as_secs_f64();
        (self.pace.backlog as f64 - self.pace.rate * since).max(0.0)
    }
}

impl<'a> Queue<'a> {
    /// A queue of these spans of items, which have `steps` steps each. Each device works on its number in `capacities` of items at a time.
    pub fn new(
        spans: &[Range<u64>],
        steps: u64,
        capacities: &[u64],
        monitor: &'a dyn Monitor,
    ) -> Self {
        let free: VecDeque<Range<u64>> = spans.iter().filter(|s| !s.is_empty()).cloned().collect();
        let total = free.iter().map(|s| s.end - s.start).sum();
        let state = QueueState {
            free,
            left: total,
            missing: total,
            total,
            open: false,
            members: Vec::new(),
            far: monitor.reaction().clamp(MIN_TIME_AHEAD, MAX_TIME_AHEAD),
            started: None,
            took: None,
            end: None,
        };
        let queue = Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            monitor,
            steps,
            told: Mutex::new((0, None)),
            at_start: None,
        };
        for capacity in capacities {
            queue.join(*capacity);
        }
        queue
    }

    /// Sets a function that is called when all devices are ready.
    #[must_use]
    pub fn at_start(mut self, call: Option<&'a (dyn Fn() + Sync)>) -> Self {
        self.at_start = call;
        self
    }

    /// Adds a device.
    pub fn join(&self, capacity: u64) -> usize {
        let mut state = self.lock();
        state.members.push(QueueDevice {
            drawn: BTreeMap::new(),
            capacity: capacity.max(1),
            pace: Pace::default(),
            told: Instant::now(),
            steps: 0,
            delivered: 0,
            ready: false,
            gone: false,
        });
        state.members.len() - 1
    }

    /// The share of the run for the device with this number.
    pub fn share(&self, member: usize) -> Share<'_> {
        Share {
            queue: self,
            member,
        }
    }

    /// Whether items are left to compute or may still arrive.
    pub fn unfinished(&self) -> bool {
        !self.lock().is_over()
    }

    /// The error that ended the run early, if there is one.
    pub fn end(&self) -> Option<EngineError> {
        self.lock().end.clone()
    }

    /// Number of items that each device has delivered.
    pub fn delivered(&self) -> Vec<u64> {
        self.lock().members.iter().map(|m| m.delivered).collect()
    }

    /// Time from the moment at which all devices were ready to the last result.
    pub fn elapsed(&self) -> Duration {
        self.lock().took.unwrap_or_default()
    }

    /// Tells the monitor that the run is complete.
    pub fn tell_all_done(&self) {
        self.tell(u64::MAX);
    }

    /// Tells the monitor this number of steps, a few times a second. Calls do not overlap, and the number never decreases.
    fn tell(&self, done: u64) {
        let total = self.lock().total.saturating_mul(self.steps);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let lately = told
            .1
            .is_some_and(|then| then.elapsed() < MIN_PROGRESS_INTERVAL);
        if lately && done < total {
            return;
        }
        *told = (done.min(total).max(told.0), Some(Instant::now()));
        self.monitor.progress(told.0, total);
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // No code that may panic leaves the state inconsistent, so a poisoned lock can be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run for all devices, unless it has ended already; returns the error that ended it.
    pub fn end_with(&self, error: EngineError) -> EngineError {
        let mut state = self.lock();
        let error = state.end.get_or_insert(error).clone();
        drop(state);
        self.changed.notify_all();
        error
    }
}

impl QueueState {
    /// The number of items that `member` should have as its backlog, and the time for which they last.
    fn plan(&self, member: usize, now: Instant) -> (f64, Duration) {
        let me = &self.members[member];
        let active = || self.members.iter().filter(|m| !m.gone);
        let rate: f64 = active().map(|m| m.pace.rate).sum();
        if me.pace.rate <= 0.0 {
            // No speed is known yet: two rounds, or an equal share of a small map.
            let all: u64 = active().map(|m| m.capacity).sum();
            let fair = self.left as f64 * me.capacity as f64 / all as f64;
            return (fair.ceil().min(2.0 * me.capacity as f64), MIN_TIME_AHEAD);
        }
        if self.left == 0 || active().count() == 1 {
            // The device is alone.
            let seconds = self.far.as_secs_f64();
            return (me.pace.rate * seconds + me.capacity as f64, self.far);
        }
        let before: f64 = active().map(|m| m.backlog(now)).sum();
        // The time that the run still needs. Half of it is left for devices that turn out to be faster than expected.
        let needed = (self.left as f64 + before) / rate;
        let ahead = (needed / 2.0).clamp(MIN_TIME_AHEAD.as_secs_f64(), self.far.as_secs_f64());
        // Threads that start together also end together, so a part of a round is added to what the time allows.
        let round = me.capacity as f64 * (ahead / self.far.as_secs_f64()).powi(2);
        (me.pace.rate * ahead + round, Duration::from_secs_f64(ahead))
    }

    /// Half of the share of the remaining items that `member` would compute at its speed, or all of them if it is alone.
    fn portion(&self, member: usize) -> u64 {
        let rates = || self.members.iter().filter(|m| !m.gone).map(|m| m.pace.rate);
        let members = rates().count();
        if members == 1 {
            return self.left;
        }
        let share = if rates().all(|rate| rate > 0.0) {
            self.members[member].pace.rate / rates().sum::<f64>()
        } else {
            1.0 / members as f64
        };
        (self.left as f64 * share / 2.0).ceil() as u64
    }

    /// Takes up to `items` items from the front, in multiples of `unit` as far as the spans are long enough. A span takes up a multiple of
    /// `unit` in `room`, which is a multiple as well.
    fn draw(&mut self, member: usize, mut items: u64, mut room: u64, unit: u64) -> Vec<Range<u64>> {
        let mut spans = Vec::new();
        while items > 0 && room > 0 {
            let Some(front) = self.free.front_mut() else {
                break;
            };
            let most = items.div_ceil(unit).saturating_mul(unit).min(room);
            let end = front.end.min(front.start.saturating_add(most));
            let span = front.start..end;
            front.start = end;
            if front.is_empty() {
                self.free.pop_front();
            }
            let count = span.end - span.start;
            items = items.saturating_sub(count);
            room = room.saturating_sub(count.next_multiple_of(unit));
            self.left -= count;
            self.members[member].add(&span);
            spans.push(span);
        }
        spans
    }

    /// Whether all items of the run have been delivered.
    fn is_over(&self) -> bool {
        self.missing == 0 && !self.open
    }

    /// Removes a span from those that the device has drawn; false if the device did not draw it.
    fn settle(&mut self, member: usize, span: &Range<u64>) -> bool {
        let drawn = &mut self.members[member].drawn;
        let Some((&start, &end)) = drawn.range(..=span.start).next_back() else {
            return false;
        };
        if end < span.end {
            return false;
        }
        drawn.remove(&start);
        if start < span.start {
            drawn.insert(start, span.start);
        }
        if span.end < end {
            drawn.insert(span.end, end);
        }
        true
    }
}

/// The handle by which a device takes part in a run.
#[allow(missing_debug_implementations)]
#[derive(Clone, Copy)]
pub struct Share<'a> {
    queue: &'a Queue<'a>,
    member: usize,
}

impl Share<'_> {
    /// Reports that the device is ready and waits until all devices are; the measured time begins then. False if the run has ended.
    pub fn ready(&self) -> bool {
        let queue = self.queue;
        let mut state = queue.lock();
        state.members[self.member].ready = true;
        queue.changed.notify_all();
        while state.end.is_none() && state.started.is_none() {
            if state.members.iter().all(|m| m.ready || m.gone) {
                if let Some(call) = queue.at_start {
                    call();
                }
                state.started = Some(Stopwatch::start());
                break;
            }
            state = self.pause(state);
            if queue.monitor.cancelled() {
                state.end.get_or_insert(EngineError::Cancelled);
            }
        }
        queue.changed.notify_all();
        state.end.is_none()
    }

    /// Draws items for a device with the backlog `pace.backlog` and room for `room` more items (a multiple of `unit`), in multiples of
    /// `unit` as far as the spans are long enough. A shorter span takes the room of a whole `unit`.
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn draw(&self, pace: Pace, room: u64, unit: u64) -> Result<Grant, EngineError> {
        self.check()?;
        let mut state = self.queue.lock();
        let now = Instant::now();
        let me = &mut state.members[self.member];
        (me.pace, me.told) = (pace, now);
        let (wanted, ahead) = state.plan(self.member, now);
        let more = (wanted - pace.backlog as f64).max(0.0) as u64;
        // A device without work gets at least one unit.
        let more = if pace.backlog == 0 {
            more.max(unit)
        } else {
            more
        };
        let spans = state.draw(self.member, more, room, unit);
        Ok(Grant { spans, ahead })
    }

    /// Draws a span of up to `most` items for one of the device's `threads`, each of which draws its own items.
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn draw_for_thread(
        &self,
        pace: Pace,
        most: u64,
        threads: u64,
    ) -> Result<Option<Range<u64>>, EngineError> {
        self.check()?;
        let mut state = self.queue.lock();
        let now = Instant::now();
        let me = &mut state.members[self.member];
        (me.pace, me.told) = (pace, now);
        let (wanted, _) = state.plan(self.member, now);
        // Towards the end of the run every thread takes few items, so that no thread has many left.
        let fair = (wanted as u64 / threads).min(state.left / (4 * threads));
        // It is a single span, so the rest of the first span limits it.
        let first = state.free.front().map_or(0, |span| span.end - span.start);
        let items = most.min(fair.max(1)).min(first);
        Ok(state.draw(self.member, items, items, 1).pop())
    }

    /// Draws a portion for a device that begins all of its items at once and returns them together: all remaining items if the device is
    /// alone, otherwise half of the share that it would compute at its speed. The portion has at least `least` items, unless that is more
    /// than an equal share of the run, and at most `most`.
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn draw_portion(
        &self,
        rate: f64,
        least: u64,
        most: u64,
    ) -> Result<Vec<Range<u64>>, EngineError> {
        self.check()?;
        let mut state = self.queue.lock();
        let me = &mut state.members[self.member];
        me.pace = Pace { backlog: 0, rate };
        me.told = Instant::now();
        let members = state.members.iter().filter(|m| !m.gone).count() as u64;
        let least = least.min(state.total.div_ceil(members));
        let portion = state.portion(self.member).max(least).min(most);
        Ok(state.draw(self.member, portion, portion, 1))
    }

    /// Reports the steps that the device has accounted for so far.
    pub fn report(&self, steps: u64) {
        let queue = self.queue;
        let mut state = queue.lock();
        state.members[self.member].steps = steps;
        let done: u64 = state.members.iter().map(|m| m.steps).sum();
        drop(state);
        queue.tell(done);
    }

    /// Stores the results of a span of items that the device has drawn, by calling `put`.
    ///
    /// # Errors
    /// The error that ended the run, or that of `put`, which ends the run.
    ///
    /// # Panics
    /// If the device has not drawn these items, or has delivered some of them before.
    pub fn deliver(
        &self,
        span: Range<u64>,
        put: impl FnOnce() -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let queue = self.queue;
        let count = span.end - span.start;
        // The span is removed before it is stored, so that no other device draws it meanwhile. A device that fails in between ends the run.
        assert!(
            queue.lock().settle(self.member, &span),
            "{span:?} was not this device's"
        );
        if let Err(error) = put() {
            return Err(queue.end_with(error));
        }
        let mut state = queue.lock();
        state.missing -= count;
        state.members[self.member].delivered += count;
        if state.missing == 0 {
            state.took = state.started.map(|watch| watch.elapsed());
            drop(state);
            queue.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until there are items to compute again (true) or the run is over (false).
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn wait(&self) -> Result<bool, EngineError> {
        let mut state = self.queue.lock();
        // The other devices compute the remaining items.
        state.members[self.member].pace.backlog = 0;
        loop {
            if let Some(error) = &state.end {
                return Err(error.clone());
            }
            if state.is_over() {
                return Ok(false);
            }
            if state.left > 0 {
                return Ok(true);
            }
            state = self.pause(state);
            if self.queue.monitor.cancelled() {
                drop(state);
                return Err(self.queue.end_with(EngineError::Cancelled));
            }
        }
    }

    /// Checks whether the monitor cancels the run, and whether the run has ended.
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.queue.monitor.cancelled() {
            return Err(self.queue.end_with(EngineError::Cancelled));
        }
        self.queue.lock().end.clone().map_or(Ok(()), Err)
    }

    /// Removes the device from the run: the items that it has drawn go back to the queue. Returns their number.
    pub fn leave(&self) -> u64 {
        let mut state = self.queue.lock();
        let me = &mut state.members[self.member];
        me.gone = true;
        me.pace = Pace::default();
        let drawn = std::mem::take(&mut me.drawn);
        me.steps = me.delivered * self.queue.steps;
        let mut returned = 0;
        for (start, end) in drawn.into_iter().rev() {
            returned += end - start;
            state.free.push_front(start..end);
        }
        state.left += returned;
        drop(state);
        self.queue.changed.notify_all();
        returned
    }

    /// Ends the run for all devices.
    pub fn stop(&self) {
        self.queue.end_with(EngineError::Cancelled);
    }

    fn pause<'s>(&self, state: MutexGuard<'s, QueueState>) -> MutexGuard<'s, QueueState> {
        let paused = self
            .queue
            .changed
            .wait_timeout(state, CANCELLATION_CHECK_INTERVAL);
        paused.unwrap_or_else(PoisonError::into_inner).0
    }
}
