//! Repeats parts of a run with steps twice as long, to see how far the errors of the steps displace each body.

use super::{Bodies, Engine, LowerParts, Validated};
use trisolar_bodies::{Displacement, Displacements};
use trisolar_run::{EngineError, Monitor};

/// Least and greatest number of parts of a run. Each part is repeated from the run's own positions, so that chaos cannot amplify the errors
/// of earlier parts.
const PARTS: [u64; 2] = [16, 256];
/// Pairs in the steps of a run up to which all of it is repeated: some seconds of a core.
const PAIRS_TO_REPEAT: f64 = 2e9;
/// The share of a longer run that is repeated.
const SHARE: f64 = 0.125;
/// Differences above which parts become shorter, and below which they become longer.
const LARGE: f64 = 0.3;
const SMALL: f64 = 0.03;

fn even(steps: u64) -> u64 {
    (steps & !1).max(2)
}

/// A check of the steps of a run from `first` to its end.
#[derive(Debug)]
pub struct StepCheck {
    found: Displacements,
    doubled: Validated,
    /// The step at which the present part begins, or the next one; `u64::MAX` after the last.
    first: u64,
    last: u64,
    /// Steps of a part and of the longest one, both even.
    part: u64,
    longest: u64,
    /// The share of a part that is repeated.
    share: f64,
    from: Option<Kept>,
}

/// The state from which a part is repeated.
#[derive(Debug)]
struct Kept {
    bodies: Bodies,
    lower: Option<LowerParts>,
}

impl StepCheck {
    /// Of a run that begins, or continues, after `first` steps; `None` for fewer than two steps, and where
    /// [`Displacements`] are not known.
    pub fn of(problem: &Validated, first: u64) -> Option<Self> {
        let spec = problem.specification();
        let found = Displacements::of(problem.bodies())?;
        let steps = spec.steps.checked_sub(first).filter(|steps| *steps >= 2)?;
        let n = problem.bodies().len() as f64;
        // A step of a few bodies takes as long as that of sixteen.
        let pairs = (n * n).max(256.0) * steps as f64 * f64::from(spec.integrator.evaluations());
        let [longest, part] = PARTS.map(|parts| even(steps.div_ceil(parts) + 1));
        Some(Self {
            found,
            doubled: problem.with(|spec| spec.dt *= 2.0),
            first,
            last: spec.steps,
            part,
            longest,
            share: if pairs <= PAIRS_TO_REPEAT { 1.0 } else { SHARE },
            from: None,
        })
    }

    /// The steps of the present part that are repeated; 0 if it has too few.
    fn repeated(&self) -> u64 {
        let steps = even((self.part as f64 * self.share) as u64);
        steps.min((self.last - self.first) & !1)
    }

    /// The next step at which the bodies are needed.
    pub(super) fn next_stop(&self) -> u64 {
        match self.from {
            Some(_) => self.first + self.repeated(),
            None => self.first,
        }
    }

    /// Looks at the bodies after a step, which is [`next_stop`](Self::next_stop).
    pub(super) fn look(
        &mut self,
        engine: &dyn Engine,
        (step, bodies): (u64, &Bodies),
        lower: Option<LowerParts>,
        monitor: &dyn Monitor,
    ) -> Result<(), EngineError> {
        if let Some(kept) = self.from.take() {
            let repeated = self.repeated();
            let mut run = engine.resume(&self.doubled, &kept.bodies, kept.lower.as_ref())?;
            run.advance(repeated / 2, &Quiet(monitor))?;
            let other = run.bodies()?;
            let states = [&kept.bodies, bodies, &other].map(|b| &b.position[..]);
            let weight = self.part.min(self.last - self.first) as f64 / repeated as f64;
            let spec = self.doubled.specification();
            let order = spec.integrator.order();
            let mass = &kept.bodies.mass;
            let difference = (self.found).add(states, mass, spec.softening, order, weight);
            self.first = self.first.saturating_add(self.part);
            // Differences as large as the orbit tell little of the error, and short parts do not show errors that grow faster than time.
            if difference > LARGE {
                self.part = even(self.part / 2);
            } else if difference < SMALL {
                self.part = (2 * self.part).min(self.longest);
            }
        }
        if self.first == step {
            self.from = Some(Kept {
                bodies: bodies.clone(),
                lower,
            });
        }
        if self.first >= self.last || (self.from.is_some() && self.repeated() == 0) {
            self.from = None;
            self.first = u64::MAX;
        }
        Ok(())
    }

    /// The largest displacement so far.
    pub fn largest(&self) -> Option<Displacement> {
        self.found.largest(&self.doubled.bodies().mass)
    }
}

/// Shows no progress but can be cancelled.
pub(super) struct Quiet<'a>(pub &'a dyn Monitor);

impl Monitor for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
