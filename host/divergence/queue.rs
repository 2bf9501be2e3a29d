//! The pixels of a run that are not computed yet, and the devices that compute the others: one queue for all devices.
//!
//! Every device draws [spans](Grant) of consecutive pixels and delivers their results. The queue limits the number of pixels so
//! that all devices finish together, whatever their speeds: each device reports its speed and its backlog, and no device draws more
//! pixels than it would compute in the remaining time of the whole run. Towards the end the portions become small. The pixels of a
//! device that fails go back to the queue.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::sink::Sink;
use super::value::ValueSlice;
use trisolar_run::{EngineError, Monitor};

#[cfg(feature = "mpi")]
mod supplied;

/// Interval at which a device without work checks for cancellation.
const CANCELLATION_CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Least time between two calls of the monitor.
const MIN_PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time for which a device is given work in advance, unless the [monitor](Monitor::reaction) needs a shorter one or the
/// end is near.
pub(super) const MAX_TIME_AHEAD: Duration = trisolar_run::LONGEST_REACTION;
/// Shortest time for which a device is given work in advance.
pub(super) const MIN_TIME_AHEAD: Duration = Duration::from_millis(12);

/// Pixels that a device may compute next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Grant {
    /// Pixel numbers, each span in order.
    pub spans: Vec<Range<u64>>,
    /// Time that the plan covers; the device should ask again well before it is over.
    pub ahead: Duration,
}

/// The progress of a device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Pixels that the device has drawn but not begun.
    pub backlog: u64,
    /// Pixels that the device computes per second; 0 if this is not yet known.
    pub rate: f64,
}

/// The queue of a run.
pub(super) struct Queue<'a> {
    state: Mutex<State>,
    changed: Condvar,
    sink: &'a dyn Sink,
    monitor: &'a dyn Monitor,
    /// Steps of a pixel.
    steps: u64,
    /// Number of steps last reported to the monitor, and the time of that report.
    told: Mutex<(u64, Option<Instant>)>,
    /// Called when all devices are ready.
    at_start: Option<&'a (dyn Fn() + Sync)>,
}

struct State {
    free: VecDeque<Range<u64>>,
    /// Pixels in `free`.
    left: u64,
    /// Pixels not delivered.
    missing: u64,
    /// Pixels of the run that have arrived so far.
    total: u64,
    /// Whether more pixels may arrive.
    open: bool,
    members: Vec<Member>,
    /// Time for which a device is given work in advance, unless the end is near.
    far: Duration,
    /// The time at which all devices were ready.
    started: Option<Instant>,
    finished: Option<Instant>,
    /// The error that ends the run for all devices.
    end: Option<EngineError>,
}

/// A device of the run.
struct Member {
    /// Spans that it has drawn but not delivered: first pixel and end.
    drawn: BTreeMap<u64, u64>,
    /// Pixels that it computes at a time.
    capacity: u64,
    pace: Pace,
    told: Instant,
    /// Steps that it has reported.
    steps: u64,
    delivered: u64,
    ready: bool,
    gone: bool,
}

impl Member {
    /// Records a span that it has drawn. Adjacent spans are merged, because they may be delivered together.
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

    /// Estimated number of pixels that it still has to compute.
    fn backlog(&self, now: Instant) -> f64 {
        let since = now.duration_since(self.told).as_secs_f64();
        (self.pace.backlog as f64 - self.pace.rate * since).max(0.0)
    }
}

