//! Whether the values of a map depend on its time step or on rounding: a sample of its pixels is computed again with a quarter of the step,
//! and one in double-double.
//!
//! A value that changes is wrong, whatever the energy error or the resolution say. One that does not change can still be wrong, for example
//! where both steps miss a close encounter; `docs/accuracy.md` compares the check with an independent integrator.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::resolution::{self, Resolution};
use super::{
    Devices, Executor, Points, Precision, Specification, Validated, ValueSlice, ValueVec, colours,
};
use trisolar_ensemble::statistics::wilson;
use trisolar_ensemble::{Computed, compute};
use trisolar_io::colour::{ColourRange, Spacing};
use trisolar_run::{Backend, EngineError, Monitor, RunOptions};
use trisolar_simd::Simd;

/// How many of the finer steps make one of the map's.
const FINER: u64 = 4;
/// The change above which a value counts as wrong: this share of the run's time for times of parting, of the value for quantities with
/// logarithmic colours, and of the range of colours for others.
const TOLERANCE: f64 = 0.05;

/// How values are computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// With a quarter of the step.
    Finer,
    /// In double-double, where the integrator has it.
    Exact,
}

impl Again {
    /// In words that follow what changes.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Finer => "with a quarter of the step",
            Self::Exact => "in double-double",
        }
    }

    /// How many steps are taken for one of the map's.
    fn finer(self) -> u64 {
        match self {
            Self::Finer => FINER,
            Self::Exact => 1,
        }
    }

    /// The largest samples that are computed beside a map, so that this takes some hundredths of its time, or a tenth of a second.
    fn sample_size(self, spec: &Validated) -> u64 {
        resolution::sample_size(
            spec,
            match self {
                Self::Finer => FINER,
                // A step in double-double takes ten times as long, and its pixels are a tenth.
                Self::Exact => 10 * FINER,
            },
        )
    }

    /// Up to `most` pixels of a map. `None` if they cannot be computed so: a run with a quarter of the step has more steps than are
    /// possible, or the method has no double-double, or has it already.
    fn sample(self, spec: &Validated, most: u64) -> Option<Sample> {
        if self == Self::Exact && spec.specification().precision == Precision::DoubleDouble {
            return None;
        }
        Sample::of(spec, most, |s| match self {
            Self::Finer => {
                s.dt /= FINER as f64;
                s.steps = s.steps.saturating_mul(FINER);
                let own = s.own_steps_per_period();
                s.steps_per_period = own.map(|number| number * FINER as f64);
            }
            Self::Exact => s.precision = Precision::DoubleDouble,
        })
    }
}

/// How many values of a sample change when they are computed [again](Again).
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

impl StepCheck {
    /// Makes the result from the numbers of pixels.
    pub fn new(sample: u64, compared: u64, changed: u64) -> Self {
        Self {
            sample,
            compared,
            changed,
            share: changed as f64 / compared.max(1) as f64,
        }
    }

    /// As text for a summary.
    pub fn in_words(&self, again: Again) -> String {
        let Self {
            compared, changed, ..
        } = *self;
        if compared == 0 {
            return format!("no value to compare among {} sampled ones", self.sample);
        }
        let [low, high] = wilson(changed as f64, compared as f64).map(|share| 100.0 * share);
        format!(
            "{:.1} % ({changed} of {compared} sampled values; 95 % interval {low:.0} to {high:.0} %) change by more than {:.0} % {}",
            100.0 * self.share,
            100.0 * TOLERANCE,
            again.in_words(),
        )
    }
}

/// What samples of a map's pixels tell of its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checks {
    /// How many values change with a quarter of the step, if it was determined.
    pub step: Option<StepCheck>,
    /// How many values change in double-double, if it was determined.
    pub rounding: Option<StepCheck>,
}

impl Checks {
    /// The checks that were made.
    pub fn made(&self) -> impl Iterator<Item = (Again, StepCheck)> {
        let all = [(Again::Finer, self.step), (Again::Exact, self.rounding)];
        all.into_iter()
            .filter_map(|(again, found)| Some((again, found?)))
    }

    /// Checks that neither the share of unresolved pixels nor those of changed values exceed the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names both, also if there is a limit and no share is known.
    pub fn check(&self, resolution: Option<Resolution>, most: Option<f64>) -> Result<(), String> {
        let resolution = resolution.filter(|found| found.sample > 0);
        let known = || self.made().filter(|(_, found)| found.compared > 0);
        if resolution.is_some() || known().next().is_none() {
            Resolution::check(resolution, most)?;
        }
        match most.and_then(|most| known().find(|(_, found)| found.share > most)) {
            Some((again, found)) => Err(format!(
                "{}, above --max-error {}",
                found.in_words(again),
                most.unwrap_or_default()
            )),
            None => Ok(()),
        }
    }

