//! `--part`: one part of a run, as a task of a job array computes it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trisolar::run::{Part, Paths};

use super::Failure;
use super::report::Lines;
use super::resume::differing_options;

/// The part of a run.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PartArgs {
    /// Compute part I of N equal parts only, such as 3/8, as a task of a job array. It is kept beside the output, under the name of the
    /// output with .3-of-8 behind it, and the same command continues it after an interruption; `trisolar merge` makes of all parts what
    /// one run would have written, byte for byte
    #[arg(
        long,
        value_name = "I/N",
        help_heading = "Computation",
        allow_hyphen_values = true,
        conflicts_with = "resume"
    )]
    pub(crate) part: Option<Part>,
}

/// Checks that no part of a run of this many items is empty.
pub(crate) fn check(part: Option<Part>, items: u64, what: &str) -> Result<(), Failure> {
    let checked = part.map_or(Ok(()), |part| part.check(items, what));
    let given = part.map_or_else(String::new, |part| part.to_string());
    checked.map_err(|allowed| Failure::value(&given, "--part", &allowed))
}

/// Refuses to continue a part in the file `name` with other outputs or pictures than those with which it was begun.
pub(crate) fn refuse_others<T: Paths>(name: &Path, there: &T, here: &T) -> Result<(), Failure> {
    let differing = differing_options(there, here, &[]);
    if differing.is_empty() {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "{} was begun with other options: {} differs",
        name.display(),
        differing.join(", ")
    )))
}

/// The file in which the output `main`, or its part, grows, with the option that asked for it.
pub(crate) fn kept_as(part: Option<Part>, main: &Path) -> (&'static str, PathBuf) {
    match part {
        Some(part) => ("--part", part.path(main)),
        None => ("--stream", main.to_owned()),
    }
}

/// Adds the part to a report.
pub(crate) fn add(part: Option<Part>, object: &mut Value) {
    if let Some(part) = part {
        object["part"] = part.to_string().into();
    }
}

/// Adds the part, and how all of them become one, to a summary. `whole` is the output, and `ending` that of the names of its parts.
pub(crate) fn add_lines(part: Part, whole: &Path, ending: &str, lines: &mut Lines) {
    let all: PathBuf = whole.components().collect();
    let of = part.of();
    lines.add(
        "part",
        &format!("{part}; of all {of} parts, this makes the whole:"),
    );
    let merge = format!("trisolar merge {}.*-of-{of}{ending}", all.display());
    lines.add_whole("", &merge);
}
