//! Runs from a start or checkpoint to the last step, with an observer that is called at a fixed interval of steps.

use std::fmt;

use super::{Bodies, Engine, Run, Validated};
use trisolar_run::{EngineError, Monitor, Quiet};

/// The bodies at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Steps taken.
    pub step: u64,
    /// The time after `step` steps: [`Specification::time`](super::Specification::time).
    pub time: f64,
    /// The bodies.
    pub bodies: Bodies,
}

/// Bodies whose coordinates or velocities stopped being finite numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// The first step after which a coordinate or velocity is not a finite number.
    pub step: u64,
    /// The time after it, as text.
    pub time: String,
    /// The places of the bodies, from 0.
    pub bodies: Vec<usize>,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Largest number of bodies that the message lists.
        const MAX_LISTED_BODIES: usize = 6;
        let (step, time, count) = (self.step, &self.time, self.bodies.len());
        let listed: Vec<String> = (self.bodies.iter().take(MAX_LISTED_BODIES))
            .map(|body| (body + 1).to_string())
            .collect();
        let listed = listed.join(", ");
        let bodies = if count == 1 { "body" } else { "bodies" };
        let more = if count > MAX_LISTED_BODIES {
            format!(" and {} more", count - MAX_LISTED_BODIES)
        } else {
            String::new()
        };
        write!(
            f,
            "step {step} (time {time}): coordinates or velocities of {bodies} {listed}{more} are no longer finite \
             numbers, usually because bodies came too close to each other for the time step: use a smaller --dt or a larger --softening"
        )
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The engine failed or was stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Coordinates or velocities are not finite.
    #[error("{0}")]
    NotFinite(NotFinite),
    /// The observer failed.
    #[error("{0}")]
    Observer(E),
}

/// Takes the steps from `from` (which has taken `from.step` of them) to the last, and calls `observe` with the bodies after
/// every multiple of `every` steps and after the last step, but not with `from` itself.
///
/// # Errors
/// [`RunError`].
pub fn integrate<E>(
    engine: &dyn Engine,
    problem: &Validated,
    from: &Snapshot,
    every: u64,
    monitor: &dyn Monitor,
    observe: &mut dyn FnMut(Snapshot) -> Result<(), E>,
) -> Result<(), RunError<E>> {
    let steps = problem.specification().steps;
    let mut run = Some(engine.start(problem, &from.bodies)?);
    let mut now = from.clone();
    while now.step < steps {
        let next = (now.step / every + 1).saturating_mul(every).min(steps);
        now = advance((engine, problem), &mut run, (&now, next), monitor)?;
        observe(now.clone()).map_err(RunError::Observer)?;
    }
    Ok(())
}

/// Takes the steps of a run from a state to step `to`. After an error, the run cannot go on.
pub(super) fn advance<'a, E>(
    (engine, problem): (&'a dyn Engine, &Validated),
    run: &mut Option<Box<dyn Run + 'a>>,
    (from, to): (&Snapshot, u64),
    monitor: &dyn Monitor,
) -> Result<Snapshot, RunError<E>> {
    let spec = problem.specification();
    let progress = PartProgress {
        monitor,
        before: from.step,
        total: spec.steps,
    };
    let mut going = run.take().ok_or(EngineError::Cancelled)?;
    going.advance(to - from.step, &progress)?;
    let bodies = going.bodies()?;
    let lost = bodies.not_finite();
    if !lost.is_empty() {
        drop(going);
        let found = first_not_finite(engine, problem, from.clone(), (to, lost), monitor)?;
        return Err(RunError::NotFinite(found));
    }
    *run = Some(going);
    Ok(Snapshot {
        step: to,
        time: spec.time(to),
        bodies,
    })
}

/// The first step, later than `good` and no later than `bad`, after which coordinates or velocities are not finite, those of `lost`
/// after `bad`. Found by bisection, which takes no more steps than there are between the two. All ranks see the same bodies and
/// take the same decisions.
fn first_not_finite(
    engine: &dyn Engine,
    problem: &Validated,
    mut good: Snapshot,
    (mut bad, mut lost): (u64, Vec<usize>),
    monitor: &dyn Monitor,
) -> Result<NotFinite, EngineError> {
    let spec = problem.specification();
    while good.step + 1 < bad {
        let step = good.step + (bad - good.step) / 2;
        let mut run = engine.start(problem, &good.bodies)?;
        run.advance(step - good.step, &Quiet(monitor))?;
        let bodies = run.bodies()?;
        let found = bodies.not_finite();
        if found.is_empty() {
            let time = spec.time(step);
            good = Snapshot { step, time, bodies };
        } else {
            (bad, lost) = (step, found);
        }
    }
    Ok(NotFinite {
        step: bad,
        time: spec.time(bad).to_string(),
        bodies: lost,
    })
}

/// Progress of a part as that of the whole.
struct PartProgress<'a> {
    monitor: &'a dyn Monitor,
    before: u64,
    total: u64,
}

impl Monitor for PartProgress<'_> {
    fn progress(&self, done: u64, _total: u64) {
        self.monitor.progress(self.before + done, self.total);
    }

    fn cancelled(&self) -> bool {
        self.monitor.cancelled()
    }
}
