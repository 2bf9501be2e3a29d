//! The command of an ensemble of records, as `trisolar encounters` and `trisolar planets` are: from options and a configuration file to the
//! records, their files and a report.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trisolar::bodies::Points;
use trisolar::ensemble::{self, Ensemble, Executor, Records, Report};
use trisolar::io::IoError;
use trisolar::run::partial::Contents as _;
use trisolar::run::{EngineError, Monitor, RunOptions};
use trisolar::spec::{Parameters, SpecError};

use super::cpu_args::warn_of_one_lane;
use super::ensemble::{EnsembleJob, JobArgs, OutputOptions, on_devices};
use super::ensemble_devices::EnsembleDevices;
use super::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use super::part::{self, PartArgs};
use super::progress::Progress;
use super::report::{self, Common, Lines};
use super::resume::Typed;
use super::{Failure, config, interrupt};

/// The values that a user gives for an ensemble of records, and how its command writes and reports the records.
pub(crate) trait RecordCommand:
    Parameters + Clone + fmt::Debug + Serialize + DeserializeOwned + Sync + 'static
{
    /// The ensemble.
    type Of: Ensemble<Values: Into<Records<Self::Record>>>;
    /// The record of an item.
    type Record: Clone + 'static;
    /// The options of its outputs.
    type Output: OutputOptions + clap::Args + fmt::Debug;
    /// The format of a file.
    type Format: Copy;
    /// All records, with what is found out about them.
    type Computed;
    /// Items that were computed again in another way.
    type Sample: Send;

    /// What is computed, beside a bar of progress.
    const PROGRESS: &'static str;
    /// What helps if there is too little memory.
    const LESS_MEMORY: &'static str;

    /// The validated specification; `points` are the start states, if they come from a file.
    fn validate(&self, points: Option<&Points>) -> Result<Self::Of, SpecError>;

    /// Every value of a specification, with the largest allowed error.
    fn of(valid: &Self::Of, most: Option<f64>) -> Self;

    /// The values in the record of an unfinished computation.
    fn of_contents(contents: &<Self::Of as Ensemble>::Contents) -> Self;

    /// The largest allowed error.
    fn most(&self) -> Option<f64>;

    /// As TOML, for a configuration file.
    ///
    /// # Errors
    /// TOML cannot represent a number: a seed of 2^63 or more.
    fn toml(&self) -> Result<String, String> {
        let command = <Self::Of as Ensemble>::Contents::COMMAND;
        let values = toml::to_string(self).map_err(|e| e.to_string())?;
        Ok(format!(
            "# Trisolar {command}: trisolar {command} --config THIS_FILE\n{values}"
        ))
    }

    /// Adds files that nobody asked for.
    fn complete(_: &Self::Of, _: &mut Self::Output) {}

    /// The format that the extension of a file of `--out` selects.
    fn format(path: &Path, valid: &Self::Of) -> Result<Self::Format, &'static str>;

    /// Computes some items again in another way.
    fn sample(
        _: &RecordJob<Self>,
        _: &RunOptions,
        _: &dyn Monitor,
    ) -> Result<Option<Self::Sample>, EngineError> {
        Ok(None)
    }

    /// The computed records of the ensemble, or of its part. If they are all, `whole` has what can compute more of them, and the
    /// [`sample`](Self::sample).
    fn gathered(
        job: &RecordJob<Self>,
        records: Records<Self::Record>,
        report: &Report,
        whole: Option<Again<'_, Self>>,
    ) -> Result<Self::Computed, Failure>;

    /// Writes a file of `--out`.
    fn write(
        format: Self::Format,
        path: &Path,
        job: &RecordJob<Self>,
        computed: &Self::Computed,
    ) -> Result<(), IoError>;

    /// Writes the files of other options and returns them; `None` if there are none.
    #[allow(clippy::type_complexity, reason = "a list of files, or none")]
    fn other_files<'a>(
        _: &'a RecordJob<Self>,
        _: &'a Self::Computed,
    ) -> Option<Box<dyn Fn() -> Result<Vec<PathBuf>, IoError> + 'a>> {
        None
    }

    /// The statistics of the records, of which `most` is the largest allowed error.
    fn reported(job: &RecordJob<Self>, outcome: &Outcome<Self>, most: Option<f64>) -> Reported;
}

