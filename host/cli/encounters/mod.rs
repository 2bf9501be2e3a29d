//! `trisolar encounters`: three bodies integrated to the end, their records, summary and pictures.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::json;
use trisolar::encounters::files::Format;
use trisolar::encounters::pictures::Look;
use trisolar::encounters::store::{self, EncounterContents, StoreError};
use trisolar::encounters::{self, Encounters, Executor, Overrides, Summary, Validated, pictures};
use trisolar::io::IoError;
use trisolar::run::partial::Begun;
use trisolar::run::{self, Claim, EngineError, Part, RecordError, RunOptions};

use super::cpu_args::warn_of_one_lane;
use super::part;
use super::plots::PLOTS;
use super::progress::Progress;
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::Typed;
use super::{Failure, interrupt};

mod devices;
mod options;
mod sequence;
mod specification;
mod streamed;
mod sweep;
mod zoom;

use options::Sequence;
pub(crate) use options::{Args, OutputArgs};
use specification::validated;

/// The group of these options in the record of an unfinished computation.
pub(crate) const OUTPUT: &str = "output";

fn refuse(path: &Path, option: &str, reason: &str) -> Failure {
    Failure::value(&path.display().to_string(), option, reason)
}

/// The file beside which the records grow: the first npz file, or else the first file.
pub(crate) fn main_of(out: &[PathBuf]) -> Option<&Path> {
    let is_npz = |path: &&PathBuf| path.extension().is_some_and(|e| e == "npz");
    let main = out.iter().find(is_npz).or(out.first());
    main.map(PathBuf::as_path)
}

/// The pictures that `--plots` may draw.
fn plots(output: &OutputArgs) -> Vec<PathBuf> {
    let prefix = output.plots.iter();
    let paths = prefix.flat_map(|p| pictures::histogram_paths(p, output.plot_format));
    paths.collect()
}

/// The files of `--out` and `--plots`.
pub(crate) fn outputs(output: &OutputArgs) -> Vec<PathBuf> {
    output.out.iter().cloned().chain(plots(output)).collect()
}

/// An ensemble, its files, and its unfinished computation.
struct EncountersJob {
    valid: Validated,
    output: OutputArgs,
    /// The files of `--out`.
    out: Vec<(PathBuf, Format)>,
    /// The file beside which the records grow, if they are streamed.
    streamed: Option<PathBuf>,
    /// Whether an earlier run has begun it.
    begun: bool,
    /// The part of it to compute; `None` for all.
    part: Option<Part>,
}

impl EncountersJob {
    fn new(args: &Args, typed: &Typed) -> Result<Self, Failure> {
        let begun = args.begun()?;
        let mut output = OutputArgs {
            points: args.points.clone(),
            ..args.output.clone()
        };
        if let Some(begun) = &begun {
            let had: OutputArgs = begun.run.get(OUTPUT)?;
            let name = args.resume.clone().flatten();
            let main = main_of(&had.out).unwrap_or(Path::new(""));
            typed.refuse_other_outputs(
                name.as_deref().unwrap_or(main),
                &had,
                &output,
                &[
                    "Start",
                    "Integration",
                    "Ends",
                    "max_error",
                    "points",
                    "config",
                ],
            )?;
            // Changed points are recognised by their checksum, not by the name of their file.
            let points = args.points.clone().or(had.points);
            output = OutputArgs { points, ..had };
        }
        let under = begun.as_ref().map(|begun| &begun.contents.specification);
        let config = args.config.as_deref();
        let points = output.points.as_deref();
        let (valid, most) = validated(&args.overrides.values, config, under, points)?;
        output.max_error = most.or(output.max_error);
        let mut out = Vec::new();
        for path in &output.out {
            let format = Format::of(path, &valid).map_err(|e| refuse(path, "--out", e))?;
            out.push((path.clone(), format));
        }
        let part = args.part.part.or(begun.as_ref().and_then(|b| b.part));
        let streams = args.stream || args.resume.is_some() || part.is_some();
        let main = main_of(&output.out).filter(|_| streams);
        Ok(Self {
            part,
            streamed: main.map(Path::to_owned),
            begun: begun.is_some(),
            valid,
            output,
            out,
        })
    }

