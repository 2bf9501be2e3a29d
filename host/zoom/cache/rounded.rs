//! The cache of Badger's study: pixels whose coordinates, rounded to as many decimal places as the map's scale has digits, were
//! computed before. Their numbers of steps grow with those of the frame.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::later::Later;
use super::{CacheReport, Computing, OF_STEPS};
use crate::Folder;
use crate::frame::{Effort, Error};
use crate::partial::Partial;
use crate::sequence::Frame;
use trisolar_io::{IoError, npy};
use trisolar_map::{EngineError, Item, Items, Sink, Starts, Validated, ValueSlice};

/// For each pair of rounded coordinates, by their bits: the frame that computes it, and its place among the pixels that the frame
/// computes.
#[derive(Debug, Default)]
pub(super) struct RoundedCache {
    seen: FxHashMap<[u64; 2], (u32, u32)>,
    frames: FxHashMap<u32, Arc<Computed>>,
    planned: u32,
}

/// The pixels that a frame computes itself.
#[derive(Debug)]
struct Computed {
    /// Steps of the frame.
    steps: u32,
    times: Later<Vec<u32>>,
}

/// One of this many reused pixels is also computed.
const REUSED_PER_CHECK: usize = 64;

impl RoundedCache {
    /// Plans which pixels the next frame reuses. Frames that are not yet computed count as computed.
    pub fn plan(&mut self, spec: &Validated) -> ReusePlan {
        self.keep_inside(spec);
        let keys = Keys::new(spec);
        let pixels = spec.pixels() as usize;
        let (mut hits, mut misses) = (Vec::new(), Vec::new());
        for pixel in 0..pixels {
            match self.seen.get(&keys.of(pixel)) {
                Some((frame, place)) => hits.push(Hit {
                    pixel,
                    frame: *frame,
                    place: *place,
                }),
                None => misses.push(pixel),
            }
        }
        let number = self.planned;
        self.planned += 1;
        for (pixel, place) in misses.iter().zip(0..) {
            self.seen.insert(keys.of(*pixel), (number, place));
        }
        let own = Arc::new(Computed {
            steps: spec.specification().steps as u32,
            times: Later::default(),
        });
        let used: FxHashSet<u32> = hits.iter().map(|hit| hit.frame).collect();
        let sources = used.iter().map(|n| (*n, self.frames[n].clone())).collect();
        self.frames.insert(number, own.clone());
        ReusePlan {
            hits,
            misses,
            sources,
            own,
        }
    }

    /// Adds the pixels that a finished frame had put into the cache.
    pub fn replay(&mut self, frame: &Frame, folder: &Folder) -> Result<(), IoError> {
        let spec = &frame.specification;
        let path = folder.file(frame.index, "npy");
        let times = npy::read::<u32>(&path)?.values;
        if times.len() as u64 != spec.pixels() {
            let reason = format!("{} values instead of {}", times.len(), spec.pixels());
            return Err(IoError::Malformed { path, reason });
        }
        let plan = self.plan(spec);
        let computed = plan.misses.iter().map(|pixel| times[*pixel]).collect();
        plan.own.times.set(computed);
        Ok(())
    }

    /// Forgets pixels outside of a frame.
    fn keep_inside(&mut self, spec: &Validated) {
        let s = spec.specification();
        let inside =
            |k: usize, bits: u64| (f64::from_bits(bits) - s.center[k]).abs() <= 0.51 * s.span[k];
        let mut used = FxHashSet::default();
        self.seen.retain(|key, (frame, _)| {
            let kept = inside(0, key[0]) && inside(1, key[1]);
            if kept {
                used.insert(*frame);
            }
            kept
        });
        self.frames.retain(|frame, _| used.contains(frame));
    }
}

/// A pixel that another frame computes.
#[derive(Debug)]
struct Hit {
    pixel: usize,
    frame: u32,
    /// Its place among those that the frame computes.
    place: u32,
}

/// The pixels that a frame reuses, and those that it computes.
#[derive(Debug)]
pub(super) struct ReusePlan {
    hits: Vec<Hit>,
    misses: Vec<usize>,
    sources: FxHashMap<u32, Arc<Computed>>,
    own: Arc<Computed>,
}

impl Drop for ReusePlan {
    fn drop(&mut self) {
        // Other frames must not wait for a frame that failed.
        self.own.times.give_up();
    }
}

impl ReusePlan {
    /// Computes the pixels of a frame that are not in the cache, and some that are, to determine their error.
    pub fn compute(
        self,
        computing: &Computing<'_>,
        report: &mut CacheReport,
    ) -> Result<(Vec<u32>, Effort), Error> {
        let steps = computing.steps();
        let mut effort = Effort::default();
        let computed = self.misses(computing, &mut effort)?;
        let mut times = vec![0; computing.spec.pixels() as usize];
        for (pixel, computed) in self.misses.iter().zip(&computed) {
            times[*pixel] = *computed;
        }
        self.own.times.set(computed);
        let mut there = FxHashMap::default();
        for (number, source) in &self.sources {
            let values = source.times.wait(computing.monitor)?;
            there.insert(*number, (source.steps, values));
        }
        for hit in &self.hits {
            let (its_steps, values) = &there[&hit.frame];
            // The number of steps left is the same in both frames, which have different numbers of steps.
            let left = its_steps.saturating_sub(values[hit.place as usize]);
            times[hit.pixel] = steps - left.min(steps);
        }
        report.reused += self.hits.len() as u64;
        self.check(computing, &times, report)?;
        Ok((times, effort))
    }