/// What can compute more records of an ensemble, and those that were computed again.
pub(crate) struct Again<'a, C: RecordCommand> {
    pub(crate) executor: &'a dyn Executor<C::Of>,
    pub(crate) options: &'a RunOptions,
    pub(crate) progress: &'a Progress,
    pub(crate) sample: Option<C::Sample>,
}

/// What is reported of records, beside what all ensembles have.
pub(crate) struct Reported {
    pub(crate) specification: Value,
    pub(crate) errors: Value,
    /// The keys of the JSON object that other commands do not have.
    pub(crate) own: Value,
    /// What stands above the lines of the summary.
    pub(crate) above: String,
    /// Its first lines.
    pub(crate) lines: Lines,
    /// The rate, its unit, and the rates in words.
    pub(crate) rate: (f64, &'static str, String),
    pub(crate) warnings: Vec<String>,
    /// Whether the errors are those that are allowed.
    pub(crate) checked: Result<(), String>,
}

/// An ensemble of records, its files, and its unfinished computation.
pub(crate) type RecordJob<C> = EnsembleJob<<C as RecordCommand>::Of, <C as RecordCommand>::Output>;

/// The options of such a command.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs<C: RecordCommand> {
    #[command(flatten)]
    pub(crate) overrides: ParameterArgs<C, Accuracy>,

    #[command(flatten)]
    pub(crate) output: C::Output,
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    config: Option<PathBuf>,
    /// Write records to disk while they are computed instead of keeping them in memory, in NAME.part beside the first .npz file of
    /// --out (or the first file): for ensembles larger than memory, and for computations that may be interrupted
    #[arg(long, help_heading = "Output")]
    stream: bool,
    /// Resume the unfinished computation of a command with --stream, by the NAME of the file that it was to write, with all options
    /// of that command, files included; the files get the same bytes as without the interruption. Options that are given again must
    /// have the same values. Without NAME: the first .npz file, or the first file, of --out; if nothing was begun for it, the
    /// computation begins as with --stream
    #[arg(long, value_name = "NAME", help_heading = "Output", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,

    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    devices: EnsembleDevices,

