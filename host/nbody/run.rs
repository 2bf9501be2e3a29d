//! A run from its start or a checkpoint to its last step, observed every so many steps.

use super::{Bodies, Engine, Validated};
use crate::divergence::{EngineError, Monitor};

/// The bodies at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Steps taken.
    pub step: u64,
    /// When: [`Specification::time`](super::Specification::time) of `step`.
    pub time: f64,
    /// The bodies.
    pub bodies: Bodies,
}

/// Where a run pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// At a step that the observer asked to see.
    Look,
    /// At another one, so that it can be saved.
    Between,
}

/// Why a run ended early: the engine's reason, or the observer's.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The engine failed or was stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The observer failed.
    #[error("{0}")]
    Observer(E),
}

/// Takes the steps from `from` (which has taken `from.step` of them) to the last, and shows `observe` the bodies after every
/// multiple of `every` steps and after the last. What lies in `from` is not shown.
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
        from,
        [every, u64::MAX],
        monitor,
        &mut |s, _| observe(s),
    )
}

/// As [`integrate`] with `[every, pause]`, but also shows the bodies after every `pause` steps between these: often enough to save
/// them before much work can be lost.
///
/// # Errors
/// [`RunError`].
pub fn integrate_with_pauses<E>(
    engine: &dyn Engine,
    problem: &Validated,
    from: &Snapshot,
    [every, pause]: [u64; 2],
    monitor: &dyn Monitor,
    observe: &mut dyn FnMut(Snapshot, Pause) -> Result<(), E>,
) -> Result<(), RunError<E>> {
    let spec = problem.specification();
    let mut run = engine.start(problem, &from.bodies)?;
    let mut step = from.step;
    while step < spec.steps {
        let look = (step / every + 1).saturating_mul(every).min(spec.steps);
        let next = look.min(step.saturating_add(pause));
        run.advance(
            next - step,
            &Part {
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
        let kind = if step == look {
            Pause::Look
        } else {
            Pause::Between
        };
        observe(snapshot, kind).map_err(RunError::Observer)?;
    }
    Ok(())
}

/// Progress of a part as that of the whole.
struct Part<'a> {
    monitor: &'a dyn Monitor,
    before: u64,
    total: u64,
}

impl Monitor for Part<'_> {
    fn progress(&self, done: u64, _total: u64) {
        self.monitor.progress(self.before + done, self.total);
    }

    fn cancelled(&self) -> bool {
        self.monitor.cancelled()
    }
}
