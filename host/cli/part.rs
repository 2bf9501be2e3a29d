//! `--part`: one part of a run, as a task of a job array computes it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trisolar::bodies::Points;
use trisolar::io::older;
use trisolar::run::partial::working_files;
use trisolar::run::{Claim, Outputs, Part, Paths};
use trisolar::spec::SpecError;

use super::Failure;
use super::report::Lines;
use super::resume::differing_options;

/// The part of a run.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PartArgs {
    /// Compute part I of N equal parts only, such as 3/8, as a task of a job array. It is kept beside the output, under the name of the
    /// output with .3-of-8 behind it, and the same command continues it after an interruption; `trisolar merge` makes of all parts what
    /// one run would have written, byte for byte. If there are more parts than items, some parts are empty
    #[arg(
        long,
        value_name = "I/N",
        help_heading = "Computation",
        allow_hyphen_values = true,
        conflicts_with = "resume"
    )]
    pub(crate) part: Option<Part>,
}

/// The start states in a file of points, for an ensemble that has them.
pub(crate) fn points(path: Option<PathBuf>) -> Result<Points, SpecError> {
    let path = path.ok_or_else(|| SpecError::new("points", "", "there is no file of points"))?;
    Points::read(&path).map_err(|reason| SpecError::new("points", path.display(), reason))
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

/// Checks the files of the whole run, which a part does not write, and claims those in which the part `kept` grows. (`config`, which all
/// parts write, cannot be locked by one of them.)
pub(crate) fn claim(whole: &Outputs, kept: &Path, config: Option<&Path>) -> Result<Claim, Failure> {
    whole.check()?;
    whole.remove_abandoned();
    config.into_iter().for_each(older::keep);
    let mut own = Outputs::new();
    for path in working_files(kept) {
        own.working("--part", &path);
    }
    Ok(own.claim()?)
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
