//! The scheduler: devices that compute a map together, each in a thread of its own, with pixels from one [`Queue`].

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Specification;
use super::engine::{Portion, Ran, Task};
use super::queue::{Queue, Share};
use trisolar_run::{EngineError, Monitor};

/// A device that the scheduler can use.
pub(super) trait Worker: Sync {
    /// A name for reports that distinguishes it from other devices of its kind.
    fn label(&self) -> String;
    /// Pixels that it computes at a time.
    fn capacity(&self, specification: &Specification) -> u64;
    /// Draws spans of the task's pixels and delivers their results until there are none left.
    ///
    /// # Errors
    /// The failure of the device. Other devices compute the pixels that it has drawn but not delivered.
    fn work(&self, task: &Task<'_>, share: Share<'_>) -> Result<(), EngineError>;
}

/// Runs a task on all of `workers`. If one fails, the others compute its remaining pixels; if all fail, `reserve` does.
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
    let specification = task.spec.specification();
    let capacities: Vec<u64> = workers.iter().map(|w| w.capacity(specification)).collect();
    let queue = Queue::new(
        task.spans,
        specification.steps,
        &capacities,
        task.sink,
        monitor,
    )
    .at_start(at_start);
    let take_part = || all_take_part(&queue, workers, reserve, task);
    let (failures, reserved) = supplied(&queue, task, take_part);
    let mut devices: Vec<String> = workers.iter().map(|w| w.label()).collect();
    devices.extend(reserve.filter(|_| reserved).map(Worker::label));
    if let Some(error) = queue.end() {
        return Err(error);
    }
    queue.tell_all_done();
    Ok(Ran {
        elapsed: queue.elapsed(),
        notes: failures.iter().map(|f| f.note(reserved)).collect(),
        portions: devices
            .into_iter()
            .zip(queue.delivered())
            .map(|(device, pixels)| Portion { device, pixels })
            .collect(),
        energy: None,
    })
}

/// Calls `work` while the supply of the task, if it has one, fills the queue.
#[cfg(feature = "mpi")]
fn supplied<T>(queue: &Queue<'_>, task: &Task<'_>, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        if let Some(supply) = task.supply {
            queue.open();
            scope.spawn(move || supply.feed(queue));
        }
        work()
    })
}

/// Without MPI all pixels are in the queue from the beginning.
#[cfg(not(feature = "mpi"))]
fn supplied<T>(_: &Queue<'_>, _: &Task<'_>, work: impl FnOnce() -> T) -> T {
    work()
}

/// Runs the workers, and `reserve` if pixels remain after them. If pixels remain even then, or may still arrive, the run ends with
/// the first failure. Returns the failures, and whether the reserve was needed.
fn all_take_part(
    queue: &Queue<'_>,
    workers: &[&dyn Worker],
    reserve: Option<&dyn Worker>,
    task: &Task<'_>,
) -> (Vec<Failure>, bool) {
    let mut failures: Vec<Failure> = thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter()
            .enumerate()
            .map(|(member, worker)| {
                scope.spawn(move || take_part(*worker, task, queue.share(member)))
            })
            .collect();
        let failures = threads.into_iter().map(|t| match t.join() {
            Ok(failure) => failure,
            Err(panic) => resume_unwind(panic),
        });
        // Joins all threads before a panic is resumed.
        failures.collect::<Vec<_>>().into_iter().flatten().collect()
    });
    let undone = || queue.end().is_none() && queue.unfinished();
    let mut reserved = false;
    if undone()
        && let Some(worker) = reserve
    {
        let member = queue.join(worker.capacity(task.spec.specification()));
        reserved = true;
        failures.extend(take_part(worker, task, queue.share(member)));
    }
    if undone() {
        let first = failures.first().expect("somebody left it undone");
        queue.end_with(first.error.clone());
    }
    (failures, reserved)
}

/// A device that failed.
struct Failure {
    error: EngineError,
    /// Pixels that it had drawn but not delivered.
    undone: u64,
    /// Whether it had drawn any.
    begun: bool,
}

impl Failure {
    fn note(&self, reserved: bool) -> String {
        let who = if reserved {
            "the CPU computes"
        } else {
            "the other devices compute"
        };
        let what = if self.begun {
            format!(
                "{who} the {} pixels that it had begun, and the rest",
                self.undone
            )
        } else {
            format!("{who} instead")
        };
        format!("{}; {what}", self.error)
    }
}

fn take_part(worker: &dyn Worker, task: &Task<'_>, share: Share<'_>) -> Option<Failure> {
    match catch_unwind(AssertUnwindSafe(|| worker.work(task, share))) {
        Ok(Ok(())) => {
            share.leave();
            None
        }
        Ok(Err(error)) => {
            let undone = share.leave();
            Some(Failure {
                error,
                undone,
                begun: undone > 0,
            })
        }
        Err(panic) => {
            // The others would otherwise wait for the pixels that this one had drawn.
            share.stop();
            resume_unwind(panic)
        }
    }
}

#[cfg(test)]
mod tests;
