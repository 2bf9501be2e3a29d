//! Whether verdicts depend on the step: a sample of the systems is followed again with half the step.

use kernels_gpu::planets::{Outcome, Record};

use super::Validated;
pub use trisolar_ensemble::StepCheck;
use trisolar_ensemble::{Ensemble as _, Repeat, Repeated, changes};

/// Systems that are usually followed again with half the step.
pub const CHECKED: u64 = 64;

/// Up to `most` of these systems, with half the step. `None` if that has too many steps.
pub fn with_half_the_step(spec: &Validated, most: u64) -> Option<Repeat<Validated>> {
    let finer = spec.with_half_step().ok()?;
    Some(Repeat::new(finer, spec.items(), most))
}

/// How many verdicts on these systems others have with half the step.
pub fn step_check(records: &[Record], again: &Repeated<Record>) -> StepCheck {
    changes(again, |item, again| {
        verdict(&records[item as usize]) == verdict(again)
    })
}

/// How a system ended: stable or not, and, if there is a tangent vector, whether it is regular (mean MEGNO within 1 of 2).
fn verdict(record: &Record) -> (Outcome, bool) {
    // Missing values, of systems that were not solved, are no sign of chaos.
    let chaotic = (record.mean_megno - 2.0).abs() > 1.0;
    (Outcome(record.outcome), !chaotic)
}
