//! Pixels whose start has the same bits.
//!
//! The known pixels are in a layer for each frame, row by row, as in the frame itself. The start of a pixel consists of the
//! coordinates of its column and row, so the common columns and rows of two frames determine their common pixels.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::later::Later;
use super::{CacheReport, Computing, OF_STEPS};
use crate::frame::{Effort, Error};
use crate::partial::Partial;
use trisolar_map::{
    EngineError, Item, Items, Sink, Specification, Starts, Validated, Value as _, ValueSlice,
};

/// The layers of earlier frames, the newest last.
#[derive(Debug, Default)]
pub(super) struct Layers {
    layers: Vec<Arc<Layer>>,
    /// The values that all pixels share.
    common: Option<Specification>,
}

/// The known pixels of a frame, which may still be computed.
#[derive(Debug)]
struct Layer {
    width: usize,
    columns: Coordinates,
    rows: Coordinates,
    known: Later<Known>,
}

/// The data of all pixels of a frame.
#[derive(Debug)]
struct Known {
    /// One of the constants below, or the index in `items` of a pixel that had not parted.
    places: Vec<u32>,
    /// Steps that began while the twins were together.
    times: Vec<u32>,
    /// Pixels that had not parted, with their states.
    items: Vec<(u32, Item)>,
}

/// The pixel has parted.
const PARTED: u32 = u32::MAX;
/// The pixel had not parted, but its state is unknown, because an interrupted run computed it.
const UNKNOWN: u32 = u32::MAX - 1;

/// The known state of a pixel.
enum State<'a> {
    Parted(u32),
    Going(&'a Item),
}

impl Known {
    fn state(&self, pixel: usize) -> Option<State<'_>> {
        match self.places[pixel] {
            PARTED => Some(State::Parted(self.times[pixel])),
            UNKNOWN => None,
            place => Some(State::Going(&self.items[place as usize].1)),
        }
    }
}

/// The bits of the coordinates of a frame's columns, or rows.
#[derive(Debug)]
struct Coordinates(FxHashMap<u64, u32>);

impl Coordinates {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        Self(values.map(f64::to_bits).zip(0..).collect())
    }

    /// The places of these coordinates in `other`.
    fn places_in(&self, other: &Self, count: u64) -> Vec<u32> {
        let mut places = vec![NOWHERE; count as usize];
        for (bits, place) in &self.0 {
            if let Some(there) = other.0.get(bits) {
                places[*place as usize] = *there;
            }
        }
        places
    }

    /// Those from `low` on, for the length of `span`.
    fn inside(&self, low: f64, span: f64) -> impl Iterator<Item = &u64> {
        let range = low..=low + span;
        self.0
            .keys()
            .filter(move |bits| range.contains(&f64::from_bits(**bits)))
    }
}

const NOWHERE: u32 = u32::MAX;

/// Everything that a pixel depends on besides its start position and the number of steps.
fn common(spec: &Validated) -> Specification {
    let default = Specification::default();
    Specification {
        size: default.size,
        center: default.center,
        span: default.span,
        steps: default.steps,
        ..spec.specification().clone()
    }
}

impl Layers {
    /// Plans which pixels the next frame reuses. Frames that are not yet computed count as computed.
    pub fn plan(&mut self, spec: &Validated) -> ReusePlan {
        let common = common(spec);
        if self.common.as_ref() != Some(&common) {
            self.layers.clear();
            self.common = Some(common);
        }
        let [width, height] = spec.specification().size;
        let axes = spec.specification().plane.axes();
        let own = Arc::new(Layer {
            width: width as usize,
            columns: Coordinates::new((0..width).map(|c| spec.start(c)[axes[0]])),
            rows: Coordinates::new((0..height).map(|r| spec.start(r * width)[axes[1]])),
            known: Later::default(),
        });
        let shared = |layer: &Arc<Layer>| {
            let columns = own.columns.places_in(&layer.columns, width);
            let rows = own.rows.places_in(&layer.rows, height);
            let any = |places: &[u32]| places.iter().any(|place| *place != NOWHERE);
            (any(&columns) && any(&rows)).then(|| Source {
                layer: layer.clone(),
                columns,
                rows,
            })
        };
        let sources = self.layers.iter().rev().filter_map(shared).collect();
        self.layers
            .retain(|layer| layer.has_more_than(&own, spec.specification()));
        self.layers.push(own.clone());
        ReusePlan { sources, own }
    }
}

