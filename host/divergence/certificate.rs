//! Whether the value of every pixel of a map is that of the motion, or depends on the step or on rounding: all pixels are computed again as
//! the [check](super::step_check) computes a sample of them.

use serde::Serialize;

use super::step_check::{Again, Compared, Sample, TOLERANCE, compared, count};
use super::{Checks, Executor, Precision, Quantity, Validated, ValueSlice, ValueVec};
use trisolar_ensemble::{ClassShare, Verdict, compute};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// The rounding error that exponential growth predicts, relative to the size of the system: 2^-53 (2^-24 of a map in f32, 2^-106 in
/// double-double) times e^(λT).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The largest of all pixels. Of a map of divergence, that of the pixels whose twins part: their distance has grown from the shift to the
    /// critical distance.
    pub largest: f64,
    /// The share of pixels for which it is above the tolerance of the check, so that rounding may decide them.
    pub above: f64,
    /// That of each pixel, where the exponents are the map's own values.
    #[serde(skip)]
    pub of_pixels: Option<Vec<f64>>,
}

/// The verdicts on all pixels of a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// Number of pixels of each [`Verdict`], in their order.
    pub verdicts: [ClassShare; Verdict::ALL.len()],
    /// The rounding errors that exponential growth predicts, where the quantity tells.
    pub predicted: Option<Predicted>,
    /// The [`Verdict`] on each pixel, in the order of the values.
    #[serde(skip)]
    pub of_pixels: Vec<u8>,
}

impl Certificate {
    /// Computes all pixels of a map, whose values are known, with a quarter of the step and in double-double, and those that both change
    /// with both at once. Returns the numbers of changed values, too. It takes four times as long as the map, some ten times as long for
    /// double-double, and up to forty times as long for pixels that both change.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn of(
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        values: ValueSlice<'_>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Checks), EngineError> {
        let again = |again: Again| -> Result<Option<ValueVec>, EngineError> {
            let changed = (again.differs(spec)).then(|| spec.changed(|s| again.change(s)));
            let Some(changed) = changed.flatten() else {
                return Ok(None);
            };
            Ok(Some(compute(executor, &changed, options, monitor)?.values))
        };
        let [finer, exact] = [again(Again::Finer)?, again(Again::Exact)?];
        let all = |by: Again, found: &Option<ValueVec>| -> Option<Vec<Compared>> {
            let found = found.as_ref()?.as_slice();
            Some(compared(spec, by.finer(), values.numbers(), found).collect())
        };
        let [step, rounding] = [all(Again::Finer, &finer), all(Again::Exact, &exact)];
        let check = |found: &Option<Vec<Compared>>| {
            let found = found.as_ref()?;
            Some(count(found.iter().copied()))
        };
        let checks = Checks {
            step: check(&step),
            rounding: check(&rounding),
        };
        let exact_map = spec.specification().precision == Precision::DoubleDouble;
        let parting = spec.specification().quantity.counts_steps();
        let mut both = Vec::new();
        let mut of_pixels: Vec<u8> = (0..values.len())
            .map(|pixel| {
                // Twins that never part have this in common; numbers that are not finite are no values.
                let at = |found: &Option<Vec<Compared>>| match found.as_ref()?[pixel] {
                    Compared::Neither if parting => Some(Compared::Keeps),
                    Compared::Neither => None,
                    other => Some(other),
                };
                let verdict = match (at(&step), at(&rounding)) {
                    // The finer run rounds differently in every step.
                    (Some(Compared::Keeps), Some(Compared::Keeps) | None) => Verdict::Agrees,
                    (Some(Compared::Changes), Some(Compared::Keeps)) => Verdict::Step,
                    (Some(Compared::Changes), None) if exact_map => Verdict::Step,
                    (Some(Compared::Keeps), Some(Compared::Changes)) => Verdict::Rounding,
                    (Some(Compared::Changes), Some(Compared::Changes)) => {
                        both.push(pixel as u64);
                        Verdict::Undecided
                    }
                    _ => Verdict::Undecided,
                };
                verdict as u8
            })
            .collect();
        let sample = (!both.is_empty()).then(|| {
            Sample::of(spec, both.clone(), |s| {
                Again::Finer.change(s);
                Again::Exact.change(s);
            })
        });
        if let (Some(sample), Some(exact)) = (sample.flatten(), &exact) {
            let finest = compute(executor, &sample.again, options, monitor)?.values;
            let exact = both
                .iter()
                .map(|pixel| exact.as_slice().get(*pixel as usize));
            let found = compared(spec, Again::Finer.finer(), exact, finest.as_slice());
            for (pixel, found) in both.iter().zip(found) {
                if found != Compared::Changes {
                    of_pixels[*pixel as usize] = Verdict::Rounding as u8;
                }
            }
        }
        Ok((Self::new(spec, values, of_pixels), checks))
    }

    /// The certificate of a map, whose values are known, with these numbers of [`Verdict`]s.
    pub fn new(spec: &Validated, values: ValueSlice<'_>, of_pixels: Vec<u8>) -> Self {
        Self {
            verdicts: Verdict::shares(&of_pixels),
            predicted: Predicted::of(spec, values),
            of_pixels,
        }
    }
}

impl Predicted {
    fn of(spec: &Validated, values: ValueSlice<'_>) -> Option<Self> {
        let s = spec.specification();
        let unit = match s.precision {
            Precision::F64 => f64::EPSILON / 2.0,
            Precision::DoubleDouble => f64::EPSILON * f64::EPSILON / 4.0,
            Precision::F32 => f64::from(f32::EPSILON) / 2.0,
            _ => return None,
        };
        if s.quantity.counts_steps() {
            let bound = unit * s.critical_distance / s.shift.length();
            let parted = values.numbers().filter(|n| *n < s.steps as f64).count();
            let share = parted as f64 / values.len().max(1) as f64;
            return Some(Self {
                largest: bound,
                above: if bound > TOLERANCE { share } else { 0.0 },
                of_pixels: None,
            });
        }
        if s.quantity != Quantity::Ftle {
            return None;
        }
        let time = s.dt * s.steps as f64;
        let all: Vec<f64> = (values.numbers())
            .map(|exponent| (exponent * time).exp() * unit)
            .collect();
        let above = all.iter().filter(|bound| **bound > TOLERANCE).count();
        Some(Self {
            largest: all.iter().copied().fold(0.0, f64::max),
            above: above as f64 / all.len().max(1) as f64,
            of_pixels: Some(all),
        })
    }
}
