//! `trisolar divergence --stream` and `--resume`: the map grows in a file, not in memory, and an interrupted run can be resumed.

use std::ops::Range;
use std::time::Duration;

use trisolar::divergence::{
    Executor, RunOptions, Specification, Statistics, Task, Validated, beside, resolution_of,
};
use trisolar::ensemble::Report;
use trisolar::io::atomic::stage;
use trisolar::output::{Output, Values};
use trisolar::run::{self, Part};
use trisolar::store::{self, COMMAND, Store, StoreError};

use super::outcome::MapOutcome;
use super::{MapJob, OUTPUT};
use crate::progress::{Progress, Rest};
use crate::unfinished::{done, ended, kept, refuse};
use crate::{Failure, interrupt, part};

/// Interval at which finished pixels are saved: the most work that is lost if the program is killed.
const RECORD_INTERVAL: Duration = Duration::from_secs(4);

/// Computes a map in a file beside the first npy output, or else beside the first output; then writes the outputs from that file.
pub(super) fn run(
    executor: &dyn Executor<Validated>,
    job: &MapJob,
    resume: bool,
    options: &RunOptions,
    quiet: bool,
) -> Result<MapOutcome, Failure> {
    let MapJob { valid, outputs, .. } = job;
    let main = outputs.iter().find(|o| o.is_npy()).unwrap_or(&outputs[0]);
    let (store, resumed) = match job.part {
        Some(part) => open_part(main, job, part)?,
        None => open(main, job, resume)?,
    };
    let items = store.items();
    let missing = store.missing();
    let there = done(&items, &missing);
    let mut outcome = compute(executor, job, &store, &missing, options, quiet)?;
    outcome.resumed = resumed.then_some(there);
    outcome.report.notes.extend(store.damage());
    if resume && !resumed {
        let notes = &mut outcome.report.notes;
        notes.push("there was no unfinished map to resume; a new map was begun".into());
    }

    let mapped = store.mapped()?;
    let all = valid.value_type().cast(mapped.bytes());
    let Specification {
        quantity, steps, ..
    } = *valid.specification();
    outcome.statistics = quantity.statistics(all, steps);
    outcome.computed_steps = missing
        .iter()
        .map(|s| [s.start, s.end].map(|at| (at - items.start) as usize))
        .map(|[start, end]| all.range(start..end))
        .map(|computed| quantity.steps_taken(computed, steps))
        .sum();
    if job.part.is_some() {
        drop(mapped);
        store.finish_part()?;
        return Ok(outcome);
    }
    let values = Values {
        specification: valid.specification(),
        points: valid.points().map(AsRef::as_ref),
        values: all,
    };
    let style = job.output.style();
    let others = outputs.iter().filter(|o| o.path() != main.path());
    // The record holds the checksum of each file before the file appears.
    for output in others.chain((!main.is_npy()).then_some(main)) {
        interrupt::check()?;
        let written = stage(|| output.write_values(&values, &style));
        written
            .map_err(StoreError::from)
            .and_then(|((), files)| store.commit(files))
            .map_err(|e| kept(e, &how_to_go_on(&store, job.part)))?;
    }
    drop(mapped);
    store.finish(main.path())?;
    Ok(outcome)
}

/// The map's file, and whether an earlier run has begun it.
fn open(main: &Output, job: &MapJob, resume: bool) -> Result<(Store, bool), Failure> {
    let path = main.path();
    let outputs = || job.outputs.iter().map(Output::path);
    if resume && let Some(store) = store::resume(path, &job.valid).map_err(refuse)? {
        if let Some(run) = store.run() {
            for output in outputs().filter(|output| !store.is_named(output)) {
                run.check("--out", output)?;
            }
        }
        store.allow_what_is_there(outputs()).map_err(refuse)?;
        return Ok((store, true));
    }
    let [_, record] = store::working_files(path);
    let mut run = run::Record::new(COMMAND, &record);
    run.set(OUTPUT, &job.output)?;
    run.allow_what_is_there(outputs())?;
    let store = store::begin(path, &job.valid, Some(run)).map_err(refuse)?;
    Ok((store, false))
}

/// The file of a part, and whether an earlier run has computed any of it.
fn open_part(main: &Output, job: &MapJob, part: Part) -> Result<(Store, bool), Failure> {
    let name = part.path(main.path());
    let mut run = run::Record::new(COMMAND, &store::working_files(&name)[1]);
    run.set(OUTPUT, &job.output)?;
    let store = store::part(main.path(), &job.valid, part, Some(run)).map_err(refuse)?;
    if let Some(run) = store.run() {
        part::refuse_others(store.part(), &run.get(OUTPUT)?, &job.output)?;
    }
    let begun = done(&store.items(), &store.missing()) > 0;
    Ok((store, begun))
}

/// Computes the missing pixels.
fn compute(
    executor: &dyn Executor<Validated>,
    job: &MapJob,
    store: &Store,
    missing: &[Range<u64>],
    options: &RunOptions,
    quiet: bool,
) -> Result<MapOutcome, Failure> {
    let valid = &job.valid;
    let items = store.items();
    let pixels = items.end - items.start;
    let mut outcome = MapOutcome {
        specification: serde_json::from_str(&valid.json()).unwrap_or_default(),
        method: valid.specification().method(),
        pixels,
        report: Report::nothing("all pixels were already computed"),
        quantity: valid.specification().quantity,
        statistics: Statistics::default(),
        computed_steps: 0,
        resumed: None,
        of_points: valid.points().is_some(),
        resolution: None,
        warnings: valid.warnings(),
    };
    if missing.is_empty() {
        if job.part.is_none() {
            let found = resolution_of(
                valid,
                options.threads,
                options.simd,
                &interrupt::interrupted,
            );
            let found = ended(
                found,
                Ok::<_, String>(()),
                &how_to_go_on(store, job.part),
                quiet,
            )?;
            outcome.found(Some(found));
        }
        return Ok(outcome);
    }
    let progress = Progress::new("divergence", quiet);
    let steps = valid.specification().steps;
    let before = done(&items, missing).saturating_mul(steps);
    let rest = Rest::new(&progress, before);
    let task = Task::new(valid, missing, store);
    let stream = || executor.stream(&task, options, &rest);
    let (streamed, recorded) = store.recording(RECORD_INTERVAL, || match job.part {
        // The resolution is that of the whole map, and is found when the parts are merged.
        Some(_) => stream().map(|streamed| (streamed, None)),
        None => {
            beside(valid, options, &rest, stream).map(|(streamed, found)| (streamed, Some(found)))
        }
    });
    progress.finish();
    let hint = how_to_go_on(store, job.part);
    let (report, resolution) = ended(streamed, recorded, &hint, quiet)?;
    outcome.found(resolution);
    outcome.report = report;
    Ok(outcome)
}

fn how_to_go_on(store: &Store, part: Option<Part>) -> String {
    let file = store.part();
    let and = if part.is_some() { "" } else { " and --resume" };
    format!(
        "the computed pixels are kept in {}; resume with the same command{and}, or with\n\
         trisolar divergence --resume {}",
        file.display(),
        store::name_of(file).display()
    )
}
