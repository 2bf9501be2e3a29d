//! `trisolar encounters --stream` and `--resume`: the records grow in a file, not in memory, and an interrupted computation can be resumed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use trisolar::encounters::store::{self, COMMAND, Store, StoreError};
use trisolar::encounters::{Encounters, Executor, Records, Task, Validated};
use trisolar::ensemble::Report;
use trisolar::io::atomic::stage;
use trisolar::run::{self, Part, RunOptions};

use super::{Args, EncountersJob, EncountersOutcome, OUTPUT, plots};
use crate::progress::{Progress, Rest};
use crate::unfinished::{done, ended, kept, refuse};
use crate::{Failure, interrupt, part};

/// Interval at which records are saved: the most work that is lost if the program is killed.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(4);

/// Integrates encounters into a file beside the output `main`; then writes the outputs from that file.
pub(super) fn run(
    executor: &dyn Executor<Validated>,
    job: &EncountersJob,
    main: &Path,
    args: &Args,
    options: &RunOptions,
    quiet: bool,
) -> Result<EncountersOutcome, Failure> {
    let (store, resumed) = match job.part {
        Some(part) => open_part(main, job, part)?,
        None => open(main, job, args.resume.is_some())?,
    };
    let items = store.items();
    let missing = store.missing();
    let there = done(&items, &missing);
    let mut report = compute(executor, job, &store, &missing, options, quiet, args.quiet)?;
    report.notes.extend(store.damage());
    if args.resume.is_some() && !resumed && job.part.is_none() {
        let note = "there was nothing to go on with: the computation was begun anew";
        report.notes.push(note.into());
    }
    let ensemble = Encounters {
        specification: job.valid.specification().clone(),
        records: Records::File(Arc::new(store.mapped()?)),
        report,
    };
    let computed = missing
        .iter()
        .map(|s| s.start - items.start..s.end - items.start)
        .collect();
    let outcome = EncountersOutcome {
        ensemble,
        part: job.part,
        computed,
        resumed: resumed.then_some(there),
        written: Vec::new(),
    };
    if job.part.is_some() {
        let mut written = vec![store.part().to_owned()];
        written.extend(job.output.save_config.clone());
        store.finish_part()?;
        return Ok(EncountersOutcome { written, ..outcome });
    }
    // The record holds the checksum of each file before the file appears.
    let written = job.write(&outcome.ensemble, |write| {
        let staged = stage(write).map_err(StoreError::from);
        staged
            .and_then(|(_, files)| store.commit(files))
            .map_err(|e| kept(e, &how_to_go_on(&store, job.part)))
    })?;
    store.finish(main)?;
    Ok(EncountersOutcome { written, ..outcome })
}

/// The file of a part, and whether an earlier run has computed any of it.
fn open_part(main: &Path, job: &EncountersJob, part: Part) -> Result<(Store, bool), Failure> {
    let name = part.path(main);
    let mut run = run::Record::new(COMMAND, &store::working_files(&name)[1]);
    run.set(OUTPUT, &job.output)?;
    let store = store::part(main, &job.valid, part, Some(run)).map_err(refuse)?;
    if let Some(run) = store.run() {
        part::refuse_others(store.part(), &run.get(OUTPUT)?, &job.output)?;
    }
    let begun = done(&store.items(), &store.missing()) > 0;
    Ok((store, begun))
}

/// The file of records, and whether an earlier run has begun it.
fn open(main: &Path, job: &EncountersJob, resume: bool) -> Result<(Store, bool), Failure> {
    let plots = plots(&job.output);
    let out = job.output.out.iter().map(|path| ("--out", path));
    let outputs = out.chain(plots.iter().map(|path| ("--plots", path)));
    let paths = || outputs.clone().map(|(_, path)| path.as_path());
    if resume && let Some(store) = store::resume(main, &job.valid).map_err(refuse)? {
        if let Some(run) = store.run() {
            for (option, path) in outputs.clone() {
                run.check(option, path)?;
            }
        }
        store.allow_what_is_there(paths()).map_err(refuse)?;
        return Ok((store, true));
    }
    let [_, record] = store::working_files(main);
    let mut run = run::Record::new(COMMAND, &record);
    run.set(OUTPUT, &job.output)?;
    run.allow_what_is_there(paths())?;
    let store = store::begin(main, &job.valid, Some(run)).map_err(refuse)?;
    Ok((store, false))
}

/// Integrates the missing runs.
fn compute(
    executor: &dyn Executor<Validated>,
    job: &EncountersJob,
    store: &Store,
    missing: &[Range<u64>],
    options: &RunOptions,
    quiet: bool,
    no_hints: bool,
) -> Result<Report, Failure> {
    if missing.is_empty() {
        return Ok(Report::nothing("all records were there"));
    }
    let progress = Progress::new("encounters", quiet);
    let rest = Rest::new(&progress, done(&store.items(), missing));
    let task = Task::new(&job.valid, missing, store);
    // After Ctrl-C, the records of ended runs are copied from the devices and saved.
    let patient = interrupt::patient();
    let (streamed, recorded) = store.recording(CHECKPOINT_INTERVAL, || {
        executor.stream(&task, options, &rest)
    });
    drop(patient);
    progress.finish();
    let hint = how_to_go_on(store, job.part);
    let streamed = ended(streamed, recorded, &hint, no_hints)?;
    Ok(streamed)
}

fn how_to_go_on(store: &Store, part: Option<Part>) -> String {
    let file = store.part();
    let with = if part.is_some() { "" } else { " with --resume" };
    format!(
        "what is computed is kept in {}; the same command{with} goes on from there, and so does\n\
         trisolar encounters --resume {}",
        file.display(),
        store::name_of(file).display()
    )
}
