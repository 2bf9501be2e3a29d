//! The cache of rounded coordinates of Badger's study: a pixel whose coordinates, rounded to as many decimal places as the map's
//! scale has digits, were computed in an earlier frame takes that frame's value. The result is not exact; the error is measured.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::frame::{self, most_steps};
use super::framed::{CacheReport, Effort, Error, FrameFiles, PartProgress};
use super::runner::{Board, Outcome, Settings, computed_anew, found, in_flight, steps};
use super::sequence::Frame;
use trisolar_ensemble::{Computed, Report, Task, in_memory};
use trisolar_io::{IoError, npy};
use trisolar_map::{
    DivergenceMap, EngineError, Executor, Monitor, Quantity, RunOptions, Validated, ValueSlice,
    beside,
};

/// The pixels that are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// No pixels are reused.
    #[default]
    None,
    /// Reuses pixels whose rounded coordinates were computed before, as in Badger's study.
    Rounded,
}

trisolar_io::names!(Cache {
    None = "none",
    Rounded = "rounded",
});

impl Cache {
    /// Checks that pixels of these maps can be reused.
    ///
    /// # Errors
    /// What is allowed.
    pub fn check<'a>(
        self,
        maps: impl IntoIterator<Item = &'a Validated>,
    ) -> Result<(), &'static str> {
        let counts = |map: &Validated| map.specification().quantity == Quantity::Divergence;
        match self == Self::None || maps.into_iter().all(counts) {
            true => Ok(()),
            false => Err("it works with --quantity divergence only"),
        }
    }
}

/// One of this many reused pixels is also computed.
const REUSED_PER_CHECK: usize = 64;

/// The maps of a sequence, computed one after the other, each with values of those before.
#[derive(Debug, Default)]
pub struct RoundedCache {
    /// The steps that were left when the twins parted, by the bits of the rounded coordinates.
    left: FxHashMap<[u64; 2], u32>,
    report: CacheReport,
}

/// Computes and writes the missing frames of a sequence one after the other, with the cache.
///
/// # Errors
/// As [`run_on`](super::run_on); [`EngineError::Refused`] for a part of the sequence.
pub fn run_rounded(
    executor: &dyn Executor<Validated>,
    frames: &[Frame],
    folder: &Folder,
    settings: &Settings,
    monitor: &dyn Monitor,
) -> Result<Outcome, Error> {
    executor.check(&settings.options)?;
    if let Some(part) = settings.part {
        let reason = "a cache needs all frames of the sequence";
        return Err(EngineError::refused("part", part, reason).into());
    }
    let files = FrameFiles {
        style: &settings.style,
        most: most_steps(frames),
        folder,
    };
    let board = Board::new(frames, steps(frames), monitor);
    let cache = Mutex::new(RoundedCache::default());
    let work = |_: usize, frame: &Frame| {
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match found(frame, &files)? {
            Ok(summary) => {
                cache.replay(frame, folder)?;
                (summary, None)
            }
            Err(damage) => {
                let spec = &frame.specification;
                let watch = board.watch(frame);
                let compute = || cache.compute(executor, spec, &settings.options, &watch);
                let ((Computed { values, report }, steps), unresolved) =
                    beside(spec, &settings.options, &watch, compute)?;
                let mut effort = Effort::of(report, steps);
                effort.notes.extend(damage.map(|what| computed_anew(&what)));
                let summary = frame::write(frame, values.as_slice(), unresolved, &files)?;
                (summary, Some(effort))
            }
        };
        board.finished(frame);
        Ok(done)
    };
    let outcome = in_flight(frames, 1, &board, work)?;
    let cache = cache.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome {
        cache: Some(cache.report),
        ..outcome
    })
}

impl RoundedCache {
    /// The effect of the cache so far.
    pub fn report(&self) -> CacheReport {
        self.report
    }

