//! Devices that compute a run together. Each has a thread of its own, and all draw from one [`Queue`].

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Duration;

use crate::queue::{Queue, Share, Supply};
use crate::{EngineError, Monitor};

/// A device that can compute together with others, for tasks of the type `T`. A task defines the items and takes their results.
pub trait Worker<T>: Sync {
    /// A name for reports, which distinguishes it from other devices of its kind.
    fn label(&self) -> String;
    /// Number of the task's items that it computes at a time.
    fn capacity(&self, task: &T) -> u64;
    /// Draws spans of items and delivers their results until no items are left.
    ///
    /// # Errors
    /// The device failed. Other devices then compute the items that it has drawn but not delivered.
    fn work(&self, task: &T, share: Share<'_>) -> Result<(), EngineError>;
}

/// Items to compute.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)]
pub struct Items<'a> {
    /// Their numbers, in ascending order and without overlap.
    pub spans: &'a [Range<u64>],
    /// Number of steps of each item, which the monitor is told.
    pub steps: u64,
    /// The word for the items in messages, such as `pixels`.
    pub name: &'static str,
    /// A source of more items, which are added while these are computed.
    pub supply: Option<&'a dyn Supply>,
    /// Called when all devices are ready.
    pub at_start: Option<&'a (dyn Fn() + Sync)>,
}

/// The report of devices that have computed items together.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Time from the moment at which all devices were ready to the last result.
    pub elapsed: Duration,
    /// Facts that the user should know, such as that a GPU failed and others took over.
    pub notes: Vec<String>,
    /// The devices, each with the number of items that it computed.
    pub portions: Vec<(String, u64)>,
}

/// Computes items on all of `workers`. If one of them fails, the others compute its items; if all of them fail, `reserve` computes what is
/// left.
///
/// # Errors
/// The error that ended the run, or the first failure if items are left.
pub fn run<T: Sync>(
    workers: &[&dyn Worker<T>],
    reserve: Option<&dyn Worker<T>>,
    task: &T,
    items: &Items<'_>,
    monitor: &dyn Monitor,
) -> Result<Ran, EngineError> {
    let capacities: Vec<u64> = workers.iter().map(|w| w.capacity(task)).collect();
    let queue = Queue::new(items.spans, items.steps, &capacities, monitor).at_start(items.at_start);
    let (failures, reserved) = thread::scope(|scope| {
        if let Some(supply) = items.supply {
            queue.open();
            scope.spawn(|| supply.feed(&queue));
        }
        all_take_part(&queue, workers, reserve, task)
    });
    let mut devices: Vec<String> = workers.iter().map(|w| w.label()).collect();
    devices.extend(reserve.filter(|_| reserved).map(|w| w.label()));
    if let Some(error) = queue.end() {
        return Err(error);
    }
    queue.tell_all_done();
    let notes = failures.iter().map(|f| f.note(items.name, reserved));
    Ok(Ran {
        elapsed: queue.elapsed(),
        notes: notes.collect(),
        portions: devices.into_iter().zip(queue.delivered()).collect(),
    })
}

/// Runs the workers, and `reserve` if they leave items. If items are left even then, or may still arrive, the run ends with the first
/// failure. Returns the devices that failed, and whether the reserve was needed.
fn all_take_part<T: Sync>(
    queue: &Queue<'_>,
    workers: &[&dyn Worker<T>],
    reserve: Option<&dyn Worker<T>>,
    task: &T,
) -> (Vec<DeviceFailure>, bool) {
    let mut failures: Vec<DeviceFailure> = thread::scope(|scope| {
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
        // All threads are joined before a panic is passed on.
        failures.collect::<Vec<_>>().into_iter().flatten().collect()
    });
    let undone = || queue.end().is_none() && queue.unfinished();
    let mut reserved = false;
    if undone()
        && let Some(worker) = reserve
    {
        let member = queue.join(worker.capacity(task));
        reserved = true;
        failures.extend(take_part(worker, task, queue.share(member)));
    }
    if undone() {
        let first = failures.first().expect("a worker failed");
        queue.end_with(first.error.clone());
    }
    (failures, reserved)
}

/// A device that failed.
struct DeviceFailure {
    error: EngineError,
    /// Number of items that it did not deliver.
    undone: u64,
    /// Whether it had delivered any.
    begun: bool,
}

impl DeviceFailure {
    fn note(&self, items: &str, reserved: bool) -> String {
        let who = if reserved {
            "the CPU computes"
        } else {
            "the other devices compute"
        };
        let what = if self.begun {
            format!(
                "{who} the {} {items} that it had begun, and the rest",
                self.undone
            )
        } else {
            format!("{who} instead")
        };
        format!("{}; {what}", self.error)
    }
}

fn take_part<T>(worker: &dyn Worker<T>, task: &T, share: Share<'_>) -> Option<DeviceFailure> {
    match catch_unwind(AssertUnwindSafe(|| worker.work(task, share))) {
        Ok(Ok(())) => {
            share.leave();
            None
        }
        Ok(Err(error)) => {
            let undone = share.leave();
            Some(DeviceFailure {
                error,
                undone,
                begun: undone > 0,
            })
        }
        Err(panic) => {
            // Otherwise the others would wait for the items that this device had drawn.
            share.stop();
            resume_unwind(panic)
        }
    }
}

#[cfg(test)]
mod tests;
