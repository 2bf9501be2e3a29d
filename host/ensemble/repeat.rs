//! Whether values depend on how they were computed: a sample of the items is computed again.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, Quiet, RunOptions};

use super::devices::wants_gpus;
use super::statistics::wilson;
use super::{Devices, Ensemble, Executor, Sink, Task};

/// How many values of a sample change when they are computed again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepCheck {
    /// Items in the sample.
    pub sample: u64,
    /// Those that were compared: of a map of divergence, those whose twins part with either step; of other maps, those with a finite value;
    /// of other ensembles all.
    pub compared: u64,
    /// Those of them that change: by more than 5 % (of the time of the run, of the value, or of the range of colours) in a map, to another
    /// outcome in other ensembles.
    pub changed: u64,
    /// `changed / compared`, 0 if none was compared.
    pub share: f64,
}

impl StepCheck {
    /// Makes the result from the numbers of items.
    pub fn new(sample: u64, compared: u64, changed: u64) -> Self {
        Self {
            sample,
            compared,
            changed,
            share: changed as f64 / compared.max(1) as f64,
        }
    }

    /// As text for a summary: `what` are the values in the plural, and `change` what they do.
    pub fn in_words(&self, what: &str, change: &str) -> String {
        let Self {
            compared, changed, ..
        } = *self;
        if compared == 0 {
            return format!("nothing to compare among {} sampled {what}", self.sample);
        }
        let [low, high] = wilson(changed as f64, compared as f64).map(|share| 100.0 * share);
        format!(
            "{:.1} % ({changed} of {compared} sampled {what}; 95 % interval {low:.0} to {high:.0} %) {change}",
            100.0 * self.share,
        )
    }
}

/// The numbers of up to `most` of so many items, evenly spaced.
pub fn evenly_spaced(items: u64, most: u64) -> Vec<u64> {
    let count = items.min(most);
    let place = |k| (u128::from(k) * u128::from(items) / u128::from(count)) as u64;
    (0..count).map(place).collect()
}

/// Takes values, with the numbers of their items.
struct Found<V, F>(Mutex<Repeated<V>>, F);

impl<E: Ensemble, V: Send, F: Fn(E::Slice<'_>) -> Vec<V> + Sync> Sink<E> for Found<V, F> {
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend((first..).zip(self.1(values)));
        Ok(())
    }
}

/// Items of an ensemble that another one computes again, to see whether their values depend on how they are computed.
#[derive(Clone, Debug)]
pub struct Repeat<E> {
    changed: E,
    items: Vec<u64>,
}

/// Values that were computed again, with the numbers of their items.
pub type Repeated<V> = Vec<(u64, V)>;

impl<E> Repeat<E> {
    /// Up to `most` of so many items, evenly spaced, by this ensemble.
    pub fn new(changed: E, items: u64, most: u64) -> Self {
        Self {
            changed,
            items: evenly_spaced(items, most),
        }
    }

    /// Computes the items on the CPU, without a report of progress; `values` are those of consecutive items.
    ///
    /// # Errors
    /// Those of the computation, also if it is interrupted.
    pub fn compute<V: Send>(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
        values: impl Fn(E::Slice<'_>) -> Vec<V> + Sync,
    ) -> Result<Repeated<V>, EngineError>
    where
        E: Ensemble,
    {
        let spans: Vec<_> = self.items.iter().map(|&item| item..item + 1).collect();
        let found = Found(Mutex::default(), values);
        // So few items take as long on a GPU as thousands.
        let cpu = RunOptions {
            backend: Backend::Cpu,
            with_cpu: false,
            gpus: GpuChoice::Auto,
            ..*options
        };
        let task = Task::new(&self.changed, &spans, &found);
        Devices::new().stream(&task, &cpu, &Quiet(monitor))?;
        Ok(found.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Does `work`, in which the ensemble `spec` is computed, and `again`, which uses the CPU: meanwhile, if GPUs do the work, and otherwise after it, as it
/// would slow it down.
///
/// # Errors
/// Those of `work` and of `again`.
pub fn beside<E: Ensemble, A: Send, T, Error: From<EngineError>>(
    executor: &dyn Executor<E>,
    spec: &E,
    options: &RunOptions,
    again: impl FnOnce() -> Result<A, EngineError> + Send,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<(T, A), Error> {
    let wanted = wants_gpus::<E>(options, spec.items());
    if !wanted || executor.gpus().map_or(true, |gpus| gpus.is_empty()) {
        return Ok((work()?, again()?));
    }
    std::thread::scope(|scope| {
        let again = scope.spawn(again);
        let done = work()?;
        let again = again.join();
        let again = again.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((done, again?))
    })
}

/// Counts the values of items that are not the `same` when they are computed again.
pub fn changes<V>(again: &Repeated<V>, same: impl Fn(u64, &V) -> bool) -> StepCheck {
    let count = again.len() as u64;
    let changed = again.iter().filter(|(item, value)| !same(*item, value));
    StepCheck::new(count, count, changed.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::evenly_spaced;

    #[test]
    fn samples_are_evenly_spaced_and_no_larger_than_what_there_is() {
        assert_eq!(evenly_spaced(10, 4), [0, 2, 5, 7]);
        assert_eq!(evenly_spaced(3, 4), [0, 1, 2]);
        assert_eq!(evenly_spaced(0, 4), [0; 0]);
        assert_eq!(evenly_spaced(1 << 40, 2), [0, 1 << 39]);
    }
}
