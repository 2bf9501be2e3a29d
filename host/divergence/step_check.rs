//! Whether the values of a map depend on its time step or on rounding: a sample of its pixels is computed again with a quarter of the step,
//! and one in double-double.
//!
//! A value that changes is wrong, whatever the energy error or the resolution say. One that does not change can still be wrong, for example
//! where both steps miss a close encounter; `docs/accuracy.md` compares the check with an independent integrator.

use std::sync::atomic::{AtomicBool, Ordering};

use super::resolution::{self, Resolution};
use super::{
    Devices, Executor, Points, Precision, Specification, Validated, ValueSlice, ValueVec, colours,
};
pub use trisolar_ensemble::StepCheck;
use trisolar_ensemble::{Computed, compute};
use trisolar_io::colour::{ColourRange, Spacing};
use trisolar_run::{Backend, EngineError, Monitor, RunOptions};
use trisolar_simd::Simd;

/// How many of the finer steps make one of the map's.
const FINER: u64 = 4;
/// The change above which a value counts as wrong: this share of the run's time for times of parting, of the value for quantities with
/// logarithmic colours, and of the range of colours for others.
pub(super) const TOLERANCE: f64 = 0.05;

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
    pub(super) fn finer(self) -> f64 {
        match self {
            Self::Finer => FINER as f64,
            Self::Exact => 1.0,
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

    /// Changes a specification so that its values are computed again.
    pub(super) fn change(self, s: &mut Specification) {
        match self {
            Self::Finer => {
                s.dt /= FINER as f64;
                s.steps = s.steps.saturating_mul(FINER);
                let own = s.own_steps_per_period();
                s.steps_per_period = own.map(|number| number * FINER as f64);
            }
            Self::Exact => s.precision = Precision::DoubleDouble,
        }
    }

    /// Whether computing again differs from computing: a map in double-double has no check of rounding.
    pub(super) fn differs(self, spec: &Validated) -> bool {
        self == Self::Finer || spec.specification().precision != Precision::DoubleDouble
    }

    /// What a check found, as text for a summary.
    pub fn says(self, found: &StepCheck) -> String {
        let change = format!(
            "change by more than {:.0} % {}",
            100.0 * TOLERANCE,
            self.in_words()
        );
        found.in_words("values", &change)
    }

    /// Up to `most` pixels of a map. `None` if they cannot be computed so: a run with a quarter of the step has more steps than are
    /// possible, or the method has no double-double, or has it already.
    fn sample(self, spec: &Validated, most: u64) -> Option<Sample> {
        if !self.differs(spec) {
            return None;
        }
        Sample::of(spec, resolution::sample(spec, most.max(1)), |s| {
            self.change(s)
        })
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

    /// What a picture says of its values, if any were compared.
    pub fn caption(&self) -> Option<String> {
        let shares = (self.made()).filter(|(_, found)| found.compared > 0);
        let shares = shares
            .map(|(again, found)| format!("{:.1} % {}", 100.0 * found.share, again.in_words()));
        let shares: Vec<String> = shares.collect();
        (!shares.is_empty()).then(|| format!("values that change: {}", shares.join(", ")))
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
                again.says(&found),
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
pub(super) struct Sample {
    pixels: Vec<u64>,
    pub map: Validated,
    pub again: Validated,
}

impl Sample {
    /// These pixels with the specification of the map, and with a changed one. `None` if that is not valid.
    pub fn of(
        spec: &Validated,
        pixels: Vec<u64>,
        change: impl FnOnce(&mut Specification),
    ) -> Option<Self> {
        let points = match spec.points() {
            Some(points) => points.chosen(&pixels),
            None => {
                let places = pixels.iter().map(|pixel| spec.place(*pixel));
                Points::of_places(&places.collect::<Vec<_>>()).ok()?
            }
        };
        let mut map = spec.specification().clone();
        // The points have what they say.
        map.map.clear();
        map.draw.clear();
        let mut changed = map.clone();
        change(&mut changed);
        Some(Self {
            pixels,
            map: map.validate_points(points.clone()).ok()?,
            again: changed.validate_points(points).ok()?,
        })
    }
}

/// What a value that was computed again tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Both are of the same kind without a value: the twins did not part, or neither value is finite.
    Neither,
    /// The value does not change by more than [`TOLERANCE`].
    Keeps,
    /// The value changes by more than that.
    Changes,
}

/// Compares values with those that were computed again, pixel by pixel. A step of the map is as long as `finer` of the others.
pub(super) fn compared<'a>(
    spec: &Validated,
    finer: f64,
    coarse: impl Iterator<Item = f64> + 'a,
    fine: ValueSlice<'a>,
) -> impl Iterator<Item = Compared> + 'a {
    let s = spec.specification();
    let range = match colours::range(s.quantity, fine) {
        ColourRange::Fixed(low, high) => high - low,
        ColourRange::Whole => f64::INFINITY,
    };
    let steps = s.steps as f64;
    let (counts_steps, spacing) = (s.quantity.counts_steps(), colours::spacing(s.quantity));
    coarse.zip(fine.numbers()).map(move |(a, b)| {
        let (counts, change, allowed) = if counts_steps {
            let b = b / finer;
            (a < steps || b < steps, (a - b).abs(), TOLERANCE * steps)
        } else {
            let scale = match spacing {
                Spacing::Logarithmic => a.abs().max(b.abs()),
                Spacing::Linear => range,
            };
            let one_is_finite = a.is_finite() || b.is_finite();
            (one_is_finite, (a - b).abs(), TOLERANCE * scale)
        };
        // A change that is not a number is one.
        match change.partial_cmp(&allowed) {
            _ if !counts => Compared::Neither,
            Some(order) if order.is_le() => Compared::Keeps,
            _ => Compared::Changes,
        }
    })
}

fn compare(
    spec: &Validated,
    again: Again,
    coarse: impl Iterator<Item = f64>,
    fine: ValueSlice<'_>,
) -> StepCheck {
    count(compared(spec, again.finer(), coarse, fine))
}

/// Counts the pixels of a sample.
pub(super) fn count(pixels: impl Iterator<Item = Compared>) -> StepCheck {
    let (mut sample, mut compared, mut changed) = (0, 0, 0);
    for found in pixels {
        sample += 1;
        compared += u64::from(found != Compared::Neither);
        changed += u64::from(found == Compared::Changes);
    }
    StepCheck::new(sample, compared, changed)
}
