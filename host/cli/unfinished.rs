//! The parts that maps and encounters have in common when they are computed with `--stream` and `--resume`.

use std::ops::Range;

use trisolar::run::EngineError;
use trisolar::run::partial::PartialError;

use super::{Failure, report};

/// A file of an earlier run that cannot be resumed.
pub(crate) fn refuse(error: PartialError) -> Failure {
    match error {
        PartialError::Io(error) => error.into(),
        error => Failure::BadInput(error.to_string()),
    }
}

/// A failure after which the computed items are kept; `hint` says how to resume.
pub(crate) fn kept(error: impl ToString, hint: &str) -> Failure {
    Failure::Failed(format!("{}\nhint: {hint}", error.to_string()))
}

/// The result of a computation whose state was recorded while it ran. If it was interrupted, the user reads `hint` unless the run is
/// `quiet`.
pub(crate) fn ended<T>(
    computed: Result<T, EngineError>,
    recorded: Result<(), impl ToString>,
    hint: &str,
    quiet: bool,
) -> Result<T, Failure> {
    let computed = computed.map_err(|error| match Failure::from(error) {
        Failure::Interrupted => {
            if !quiet {
                report::to_stderr(&format!("note: {hint}"));
            }
            Failure::Interrupted
        }
        Failure::Failed(message) => kept(message, hint),
        failure => failure,
    })?;
    recorded.map_err(|error| kept(error, hint))?;
    Ok(computed)
}

/// The number of items that are not among the missing ones.
pub(crate) fn done(items: &Range<u64>, missing: &[Range<u64>]) -> u64 {
    items.end - items.start - count(missing)
}

/// The number of items in these spans.
fn count(spans: &[Range<u64>]) -> u64 {
    spans.iter().map(|s| s.end - s.start).sum()
}
