//! Schedules the computation of tiles. Visible tiles come before prefetched ones, and coarse tiles before fine ones. A tile that
//! several requests need is computed once; a tile that is no longer needed is cancelled, even during its computation.
//!
//! If a computation is stopped for a more urgent one, its finished pixels are kept and only the rest is computed later.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::cache::{TileCache, TileKey};
use crate::engine::{Cancel, Ended, Engine, Map, TileSink};
use crate::tile::Tile;
use crate::values::Values;

/// Largest number of tiles that wait or are being computed.
pub(crate) const MAX_JOBS: usize = 4096;
/// Intended duration of a batch of tiles on a CPU, where the tiles of a batch are completed together.
const BATCH_TIME_ON_CPU: Duration = Duration::from_millis(100);
/// Intended duration of a batch on GPUs, where tiles are completed one after the other. The last pixels of a batch leave a GPU partly
/// idle, and its buffers take time, so that ten times the duration means a tenth of these losses.
const BATCH_TIME_ON_GPUS: Duration = Duration::from_secs(1);
/// Largest number of tiles in a batch.
const MAX_BATCH_TILES: usize = 64;
/// Largest distance of the tiles of a batch from the first (tiles).
const MAX_BATCH_DISTANCE: i64 = 32;

/// A tile of a request, or the reason why it failed.
pub(crate) type Outcome = Result<Arc<Values>, String>;
/// The channel of a request's tiles, each with its number in the request.
pub(crate) type Reply = UnboundedSender<(usize, Outcome)>;

/// The queue of tiles is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The order of computation, lowest first: visible tiles by their number of pixels, then prefetched tiles.
type Urgency = (bool, u32);

struct TileJob {
    map: Arc<dyn Map>,
    ahead: bool,
    order: u64,
    waiting: Vec<Waiter>,
    partial: Option<PartialTile>,
    /// The batch that computes it.
    batch: Option<u64>,
}

impl TileJob {
    fn urgency(&self, key: &TileKey) -> Urgency {
        (self.ahead, key.tile.pixels)
    }
}

struct Waiter {
    request: u64,
    index: usize,
    reply: Reply,
}

/// The known pixels of a tile.
struct PartialTile {
    values: Values,
    known: Vec<bool>,
    missing: usize,
}

impl PartialTile {
    fn new(key: &TileKey, map: &dyn Map) -> Self {
        let count = key.tile.count();
        Self {
            values: Values::zeros(map.kind(), count),
            known: vec![false; count],
            missing: count,
        }
    }

    fn learn(&mut self, pixel: usize, from: &Values, at: usize) {
        if !std::mem::replace(&mut self.known[pixel], true) {
            self.values.copy(pixel, from, at);
            self.missing -= 1;
        }
    }

    /// Copies the pixels of the same square in a coarser tile.
    fn take_coarser(&mut self, pixels: u32, coarse_pixels: u32, coarse: &Values) {
        let (n, m) = (pixels as usize, coarse_pixels as usize);
        let stride = n / m;
        for at in 0..coarse.len() {
            let (row, column) = (at / m, at % m);
            self.learn(row * stride * n + column * stride, coarse, at);
        }
    }

    /// Ranges of pixels that are not known.
    fn wanted(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (pixel, _) in self.known.iter().enumerate().filter(|(_, known)| !**known) {
            match ranges.last_mut() {
                Some(last) if last.end == pixel => last.end += 1,
                _ => ranges.push(pixel..pixel + 1),
            }
        }
        ranges
    }
}