impl Layer {
    /// Whether the layer has pixels inside a frame that the frame's own layer does not have. Zooms do not return to pixels outside
    /// of a frame.
    fn has_more_than(&self, own: &Self, frame: &Specification) -> bool {
        let low = |k: usize| frame.center[k] - frame.span[k] / 2.0;
        let (mut any, mut more) = ([false; 2], false);
        let axes = [(&self.columns, &own.columns), (&self.rows, &own.rows)];
        for (k, (mine, its)) in axes.into_iter().enumerate() {
            for bits in mine.inside(low(k), frame.span[k]) {
                any[k] = true;
                more |= !its.0.contains_key(bits);
            }
        }
        any == [true; 2] && more
    }
}

/// An earlier frame that shares pixels with a frame.
#[derive(Debug)]
struct Source {
    layer: Arc<Layer>,
    /// The places of the frame's columns and rows in the layer.
    columns: Vec<u32>,
    rows: Vec<u32>,
}

impl Source {
    /// The layer's number of a pixel.
    fn place(&self, pixel: usize) -> Option<usize> {
        let width = self.columns.len();
        let (column, row) = (self.columns[pixel % width], self.rows[pixel / width]);
        (column != NOWHERE && row != NOWHERE)
            .then(|| row as usize * self.layer.width + column as usize)
    }
}

/// A frame and the layers that may contain its pixels, the newest first.
#[derive(Debug)]
pub(super) struct ReusePlan {
    sources: Vec<Source>,
    own: Arc<Layer>,
}

impl Drop for ReusePlan {
    fn drop(&mut self) {
        // Other frames must not wait for a frame that failed.
        self.own.known.give_up();
    }
}

impl ReusePlan {
    /// Computes the frame from its last record on.
    pub fn compute(
        self,
        computing: &Computing<'_>,
        report: &mut CacheReport,
    ) -> Result<(Vec<u32>, Effort), Error> {
        let pixels = computing.spec.pixels() as usize;
        let partial = computing.partial(pixels)?;
        let ended = Ended::default();
        let result = self.missing(computing, &partial, &ended, report);
        partial.flush()?;
        let effort = result?;
        let times: Vec<u32> = partial.into_values().into().expect(OF_STEPS);
        self.own.known.set(ended.known(&times, computing.steps()));
        Ok((times, effort))
    }

    /// Computes the missing pixels.
    fn missing(
        &self,
        computing: &Computing<'_>,
        partial: &Partial,
        ended: &Ended,
        report: &mut CacheReport,
    ) -> Result<Effort, Error> {
        let missing = partial.missing().into_iter().flatten();
        let mut missing: Vec<usize> = missing.map(|pixel| pixel as usize).collect();
        let mut effort = Effort::default();
        if !self.sources.iter().all(|s| s.layer.known.is_there()) {
            // Pixels that no earlier frame has need not wait for one.
            let left = missing.len();
            let is_new = |p: &usize| self.sources.iter().all(|s| s.place(*p).is_none());
            let (new, others) = missing.into_iter().partition(is_new);
            self.step(computing, partial, ended, &[], &new, left, &mut effort)?;
            missing = others;
        }
        let wait = |source: &Source| source.layer.known.wait(computing.monitor);
        let known = self
            .sources
            .iter()
            .map(wait)
            .collect::<Result<Vec<_>, _>>()?;
        let (there, left) = self.take_over(&known, &missing, computing.steps(), ended, report);
        partial.put_at(&there.pixels, u32::slice(&there.times))?;
        let count = left.len();
        self.step(computing, partial, ended, &known, &left, count, &mut effort)?;
        effort.steps = ended.steps.load(Ordering::Relaxed) - there.steps_before;
        Ok(effort)
    }

