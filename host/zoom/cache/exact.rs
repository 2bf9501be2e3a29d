//! Pixels whose start has the same bits.

use std::collections::HashMap;
use std::time::Instant;

use super::{CacheReport, Computing};
use crate::divergence::{Item, Sink as _, Specification, Validated};
use crate::zoom::frame::{Effort, Error};
use crate::zoom::partial::Partial;

/// What is known of a start position, whose two coordinates' bits are the key.
#[derive(Debug, Default)]
pub(super) struct Store {
    pixels: HashMap<[u64; 2], Known>,
    /// What the pixels have in common.
    common: Option<Specification>,
}

#[derive(Debug)]
enum Known {
    /// It parts after so many steps.
    Parted(u32),
    /// It had not parted so far.
    Going(Box<Item>),
}

impl Known {
    fn new(item: &Item) -> Self {
        if item.parted > 0 {
            Self::Parted(item.taken - item.parted)
        } else {
            Self::Going(Box::new(*item))
        }
    }
}

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

impl Store {
    /// Computes a frame from its last record on.
    pub fn frame(
        &mut self,
        computing: &Computing<'_>,
        partial: Partial,
        report: &mut CacheReport,
    ) -> Result<(Vec<u32>, Effort), Error> {
        let (spec, steps) = (computing.spec, computing.steps());
        let common = common(spec);
        if self.common.as_ref() != Some(&common) {
            self.pixels.clear();
            self.common = Some(common);
        }
        self.keep_inside(spec);
        // Of pixels that an interrupted run has done, only the parted ones are known for good.
        let pixels = spec.pixels() as usize;
        // Bands are in pixel order.
        let mut done = match partial.missing().first() {
            Some(gap) => gap.start as usize,
            None => pixels,
        };
        for pixel in 0..done {
            let times = partial.get(pixel);
            if times < steps {
                let known = Known::Parted(times);
                self.pixels.insert(key(spec, pixel as u64), known);
            }
        }
        let mut effort = Effort::default();
        loop {
            if done == pixels {
                return Ok((partial.into_times(), effort));
            }
            let end = pixels.min(done + computing.pace.band(u64::from(steps)));
            let start = Instant::now();
            let times = self.band(computing, done..end, report, &mut effort)?;
            partial.put(done as u64, &times)?;
            done = end;
            let (count, took) = (times.len(), start.elapsed());
            computing.pace.measured(count, u64::from(steps), took);
        }
    }

    fn band(
        &mut self,
        computing: &Computing<'_>,
        range: std::ops::Range<usize>,
        report: &mut CacheReport,
        effort: &mut Effort,
    ) -> Result<Vec<u32>, Error> {
        let (spec, steps) = (computing.spec, computing.steps());
        let mut times = vec![0; range.len()];
        let (mut places, mut items) = (Vec::new(), Vec::new());
        for (place, pixel) in range.clone().enumerate() {
            match self.pixels.get(&key(spec, pixel as u64)) {
                Some(Known::Parted(parted)) => {
                    times[place] = steps.min(*parted);
                    report.reused += 1;
                }
                Some(Known::Going(item)) if !item.goes_on(steps) => {
                    times[place] = steps;
                    report.reused += 1;
                }
                Some(Known::Going(item)) => {
                    items.push(**item);
                    places.push(place);
                    report.continued += 1;
                }
                None => {
                    items.push(spec.item(pixel as u64));
                    places.push(place);
                }
            }
        }
        let total = spec.pixels() as usize;
        computing.go_on(&mut items, range.start, total, effort)?;
        for (place, item) in places.into_iter().zip(&items) {
            times[place] = item.times(steps);
            let pixel = (range.start + place) as u64;
            self.pixels.insert(key(spec, pixel), Known::new(item));
        }
        Ok(times)
    }

    /// Forgets what lies outside of a frame: zooms do not come back.
    fn keep_inside(&mut self, spec: &Validated) {
        let s = spec.specification();
        let inside = |k: usize, bits: u64| {
            let low = s.center[k] - s.span[k] / 2.0;
            (low..=low + s.span[k]).contains(&f64::from_bits(bits))
        };
        self.pixels
            .retain(|key, _| inside(0, key[0]) && inside(1, key[1]));
    }
}

/// The bits of a pixel's two coordinates.
fn key(spec: &Validated, pixel: u64) -> [u64; 2] {
    let start = spec.start(pixel);
    spec.specification()
        .plane
        .axes()
        .map(|axis| start[axis].to_bits())
}
