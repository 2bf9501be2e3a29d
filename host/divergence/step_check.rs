//! Whether the values of a map depend on its time step: a sample of its pixels is computed again with a quarter of the step.
//!
//! A value that changes is wrong, whatever the energy error or the resolution say. One that does not change can still be wrong, for example
//! where both steps miss a close encounter; `docs/accuracy.md` compares the check with an independent integrator.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::resolution::{self, Resolution};
use super::{Devices, Executor, Points, SpecError, Validated, ValueSlice, output};
use trisolar_ensemble::{Computed, compute, wilson};
use trisolar_io::colour::{ColourRange, Spacing};
use trisolar_run::{Backend, EngineError, Monitor, RunOptions};
use trisolar_simd::Simd;

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
    pub fn in_words(&self) -> String {
        let Self {
            compared, changed, ..
        } = *self;
        if compared == 0 {
            return format!("no value to compare among {} sampled ones", self.sample);
        }
        let [low, high] = wilson(changed as f64, compared as f64).map(|share| 100.0 * share);
        format!(
            "{:.1} % ({changed} of {compared} sampled values; 95 % interval {low:.0} to {high:.0} %) change by more than {:.0} % with a \
             quarter of the step",
            100.0 * self.share,
            100.0 * TOLERANCE,
        )
    }
}

/// Checks that neither the share of unresolved pixels nor that of changed values exceeds the user's limit, if there is one.
///
/// # Errors
/// A message that names both, also if there is a limit and neither share is known.
pub fn check(
    resolution: Option<Resolution>,
    step: Option<StepCheck>,
    most: Option<f64>,
) -> Result<(), String> {
    let step = step.filter(|step| step.compared > 0);
    let resolution = resolution.filter(|found| found.sample > 0);
    if resolution.is_some() || step.is_none() {
        Resolution::check(resolution, most)?;
    }
    match (step, most) {
        (Some(step), Some(most)) if step.share > most => {
            Err(format!("{}, above --max-error {most}", step.in_words()))
        }
        _ => Ok(()),
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
    let Some(sample) = Sample::of(spec, most) else {
        return Ok(None);
    };
    let [coarse, fine] = [&sample.coarse, &sample.fine]
        .map(|valid| compute(executor, valid, options, monitor).map(|computed| computed.values));
    let (coarse, fine) = (coarse?, fine?);
    Ok(Some(compare(
        spec,
        coarse.as_slice().numbers(),
        fine.as_slice(),
    )))
}

/// [Checks](step_check) a map whose values are in a file, on the CPU.
///
/// # Errors
/// Those of the computation.
pub fn step_check_on_cpu(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Option<StepCheck>, EngineError> {
    let most = sample_size(spec);
    step_check(&Devices::new(), spec, most, &on_cpu(options), monitor)
}

/// Calls `work`, which computes a map, while the CPU computes a sample of its pixels with a quarter of the step.
///
/// # Errors
/// Those of `work` and of the sample.
pub(super) fn beside(
    spec: &Validated,
    options: &RunOptions,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> Result<Computed<Validated>, EngineError>,
) -> Result<(Computed<Validated>, Option<StepCheck>), EngineError> {
    let Some(sample) = Sample::of(spec, sample_size(spec)) else {
        return Ok((work()?, None));
    };
    let failed = AtomicBool::new(false);
    let watch = Watch {
        monitor,
        failed: &failed,
    };
    let options = on_cpu(options);
    std::thread::scope(|scope| {
        let finer = scope.spawn(|| compute(&Devices::new(), &sample.fine, &options, &watch));
        let done = work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let finer = finer.join();
        let finer = finer.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (done, finer) = (done?, finer?);
        let all = done.values.as_slice();
        let coarse = (sample.pixels.iter()).map(|pixel| all.get(*pixel as usize));
        let found = compare(spec, coarse, finer.values.as_slice());
        Ok((done, Some(found)))
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

/// Number of pixels that are computed again beside a map, so that this takes a twentieth of the map's time, or a tenth of a second.
fn sample_size(spec: &Validated) -> u64 {
    resolution::sample_size(spec, FINER)
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

/// Pixels of a map, as points with the step of the map and with a quarter of it.
struct Sample {
    pixels: Vec<u64>,
    coarse: Validated,
    fine: Validated,
}

impl Sample {
    /// Up to `most` pixels of a map. `None` if a run with a quarter of the step has more steps than are possible.
    fn of(spec: &Validated, most: u64) -> Option<Self> {
        let pixels = resolution::sample(spec, most.max(1));
        let [coarse, fine] = twice(spec, &pixels).ok()?;
        Some(Self {
            pixels,
            coarse,
            fine,
        })
    }
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

fn compare(spec: &Validated, coarse: impl Iterator<Item = f64>, fine: ValueSlice<'_>) -> StepCheck {
    let s = spec.specification();
    let range = match output::range(s.quantity, fine) {
        ColourRange::Fixed(low, high) => high - low,
        ColourRange::Whole => f64::INFINITY,
    };
    let (steps, finer) = (s.steps as f64, FINER as f64);
    let (mut compared, mut changed) = (0, 0);
    for (a, b) in coarse.zip(fine.numbers()) {
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
    StepCheck::new(fine.len() as u64, compared, changed)
}
