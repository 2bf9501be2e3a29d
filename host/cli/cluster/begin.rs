//! Begins a run, either from a start or from a checkpoint with all options of the run.

use std::path::Path;

use trisolar::hermite::files::Checkpoint;
use trisolar::hermite::{Abrupt, Overrides, Scheme, Specification, Times, Validated, bodies_of};
use trisolar::io::older;
use trisolar::nbody::Bodies;
use trisolar::run::{self, Claim};
use trisolar::spec::Parameters as _;

use super::options::Args;
use super::outputs::OutputArgs;
use super::stops::Stops;
use super::{refused, refused_overrides};
use crate::Failure;
use crate::config;
use crate::report;
use crate::resume::{Resumed, Typed, with_paths};

/// Groups of options in a checkpoint.
const START: &str = "start";
const OUTPUT: &str = "output";
/// Data of the earlier part of the run that reports need.
pub(super) const REPORT: &str = "report";
pub(super) const WORST: &str = "worst_step";

/// A new or resumed run.
pub(super) struct Begun {
    pub state: InitialState,
    /// The end of the run and the interval of its diagnostics, on the run's own clock, which begins at 0.
    pub times: Times,
    /// The largest allowed energy error.
    pub max_error: Option<f64>,
    /// All values of the run, given or default.
    pub overrides: Overrides,
    pub output: OutputArgs,
    /// The record of the run for the checkpoint, if there is one.
    pub record: Option<run::Record>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Warnings about the start.
    pub warnings: Vec<String>,
    /// Keeps the outputs locked.
    pub claim: Claim,
}

/// The particles with which the run begins.
pub(super) enum InitialState {
    Start(Validated),
    Resumed(Box<Checkpoint>, Option<Abrupt>),
}

impl InitialState {
    pub(super) fn specification(&self) -> &Specification {
        match self {
            Self::Start(start) => start.specification(),
            Self::Resumed(checkpoint, _) => &checkpoint.specification,
        }
    }

    /// The lines of diagnostics so far.
    pub(super) fn series(&self) -> &[Vec<f64>] {
        match self {
            Self::Start(_) => &[],
            Self::Resumed(checkpoint, _) => &checkpoint.series,
        }
    }

    /// The time that it has reached, on the run's own clock.
    pub(super) fn time(&self) -> f64 {
        match self {
            Self::Start(_) => 0.0,
            Self::Resumed(checkpoint, _) => checkpoint.time,
        }
    }

    /// Masses, and positions and velocities at some time.
    pub(super) fn all_bodies(&self) -> Bodies {
        match self {
            Self::Start(start) => start.bodies().clone(),
            Self::Resumed(checkpoint, _) => bodies_of(&checkpoint.stars),
        }
    }

    pub(super) fn bodies(&self) -> usize {
        match self {
            Self::Start(start) => start.bodies().len(),
            Self::Resumed(checkpoint, _) => checkpoint.stars.len(),
        }
    }
}

impl Begun {
    /// A new run.
    pub(super) fn begin(args: &Args, typed: &Typed) -> Result<Self, Failure> {
        let mut output = args.output.clone();
        if let Some(folder) = args.shown_in(typed) {
            output.plots = Some(folder);
        }
        let mut overrides = args.overrides.values.clone();
        if let Some(path) = &args.config {
            overrides = overrides.merged_over(config::load(path)?);
        }
        let mut declared = output.declared()?;
        if let Some(path) = &args.config {
            declared.input("--config", path);
        }
        if let Some(path) = &overrides.input {
            declared.input("--input", path);
        }
        let claim = declared.claim()?;
        if let Some(path) = &output.checkpoint {
            run::Record::refuse_unfinished("--checkpoint", path)?;
        }
        output.refuse_other_snapshots()?;
        let (start, mut overrides) = overrides
            .start(None)
            .map_err(|e| refused_overrides(args, e))?;
        overrides.scheme.get_or_insert(Scheme::Plain);
        if !args.quiet {
            for warning in start.warnings() {
                report::to_stderr(&format!("warning: {warning}"));
            }
            // The summary contains them, but that may be too late.
            for note in (start.notes().iter()).filter(|_| !start.warnings().is_empty()) {
                report::to_stderr(&format!("note: {note}"));
            }
        }
        let times = overrides.times_from(start.specification().start_time);
        let times = times.map_err(|e| refused_overrides(args, e))?;
        if let Some(path) = &output.save_config {
            config::save_options(path, "cluster", &overrides)?;
        }
        let record = match &output.checkpoint {
            None => None,
            Some(path) => {
                let mut record = run::Record::new("cluster", path);
                record.set(START, &overrides)?;
                // A checkpoint is renewed in place.
                let kept = OutputArgs {
                    checkpoint: None,
                    ..output.clone()
                };
                record.set(OUTPUT, &kept)?;
                let results = output.results();
                record.allow_what_is_there(results.iter().map(|(_, path)| path.as_path()))?;
                Some(record)
            }
        };
        Ok(Self {
            notes: start.notes().to_vec(),
            warnings: start.warnings().to_vec(),
            state: InitialState::Start(start),
            times,
            max_error: overrides.max_error,
            overrides,
            output,
            record,
            claim,
        })
    }