struct TileBatch {
    urgency: Urgency,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct SchedulerState {
    jobs: HashMap<TileKey, TileJob>,
    batches: HashMap<u64, TileBatch>,
    /// Number of other computations, for which batches stop.
    holds: usize,
    next: u64,
    ended: bool,
    /// Measured pixel-steps per second.
    rate: f64,
}

struct SchedulerShared {
    state: Mutex<SchedulerState>,
    changed: Condvar,
    cache: TileCache,
    workers: usize,
    /// Whether single pixels are computed as efficiently as rows, as on a CPU.
    takes_single_pixels: bool,
}

impl SchedulerShared {
    fn lock(&self) -> MutexGuard<'_, SchedulerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Computes tiles on threads of its own.
pub(crate) struct Scheduler {
    shared: Arc<SchedulerShared>,
    threads: Vec<JoinHandle<()>>,
}

impl Scheduler {
    pub fn new(engine: &dyn Engine, cache: TileCache) -> std::io::Result<Self> {
        let shared = Arc::new(SchedulerShared {
            state: Mutex::new(SchedulerState {
                rate: engine.expected_rate(),
                ..SchedulerState::default()
            }),
            changed: Condvar::new(),
            cache,
            workers: engine.concurrency().max(1),
            takes_single_pixels: engine.takes_single_pixels(),
        });
        let threads = (0..shared.workers).map(|_| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name("tiles".into())
                .spawn(move || work(&shared))
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { shared, threads })
    }

    /// Requests tiles, whose values are sent to `reply`. They are cancelled when the request is dropped.
    ///
    /// # Errors
    /// [`Full`]; then none of the tiles is queued.
    pub fn request(
        &self,
        map: &Arc<dyn Map>,
        tiles: &[Tile],
        ahead: bool,
        reply: &Reply,
    ) -> Result<Request, Full> {
        let content: Arc<str> = map.content().into();
        let mut keys = Vec::new();
        for (index, tile) in tiles.iter().enumerate() {
            let key = TileKey {
                content: content.clone(),
                tile: *tile,
            };
            match self.shared.cache.get(&key) {
                // If the reply has no receiver, its request is being dropped.
                Some(values) => drop(reply.send((index, Ok(values)))),
                None => keys.push((index, key)),
            }
        }
        let mut state = self.shared.lock();
        let new = keys
            .iter()
            .filter(|(_, key)| !state.jobs.contains_key(key))
            .count();
        if state.jobs.len() + new > MAX_JOBS {
            return Err(Full);
        }
        let number = state.next;
        state.next += 1;
        let mut most_urgent = None;
        for (index, key) in &keys {
            state.next += 1;
            let order = state.next;
            let job = state.jobs.entry(key.clone()).or_insert_with(|| TileJob {
                map: map.clone(),
                ahead,
                order,
                waiting: Vec::new(),
                partial: None,
                batch: None,
            });
            job.ahead &= ahead;
            job.waiting.push(Waiter {
                request: number,
                index: *index,
                reply: reply.clone(),
            });
            if job.batch.is_none() {
                let urgency = job.urgency(key);
                most_urgent =
                    Some(most_urgent.map_or(urgency, |other: Urgency| other.min(urgency)));
            }
        }
        if let Some(urgency) = most_urgent {
            make_way(&state, self.shared.workers, urgency);
        }
        drop(state);
        self.shared.changed.notify_all();
        Ok(Request {
            shared: self.shared.clone(),
            number,
            keys: keys.into_iter().map(|(_, key)| key).collect(),
        })
    }

    /// Stops batches and prevents new ones until the result is dropped.
    pub fn hold(&self) -> Hold {
        let mut state = self.shared.lock();
        state.holds += 1;
        state
            .batches
            .values()
            .for_each(|batch| batch.stop.store(true, Ordering::Relaxed));
        Hold(self.shared.clone())
    }