    /// The file in which it, or its part, grows, with the option that asked for it; if it is streamed.
    fn kept_as(&self) -> Option<(&'static str, PathBuf)> {
        let main = self.streamed.as_ref()?;
        Some(part::kept_as(self.part, main))
    }

    /// Its files, locked for this run. Those of a part are not locked, because only the merged ensemble has them.
    fn claim(&self, args: &Args) -> Result<Claim, Failure> {
        let mut declared = run::Outputs::new();
        for path in &self.output.out {
            declared.file("--out", path);
        }
        if let Some(folder) = &self.output.plots {
            declared.folder("--plots", folder, PLOTS);
        }
        if let Some(path) = &self.output.save_config {
            declared.file("--save-config", path);
        }
        if let Some((option, name)) = self.kept_as() {
            for path in store::working_files(&name) {
                declared.working(option, &path);
            }
        }
        for (option, path) in [
            ("--config", &args.config),
            ("--points", &self.output.points),
        ] {
            if let Some(path) = path {
                declared.input(option, path);
            }
        }
        match (self.part, self.kept_as()) {
            (Some(_), Some((_, name))) => {
                let config = self.output.save_config.as_deref();
                part::claim(&declared, &name, config)
            }
            _ => Ok(declared.claim()?),
        }
    }

    /// Writes the specification, unless an earlier run has written it: its user may have changed the file since.
    fn save_config(&self) -> Result<(), Failure> {
        let Some(path) = &self.output.save_config else {
            return Ok(());
        };
        if self.begun && path.exists() {
            return Ok(());
        }
        let values = Overrides {
            max_error: self.output.max_error,
            ..Overrides::of(self.valid.specification())
        };
        specification::write_config(path, values)
    }

    /// Writes the files that are made from the records, each by `write`, and returns those that were written.
    fn write(
        &self,
        ensemble: &Encounters,
        mut write: impl FnMut(&mut dyn FnMut() -> Result<Vec<PathBuf>, IoError>) -> Result<(), Failure>,
    ) -> Result<Vec<PathBuf>, Failure> {
        let (mut written, theme) = (Vec::new(), self.output.theme);
        let look = Look {
            theme,
            y: self.output.y_axis.unwrap_or_default(),
        };
        for (path, format) in &self.out {
            interrupt::check()?;
            write(&mut || {
                format.write(path, &self.valid, ensemble, &look)?;
                written.push(path.clone());
                Ok(vec![path.clone()])
            })?;
        }
        if let Some(prefix) = &self.output.plots {
            interrupt::check()?;
            write(&mut || {
                let format = self.output.plot_format;
                let drawn = pictures::histograms(prefix, ensemble, theme, format)?;
                written.extend(drawn.iter().cloned());
                Ok(drawn)
            })?;
        }
        written.extend(self.output.save_config.clone());
        Ok(written)
    }
}

impl Args {
    /// The file of points, also that of a resumed computation.
    fn points_of_the_run(&self) -> Option<PathBuf> {
        let of_the_begun = || {
            let begun = self.begun().ok().flatten()?;
            let kept: OutputArgs = begun.run.get(OUTPUT).ok()?;
            kept.points
        };
        self.points.clone().or_else(of_the_begun)
    }