    /// Computes the next map without files.
    ///
    /// # Errors
    /// Those of the engine; [`EngineError::Refused`] for a map whose pixels cannot be reused.
    pub fn map(
        &mut self,
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<DivergenceMap, EngineError> {
        executor.check(options)?;
        let refused = |allowed| EngineError::refused("cache", Cache::Rounded, allowed);
        Cache::Rounded.check([spec]).map_err(refused)?;
        let compute = || self.compute(executor, spec, options, monitor);
        let ((Computed { values, mut report }, _), unresolved) =
            beside(spec, options, monitor, compute)?;
        if report.engine == "none" {
            report.engine = "cpu";
        }
        Ok(DivergenceMap::new(spec, values, report).with_resolution(Some(unresolved)))
    }

    /// Computes the pixels of a map that are not in the cache, fills in the others, and computes some of these as well to determine
    /// their error. Returns the number of steps of the pixels that are not in the cache, too.
    fn compute(
        &mut self,
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<(Computed<Validated>, u64), EngineError> {
        self.keep_inside(spec);
        let keys = Keys::new(spec);
        let pixels = spec.pixels() as usize;
        let known = |pixel: &usize| self.left.contains_key(&keys.of(*pixel));
        let (hits, misses): (Vec<usize>, Vec<usize>) = (0..pixels).partition(known);
        let mut map = stream(executor, spec, &misses, options, monitor)?;
        let steps = spec.specification().steps as u32;
        // The number of steps left is the same in both frames, which have different numbers of steps.
        for pixel in &hits {
            let time = steps - self.left[&keys.of(*pixel)].min(steps);
            map.values.put(*pixel, ValueSlice::U32(&[time]));
        }
        let times = map.values.steps_together();
        for pixel in &misses {
            let left = steps - times[*pixel].min(steps);
            self.left.insert(keys.of(*pixel), left);
        }
        let taken = misses.iter().map(|pixel| u64::from(times[*pixel])).sum();
        self.report.pixels += pixels as u64;
        self.report.reused += hits.len() as u64;
        let sample: Vec<usize> = hits.iter().step_by(REUSED_PER_CHECK).copied().collect();
        let right = stream(executor, spec, &sample, options, monitor)?;
        self.check(&sample, [times, right.values.steps_together()]);
        Ok((map, taken))
    }

    /// Adds the errors of reused pixels, which were also computed, to the report.
    fn check(&mut self, sample: &[usize], [found, right]: [&[u32]; 2]) {
        let report = &mut self.report;
        let mut sum = report.mean_error * report.checked as f64;
        for pixel in sample {
            let error = found[*pixel].abs_diff(right[*pixel]);
            report.right += u64::from(error == 0);
            report.largest_error = report.largest_error.max(error);
            sum += f64::from(error);
        }
        report.checked += sample.len() as u64;
        report.mean_error = sum / (report.checked as f64).max(1.0);
    }

    /// Adds the pixels of a frame that was finished before.
    fn replay(&mut self, frame: &Frame, folder: &Folder) -> Result<(), IoError> {
        let spec = &frame.specification;
        let path = folder.file(frame.index, "npy");
        let times = npy::read::<u32>(&path)?.values;
        if times.len() as u64 != spec.pixels() {
            let reason = format!("{} values instead of {}", times.len(), spec.pixels());
            return Err(IoError::Malformed { path, reason });
        }
        self.keep_inside(spec);
        let keys = Keys::new(spec);
        let steps = spec.specification().steps as u32;
        let known = |pixel: &usize| self.left.contains_key(&keys.of(*pixel));
        let (_, misses): (Vec<usize>, Vec<usize>) = (0..times.len()).partition(known);
        for pixel in misses {
            let left = steps - times[pixel].min(steps);
            self.left.insert(keys.of(pixel), left);
        }
        Ok(())
    }

    /// Forgets pixels outside of a frame.
    fn keep_inside(&mut self, spec: &Validated) {
        let s = spec.specification();
        let inside =
            |k: usize, bits: u64| (f64::from_bits(bits) - s.center[k]).abs() <= 0.51 * s.span[k];
        self.left
            .retain(|key, _| inside(0, key[0]) && inside(1, key[1]));
    }
}

/// A map of which these pixels, in ascending order, are computed; the others are 0.
fn stream(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    pixels: &[usize],
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Computed<Validated>, EngineError> {
    let spans = pixels.chunk_by(|a, b| a + 1 == *b);
    let spans: Vec<_> = spans
        .map(|run| run[0] as u64..run[run.len() - 1] as u64 + 1)
        .collect();
    in_memory(spec, |all| {
        if spans.is_empty() {
            return Ok(Report::nothing("all pixels were known"));
        }
        let task = Task::new(spec, &spans, all.sink);
        executor.stream(&task, options, &PartProgress::of(&task, monitor))
    })
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
