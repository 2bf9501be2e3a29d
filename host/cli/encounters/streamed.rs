//! `trisolar encounters --stream` and `--resume`: the records grow in a file, not in memory, and an interrupted computation can be resumed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trisolar::encounters::files::Format;
use trisolar::encounters::{Encounters, Executor, Records, Validated};
use trisolar::ensemble::Report;
use trisolar::run::RunOptions;

use super::{EncountersJob, EncountersOutcome};
use crate::progress::Progress;
use crate::{Failure, interrupt};

/// Integrates encounters into a file beside the output `main`; then writes the outputs from that file. `quiet` is whether there is no
/// progress, and whether there are no hints.
pub(super) fn run(
    executor: &dyn Executor<Validated>,
    job: &EncountersJob,
    main: &Path,
    out: &[(PathBuf, Format)],
    options: &RunOptions,
    [quiet, no_hints]: [bool; 2],
) -> Result<EncountersOutcome, Failure> {
    let kept = job.open(main)?;
    let mut report = if kept.missing.is_empty() {
        Report::nothing("all records were there")
    } else {
        let progress = Progress::new("encounters", quiet);
        // After Ctrl-C, the records of ended runs are copied from the devices and saved.
        let _patient = interrupt::patient();
        job.compute(&kept, executor, options, progress, no_hints, |_, work| {
            work()
        })?
    };
    report.notes.extend(kept.notes.iter().cloned());
    let outcome = EncountersOutcome {
        ensemble: Encounters {
            specification: job.valid.specification().clone(),
            records: Records::File(Arc::new(kept.store.mapped()?)),
            report,
        },
        part: job.part,
        computed: kept.missing_from_first(),
        resumed: kept.resumed,
        written: Vec::new(),
    };
    if job.part.is_some() {
        let mut written = vec![kept.store.part().to_owned()];
        written.extend(job.output.save_config.clone());
        kept.store.finish_part()?;
        return Ok(EncountersOutcome { written, ..outcome });
    }
    let written = job.write(out, &outcome.ensemble, |write| job.commit(&kept, write))?;
    kept.store.finish(main)?;
    Ok(EncountersOutcome { written, ..outcome })
}