    /// The computation to resume, if it exists; see `--resume`.
    fn begun(&self) -> Result<Option<Begun<EncounterContents>>, Failure> {
        let Some(name) = &self.resume else {
            let kept = self.stream || self.part.part.is_some();
            return match self.output.out.is_empty() && kept {
                true => Err(Failure::BadInput(NO_OUT.into())),
                false => Ok(None),
            };
        };
        let given = name.as_deref().map(store::name_of);
        let main = match (&given, main_of(&self.output.out)) {
            (Some(name), _) => name.clone(),
            (None, Some(main)) => main.to_owned(),
            (None, None) => return Err(Failure::BadInput(NO_OUT.into())),
        };
        let refused = |e: StoreError| refuse(&main, "--resume", &e.to_string());
        let run = match Begun::read(&main) {
            // If all options are given again, no record is needed.
            Err(StoreError::Run(RecordError::None { .. })) if given.is_none() => None,
            begun => begun.map_err(refused)?,
        };
        match (run, given) {
            (None, Some(name)) => {
                let reason = match name.exists() {
                    true => "that file is complete: there is nothing to go on with",
                    false => "no computation has begun a file of that name",
                };
                Err(refuse(&name, "--resume", reason))
            }
            (run, _) => Ok(run),
        }
    }
}

const NO_OUT: &str = "--stream, --part and --resume keep records beside a file that is to be written: --out is missing";

/// Integrated encounters, with the figures of this run for the report.
struct EncountersOutcome {
    ensemble: Encounters,
    /// The part of the ensemble; `None` for all of it.
    part: Option<Part>,
    /// The encounters of the ensemble, or of the part, that this run integrated.
    computed: Vec<Range<u64>>,
    /// Number of encounters that an earlier run integrated, if this run resumes it.
    resumed: Option<u64>,
    written: Vec<PathBuf>,
}

/// Computes encounters and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    match &args.sequence {
        Some(Sequence::Zoom(args)) => return zoom::run(args, typed),
        Some(Sequence::Sweep(args)) => return sweep::run(args, typed),
        None => {}
    }
    let options = args.devices.options();
    let communicator = Communicator::join()?;
    let points = || part::points(args.points_of_the_run());
    let result = communicator.compute(&options, false, &points, |executor, options| {
        run_on(args, typed, executor, &options)
    });
    communicator.end(result)
}

fn run_on(
    args: &Args,
    typed: &Typed,
    executor: &dyn Executor<Validated>,
    options: &RunOptions,
) -> Result<(), Failure> {
    executor.check(options)?;
    let job = EncountersJob::new(args, typed)?;
    let _claim = job.claim(args)?;
    interrupt::watch()?;
    job.save_config()?;
    if !args.quiet {
        warn_of_one_lane(options.backend);
    }
    let quiet = args.quiet || args.json;
    let outcome = match &job.streamed {
        Some(main) => streamed::run(executor, &job, main, args, options, quiet)?,
        None => {
            let progress = Progress::new("encounters", quiet);
            let ensemble = encounters::run_on(executor, &job.valid, options, &progress);
            let ensemble = ensemble.map_err(|error| match error {
                EngineError::OutOfMemory { .. } => Failure::Failed(format!(
                    "{error}\nhint: fewer runs (--n, --size) need less, and --stream keeps the records on the disk instead of in memory"
                )),
                error => error.into(),
            })?;
            progress.finish();
            let written = job.write(&ensemble, |write| Ok(write().map(drop)?))?;
            EncountersOutcome {
                ensemble,
                part: None,
                computed: vec![0..job.valid.runs()],
                resumed: None,
                written,
            }
        }
    };
    let summary = Summary::of(&outcome.ensemble);
    if !args.quiet {
        for note in &outcome.ensemble.report.notes {
            report::to_stderr(&format!("note: {note}"));
        }
        for warning in summary.warnings() {
            report::to_stderr(&format!("warning: {warning}"));
        }
    }
    if args.json {
        let mut object = object(&outcome, &summary);
        part::add(outcome.part, &mut object);
        report::json(&object)?;
    } else if !args.quiet {
        report::to_stdout(&text(&job, &outcome, &summary))?;
    }
    let checked = summary.check(job.output.max_error);
    checked.map_err(Failure::Failed)
}

impl EncountersOutcome {
    /// Seconds of this run, and encounters and kicks per second.
    fn rates(&self) -> [f64; 3] {
        let seconds = self.ensemble.report.elapsed.as_secs_f64();
        let runs: u64 = self.computed.iter().map(|s| s.end - s.start).sum();
        let kicks = self.ensemble.kicks(&self.computed);
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        [seconds, rate(runs as f64), rate(kicks)]
    }
}

