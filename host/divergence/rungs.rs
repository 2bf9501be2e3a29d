//! Which integrator with which step gives the right times of parting at the least cost: a sample of a map's pixels by many integrators, each
//! with several steps, against a reference.

use kernels_gpu::Mask as _;
use kernels_gpu::integrator::MapIntegrator;
use kernels_gpu::methods::{Compiled as _, Entries, Visitor};
use kernels_gpu::number::Precision as Number;
use kernels_gpu::quantity::{Divergence, Quantity as _};
use serde::Serialize;

use super::resolution::{self, MAX_SAMPLE_PIXELS};
use super::step_check::{Sample, StepCheck, compared, count};
use super::{Executor, Precision, Validated, ValueVec};
use trisolar_ensemble::statistics::wilson;
use trisolar_ensemble::{Report, compute};
use trisolar_run::{EngineError, Monitor, RunOptions};
use trisolar_spec::Integrator;

/// The steps of a rung as multiples of the map's, from the longest to the shortest.
const STEPS: [f64; 4] = [16.0, 4.0, 1.0, 0.25];
/// The steps per period of a rung as multiples of an integrator's usual number.
const PER_PERIOD: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Those of the reference.
const REFERENCE_PER_PERIOD: f64 = 8.0;
/// The step of a reference with equal steps as a multiple of the shortest one of the rungs.
const REFERENCE_STEP: f64 = 0.25;

/// An integrator with a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccuracyRung {
    /// The integrator.
    pub integrator: Integrator,
    /// Integrator, step and precision in words.
    pub method: String,
    /// The step (time); of an integrator with steps of its own, the unit in which times are counted.
    pub dt: f64,
    /// Steps per period of an integrator with steps of its own.
    pub steps_per_period: Option<f64>,
    /// Pixels whose twins part by this rung or by the reference.
    pub compared: u64,
    /// Those of them whose time is within 5 % of the run of the reference's.
    pub right: u64,
    /// `right / compared`.
    pub share: f64,
    /// Its 95 % confidence interval (Wilson 1927).
    pub interval: [f64; 2],
    /// Evaluations of all accelerations of a system per pixel: the twins count as two systems, and as long as they are together.
    pub evaluations: f64,
    /// Time for the sample (s).
    pub seconds: f64,
}

/// The rungs of a map.
#[derive(Clone, Debug, Serialize)]
pub struct AccuracyLadder {
    /// The reference in words.
    pub reference: String,
    /// The share of the sampled times of the reference that stay with half as many steps.
    pub reference_stays: f64,
    /// Pixels in the sample.
    pub sample: u64,
    /// The rungs, the cheapest first.
    pub rungs: Vec<AccuracyRung>,
    /// The place of the cheapest rung of which at most the allowed share is wrong, if there is one.
    pub cheapest: Option<usize>,
    /// How the last rung was computed.
    #[serde(skip)]
    pub report: Report,
}

