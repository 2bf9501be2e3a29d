//! Whether verdicts depend on the step: a sample of the systems is followed again with half the step.

use std::sync::{Mutex, PoisonError};

use kernels_gpu::planets::{Outcome, Record};
use serde::Serialize;

use super::{Executor, Task, Validated};
use trisolar_ensemble::Sink;
use trisolar_run::{Backend, EngineError, GpuChoice, Monitor, RunOptions};

/// Systems that are usually followed again with half the step.
pub const CHECKED: u64 = 64;

/// How many verdicts of a sample change with half the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepCheck {
    /// Systems in the sample.
    pub sample: u64,
    /// Those whose verdict changes: stable or how it ended, and, if there is a tangent vector, regular (mean MEGNO within 1 of 2) or not.
    pub changed: u64,
    /// `changed / sample`.
    pub share: f64,
}

/// Records by the numbers of their systems.
struct Found(Mutex<Vec<(u64, Record)>>);

impl Sink<Validated> for Found {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend((first..).zip(records.iter().copied()));
        Ok(())
    }
}

/// Follows up to `most` of these systems again on the CPU, which takes twice as long as it takes there for them. `None` if half the step has too
/// many steps.
///
/// # Errors
/// Those of the computation.
pub fn step_check(
    executor: &dyn Executor<Validated>,
    spec: &Validated,
    records: &[Record],
    most: u64,
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Option<StepCheck>, EngineError> {
    let Ok(finer) = spec.with_half_step() else {
        return Ok(None);
    };
    let sample = spec.sample(most);
    let spans: Vec<_> = sample.iter().map(|&item| item..item + 1).collect();
    let found = Found(Mutex::default());
    // A GPU would follow systems that are not neighbours one after another.
    let cpu = RunOptions {
        backend: Backend::Cpu,
        with_cpu: false,
        gpus: GpuChoice::Auto,
        ..*options
    };
    executor.stream(&Task::new(&finer, &spans, &found), &cpu, monitor)?;
    let found = found.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let differs =
        |(item, fine): &&(u64, Record)| verdict(&records[*item as usize]) != verdict(fine);
    let changed = found.iter().filter(differs).count() as u64;
    Ok(Some(StepCheck {
        sample: found.len() as u64,
        changed,
        share: changed as f64 / found.len().max(1) as f64,
    }))
}

/// How a system ended, and whether it is regular.
fn verdict(record: &Record) -> (Outcome, bool) {
    // Missing values, of systems that were not solved, are no sign of chaos.
    let chaotic = (record.mean_megno - 2.0).abs() > 1.0;
    (Outcome(record.outcome), !chaotic)
}