    #[command(flatten)]
    accuracy: PlacedArgs<C, Accuracy>,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// Computed records, with the figures of this run for the report.
pub(crate) struct Outcome<C: RecordCommand> {
    pub(crate) computed: C::Computed,
    report: Report,
    /// The items that this run computed, counted from the first one of the ensemble, or of its part.
    pub(crate) new: Vec<Range<u64>>,
    /// Number of items that an earlier run computed, if this run resumes it.
    resumed: Option<u64>,
    written: Vec<PathBuf>,
}

impl<C: RecordCommand> Outcome<C> {
    /// This number divided by the time of the computation; 0 if nothing was computed.
    pub(crate) fn per_second(&self, count: f64) -> f64 {
        let seconds = self.report.elapsed.as_secs_f64();
        if seconds > 0.0 { count / seconds } else { 0.0 }
    }
}

/// The validated specification and the largest allowed error. The command line (`own`) overrides the configuration file, which overrides
/// `under` (a resumed computation) or the defaults. The start states are those of `points`, if there are any.
pub(crate) fn specified<C: RecordCommand>(
    own: &C,
    config: Option<&Path>,
    under: Option<C>,
    points: Option<&Path>,
) -> Result<(C::Of, Option<f64>), Failure> {
    let mut overrides = own.clone();
    if let Some(path) = config {
        overrides = overrides.merged_over(config::load(path)?);
    }
    if let Some(under) = under {
        overrides = overrides.merged_over(under);
    }
    let points = points.map(|path| Points::read(path).map_err(Failure::BadInput));
    let refused = |e: SpecError| {
        let on_command_line = own.has(e.option) || e.option == "points";
        Failure::specification(&e, on_command_line, config)
    };
    let valid = overrides.validate(points.transpose()?.as_ref());
    Ok((valid.map_err(refused)?, overrides.most()))
}

/// Writes values to a file for `--config`.
pub(crate) fn save_config(path: &Path, values: &impl RecordCommand) -> Result<(), Failure> {
    let text = values
        .toml()
        .map_err(|reason| Failure::value(&path.display().to_string(), "--save-config", &reason))?;
    config::write(path, &text)
}

/// Computes records and reports; `points` is the file of their start states.
pub(crate) fn run<C: RecordCommand>(
    args: &RecordArgs<C>,
    points: &Option<PathBuf>,
    typed: &Typed,
) -> Result<(), Failure> {
    let of_job = JobArgs {
        points,
        config: &args.config,
        stream: args.stream,
        resume: &args.resume,
        part: args.part.part,
    };
    let options = args.devices.options();
    on_devices(&options, &of_job, &args.output, |executor, options| {
        args.run_on(&of_job, typed, executor, options)
    })
}

impl<C: RecordCommand> RecordArgs<C> {
    fn run_on(
        &self,
        of_job: &JobArgs<'_>,
        typed: &Typed,
        executor: &dyn Executor<C::Of>,
        options: &RunOptions,
    ) -> Result<(), Failure> {
        let specify = |under: Option<&<C::Of as Ensemble>::Contents>, points: Option<&Path>| {
            let own = &self.overrides.values;
            specified(
                own,
                self.config.as_deref(),
                under.map(C::of_contents),
                points,
            )
        };
        let job = RecordJob::<C>::new(of_job, &self.output, typed, specify, C::complete)?;
        let mut out = Vec::new();
        for path in job.output.out() {
            let refuse = |e| Failure::value(&path.display().to_string(), "--out", e);
            out.push((path.clone(), C::format(path, &job.valid).map_err(refuse)?));
        }
        let _claim = job.claim()?;
        interrupt::watch()?;
        let most = *job.output.clone().max_error();
        if let Some(path) = job.config_to_save() {
            save_config(path, &C::of(&job.valid, most))?;
        }
        if !self.quiet {
            warn_of_one_lane(options.backend);
        }
        let outcome = match &job.streamed {
            Some(main) => self.streamed(executor, &job, main, &out, options)?,
            None => self.in_memory(executor, &job, &out, options)?,
        };
        let reported = C::reported(&job, &outcome, most);
        if !self.quiet {
            for note in &outcome.report.notes {
                report::to_stderr(&format!("note: {note}"));
            }
            for warning in &reported.warnings {
                report::to_stderr(&format!("warning: {warning}"));
            }
        }
        let checked = reported.checked.clone();
        if self.json {
            report::json(&object(&job, &outcome, reported))?;
        } else if !self.quiet {
            report::to_stdout(&text(&job, &outcome, reported))?;
        }
        checked.map_err(Failure::Failed)
    }

    fn progress(&self) -> Progress {
        Progress::new(C::PROGRESS, self.quiet || self.json)
    }

    /// Computes records in memory, and writes the outputs.
    fn in_memory(
        &self,
        executor: &dyn Executor<C::Of>,
        job: &RecordJob<C>,
        out: &[(PathBuf, C::Format)],
        options: &RunOptions,
    ) -> Result<Outcome<C>, Failure> {
        let progress = &self.progress();
        let sample = || C::sample(job, options, progress);
        let compute = || {
            let computed = ensemble::compute(executor, &job.valid, options, progress);
            computed.map_err(|error| match error {
                EngineError::OutOfMemory { .. } => {
                    Failure::Failed(format!("{error}\nhint: {}", C::LESS_MEMORY))
                }
                error => error.into(),
            })
        };
        let (computed, sample) = ensemble::beside(executor, &job.valid, options, sample, compute)?;
        let (records, report) = (computed.values.into(), computed.report);
        let again = Some(Again {
            executor,
            options,
            progress,
            sample,
        });
        let all = C::gathered(job, records, &report, again)?;
        progress.finish();
        Ok(Outcome {
            written: write::<C>(job, out, &all, |write| Ok(write().map(drop)?))?,
            computed: all,
            report,
            new: vec![0..job.valid.items()],
            resumed: None,
        })
    }

