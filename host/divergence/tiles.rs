//! Keeps a device with fetching threads busy: writes tiles, queues launches of a known duration one after the other, and reads
//! results. A GPU and the emulator use the same code.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use kernels_gpu::device::fetch::{TILE, Tile};

use super::Task;
use super::value::ValueSlice;
use trisolar_run::EngineError;
use trisolar_run::queue::{MAX_TIME_AHEAD, Pace, Share};

/// Launches in flight: one that runs, and one queued behind it, so that the device does not wait for the host.
pub(super) const LAUNCHES_IN_FLIGHT: usize = 2;
/// Number of launches within the time that the queue plans in advance.
const LAUNCHES_AHEAD: f64 = 2.4;

/// A function that takes the results from a slot on.
pub(super) type Take<'a> = dyn FnMut(u32, ValueSlice<'_>) -> Result<(), EngineError> + 'a;

/// A device whose threads fetch pixels from a ring of tiles. Each of its [`LAUNCHES_IN_FLIGHT`] launches in flight has its own copy of the
/// counters.
pub(super) trait Device {
    /// Slots for tiles, a power of two, which is also the length of the ring.
    fn slots(&self) -> u32;
    /// Queues the writing of `tiles` to the ring from `position` on (taken modulo the ring's length), and a launch of about
    /// `slice` that takes tickets up to `limit`.
    fn launch(
        &mut self,
        set: usize,
        position: u32,
        tiles: &[Tile],
        limit: u32,
        slice: Duration,
    ) -> Result<(), EngineError>;
    /// Whether the launch of this set is over.
    fn is_over(&mut self, set: usize) -> Result<bool, EngineError>;
    /// The counters as that launch left them.
    fn counters(&self, set: usize) -> Counters<'_>;
    /// Passes each of these runs of slots to `take`, with its results.
    fn results(&mut self, runs: &[Range<u32>], take: &mut Take<'_>) -> Result<(), EngineError>;
}

/// The counters after a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters<'a> {
    /// Number of steps.
    pub steps: u64,
    /// Tickets taken (wrapping).
    pub next: u32,
    /// Total number of pixels finished in each slot (wrapping).
    pub done: &'a [u32],
}

/// A tile on the device.
#[derive(Clone, Copy, Debug)]
struct Open {
    first: u64,
    count: u32,
    /// The value of the slot's counter when the tile is done.
    at: u32,
}

/// A device with its tiles and launches.
pub(super) struct Pipeline<'q> {
    device: Box<dyn Device>,
    task: &'q Task<'q>,
    share: Share<'q>,
    /// Steps of a pixel.
    steps: f64,
    open: Vec<Option<Open>>,
    opened: usize,
    free: VecDeque<u32>,
    /// The value of each slot's counter when the slot was last free.
    done: Vec<u32>,
    /// Total number of tiles put into the ring (wrapping).
    position: u32,
    /// Pixels of each tile in the ring whose tickets are not all taken, up to `position`.
    ahead: VecDeque<u32>,
    /// Tickets taken by the end of the last launch.
    next: u32,
    /// Number of steps by then.
    accounted: u64,
    /// Launches in flight, the oldest first.
    flying: VecDeque<usize>,
    meter: Meter,
}

/// Measures pixels per second.
struct Meter {
    last: Option<(Instant, u64)>,
    rate: f64,
}

impl Meter {
    /// Updates the rate with the total number of `steps` so far; a pixel has `per_pixel` steps.
    fn read(&mut self, now: Instant, steps: u64, per_pixel: f64) {
        if let Some((then, before)) = self.last {
            let seconds = now.duration_since(then).as_secs_f64().max(1e-6);
            let rate = steps.saturating_sub(before) as f64 / per_pixel / seconds;
            self.rate = if self.rate > 0.0 {
                (self.rate + rate) / 2.0
            } else {
                rate
            };
        }
        self.last = Some((now, steps));
    }
}

impl<'q> Pipeline<'q> {
    /// A pipeline for an idle device whose counters are zero.
    pub fn new(device: Box<dyn Device>, task: &'q Task<'q>, share: Share<'q>) -> Self {
        let slots = device.slots();
        Self {
            device,
            task,
            share,
            steps: task.spec.specification().steps as f64,
            open: vec![None; slots as usize],
            opened: 0,
            free: (0..slots).collect(),
            done: vec![0; slots as usize],
            position: 0,
            ahead: VecDeque::new(),
            next: 0,
            accounted: 0,
            flying: VecDeque::new(),
            meter: Meter {
                last: None,
                rate: 0.0,
            },
        }
    }

    /// Works until the run is over.
    ///
    /// # Errors
    /// The error of the device, or the error that ended the run.
    pub fn work(&mut self) -> Result<(), EngineError> {
        loop {
            self.advance()?;
            if !self.flying.is_empty() {
                self.share.check()?;
                std::thread::sleep(Duration::from_micros(200));
                continue;
            }
            if !self.share.wait()? {
                return Ok(());
            }
            // The pause does not count as work.
            self.meter.last = None;
        }
    }

