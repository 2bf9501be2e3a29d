//! `trisolar encounters --stream` and `--resume`: the records grow in a file, not in memory, and an interrupted computation can be resumed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use trisolar::divergence::RunOptions;
use trisolar::encounters::store::{self, COMMAND, Store, StoreError};
use trisolar::encounters::{Ensemble, Executor, Records, Streamed, Task};
use trisolar::io::atomic::stage;
use trisolar::run;

use super::{Args, EncountersJob, EncountersOutcome, OUTPUT};
use crate::progress::{Progress, Rest};
use crate::unfinished::{count, ended, kept, refuse};
use crate::{Failure, interrupt};

/// Interval at which records are saved: the most work that is lost if the program is killed.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(4);

/// Integrates encounters into a file beside the output `main`; then writes the outputs from that file.
pub(super) fn run(
    executor: &dyn Executor,
    job: &EncountersJob,
    main: &Path,
    args: &Args,
    options: &RunOptions,
    quiet: bool,
) -> Result<EncountersOutcome, Failure> {
    let (store, resumed) = open(main, job, args.resume.is_some())?;
    let missing = store.missing();
    let there = job.valid.runs() - count(&missing);
    let mut streamed = compute(executor, job, &store, &missing, options, quiet, args.quiet)?;
    if args.resume.is_some() && !resumed {
        let note = "there was nothing to go on with: the computation was begun anew";
        streamed.notes.push(note.into());
    }
    let ensemble = Ensemble {
        specification: job.valid.specification().clone(),
        records: Records::File(Arc::new(store.records()?)),
        streamed,
    };
    // The record holds the checksum of each file before the file appears.
    let written = job.write(&ensemble, |write| {
        let staged = stage(write).map_err(StoreError::from);
        staged
            .and_then(|(_, files)| store.commit(files))
            .map_err(|e| kept(e, &how_to_go_on(&store)))
    })?;
    store.finish(main)?;
    Ok(EncountersOutcome {
        ensemble,
        computed: missing,
        resumed: resumed.then_some(there),
        written,
    })
}

/// The file of records, and whether an earlier run has begun it.
fn open(main: &Path, job: &EncountersJob, resume: bool) -> Result<(Store, bool), Failure> {
    let plots = job.plots();
    let out = job.output.out.iter().map(|path| ("--out", path));
    let outputs = out.chain(plots.iter().map(|path| ("--plots", path)));
    let paths = || outputs.clone().map(|(_, path)| path.as_path());
    if resume && let Some(store) = Store::resume(main, &job.valid).map_err(refuse)? {
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
    let store = Store::begin(main, &job.valid, Some(run)).map_err(refuse)?;
    Ok((store, false))
}

/// Integrates the missing runs.
fn compute(
    executor: &dyn Executor,
    job: &EncountersJob,
    store: &Store,
    missing: &[Range<u64>],
    options: &RunOptions,
    quiet: bool,
    no_hints: bool,
) -> Result<Streamed, Failure> {
    if missing.is_empty() {
        return Ok(Streamed::nothing());
    }
    let progress = Progress::new("encounters", quiet);
    let rest = Rest::new(&progress, job.valid.runs() - count(missing));
    let task = Task::new(&job.valid, missing, store);
    // After Ctrl-C, the records of ended runs are copied from the devices and saved.
    let patient = interrupt::patient();
    let (streamed, recorded) = store.recording(CHECKPOINT_INTERVAL, || {
        executor.stream(&task, options, &rest)
    });
    drop(patient);
    progress.finish();
    let streamed = ended(streamed, recorded, &how_to_go_on(store), no_hints)?;
    Ok(streamed)
}

fn how_to_go_on(store: &Store) -> String {
    let part = store.part();
    format!(
        "what is computed is kept in {}; the same command with --resume goes on from there, and so does\n\
         trisolar encounters --resume {}",
        part.display(),
        store::name_of(part).display()
    )
}