    /// The numbers of steps of the pixels that are not in the cache. The record of finished pixels has only these.
    fn misses(&self, computing: &Computing<'_>, effort: &mut Effort) -> Result<Vec<u32>, Error> {
        let partial = computing.partial(self.misses.len())?;
        let missing = partial.missing().into_iter().flatten();
        let places: Vec<usize> = missing.map(|place| place as usize).collect();
        let pixels: Vec<usize> = places.iter().map(|place| self.misses[*place]).collect();
        let work = FromStart {
            starts: computing.spec.starts(),
            pixels: &pixels,
        };
        let sink = Scattered {
            partial: &partial,
            places: &places,
        };
        let left = pixels.len() + self.hits.len();
        let result = computing.go_on(&work, &sink, pixels.len(), left, effort);
        partial.flush()?;
        result?;
        effort.steps = partial.steps_taken();
        Ok(partial.into_values().into().expect(OF_STEPS))
    }

    /// Computes some of the reused pixels as well, and adds their errors to the report.
    fn check(
        &self,
        computing: &Computing<'_>,
        times: &[u32],
        report: &mut CacheReport,
    ) -> Result<(), Error> {
        let sample: Vec<usize> = self
            .hits
            .iter()
            .step_by(REUSED_PER_CHECK)
            .map(|h| h.pixel)
            .collect();
        let work = FromStart {
            starts: computing.spec.starts(),
            pixels: &sample,
        };
        let right = Mutex::new(vec![0; sample.len()]);
        let sink = InMemory(&right);
        computing.go_on(&work, &sink, sample.len(), 0, &mut Effort::default())?;
        let right = right.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut sum = 0.0;
        for (pixel, right) in sample.iter().zip(right) {
            let error = times[*pixel].abs_diff(right);
            report.right += u64::from(error == 0);
            report.largest_error = report.largest_error.max(error);
            sum += f64::from(error);
        }
        report.checked += sample.len() as u64;
        report.mean_error = sum / (report.checked as f64).max(1.0);
        Ok(())
    }
}

/// Pixels from their starts, whose final states are not needed.
struct FromStart<'a> {
    starts: Starts,
    pixels: &'a [usize],
}

impl Items for FromStart<'_> {
    fn get(&self, number: u64) -> Item {
        self.starts.item(self.pixels[number as usize] as u64)
    }

    fn put(&self, _: u64, _: &[Item]) {}
}

/// The places of a record.
struct Scattered<'a> {
    partial: &'a Partial,
    places: &'a [usize],
}

impl Sink for Scattered<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let places = &self.places[first as usize..][..values.len()];
        self.partial.put_at(places, values)
    }
}

struct InMemory<'a>(&'a Mutex<Vec<u32>>);

impl Sink for InMemory<'_> {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let times = values.of::<u32>().expect(OF_STEPS);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[first as usize..][..times.len()].copy_from_slice(times);
        Ok(())
    }
}

/// The rounded coordinates of a map's columns and rows, as bits.
struct Keys {
    columns: Vec<u64>,
    rows: Vec<u64>,
}

impl Keys {
    fn new(spec: &Validated) -> Self {
        let s = spec.specification();
        let axes = s.plane.axes();
        let places = decimal_places(s.span[0], s.size[0]);
        let key = |x: f64| round(x, places).to_bits();
        Self {
            columns: (0..s.size[0])
                .map(|c| key(spec.start(c)[axes[0]]))
                .collect(),
            rows: (0..s.size[1])
                .map(|r| key(spec.start(r * s.size[0])[axes[1]]))
                .collect(),
        }
    }

    fn of(&self, pixel: usize) -> [u64; 2] {
        let width = self.columns.len();
        [self.columns[pixel % width], self.rows[pixel / width]]
    }
}

/// `int(-log(range / resolution))`, with the natural logarithm, as in Badger's study.
fn decimal_places(span: f64, pixels: u64) -> i32 {
    (-(span / pixels as f64).ln()) as i32
}

/// The nearest number with this many decimal places (below 0: multiples of 10, 100, …).
fn round(x: f64, places: i32) -> f64 {
    if places >= 0 {
        let text = format!("{x:.*}", places as usize);
        // -0 and 0 are one number, as keys of a Python dictionary are.
        text.parse::<f64>().unwrap_or(x) + 0.0
    } else {
        let unit = 10f64.powi(-places);
        (x / unit).round_ties_even() * unit + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_rounded_as_published() {
        assert_eq!(decimal_places(40.0, 1000), 3);
        assert_eq!(decimal_places(40.0 / 1024.0, 1000), 10);
        assert_eq!(decimal_places(1280.0, 1000), 0);
        for (x, places, rounded) in [
            (5.30031, 3, 5.3),
            (-0.4567, 3, -0.457),
            (0.25, 1, 0.2),
            (1234.0, -2, 1200.0),
            (1.6, 0, 2.0),
        ] {
            assert_eq!(round(x, places), rounded, "{x}");
        }
        assert_eq!(round(-0.0001, 3).to_bits(), 0.0_f64.to_bits());
    }
}
