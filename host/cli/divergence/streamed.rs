//! `trisolar divergence --stream` and `--resume`: the map grows in a file, not in memory, and an interrupted run can be resumed.

use std::path::Path;

use trisolar::divergence::{
    Checks, Executor, Specification, Statistics, Validated, beside, resolution_of,
};
use trisolar::ensemble::Report;
use trisolar::output::{Output, Values};
use trisolar::run::RunOptions;

use super::MapJob;
use super::outcome::MapOutcome;
use crate::ensemble::Kept;
use crate::progress::Progress;
use crate::unfinished::ended;
use crate::{Failure, interrupt};

/// Computes a map in a file beside the output `main`; then writes the outputs from that file.
pub(super) fn run(
    executor: &dyn Executor<Validated>,
    job: &MapJob,
    main: &Path,
    outputs: &[Output],
    options: &RunOptions,
    quiet: bool,
) -> Result<MapOutcome, Failure> {
    let valid = &job.valid;
    let kept = job.open(main)?;
    let mut outcome = compute(executor, job, &kept, options, quiet)?;
    outcome.resumed = kept.resumed;
    outcome.report.notes.extend(kept.notes.iter().cloned());

    let mapped = kept.store.mapped()?;
    let all = valid.value_type().cast(mapped.bytes());
    let Specification {
        quantity, steps, ..
    } = *valid.specification();
    outcome.statistics = quantity.statistics(all, steps);
    outcome.computed_steps = (kept.missing_from_first().into_iter())
        .map(|s| all.range(s.start as usize..s.end as usize))
        .map(|computed| quantity.steps_taken(computed, steps))
        .sum();
    if job.part.is_some() {
        drop(mapped);
        kept.store.finish_part()?;
        return Ok(outcome);
    }
    let values = Values {
        specification: valid.specification(),
        points: valid.points().map(AsRef::as_ref),
        values: all,
        checks: outcome.checks,
        certificate: None,
    };
    let style = job.output.picture.style();
    let (last, others): (Vec<_>, Vec<_>) = outputs.iter().partition(|o| o.path() == main);
    // An npy file is the one in which the map has grown.
    let last = last.into_iter().filter(|output| !output.is_npy());
    for output in others.into_iter().chain(last) {
        interrupt::check()?;
        job.commit(&kept, || output.write_values(&values, &style))?;
    }
    drop(mapped);
    kept.store.finish(main)?;
    Ok(outcome)
}

/// Computes the missing pixels.
fn compute(
    executor: &dyn Executor<Validated>,
    job: &MapJob,
    kept: &Kept<Validated>,
    options: &RunOptions,
    quiet: bool,
) -> Result<MapOutcome, Failure> {
    let valid = &job.valid;
    let items = kept.store.items();
    let mut outcome = MapOutcome {
        specification: serde_json::from_str(&valid.json()).unwrap_or_default(),
        method: valid.specification().method(),
        pixels: items.end - items.start,
        report: Report::nothing("all pixels were already computed"),
        quantity: valid.specification().quantity,
        statistics: Statistics::default(),
        computed_steps: 0,
        resumed: None,
        of_points: valid.points().is_some_and(|points| !points.are_made()),
        resolution: None,
        checks: Checks::default(),
        certificate: None,
        warnings: valid.warnings(),
    };
    // The resolution is that of the whole map, and is found when the parts are merged.
    let whole = job.part.is_none();
    let (threads, simd) = (options.threads, options.simd);
    let resolution = if !kept.missing.is_empty() {
        let progress = Progress::new("divergence", quiet);
        let (report, resolution) =
            job.compute(kept, executor, options, progress, quiet, |monitor, work| {
                if !whole {
                    return Ok((work()?, None));
                }
                let (report, found) = beside(valid, options, monitor, work)?;
                Ok((report, Some(found)))
            })?;
        outcome.report = report;
        resolution
    } else if whole {
        let found = resolution_of(valid, threads, simd, &interrupt::interrupted);
        Some(ended(found, Ok::<_, String>(()), &job.hint(kept), quiet)?)
    } else {
        None
    };
    outcome.found(resolution);
    if whole {
        let found = Checks::of(valid, options, &Progress::new("step check", true));
        outcome.checks = ended(found, Ok::<_, String>(()), &job.hint(kept), quiet)?;
    }
    Ok(outcome)
}