    /// Tiles that wait or are computed, bytes of the cache in memory, and steps of pixels a second.
    pub fn standing(&self) -> (usize, usize, f64) {
        let state = self.shared.lock();
        (state.jobs.len(), self.shared.cache.bytes(), state.rate)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state
            .batches
            .values()
            .for_each(|batch| batch.stop.store(true, Ordering::Relaxed));
        drop(state);
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of an engine was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Stops the least urgent batch if all workers are busy and it is less urgent than the new tiles.
fn make_way(state: &SchedulerState, workers: usize, urgency: Urgency) {
    if state.batches.len() < workers {
        return;
    }
    let least = state.batches.values().max_by_key(|batch| batch.urgency);
    if let Some(batch) = least.filter(|batch| batch.urgency > urgency) {
        batch.stop.store(true, Ordering::Relaxed);
    }
}

/// Keeps batches from running.
pub(crate) struct Hold(Arc<SchedulerShared>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.lock().holds -= 1;
        self.0.changed.notify_all();
    }
}

/// Tiles that a client waits for.
pub(crate) struct Request {
    shared: Arc<SchedulerShared>,
    number: u64,
    keys: Vec<TileKey>,
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        for key in &self.keys {
            let Some(job) = state.jobs.get_mut(key) else {
                continue;
            };
            job.waiting.retain(|waiter| waiter.request != self.number);
            if job.waiting.is_empty() && job.batch.is_none() {
                state.jobs.remove(key);
            }
        }
        let SchedulerState { jobs, batches, .. } = &*state;
        for (number, batch) in batches {
            let unwanted = |job: &TileJob| job.batch != Some(*number) || job.waiting.is_empty();
            if jobs.values().all(unwanted) {
                batch.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The batch of a worker.
struct Taken<'a> {
    shared: &'a SchedulerShared,
    number: u64,
    map: Arc<dyn Map>,
    keys: Vec<TileKey>,
    partials: Vec<Mutex<Option<PartialTile>>>,
    stop: Arc<AtomicBool>,
    /// Number of pixels, for the measured rate.
    pixels: usize,
}

fn work(shared: &SchedulerShared) {
    while let Some(taken) = take(shared) {
        let tiles: Vec<Tile> = taken.keys.iter().map(|key| key.tile).collect();
        let wanted: Vec<Vec<Range<usize>>> = (taken.partials.iter())
            .map(|p| lock(p).as_ref().map_or_else(Vec::new, PartialTile::wanted))
            .collect();
        let began = Instant::now();
        // A panic of the engine fails this batch; the worker continues.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            taken.map.compute(&tiles, &wanted, &taken, &taken)
        }));
        let ended = ended.unwrap_or_else(|_| Err(Ended::Failed("the engine panicked".into())));
        taken.finish(ended, began.elapsed());
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the most urgent tile and takes it together with others that can be computed with it. `None` at the end.
fn take(shared: &SchedulerShared) -> Option<Taken<'_>> {
    let mut state = shared.lock();
    let (first, urgency) = loop {
        if state.ended {
            return None;
        }
        let free = state
            .jobs
            .iter()
            .filter(|(_, job)| job.batch.is_none() && !job.waiting.is_empty());
        let best = free.min_by_key(|(key, job)| (job.urgency(key), job.order));
        match best {
            Some((key, job)) if state.holds == 0 => break (key.clone(), job.urgency(key)),
            _ => {
                state = shared
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner)
            }
        }
    };
    let map = state.jobs[&first].map.clone();
    let cost = first.tile.count() as f64 * map.steps() as f64;
    let intended = if shared.takes_single_pixels {
        BATCH_TIME_ON_CPU
    } else {
        BATCH_TIME_ON_GPUS
    };
    let room = (intended.as_secs_f64() * state.rate / cost) as usize;
    let mut keys: Vec<(u64, TileKey)> = (state.jobs.iter())
        .filter(|(key, job)| {
            let (a, b) = (&key.tile, &first.tile);
            let alike = (a.level, a.pixels) == (b.level, b.pixels) && key.content == first.content;
            let near =
                (a.x - b.x).abs() < MAX_BATCH_DISTANCE && (a.y - b.y).abs() < MAX_BATCH_DISTANCE;
            alike
                && near
                && job.batch.is_none()
                && !job.waiting.is_empty()
                && job.urgency(key) == urgency
        })
        .map(|(key, job)| (job.order, key.clone()))
        .collect();
    keys.sort();
    keys.truncate(room.clamp(1, MAX_BATCH_TILES));
    let keys: Vec<TileKey> = keys.into_iter().map(|(_, key)| key).collect();
    state.next += 1;
    let number = state.next;
    let stop = Arc::new(AtomicBool::new(false));
    let batch = TileBatch {
        urgency,
        stop: stop.clone(),
    };
    state.batches.insert(number, batch);
    let mut partials = Vec::new();
    for key in &keys {
        let job = state.jobs.get_mut(key).expect("it was there");
        job.batch = Some(number);
        partials.push(job.partial.take());
    }
    drop(state);
    let mut pixels = 0;
    let partials = keys.iter().zip(partials).map(|(key, partial)| {
        let partial = partial.unwrap_or_else(|| {
            let mut fresh = PartialTile::new(key, map.as_ref());
            if shared.takes_single_pixels
                && let Some((n, coarse)) = shared.cache.coarser(key)
            {
                fresh.take_coarser(key.tile.pixels, n, &coarse);
            }
            fresh
        });
        pixels += partial.missing;
        Mutex::new(Some(partial))
    });
    let partials = partials.collect();
    Some(Taken {
        shared,
        number,
        map,
        keys,
        partials,
        stop,
        pixels,
    })
}

impl Cancel for Taken<'_> {
    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl TileSink for Taken<'_> {
    fn put(&self, tile: usize, first: usize, values: &Values) {
        let mut partial = lock(&self.partials[tile]);
        let Some(known) = partial.as_mut() else {
            return;
        };
        for at in 0..values.len() {
            known.learn(first + at, values, at);
        }
        if known.missing == 0 {
            let values = partial.take().expect("it is there").values;
            drop(partial);
            self.deliver(&self.keys[tile], Arc::new(values));
        }
    }
}

impl Taken<'_> {
    /// Sends a complete tile to all requests that wait for it.
    fn deliver(&self, key: &TileKey, values: Arc<Values>) {
        // The cache comes first, so that later requests find the tile there or in the jobs.
        self.shared.cache.put(key, &values);
        let job = self.shared.lock().jobs.remove(key);
        for waiter in job.into_iter().flat_map(|job| job.waiting) {
            // A dropped request needs no answer.
            let _ = waiter.reply.send((waiter.index, Ok(values.clone())));
        }
        self.shared.cache.store(key, &values);
    }

