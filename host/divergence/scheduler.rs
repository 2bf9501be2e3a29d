//! Devices that compute a map together. Each has a thread of its own, and all draw from one queue.

use super::Specification;
use super::engine::{Portion, Ran, Task};
use super::queue::Share;
use trisolar_run::scheduler::{self, Items};
use trisolar_run::{EngineError, Monitor, queue};

/// A device that the scheduler can use.
pub(super) trait Worker: Sync {
    /// A name for reports that distinguishes it from other devices of its kind.
    fn label(&self) -> String;
    /// Number of pixels that it computes at a time.
    fn capacity(&self, specification: &Specification) -> u64;
    /// Draws spans of the task's pixels and delivers their results until no pixels are left.
    ///
    /// # Errors
    /// The device failed. Other devices then compute the pixels that it has drawn but not delivered.
    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError>;
}

/// A device together with the task that it computes with others.
struct Member<'a>(&'a dyn Worker);

impl<'a> scheduler::Worker<Task<'a>> for Member<'_> {
    fn label(&self) -> String {
        self.0.label()
    }

    fn capacity(&self, task: &Task<'a>) -> u64 {
        self.0.capacity(task.spec.specification())
    }

    fn work(&self, task: &Task<'a>, share: queue::Share<'_>) -> Result<(), EngineError> {
        self.0.work(task, Share::new(share, task.sink))
    }
}

/// Runs a task on all of `workers`. If one of them fails, the others compute its pixels; if all of them fail, `reserve` computes what is
/// left.
///
/// # Errors
/// The error that ended the run, or the first failure if pixels remain.
pub(super) fn run(
    workers: &[&dyn Worker],
    reserve: Option<&dyn Worker>,
    task: &Task<'_>,
    monitor: &dyn Monitor,
) -> Result<Ran, EngineError> {
    run_from(workers, reserve, task, monitor, None)
}

/// As [`run`], and calls `at_start` when all workers are ready.
///
/// # Errors
/// As [`run`].
pub(super) fn run_from(
    workers: &[&dyn Worker],
    reserve: Option<&dyn Worker>,
    task: &Task<'_>,
    monitor: &dyn Monitor,
    at_start: Option<&(dyn Fn() + Sync)>,
) -> Result<Ran, EngineError> {
    let items = Items {
        spans: task.spans,
        steps: task.spec.specification().steps,
        name: "pixels",
        supply: task.supply,
        at_start,
    };
    let workers: Vec<Member<'_>> = workers.iter().map(|w| Member(*w)).collect();
    let workers: Vec<&dyn scheduler::Worker<Task<'_>>> = workers.iter().map(|w| w as _).collect();
    let reserve = reserve.map(Member);
    let reserve = reserve
        .as_ref()
        .map(|w| w as &dyn scheduler::Worker<Task<'_>>);
    let ran = scheduler::run(&workers, reserve, task, &items, monitor)?;
    let portion = |(device, pixels)| Portion { device, pixels };
    Ok(Ran {
        elapsed: ran.elapsed,
        notes: ran.notes,
        portions: ran.portions.into_iter().map(portion).collect(),
        energy: None,
    })
}

#[cfg(test)]
mod tests;
