//! The published cache: pixels whose coordinates, rounded to as many decimal places as the map's scale has digits, were
//! computed before. Their numbers of steps grow with those of the frame.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use super::{CacheReport, Computing, RECORD_ALL};
use crate::divergence::{Sink as _, Validated};
use crate::io::{IoError, npy};
use crate::zoom::Folder;
use crate::zoom::frame::{Effort, Error};
use crate::zoom::partial::Partial;
use crate::zoom::sequence::Frame;

/// Of each pair of rounded coordinates, by their bits, the steps that were left in the frame that computed it: what stays the
/// same when both numbers of steps grow.
#[derive(Debug, Default)]
pub(super) struct Store {
    left: HashMap<[u64; 2], u32>,
}

/// Of 64 reused pixels one is computed as well.
const CHECKED: usize = 64;

impl Store {
    /// Computes the pixels of a frame that are not in the cache, and some that are, to see how far off they are.
    pub fn frame(
        &mut self,
        computing: &Computing<'_>,
        path: &Path,
        report: &mut CacheReport,
    ) -> Result<(Vec<u32>, Effort), Error> {
        let (spec, steps) = (computing.spec, computing.steps());
        self.keep_inside(spec);
        let keys = Keys::new(spec);
        let pixels = spec.pixels() as usize;
        let found: Vec<Option<u32>> = (0..pixels)
            .map(|pixel| self.left.get(&keys.of(pixel)).copied())
            .collect();
        let (hits, misses): (Vec<usize>, Vec<usize>) =
            (0..pixels).partition(|pixel| found[*pixel].is_some());
        report.reused += hits.len() as u64;
        let mut effort = Effort::default();
        // In the record of what is done there are the missing pixels only.
        let partial = Partial::open(path, misses.len(), RECORD_ALL)?;
        while let Some(gap) = partial.missing().first() {
            let start = Instant::now();
            let done = gap.start as usize;
            let end = misses
                .len()
                .min(done + computing.pace.band(u64::from(steps)));
            let band = compute(
                computing,
                &misses[done..end],
                done,
                misses.len(),
                &mut effort,
            )?;
            partial.put(done as u64, &band)?;
            let (count, took) = (band.len(), start.elapsed());
            computing.pace.measured(count, u64::from(steps), took);
        }
        let mut times: Vec<u32> = found
            .iter()
            .map(|left| steps - left.unwrap_or(0).min(steps))
            .collect();
        for (pixel, computed) in misses.iter().zip(partial.into_times()) {
            times[*pixel] = computed;
        }
        check(computing, &hits, &times, report)?;
        self.insert(&keys, &misses, &times, steps);
        Ok((times, effort))
    }

    /// Takes up what a frame that is finished had put into the cache.
    pub fn replay(&mut self, frame: &Frame, folder: &Folder) -> Result<(), IoError> {
        let spec = &frame.specification;
        let path = folder.file(frame.index, "npy");
        let times = npy::read::<u32>(&path)?.values;
        if times.len() as u64 != spec.pixels() {
            let reason = format!("{} values instead of {}", times.len(), spec.pixels());
            return Err(IoError::Malformed { path, reason });
        }
        self.keep_inside(spec);
        let keys = Keys::new(spec);
        let missing = |pixel: &usize| !self.left.contains_key(&keys.of(*pixel));
        let misses: Vec<usize> = (0..times.len()).filter(missing).collect();
        self.insert(&keys, &misses, &times, spec.specification().steps as u32);
        Ok(())
    }

    fn insert(&mut self, keys: &Keys, pixels: &[usize], times: &[u32], steps: u32) {
        for pixel in pixels {
            let left = steps.saturating_sub(times[*pixel]);
            self.left.insert(keys.of(*pixel), left);
        }
    }

    /// Forgets what lies outside of a frame.
    fn keep_inside(&mut self, spec: &Validated) {
        let s = spec.specification();
        let inside =
            |k: usize, bits: u64| (f64::from_bits(bits) - s.center[k]).abs() <= 0.51 * s.span[k];
        self.left
            .retain(|key, _| inside(0, key[0]) && inside(1, key[1]));
    }
}

/// Numbers of steps of some pixels, from their start.
fn compute(
    computing: &Computing<'_>,
    pixels: &[usize],
    before: usize,
    total: usize,
    effort: &mut Effort,
) -> Result<Vec<u32>, Error> {
    let start = |pixel: &usize| computing.spec.item(*pixel as u64);
    let mut items: Vec<_> = pixels.iter().map(start).collect();
    computing.go_on(&mut items, before, total, effort)?;
    let steps = computing.steps();
    Ok(items.iter().map(|item| item.times(steps)).collect())
}

/// Computes some of the reused pixels as well, and adds their errors to the report.
fn check(
    computing: &Computing<'_>,
    hits: &[usize],
    times: &[u32],
    report: &mut CacheReport,
) -> Result<(), Error> {
    let sample: Vec<usize> = hits.iter().copied().step_by(CHECKED).collect();
    let right = compute(computing, &sample, 0, sample.len(), &mut Effort::default())?;
    let mut sum = report.mean_error * report.checked as f64;
    for (pixel, right) in sample.iter().zip(right) {
        let error = times[*pixel].abs_diff(right);
        report.right += u64::from(error == 0);
        report.largest_error = report.largest_error.max(error);
        sum += f64::from(error);
    }
    report.checked += sample.len() as u64;
    if report.checked > 0 {
        report.mean_error = sum / report.checked as f64;
    }
    Ok(())
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

/// `int(-log(range / resolution))`: the published choice, which takes the natural logarithm.
fn decimal_places(span: f64, pixels: u64) -> i32 {
    (-(span / pixels as f64).ln()) as i32
}

/// The nearest number with so many decimal places (below 0: of tens, hundreds, …).
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