/// The JSON object.
fn object(outcome: &EncountersOutcome, summary: &Summary) -> serde_json::Value {
    let EncountersOutcome {
        ensemble, written, ..
    } = outcome;
    let [seconds, encounters, kicks] = outcome.rates();
    let common = Common {
        specification: json!(ensemble.specification),
        files: written.clone(),
        devices: report::portions(&ensemble.report, "runs"),
        seconds,
        rate: Some(encounters),
        rate_unit: "encounters/s",
        errors: json!(summary.errors),
        warnings: summary.warnings(),
        notes: ensemble.report.notes.clone(),
    };
    let mut object = common.with(json!({
        "engine": ensemble.report.engine,
        "device": ensemble.report.device,
        "encounters_per_second": encounters,
        "kicks_per_second": kicks,
        "summary": summary,
    }));
    if let Some(runs) = outcome.resumed {
        object["resumed_runs"] = runs.into();
    }
    object
}

/// The summary.
fn text(job: &EncountersJob, outcome: &EncountersOutcome, summary: &Summary) -> String {
    let EncountersOutcome {
        ensemble, written, ..
    } = outcome;
    let spec = &ensemble.specification;
    let mut text = format!(
        "{:<32} {:>13} {:>10}   95 % interval\n",
        spec.setup.name(),
        "runs",
        "share"
    );
    let mut row = |indent: &str, share: &encounters::Share| {
        text.push_str(&format!(
            "{:<32} {:>13} {:>9.3}%   {:.3} to {:.3}\n",
            format!("{indent}{}", share.what),
            report::grouped(share.count),
            100.0 * share.share,
            100.0 * share.interval[0],
            100.0 * share.interval[1]
        ));
    };
    for share in &summary.outcomes {
        row("  ", share);
        if share.what == "escape" {
            summary.escapers.iter().for_each(|share| row("    ", share));
        }
    }
    text.push('\n');
    let mut lines = Lines::default();
    let time = |t: Option<f64>| t.map_or("open".to_owned(), |t| format!("{t:.6}"));
    let lives = &summary.lifetimes;
    let (median, ninety) = (time(lives.median), time(lives.ninety_percent));
    lines.add(
        "lifetime",
        &format!("median {median}, 90 % {ninety} units of time"),
    );
    if let Some(tail) = &lives.tail {
        let line = format!(
            "runs that last longer than t: t^-{:.3} (± {:.3}), from {:.4e} on",
            tail.exponent, tail.error, tail.from
        );
        lines.add("tail", &line);
    }
    let means = format!(
        "{:.1} steps, {:.3} excursions, {:.3} of them jumped over",
        summary.steps, summary.excursions, summary.jumps
    );
    lines.add("mean", &means);
    let errors = &summary.errors;
    let line = format!(
        "|ΔE/E| median {:.1e}, largest {:.1e}; angular momentum at most {:.1e}",
        errors.energy_median, errors.energy_largest, errors.momentum_largest
    );
    lines.add("errors", &line);
    lines.add(
        "failed",
        &format!("{} runs", report::grouped(summary.failed)),
    );
    let used = &ensemble.report;
    lines.add("engine", &format!("{}: {}", used.engine, used.device));
    if let Some(shares) = report::shares(used) {
        lines.add("shares", &shares);
    }
    let [seconds, encounters, kicks] = outcome.rates();
    let rates = format!(
        "{}, {encounters:.4e} encounters/s, {kicks:.3e} kicks/s",
        report::time(seconds),
    );
    lines.add("time", &rates);
    if let Some(resumed) = outcome.resumed {
        let text = format!(
            "{} runs were there from an earlier computation; time and rates are of the others",
            report::grouped(resumed)
        );
        lines.add("resumed", &text);
    }
    for path in written {
        lines.add_whole("file", &path.display().to_string());
    }
    if let (Some(part), Some(main)) = (job.part, &job.streamed) {
        part::add_lines(part, main, ".part", &mut lines);
    }
    text + lines.as_str()
}