    /// A resumed run, with all options with which it began.
    pub(super) fn resume(args: &Args, typed: &Typed, path: &Path) -> Result<Self, Failure> {
        let read = || run::Record::read(path, "cluster").map_err(|e| refused(path, "--resume", &e));
        let record = read()?;
        let mut output: OutputArgs = record.get(OUTPUT)?;
        output.checkpoint = Some(path.to_owned());
        let overrides: Overrides = record.get(START)?;
        let mut has = with_paths(&overrides);
        has.append(&mut with_paths(&output));
        let mut here = with_paths(&args.overrides.values);
        here.append(&mut with_paths(&args.output));
        typed.refuse_others(&Resumed {
            file: path,
            has,
            given: here,
            extends: &["end", "steps"],
            elsewhere: &["max_error"],
        })?;
        let asked = &args.overrides.values;
        (asked.check_max_error()).map_err(|e| refused_overrides(args, e))?;
        let max_error = asked.max_error.or(overrides.max_error);

        let claim = output.declared()?.claim()?;
        older::own(path);
        // A run that held the lock until now may have renewed the checkpoint.
        let mut record = read()?;
        let mut checkpoint = Checkpoint::read(path).map_err(|e| refused(path, "--resume", &e))?;
        let spec = checkpoint.specification.clone();
        let start_time = spec.start_time;
        let on_the_clock = |time: f64| spec.on_the_clock(time);
        let times_of = |overrides: &Overrides| {
            let times = overrides.times_from(start_time);
            times.map_err(|e| refused_overrides(args, e))
        };
        let had = times_of(&overrides)?;
        let extended = Overrides {
            end: Some(match (asked.end, asked.steps) {
                (None, None) => overrides.end_from(start_time),
                _ => Overrides {
                    max_step: Some(spec.max_step),
                    ..asked.clone()
                }
                .end_from(start_time),
            }),
            steps: None,
            ..overrides
        };
        let times = times_of(&extended)?;
        if extended.is_backwards(start_time) != spec.backwards {
            let way = if spec.backwards { "before" } else { "after" };
            let reason = format!(
                "must be {way} {start_time}, the time of the start, as that of the run so far"
            );
            let end = extended.end_from(start_time);
            return Err(Failure::value(&end.to_string(), "--end", &reason));
        }
        let stops = Stops::new(had.every, checkpoint.stars.len(), &output);
        if times.end > had.end
            && !stops.has(had.end)
            && let Some(tracks) = &mut checkpoint.tracks
        {
            // A run that had this length from the start would not have looked there.
            tracks.forget(had.end);
        }
        let mut notes = Vec::new();
        let last = checkpoint.series.last().map_or(start_time, |row| row[0]);
        if last == on_the_clock(had.end) {
            let regular = on_the_clock((checkpoint.series.len() - 1) as f64 * had.every);
            if times.end > had.end && last != regular {
                // A run that had this length from the start would have no line of diagnostics there.
                checkpoint.series.pop();
            } else if times.end == had.end {
                notes.push(format!(
                    "the run has already ended, at time {last}; --end extends it"
                ));
            }
        }
        let looked = checkpoint.series.last().map_or(start_time, |row| row[0]);
        let now = on_the_clock(checkpoint.time);
        let reached = if spec.is_before(looked, now) {
            now
        } else {
            looked
        };
        let end = on_the_clock(times.end);
        if spec.is_before(end, reached) {
            let reason = format!("the checkpoint is at {reached} already");
            return Err(Failure::value(&end.to_string(), "--end", &reason));
        }
        for (option, path) in output.results() {
            record.check(option, &path)?;
        }
        let count = checkpoint.series.len();
        let last_again = !spec.is_before(looked, now);
        notes.extend(output.check_snapshots(count, last_again, &record)?);
        let results = output.results();
        record.allow_what_is_there(results.iter().map(|(_, path)| path.as_path()))?;
        record.extend(START, "end", extended.end);
        let worst = record.value(REPORT, WORST).cloned().unwrap_or_default();
        let worst = serde_json::from_value(worst).ok();
        Ok(Self {
            state: InitialState::Resumed(Box::new(checkpoint), worst),
            times,
            max_error,
            overrides: extended,
            output,
            record: Some(record),
            notes,
            warnings: Vec::new(),
            claim,
        })
    }
}