impl<'a> Queue<'a> {
    /// A queue of these spans of a map whose pixels have `steps` steps, for devices that work on `capacities` pixels
    /// at a time each.
    pub fn new(
        spans: &[Range<u64>],
        steps: u64,
        capacities: &[u64],
        sink: &'a dyn Sink,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let free: VecDeque<Range<u64>> = spans.iter().filter(|s| !s.is_empty()).cloned().collect();
        let total = free.iter().map(|s| s.end - s.start).sum();
        let state = State {
            free,
            left: total,
            missing: total,
            total,
            open: false,
            members: Vec::new(),
            far: monitor.reaction().clamp(MIN_TIME_AHEAD, MAX_TIME_AHEAD),
            started: None,
            finished: None,
            end: None,
        };
        let queue = Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            sink,
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

    /// Sets the function that is called when all devices are ready.
    #[must_use]
    pub fn at_start(mut self, call: Option<&'a (dyn Fn() + Sync)>) -> Self {
        self.at_start = call;
        self
    }

    /// Adds a device and returns its number.
    pub fn join(&self, capacity: u64) -> usize {
        let mut state = self.lock();
        state.members.push(Member {
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

    /// Whether pixels are left to compute or may still arrive.
    pub fn unfinished(&self) -> bool {
        !self.lock().is_over()
    }

    /// The error that ended the run early, if there is one.
    pub fn end(&self) -> Option<EngineError> {
        self.lock().end.clone()
    }

    /// Pixels that each device has delivered.
    pub fn delivered(&self) -> Vec<u64> {
        self.lock().members.iter().map(|m| m.delivered).collect()
    }

    /// Time from the moment when all devices were ready to the last result.
    pub fn elapsed(&self) -> Duration {
        let state = self.lock();
        match (state.started, state.finished) {
            (Some(started), Some(finished)) => finished.duration_since(started),
            _ => Duration::ZERO,
        }
    }

    /// Tells the monitor that the run is complete.
    pub fn tell_all_done(&self) {
        self.tell(u64::MAX);
    }

    /// Reports this number of steps to the monitor a few times per second. The calls do not overlap, and the number never decreases.
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent wherever a panic can occur.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end_with(&self, error: EngineError) -> EngineError {
        let mut state = self.lock();
        let error = state.end.get_or_insert(error).clone();
        drop(state);
        self.changed.notify_all();
        error
    }
}

impl State {
    /// The number of pixels that `member` should have in advance, and the time that they take.
    fn plan(&self, member: usize, now: Instant) -> (f64, Duration) {
        let me = &self.members[member];
        let active = || self.members.iter().filter(|m| !m.gone);
        let rate: f64 = active().map(|m| m.pace.rate).sum();
        if me.pace.rate <= 0.0 {
            // The speed is not known yet: two rounds, or a fair part of a small map.
            let all: u64 = active().map(|m| m.capacity).sum();
            let fair = self.left as f64 * me.capacity as f64 / all as f64;
            return (fair.ceil().min(2.0 * me.capacity as f64), MIN_TIME_AHEAD);
        }
        if self.left == 0 || active().count() == 1 {
            // Nothing to share.
            let seconds = self.far.as_secs_f64();
            return (me.pace.rate * seconds + me.capacity as f64, self.far);
        }
        let before: f64 = active().map(|m| m.backlog(now)).sum();
        // The time that the run still needs; half of it is left for devices that turn out to be faster.
        let needed = (self.left as f64 + before) / rate;
        let ahead = (needed / 2.0).clamp(MIN_TIME_AHEAD.as_secs_f64(), self.far.as_secs_f64());
        // Threads that started together end together, so add a part of a round to the amount for this time.
        let round = me.capacity as f64 * (ahead / self.far.as_secs_f64()).powi(2);
        (me.pace.rate * ahead + round, Duration::from_secs_f64(ahead))
    }

    /// Half of the share of the remaining pixels that corresponds to the speed of `member`, or all of them if it is the only device.
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

    /// Takes up to `pixels` from the front, in multiples of `unit` where spans are long enough. Each span occupies a multiple of `unit`
    /// of the `room`, which is a multiple of `unit` too.
    fn draw(
        &mut self,
        member: usize,
        mut pixels: u64,
        mut room: u64,
        unit: u64,
    ) -> Vec<Range<u64>> {
        let mut spans = Vec::new();
        while pixels > 0 && room > 0 {
            let Some(front) = self.free.front_mut() else {
                break;
            };
            let most = pixels.div_ceil(unit).saturating_mul(unit).min(room);
            let end = front.end.min(front.start.saturating_add(most));
            let span = front.start..end;
            front.start = end;
            if front.is_empty() {
                self.free.pop_front();
            }
            let count = span.end - span.start;
            pixels = pixels.saturating_sub(count);
            room = room.saturating_sub(count.next_multiple_of(unit));
            self.left -= count;
            self.members[member].add(&span);
            spans.push(span);
        }
        spans
    }

    /// Whether all pixels of the run have been delivered.
    fn is_over(&self) -> bool {
        self.missing == 0 && !self.open
    }

    /// Removes a span from the spans that the device has drawn; false if it did not draw this span.
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

/// One device's part in a run.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    queue: &'a Queue<'a>,
    member: usize,
}

impl Share<'_> {
    /// Reports that the device is ready and waits for the others; the measured time begins then. False if the run has ended.
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
                state.started = Some(Instant::now());
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

    /// Draws pixels for a device that has a backlog of `pace.backlog` and room for `room` more (a multiple of `unit`), in multiples of
    /// `unit` where spans are long enough; a shorter span occupies the room of a whole unit.
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

    /// Draws a span of up to `most` pixels for one of the `threads` of the device, which draw independently.
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
        // Towards the end of the run every thread takes little, so that no thread has much left.
        let fair = (wanted as u64 / threads).min(state.left / (4 * threads));
        // The result is one span, so the rest of the first span limits it.
        let first = state.free.front().map_or(0, |span| span.end - span.start);
        let pixels = most.min(fair.max(1)).min(first);
        Ok(state.draw(self.member, pixels, pixels, 1).pop())
    }

    /// Draws a portion of the remaining pixels for a device that begins the whole portion at once and returns it as a whole: all
    /// pixels if it is the only device, otherwise half of the share that corresponds to its speed; at least `least`, unless that is
    /// more than a fair part of the run; at most `most`.
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

    /// Reports the total number of steps of the device so far.
    pub fn report(&self, steps: u64) {
        let queue = self.queue;
        let mut state = queue.lock();
        state.members[self.member].steps = steps;
        let done: u64 = state.members.iter().map(|m| m.steps).sum();
        drop(state);
        queue.tell(done);
    }

    /// Delivers the results of pixels that the device has drawn, from `first` on.
    ///
    /// # Errors
    /// The error that ended the run, or the failure of the sink, which ends it.
    pub fn deliver(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let queue = self.queue;
        let count = values.len() as u64;
        let span = first..first + count;
        // The span is settled before it is stored, so that no other device is given it in the meantime; a device that fails in between
        // ends the run.
        assert!(
            queue.lock().settle(self.member, &span),
            "{span:?} was not this device's"
        );
        if let Err(error) = queue.sink.put(first, values) {
            return Err(queue.end_with(error));
        }
        let mut state = queue.lock();
        state.missing -= count;
        state.members[self.member].delivered += count;
        if state.missing == 0 {
            state.finished = Some(Instant::now());
            drop(state);
            queue.changed.notify_all();
        }
        Ok(())
    }

    /// Waits, while there is nothing to compute, until there are pixels again (true) or the run is over (false).
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn wait(&self) -> Result<bool, EngineError> {
        let mut state = self.queue.lock();
        // The other devices compute the remaining pixels without this one.
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

    /// Calls the monitor and checks whether the run has ended.
    ///
    /// # Errors
    /// The error that ended the run.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.queue.monitor.cancelled() {
            return Err(self.queue.end_with(EngineError::Cancelled));
        }
        self.queue.lock().end.clone().map_or(Ok(()), Err)
    }

    /// Removes the device from the run: the pixels that it has drawn go back to the queue. Returns their number.
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

    fn pause<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let paused = self
            .queue
            .changed
            .wait_timeout(state, CANCELLATION_CHECK_INTERVAL);
        paused.unwrap_or_else(PoisonError::into_inner).0
    }
}
