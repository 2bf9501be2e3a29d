//! Runs from a start or checkpoint to the last step, with an observer that is called at a fixed interval of steps.

use std::fmt;

use super::step_check::{Quiet, StepCheck};
use super::{Bodies, Engine, LowerParts, Validated};
use trisolar_run::{EngineError, Monitor};

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

/// The reason of a pause of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// At a step that is recorded.
    Record,
    /// At another step, so that paths can be drawn.
    Track,
    /// At another step, so that the run can be saved.
    Between,
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
    integrate_with_pauses(
        engine,
        problem,
        (from, None),
        [every, u64::MAX, u64::MAX],
        None,
        monitor,
        &mut |s, _, _| observe(s),
    )
}

/// As [`integrate`] with `[every, track, pause]`, but also shows the bodies after every multiple of `track` steps, and after every `pause`
/// steps between these: often enough to save them before much work can be lost. The lower parts, without which a run cannot continue with the same bits, are passed as well.
/// `check` repeats parts of the run with longer steps.
///
/// # Errors
/// [`RunError`].
pub fn integrate_with_pauses<E>(
    engine: &dyn Engine,
    problem: &Validated,
    (from, lower): (&Snapshot, Option<&LowerParts>),
    [every, track, pause]: [u64; 3],
    mut check: Option<&mut StepCheck>,
    monitor: &dyn Monitor,
    observe: &mut dyn FnMut(Snapshot, Option<LowerParts>, Pause) -> Result<(), E>,
) -> Result<(), RunError<E>> {
    let spec = problem.specification();
    let mut run = engine.resume(problem, &from.bodies, lower)?;
    let mut step = from.step;
    let mut good = from.clone();
    let mut paused = step;
    if let Some(check) = &mut check {
        check.look(engine, (from.step, &from.bodies), lower.cloned(), monitor)?;
    }
    while step < spec.steps {
        let after = |every: u64| (step / every + 1).saturating_mul(every).min(spec.steps);
        let (look, track) = (after(every), after(track));
        let show = look.min(track).min(paused.saturating_add(pause));
        let next = (check.as_ref()).map_or(show, |check| show.min(check.next_stop()));
        run.advance(
            next - step,
            &PartProgress {
                monitor,
                before: step,
                total: spec.steps,
            },
        )?;
        step = next;
        let snapshot = Snapshot {
            step,
            time: spec.time(step),
            bodies: run.bodies()?,
        };
        let lost = snapshot.bodies.not_finite();
        if !lost.is_empty() {
            drop(run);
            let found = first_not_finite(engine, problem, good, (step, lost), monitor)?;
            return Err(RunError::NotFinite(found));
        }
        good.clone_from(&snapshot);
        if let Some(check) = check.as_mut().filter(|check| check.next_stop() == step) {
            let state = (snapshot.step, &snapshot.bodies);
            check.look(engine, state, run.lower_parts(), monitor)?;
        }
        if step < show {
            continue;
        }
        paused = step;
        let kind = match step {
            step if step == look => Pause::Record,
            step if step == track => Pause::Track,
            _ => Pause::Between,
        };
        observe(snapshot, run.lower_parts(), kind).map_err(RunError::Observer)?;
    }
    Ok(())
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