    /// Makes progress without waiting.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    fn advance(&mut self) -> Result<(), EngineError> {
        if let Some(&oldest) = self.flying.front()
            && self.device.is_over(oldest)?
        {
            self.flying.pop_front();
            self.read(oldest);
            let runs = self.finished(oldest);
            // The device continues while results are copied.
            self.top_up()?;
            self.harvest(runs)?;
        }
        self.top_up()
    }

    /// Queues launches while there are pixels.
    fn top_up(&mut self) -> Result<(), EngineError> {
        while self.flying.len() < LAUNCHES_IN_FLIGHT {
            let backlog = self.backlog();
            let room = self.free.len() as u64 * u64::from(TILE);
            let pace = Pace {
                backlog,
                rate: self.meter.rate,
            };
            let grant = self.share.draw(pace, room, u64::from(TILE))?;
            let tiles = self.open_tiles(&grant.spans);
            if tiles.is_empty() && self.opened == 0 {
                return Ok(());
            }
            // The set whose launch is not in flight.
            let set = self
                .flying
                .front()
                .map_or(0, |busy| LAUNCHES_IN_FLIGHT - 1 - busy);
            let first = self.position;
            self.position = self.position.wrapping_add(tiles.len() as u32);
            let limit = self.position.wrapping_mul(TILE);
            let slice = grant.ahead.min(MAX_TIME_AHEAD).div_f64(LAUNCHES_AHEAD);
            self.device.launch(set, first, &tiles, limit, slice)?;
            if self.meter.last.is_none() {
                self.meter.last = Some((Instant::now(), self.accounted));
            }
            self.flying.push_back(set);
        }
        Ok(())
    }

    /// Pixels whose tickets are not taken.
    fn backlog(&mut self) -> u64 {
        // The tickets of whole tiles, and those left of the current tile.
        let left = self.position.wrapping_mul(TILE).wrapping_sub(self.next);
        let tiles = left.div_ceil(TILE) as usize;
        self.ahead.drain(..self.ahead.len() - tiles);
        let taken = left.next_multiple_of(TILE) - left;
        let pixels: u64 = self.ahead.iter().map(|count| u64::from(*count)).sum();
        let begun = self.ahead.front().map_or(0, |count| taken.min(*count));
        pixels - u64::from(begun)
    }

    /// Assigns slots to spans.
    fn open_tiles(&mut self, spans: &[Range<u64>]) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for span in spans {
            let mut first = span.start;
            while first < span.end {
                let count = (span.end - first).min(u64::from(TILE)) as u32;
                let slot = self.free.pop_front().expect("the room was asked for");
                self.open[slot as usize] = Some(Open {
                    first,
                    count,
                    at: self.done[slot as usize].wrapping_add(count),
                });
                tiles.push(Tile { first, count, slot });
                first += u64::from(count);
            }
        }
        self.opened += tiles.len();
        self.ahead.extend(tiles.iter().map(|tile| tile.count));
        tiles
    }

    /// Reads the counters of a finished launch.
    fn read(&mut self, set: usize) {
        let Counters { steps, next, .. } = self.device.counters(set);
        (self.next, self.accounted) = (next, steps);
        self.meter.read(Instant::now(), steps, self.steps);
        self.share.report(steps);
    }

    /// Runs of slots whose tiles this launch finished. Tiles that are adjacent in the map and in memory are in one run.
    fn finished(&self, set: usize) -> Vec<Range<u32>> {
        let done = self.device.counters(set).done;
        let mut runs: Vec<Range<u32>> = Vec::new();
        // Slot and pixel with which the current run would continue.
        let mut next = None;
        for (slot, tile) in self.open.iter().enumerate() {
            let Some(tile) = tile.filter(|tile| tile.at == done[slot]) else {
                continue;
            };
            let slot = slot as u32;
            match runs.last_mut() {
                Some(run) if next == Some((slot, tile.first)) => run.end = slot + 1,
                _ => runs.push(slot..slot + 1),
            }
            next = (tile.count == TILE).then(|| (slot + 1, tile.first + u64::from(TILE)));
        }
        runs
    }

    /// Delivers these tiles and frees their slots.
    fn harvest(&mut self, runs: Vec<Range<u32>>) -> Result<(), EngineError> {
        let (open, task, share) = (&self.open, self.task, self.share);
        self.device.results(&runs, &mut |first, values| {
            // A piece of a run, the last tile of which may be incomplete.
            let tile = |slot: u32| open[slot as usize].expect("it is open");
            let begin = tile(first).first;
            let last = tile(first + (values.len() as u32).div_ceil(TILE) - 1);
            let count = last.first + u64::from(last.count) - begin;
            task.deliver(share, begin, values.range(0..count as usize))
        })?;
        for slot in runs.into_iter().flatten() {
            let tile = self.open[slot as usize].take().expect("it was open");
            self.done[slot as usize] = tile.at;
            self.free.push_back(slot);
            self.opened -= 1;
        }
        Ok(())
    }
}