/// Computes a sample of up to 256 pixels of a map of divergence by these integrators in f64, with steps from 16 times to a quarter of the
/// map's, or with half to four times the usual number of steps per period. The reference is the regularised order 8
/// in double-double with eight times its usual number of steps; where that is not possible, as with a softening length, Runge–Kutta in f64 with
/// a quarter of the shortest step.
/// At most the share `allowed` of a rung may be wrong so that it can be the cheapest right one.
///
/// # Errors
/// Those of the computation. `None` if the map has no reference.
///
/// # Panics
/// If the map is not one of divergence.
pub fn accuracy_ladder(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    integrators: &[Integrator],
    allowed: f64,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Option<AccuracyLadder>, EngineError> {
    assert!(
        spec.specification().quantity.counts_steps(),
        "times of parting"
    );
    let pixels = resolution::sample(spec, MAX_SAMPLE_PIXELS);
    let Some(base) = Sample::of(spec, pixels, |_| ()).map(|sample| sample.map) else {
        return Ok(None);
    };
    let run = |map: &Validated| compute(executor, map, options, monitor);
    let Some([finest, half]) = reference(&base) else {
        return Ok(None);
    };
    let [truth, check] = [run(&finest)?.values, run(&half)?.values];
    let reference_stays = 1.0 - check_of(&half, &check, &finest, &truth).share;
    let mut report = Report::default();
    let mut rungs = Vec::new();
    for integrator in integrators.iter().copied() {
        for map in maps_of(&base, integrator) {
            let done = run(&map)?;
            let found = check_of(&map, &done.values, &finest, &truth);
            let right = found.compared - found.changed;
            let s = map.specification();
            rungs.push(AccuracyRung {
                integrator,
                method: s.method(),
                dt: s.dt,
                steps_per_period: s.own_steps_per_period(),
                compared: found.compared,
                right,
                share: 1.0 - found.share,
                interval: wilson(right as f64, found.compared.max(1) as f64),
                evaluations: evaluations(&map, &done.values),
                seconds: done.report.elapsed.as_secs_f64(),
            });
            report = done.report;
        }
    }
    rungs.sort_by(|a, b| a.evaluations.total_cmp(&b.evaluations));
    Ok(Some(AccuracyLadder {
        reference: finest.specification().method(),
        reference_stays,
        sample: base.pixels(),
        cheapest: rungs
            .iter()
            .position(|rung| rung.compared > 0 && 1.0 - rung.share <= allowed),
        rungs,
        report,
    }))
}

/// The reference, and the same with half as many steps.
fn reference(base: &Validated) -> Option<[Validated; 2]> {
    let regularised = [REFERENCE_PER_PERIOD, REFERENCE_PER_PERIOD / 2.0].map(|times| {
        base.changed(|s| {
            s.precision = Precision::DoubleDouble;
            by_periods(s, Integrator::Regularised8, times);
        })
    });
    if let [Some(finest), Some(half)] = regularised {
        return Some([finest, half]);
    }
    let shortest = STEPS[STEPS.len() - 1] * REFERENCE_STEP;
    let equal = [shortest, 2.0 * shortest].map(|times| {
        base.changed(|s| {
            s.precision = Precision::F64;
            by_steps(s, Integrator::RungeKutta4, times);
        })
    });
    let [finest, half] = equal;
    finest.zip(half).map(|(finest, half)| [finest, half])
}

/// The rungs of an integrator that are possible, in f64.
fn maps_of(base: &Validated, integrator: Integrator) -> Vec<Validated> {
    let rung = |k: usize| {
        base.changed(|s| {
            s.precision = Precision::F64;
            match integrator.steps_per_period() {
                Some(_) => by_periods(s, integrator, PER_PERIOD[k]),
                None => by_steps(s, integrator, STEPS[k]),
            }
        })
    };
    (0..STEPS.len()).filter_map(rung).collect()
}

/// This many times the usual steps per period.
fn by_periods(s: &mut super::Specification, integrator: Integrator, times: f64) {
    s.integrator = integrator;
    s.steps_per_period = integrator.steps_per_period().map(|usual| times * usual);
}

/// Steps that are this many times as long, over the same time.
fn by_steps(s: &mut super::Specification, integrator: Integrator, times: f64) {
    let time = s.dt * s.steps as f64;
    s.integrator = integrator;
    s.steps_per_period = None;
    s.steps = ((s.steps as f64 / times).round() as u64).max(1);
    s.dt = time / s.steps as f64;
}

/// How many times differ from those of the reference.
fn check_of(map: &Validated, values: &ValueVec, finest: &Validated, truth: &ValueVec) -> StepCheck {
    let [coarse, fine] = [map, finest].map(|map| map.specification().steps as f64);
    let values = values.as_slice();
    count(compared(
        map,
        fine / coarse,
        values.numbers(),
        truth.as_slice(),
    ))
}

/// Evaluations per pixel: those of both systems.
fn evaluations(map: &Validated, values: &ValueVec) -> f64 {
    let s = map.specification();
    let per_step = f64::from(s.integrator.evaluations());
    let all = match s.own_steps_per_period() {
        // The twins take their steps in turn.
        Some(_) => {
            let counted =
                Divergence::with_method(s.precision.kind(), s.integrator.name(), OwnStepsOf(map));
            counted.expect("a validated map has a method of the table") as f64
        }
        None => 2.0 * s.quantity.steps_taken(values.as_slice(), s.steps) as f64,
    };
    per_step * all / map.pixels() as f64
}

/// Counts the steps that the twins of all pixels take until they part or the run ends.
struct OwnStepsOf<'a>(&'a Validated);

impl Visitor<Divergence> for OwnStepsOf<'_> {
    type Output = u64;

    fn visit<P: Number, I: MapIntegrator>(self, _: Entries<Divergence, P, I>) -> u64 {
        // Nothing is compiled for the others, which are not counted.
        if !I::TWINS_HAVE_OWN_STEPS {
            return 0;
        }
        let map = self.0;
        let job = map.job(0, 0);
        let steps = (0..map.pixels()).map(|pixel| {
            let masses = map.masses(pixel).unwrap_or(job.masses);
            let own = Divergence::own_masses::<P, I>(&masses);
            let c = own.context(&job);
            let point = map.point(pixel).unwrap_or_else(|| job.grid.point(pixel));
            let mut twins = Divergence::begin::<P, I>(&point, c);
            let mut steps = 0;
            while Divergence::goes_on::<P, I>(&twins, c).all() {
                Divergence::step::<P, I>(&mut twins, c);
                steps += 1;
            }
            steps
        });
        steps.sum()
    }
}
