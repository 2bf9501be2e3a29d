//! Whether verdicts depend on the step: a sample of the systems is followed again with half the step.

use kernels_gpu::planets::{Outcome, Record};

use super::{Executor, Validated};
pub use trisolar_ensemble::StepCheck;
use trisolar_ensemble::repeated;
use trisolar_run::{EngineError, Monitor, RunOptions};

/// Systems that are usually followed again with half the step.
pub const CHECKED: u64 = 64;

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
    let same = |a: &Record, b: &Record| verdict(a) == verdict(b);
    repeated(executor, &finer, records, most, same, options, monitor).map(Some)
}

/// How a system ended: stable or not, and, if there is a tangent vector, whether it is regular (mean MEGNO within 1 of 2).
fn verdict(record: &Record) -> (Outcome, bool) {
    // Missing values, of systems that were not solved, are no sign of chaos.
    let chaotic = (record.mean_megno - 2.0).abs() > 1.0;
    (Outcome(record.outcome), !chaotic)
}