    /// Separates the known pixels from those that must be computed.
    fn take_over(
        &self,
        known: &[Arc<Known>],
        pixels: &[usize],
        steps: u32,
        ended: &Ended,
        report: &mut CacheReport,
    ) -> (There, Vec<usize>) {
        let (mut there, mut left) = (There::default(), Vec::new());
        let mut ends = ended.lock();
        for pixel in pixels.iter().copied() {
            match self.state(known, pixel) {
                Some(State::Parted(parted)) => {
                    there.add(pixel, steps.min(parted));
                    ends.parted(pixel, parted, steps);
                }
                Some(State::Going(item)) if !item.goes_on(steps) => {
                    there.add(pixel, steps);
                    ends.going.push((pixel as u32, *item));
                }
                Some(State::Going(item)) => {
                    there.steps_before += u64::from(item.taken);
                    report.continued += 1;
                    left.push(pixel);
                }
                None => left.push(pixel),
            }
        }
        report.reused += there.pixels.len() as u64;
        (there, left)
    }

    fn state<'k>(&self, known: &'k [Arc<Known>], pixel: usize) -> Option<State<'k>> {
        let mut all = self.sources.iter().zip(known);
        all.find_map(|(source, known)| known.state(source.place(pixel)?))
    }

    /// Computes these pixels to their ends; `left` pixels, including these, are not done.
    #[expect(clippy::too_many_arguments)]
    fn step(
        &self,
        computing: &Computing<'_>,
        partial: &Partial,
        ended: &Ended,
        known: &[Arc<Known>],
        pixels: &Vec<usize>,
        left: usize,
        effort: &mut Effort,
    ) -> Result<(), Error> {
        let work = Work {
            plan: self,
            known,
            pixels,
            starts: computing.spec.starts(),
            partial,
            ended,
            steps: computing.steps(),
        };
        computing.go_on(&work, &work, pixels.len(), left, effort)
    }
}

/// Reused pixels.
#[derive(Default)]
struct There {
    pixels: Vec<usize>,
    times: Vec<u32>,
    /// Steps that continued pixels have taken before.
    steps_before: u64,
}

impl There {
    fn add(&mut self, pixel: usize, times: u32) {
        self.pixels.push(pixel);
        self.times.push(times);
    }
}

/// The final states of a frame's pixels, where step counts do not determine them.
#[derive(Default)]
struct Ended {
    ends: Mutex<Ends>,
    /// Steps of all pixels.
    steps: AtomicU64,
}

#[derive(Default)]
struct Ends {
    going: Vec<(u32, Item)>,
    /// Those that parted in or after the frame's last step.
    late: Vec<(u32, u32)>,
}

impl Ends {
    fn parted(&mut self, pixel: usize, parted: u32, steps: u32) {
        if parted >= steps {
            self.late.push((pixel as u32, parted));
        }
    }
}

impl Ended {
    fn lock(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The layer data after the computation.
    fn known(self, times: &[u32], steps: u32) -> Known {
        let Ends { going, late } = self
            .ends
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let place = |times: &u32| if *times < steps { PARTED } else { UNKNOWN };
        let mut known = Known {
            places: times.iter().map(place).collect(),
            times: times.to_vec(),
            items: going,
        };
        for (pixel, parted) in late {
            known.places[pixel as usize] = PARTED;
            known.times[pixel as usize] = parted;
        }
        for (place, (pixel, _)) in (0..).zip(&known.items) {
            known.places[*pixel as usize] = place;
        }
        known
    }
}

/// Some pixels of a frame while they are computed.
struct Work<'a> {
    plan: &'a ReusePlan,
    known: &'a [Arc<Known>],
    pixels: &'a [usize],
    starts: Starts,
    partial: &'a Partial,
    ended: &'a Ended,
    steps: u32,
}

impl Items for Work<'_> {
    fn get(&self, number: u64) -> Item {
        let pixel = self.pixels[number as usize];
        match self.plan.state(self.known, pixel) {
            Some(State::Going(item)) => *item,
            _ => self.starts.item(pixel as u64),
        }
    }

    fn put(&self, first: u64, items: &[Item]) {
        let taken = items.iter().map(|item| u64::from(item.taken)).sum();
        self.ended.steps.fetch_add(taken, Ordering::Relaxed);
        let mut ends = self.ended.lock();
        for (pixel, item) in self.pixels[first as usize..].iter().zip(items) {
            if item.over > 0 {
                ends.parted(*pixel, item.taken - item.over, self.steps);
            } else {
                ends.going.push((*pixel as u32, *item));
            }
        }
    }
}

impl Sink for Work<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let pixels = &self.pixels[first as usize..][..values.len()];
        self.partial.put_at(pixels, values)
    }
}