    /// Computes records into a file beside the output `main`; then writes the outputs from that file.
    fn streamed(
        &self,
        executor: &dyn Executor<C::Of>,
        job: &RecordJob<C>,
        main: &Path,
        out: &[(PathBuf, C::Format)],
        options: &RunOptions,
    ) -> Result<Outcome<C>, Failure> {
        let kept = job.open(main)?;
        let whole = job.part.is_none();
        let compute = || {
            if kept.missing.is_empty() {
                return Ok(Report::nothing("all records were there"));
            }
            // After Ctrl-C, the records of ended items are copied from the devices and saved.
            let _patient = interrupt::patient();
            job.compute(
                &kept,
                executor,
                options,
                self.progress(),
                self.quiet,
                |_, work| work(),
            )
        };
        let progress = &Progress::new(C::PROGRESS, true);
        let sample = || match whole {
            true => C::sample(job, options, progress),
            false => Ok(None),
        };
        let (mut report, sample) =
            ensemble::beside(executor, &job.valid, options, sample, compute)?;
        report.notes.extend(kept.notes.iter().cloned());
        let (new, resumed) = (kept.missing_from_first(), kept.resumed);
        let records = Records::from(kept.store.mapped()?);
        let progress = &self.progress();
        let again = whole.then_some(Again {
            executor,
            options,
            progress,
            sample,
        });
        let computed = C::gathered(job, records, &report, again)?;
        progress.finish();
        let written = if whole {
            let written = write::<C>(job, out, &computed, |write| job.commit(&kept, write))?;
            kept.store.finish(main)?;
            written
        } else {
            let part = kept.store.part().to_owned();
            kept.store.finish_part()?;
            let config = job.output.save_config().map(Path::to_owned);
            [part].into_iter().chain(config).collect()
        };
        Ok(Outcome {
            computed,
            report,
            new,
            resumed,
            written,
        })
    }
}

/// Writes the files that are made from the records, each by `write`, and returns all that were written.
fn write<C: RecordCommand>(
    job: &RecordJob<C>,
    out: &[(PathBuf, C::Format)],
    computed: &C::Computed,
    mut write: impl FnMut(&mut dyn FnMut() -> Result<Vec<PathBuf>, IoError>) -> Result<(), Failure>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    let mut add = |make: &dyn Fn() -> Result<Vec<PathBuf>, IoError>| {
        interrupt::check()?;
        write(&mut || {
            let files = make()?;
            written.extend(files.iter().cloned());
            Ok(files)
        })
    };
    for (path, format) in out {
        add(&|| C::write(*format, path, job, computed).map(|()| vec![path.clone()]))?;
    }
    if let Some(others) = C::other_files(job, computed) {
        add(&others)?;
    }
    written.extend(job.output.save_config().map(Path::to_owned));
    Ok(written)
}

/// The JSON object.
fn object<C: RecordCommand>(job: &RecordJob<C>, outcome: &Outcome<C>, reported: Reported) -> Value {
    let used = &outcome.report;
    let items = <C::Of as Ensemble>::Contents::ITEMS;
    let (rate, rate_unit, _) = reported.rate;
    let common = Common {
        specification: reported.specification,
        files: outcome.written.clone(),
        devices: report::portions(used, items),
        seconds: used.elapsed.as_secs_f64(),
        rate: Some(rate),
        rate_unit,
        errors: reported.errors,
        warnings: reported.warnings,
        notes: used.notes.clone(),
    };
    let mut object = common.with(reported.own);
    object["engine"] = used.engine.into();
    object["device"] = json!(used.device);
    if let Some(resumed) = outcome.resumed {
        object[format!("resumed_{items}")] = resumed.into();
    }
    part::add(job.part, &mut object);
    object
}

/// The summary.
fn text<C: RecordCommand>(job: &RecordJob<C>, outcome: &Outcome<C>, reported: Reported) -> String {
    let used = &outcome.report;
    let mut lines = reported.lines;
    lines.add("engine", &format!("{}: {}", used.engine, used.device));
    if let Some(shares) = report::shares(used) {
        lines.add("shares", &shares);
    }
    let time = report::time(used.elapsed.as_secs_f64());
    lines.add("time", &format!("{time}, {}", reported.rate.2));
    if let Some(resumed) = outcome.resumed {
        let text = format!(
            "{} {} were there from an earlier computation; time and rates are of the others",
            report::grouped(resumed),
            <C::Of as Ensemble>::Contents::ITEMS
        );
        lines.add("resumed", &text);
    }
    for path in &outcome.written {
        lines.add_whole("file", &path.display().to_string());
    }
    if let (Some(part), Some(main)) = (job.part, &job.streamed) {
        part::add_lines(part, main, ".part", &mut lines);
    }
    reported.above + lines.as_str()
}