    /// Computes the samples of a map whose values are in a file, on the CPU.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn of(
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Self, EngineError> {
        let [step, rounding] = [Again::Finer, Again::Exact].map(|again| {
            let most = again.sample_size(spec);
            repeated(
                again,
                &Devices::new(),
                spec,
                most,
                &on_cpu(options),
                monitor,
            )
        });
        Ok(Self {
            step: step?,
            rounding: rounding?,
        })
    }
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
    repeated(Again::Finer, executor, spec, most, options, monitor)
}

/// Computes a sample of a map, and the same pixels again.
fn repeated(
    again: Again,
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    most: u64,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Option<StepCheck>, EngineError> {
    let Some(sample) = again.sample(spec, most) else {
        return Ok(None);
    };
    let [once, twice] = [&sample.map, &sample.again]
        .map(|valid| compute(executor, valid, options, monitor).map(|computed| computed.values));
    let (once, twice) = (once?, twice?);
    let once = once.as_slice().numbers();
    Ok(Some(compare(spec, again, once, twice.as_slice())))
}

/// Calls `work`, which computes a map, while the CPU computes samples of its pixels again.
///
/// # Errors
/// Those of `work` and of the samples.
pub(super) fn beside(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> Result<Computed<Validated>, EngineError>,
) -> Result<(Computed<Validated>, Checks), EngineError> {
    let failed = AtomicBool::new(false);
    let watch = Watch {
        monitor,
        failed: &failed,
    };
    let options = on_cpu(options);
    let sampled = |again: Again| -> Result<_, EngineError> {
        let Some(sample) = again.sample(spec, again.sample_size(spec)) else {
            return Ok(None);
        };
        let values = compute(&Devices::new(), &sample.again, &options, &watch)?.values;
        Ok(Some((sample.pixels, values)))
    };
    std::thread::scope(|scope| {
        let samples = scope.spawn(|| [Again::Finer, Again::Exact].map(sampled));
        let done = work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let samples = samples.join();
        let [finer, exact] = samples.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let done = done?;
        let all = done.values.as_slice();
        let compared = |again, sample: Option<(Vec<u64>, ValueVec)>| {
            let (pixels, values) = sample?;
            let once = pixels.iter().map(|pixel| all.get(*pixel as usize));
            Some(compare(spec, again, once, values.as_slice()))
        };
        let checks = Checks {
            step: compared(Again::Finer, finer?),
            rounding: compared(Again::Exact, exact?),
        };
        Ok((done, checks))
    })
}

/// Cancels the sample with the map, or when the map failed.
struct Watch<'a> {
    monitor: &'a dyn Monitor,
    failed: &'a AtomicBool,
}

impl Monitor for Watch<'_> {
    fn cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.monitor.cancelled()
    }

    fn wants_energy(&self) -> bool {
        false
    }
}

/// The threads and the instruction set of `options`, without its devices.
fn on_cpu(options: &RunOptions) -> RunOptions {
    RunOptions {
        backend: Backend::Cpu,
        threads: options.threads,
        simd: (options.simd).filter(|simd| Simd::available().contains(simd)),
        ..RunOptions::default()
    }
}

/// Pixels of a map, as maps of points.
struct Sample {
    pixels: Vec<u64>,
    map: Validated,
    again: Validated,
}

impl Sample {
    /// Up to `most` pixels with the specification of the map, and with a changed one. `None` if that is not valid.
    fn of(spec: &Validated, most: u64, change: impl FnOnce(&mut Specification)) -> Option<Self> {
        let pixels = resolution::sample(spec, most.max(1));
        let points = match spec.points() {
            Some(points) => points.chosen(&pixels),
            None => {
                let starts = pixels.iter().flat_map(|pixel| spec.start(*pixel));
                Points::new(&[pixels.len(), 3], starts.collect()).ok()?
            }
        };
        let mut changed = spec.specification().clone();
        change(&mut changed);
        let map = spec.specification().clone();
        Some(Self {
            pixels,
            map: map.validate_points(points.clone()).ok()?,
            again: changed.validate_points(points).ok()?,
        })
    }
}

fn compare(
    spec: &Validated,
    again: Again,
    coarse: impl Iterator<Item = f64>,
    fine: ValueSlice<'_>,
) -> StepCheck {
    let s = spec.specification();
    let range = match colours::range(s.quantity, fine) {
        ColourRange::Fixed(low, high) => high - low,
        ColourRange::Whole => f64::INFINITY,
    };
    let (steps, finer) = (s.steps as f64, again.finer() as f64);
    let (mut compared, mut changed) = (0, 0);
    for (a, b) in coarse.zip(fine.numbers()) {
        let (counts, change, allowed) = if s.quantity.counts_steps() {
            let b = b / finer;
            (a < steps || b < steps, (a - b).abs(), TOLERANCE * steps)
        } else {
            let scale = match colours::spacing(s.quantity) {
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
    StepCheck::new(fine.len() as u64, compared, changed)
}
