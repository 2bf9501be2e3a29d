//! Repeats parts of a run with steps twice as long, to see how far the errors of the steps displace each body.

use super::{Bodies, Engine, LowerParts, Method, Validated};
use trisolar_bodies::Displacement;
use trisolar_run::{EngineError, Monitor, Quiet};
use trisolar_time_run::{self as time_run, Parts};

/// Least and greatest number of parts of a run.
const PARTS: [u64; 2] = [16, 256];
/// Pairs in the steps of a run up to which all of it is repeated: some seconds of a core.
const PAIRS_TO_REPEAT: f64 = 2e9;

/// A check of the steps of a run from some step to its end, on a clock that counts steps.
#[derive(Debug)]
pub struct StepCheck {
    check: time_run::StepCheck<Option<LowerParts>>,
    doubled: Validated,
}

impl StepCheck {
    /// Of a run that begins, or continues, after `first` steps; `None` for fewer than two steps, and where
    /// [`Displacements`](trisolar_bodies::Displacements) are not known.
    pub fn of(problem: &Validated, first: u64) -> Option<Self> {
        let spec = problem.specification();
        let steps = spec.steps.checked_sub(first).filter(|steps| *steps >= 2)?;
        let n = problem.bodies().len() as f64;
        // A step of a few bodies takes as long as that of sixteen.
        let pairs = (n * n).max(256.0) * steps as f64 * f64::from(spec.integrator.evaluations());
        // Of an even number of steps half as many are repeated.
        let [longest, part] = PARTS.map(|parts| ((steps.div_ceil(parts) + 1) & !1).max(2) as f64);
        let parts = Parts {
            span: [first, spec.steps].map(|step| step as f64),
            first: part,
            limits: [2.0, longest],
            quantum: 2.0,
            whole: pairs <= PAIRS_TO_REPEAT,
        };
        let (softening, order) = (spec.softening, spec.integrator.order());
        Some(Self {
            check: time_run::StepCheck::of(problem.bodies(), softening, order, parts)?,
            doubled: problem.changed(|spec| {
                spec.dt *= 2.0;
                if spec.integrator == Method::Adaptive {
                    // Steps twice as long.
                    spec.tolerance = Some(256.0 * spec.tolerance());
                }
            }),
        })
    }

    /// The next step at which the bodies are needed.
    pub(super) fn next_stop(&self) -> u64 {
        self.check.next_look() as u64
    }

    /// Looks at the bodies after a step, which is [`next_stop`](Self::next_stop).
    pub(super) fn look(
        &mut self,
        engine: &dyn Engine,
        bodies: &Bodies,
        lower: Option<LowerParts>,
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        let doubled = &self.doubled;
        self.check.look((bodies, lower), |from, lower, steps| {
            let mut run = engine.resume(doubled, from, lower.as_ref())?;
            run.advance(steps as u64 / 2, &Quiet(monitor))?;
            Ok(Some(run.bodies()?.position))
        })
    }

    /// The largest displacement so far.
    pub fn largest(&self) -> Option<Displacement> {
        self.check.largest()
    }
}
