//! What a record says of the end of its run.

use kernels_gpu::encounters::{Outcome, Record};

/// Whether a limit ended the run.
pub fn is_open(record: &Record) -> bool {
    [Outcome::TIME, Outcome::STEPS].contains(&Outcome(record.outcome))
}

/// The class of a record, an index of [`CLASSES`](super::pictures::CLASSES).
pub fn class(record: &Record) -> u8 {
    class_of(Outcome(record.outcome), record.body)
}

/// The class of a run with this outcome, from which this body escapes, counted from 0.
pub fn class_of(outcome: Outcome, body: u8) -> u8 {
    match outcome {
        Outcome::ESCAPE => body.min(2),
        Outcome::IONISATION => 3,
        Outcome::COLLISION => 4,
        Outcome::TIME | Outcome::STEPS => 5,
        _ => 6,
    }
}