    fn finish(self, ended: Result<(), Ended>, took: Duration) {
        let mut state = self.shared.lock();
        state.batches.remove(&self.number);
        let mut left = 0;
        for (key, partial) in self.keys.iter().zip(self.partials) {
            let Some(partial) = partial.into_inner().unwrap_or_else(PoisonError::into_inner) else {
                continue;
            };
            left += partial.missing;
            let Some(job) = state.jobs.get_mut(key) else {
                continue;
            };
            job.batch = None;
            let failed = match &ended {
                Err(Ended::Cancelled) => None,
                Err(Ended::Failed(message)) => Some(message.clone()),
                Ok(()) => Some("the engine left out pixels".to_owned()),
            };
            if failed.is_none() && !job.waiting.is_empty() {
                job.partial = Some(partial);
                continue;
            }
            let waiting = state
                .jobs
                .remove(key)
                .map_or_else(Vec::new, |job| job.waiting);
            for waiter in waiting {
                let message = failed.clone().unwrap_or_default();
                let _ = waiter.reply.send((waiter.index, Err(message)));
            }
        }
        let done = (self.pixels - left) as f64 * self.map.steps() as f64;
        if ended.is_ok() && took > Duration::from_millis(2) {
            let rate = done / took.as_secs_f64();
            state.rate = (state.rate + rate) / 2.0;
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}
