//! Whether the values of a map depend on its time step: a sample of its pixels is computed again with a quarter of the step.
//!
//! A value that changes is wrong, whatever the energy error or the resolution say. One that does not change can still be wrong, for example
//! where both steps miss a close encounter; `docs/accuracy.md` compares the check with an independent integrator.

use serde::Serialize;

use super::resolution;
use super::{Executor, Points, SpecError, Validated, ValueSlice, output};
use trisolar_ensemble::compute;
use trisolar_io::colour::{ColourRange, Spacing};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// How many of the finer steps make one of the map's.
const FINER: u64 = 4;
/// The change above which a value counts as wrong: this share of the run's time for times of parting, of the value for quantities with
/// logarithmic colours, and of the range of colours for others.
const TOLERANCE: f64 = 0.05;

/// How many values of a sample change with a quarter of the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepCheck {
    /// Pixels in the sample.
    pub sample: u64,
    /// Those that were compared: of a map of divergence, those whose twins part with either step; otherwise those with a finite value.
    pub compared: u64,
    /// Those of them whose value changes by more than 5 % (of the time of the run, of the value, or of the range of colours).
    pub changed: u64,
    /// `changed / compared`, 0 if none was compared.
    pub share: f64,
}

/// Checks a sample of up to `most` pixels of a map, which takes about five times as long as these pixels of the map. `None` if a run with a
/// quarter of the step has more steps than are possible.
///
/// # Errors
/// Those of the computation.
pub fn step_check(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    most: u64,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Option<StepCheck>, EngineError> {
    let pixels = resolution::sample(spec, most.max(1));
    let Ok([coarse, fine]) = twice(spec, &pixels) else {
        return Ok(None);
    };
    let [coarse, fine] = [coarse, fine].map(|valid| compute(executor, &valid, options, monitor));
    let (coarse, fine) = (coarse?.values, fine?.values);
    Ok(Some(compare(spec, coarse.as_slice(), fine.as_slice())))
}

/// These pixels as a map of points, with the step of the map and with a quarter of it.
fn twice(spec: &Validated, pixels: &[u64]) -> Result<[Validated; 2], SpecError> {
    let points = match spec.points() {
        Some(points) => points.chosen(pixels),
        None => {
            let starts = pixels.iter().flat_map(|pixel| spec.start(*pixel));
            Points::new(&[pixels.len(), 3], starts.collect())?
        }
    };
    let mut fine = spec.specification().clone();
    fine.dt /= FINER as f64;
    fine.steps = fine.steps.saturating_mul(FINER);
    let own = fine.own_steps_per_period();
    fine.steps_per_period = own.map(|number| number * FINER as f64);
    let coarse = spec.specification().clone();
    Ok([
        coarse.validate_points(points.clone())?,
        fine.validate_points(points)?,
    ])
}

fn compare(spec: &Validated, coarse: ValueSlice<'_>, fine: ValueSlice<'_>) -> StepCheck {
    let s = spec.specification();
    let range = match output::range(s.quantity, fine) {
        ColourRange::Fixed(low, high) => high - low,
        ColourRange::Whole => f64::INFINITY,
    };
    let (steps, finer) = (s.steps as f64, FINER as f64);
    let (mut compared, mut changed) = (0, 0);
    for (a, b) in coarse.numbers().zip(fine.numbers()) {
        let (counts, change, allowed) = if s.quantity.counts_steps() {
            let b = b / finer;
            (a < steps || b < steps, (a - b).abs(), TOLERANCE * steps)
        } else {
            let scale = match output::spacing(s.quantity) {
                Spacing::Logarithmic => a.abs().max(b.abs()),
                Spacing::Linear => range,
            };
            let one_is_finite = a.is_finite() || b.is_finite();
            (one_is_finite, (a - b).abs(), TOLERANCE * scale)
        };
        compared += u64::from(counts);
        // A change that is not a number is one.
        changed +=
            u64::from(counts && !matches!(change.partial_cmp(&allowed), Some(o) if o.is_le()));
    }
    StepCheck {
        sample: coarse.len() as u64,
        compared,
        changed,
        share: changed as f64 / compared.max(1) as f64,
    }
}
