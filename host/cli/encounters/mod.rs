//! `trisolar encounters`: three bodies integrated to the end, their records, summary and pictures.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::json;
use trisolar::encounters::files::Format;
use trisolar::encounters::pictures::Look;
use trisolar::encounters::store::EncounterContents;
use trisolar::encounters::{self, Encounters, Executor, Overrides, Summary, Validated, pictures};
use trisolar::io::IoError;
use trisolar::run::{EngineError, Outputs, Part, RunOptions};

use super::cpu_args::warn_of_one_lane;
use super::ensemble::{EnsembleJob, JobArgs, OutputOptions};
use super::part;
use super::progress::Progress;
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::Typed;
use super::{Failure, interrupt};
use trisolar::run::plots::PLOTS;

mod options;
mod sequence;
mod specification;
mod streamed;
mod sweep;
mod zoom;

use options::Sequence;
pub(crate) use options::{Args, OutputArgs};
use specification::validated;

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

/// Encounters, their files, and their unfinished computation.
type EncountersJob = EnsembleJob<Validated, OutputArgs>;

impl OutputOptions for OutputArgs {
    const OF_SPECIFICATION: &'static [&'static str] = &[
        "Start",
        "Integration",
        "Ends",
        "max_error",
        "points",
        "config",
    ];

    fn out(&self) -> &[PathBuf] {
        &self.out
    }

    fn main(&self) -> Option<&Path> {
        main_of(&self.out)
    }

    fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let out = self.out.iter().map(|path| ("--out", path.clone()));
        let plots = plots(self).into_iter().map(|path| ("--plots", path));
        out.chain(plots).collect()
    }

    fn declare(&self, outputs: &mut Outputs) {
        if let Some(folder) = &self.plots {
            outputs.folder("--plots", folder, PLOTS);
        }
    }

    fn save_config(&self) -> Option<&Path> {
        self.save_config.as_deref()
    }

    fn points(&mut self) -> &mut Option<PathBuf> {
        &mut self.points
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }
}

impl EncountersJob {
    /// Writes the files that are made from the records, each by `write`, and returns those that were written.
    fn write(
        &self,
        out: &[(PathBuf, Format)],
        ensemble: &Encounters,
        mut write: impl FnMut(&mut dyn FnMut() -> Result<Vec<PathBuf>, IoError>) -> Result<(), Failure>,
    ) -> Result<Vec<PathBuf>, Failure> {
        let (mut written, theme) = (Vec::new(), self.output.theme);
        let look = Look {
            theme,
            y: self.output.y_axis.unwrap_or_default(),
        };
        for (path, format) in out {
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
    fn of_job(&self) -> JobArgs<'_> {
        JobArgs {
            points: &self.points,
            config: &self.config,
            stream: self.stream,
            resume: &self.resume,
            part: self.part.part,
        }
    }
}

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
    let points = || {
        let args_of_job = args.of_job();
        part::points(args_of_job.points_of_the_run::<Validated, _>(&args.output))
    };
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
    let specify = |under: Option<&EncounterContents>, points: Option<&Path>| {
        let under = under.map(|under| &under.specification);
        let config = args.config.as_deref();
        validated(&args.overrides.values, config, under, points)
    };
    let job = EncountersJob::new(&args.of_job(), &args.output, typed, specify, |_, _| {})?;
    let mut out = Vec::new();
    for path in &job.output.out {
        let refuse = |e| Failure::value(&path.display().to_string(), "--out", e);
        out.push((path.clone(), Format::of(path, &job.valid).map_err(refuse)?));
    }
    let _claim = job.claim()?;
    interrupt::watch()?;
    if let Some(path) = job.config_to_save() {
        let values = Overrides {
            max_error: job.output.max_error,
            ..Overrides::of(job.valid.specification())
        };
        specification::write_config(path, values)?;
    }
    if !args.quiet {
        warn_of_one_lane(options.backend);
    }
    let quiet = args.quiet || args.json;
    let outcome = match &job.streamed {
        Some(main) => streamed::run(executor, &job, main, &out, options, [quiet, args.quiet])?,
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
            let written = job.write(&out, &ensemble, |write| Ok(write().map(drop)?))?;
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
