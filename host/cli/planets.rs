//! `trisolar planets`: planetary systems, whether they are stable, and maps of that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trisolar::ensemble::{self, Report};
use trisolar::io::picture::YDirection;
use trisolar::io::plot::Theme;
use trisolar::planets::files::{Format, Look, OUTCOMES};
use trisolar::planets::{
    Executor, Outcome, Overrides, PlanetContents, Record, StepCheck, Validated, step_check,
};
use trisolar::run::{EngineError, Paths, RunOptions};
use trisolar::spec::{Parameters as _, SpecError};

use super::cpu_args::warn_of_one_lane;
use super::ensemble::{EnsembleJob, JobArgs, OutputOptions};
use super::ensemble_devices::EnsembleDevices;
use super::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use super::part::{self, PartArgs};
use super::progress::Progress;
use super::ranks::Communicator;
use super::report::{self, Common, Lines};
use super::resume::Typed;
use super::{Failure, config, interrupt};

/// Systems that are followed again with half the step.
const CHECKED: u64 = 64;

/// Follow planetary systems by a Wisdom-Holman integrator, each until its time is over or a condition ends it: a map over two numbers, an
/// ensemble of drawn ones, or one system, with MEGNO, Lyapunov exponent, end and energy error of each.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Units are au, solar masses and years of 2 pi units of time with G = 1 (365.2569 days).\n\
                  System i depends on the seed and i alone, with the same bits on every CPU; its kernels have not been run on a GPU yet."
)]
pub(crate) struct Args {
    #[command(flatten)]
    overrides: ParameterArgs<Overrides, Accuracy>,

    #[command(flatten)]
    output: OutputArgs,
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    config: Option<PathBuf>,
    /// Write records to disk while they are computed instead of keeping them in memory, in NAME.part beside the first file of --out, for
    /// computations that may be interrupted
    #[arg(long, help_heading = "Output")]
    stream: bool,
    /// Resume the unfinished computation of a command with --stream, by the NAME of the file that it was to write, with all options of that
    /// command. Without NAME: the first file of --out; if nothing was begun for it, the computation begins as with --stream
    #[arg(long, value_name = "NAME", help_heading = "Output", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,

    #[command(flatten)]
    part: PartArgs,
    #[command(flatten)]
    devices: EnsembleDevices,

    #[command(flatten)]
    accuracy: PlacedArgs<Overrides, Accuracy>,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
}

/// The options of outputs, all of which the record of an unfinished computation holds.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct OutputArgs {
    /// Write the records to .npz, the observable to .npy, or the map to .png, .svg or .pdf; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Vec<PathBuf>,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    theme: Theme,
    /// Direction of the vertical axis of the map: down or up [default: up]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    y_axis: Option<YDirection>,
    /// Write the whole specification to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    save_config: Option<PathBuf>,
    /// There are no points.
    #[arg(skip)]
    points: Option<PathBuf>,
    /// The largest allowed energy error.
    #[arg(skip)]
    max_error: Option<f64>,
}

impl Paths for OutputArgs {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.out
            .iter_mut()
            .chain(self.save_config.as_mut())
            .collect()
    }
}

impl OutputOptions for OutputArgs {
    const OF_SPECIFICATION: &'static [&'static str] =
        &["Start", "Integration", "Ends", "max_error", "config"];

    fn out(&self) -> &[PathBuf] {
        &self.out
    }

    fn main(&self) -> Option<&Path> {
        super::encounters::main_of(&self.out)
    }

    fn files(&self) -> Vec<(&'static str, PathBuf)> {
        self.out
            .iter()
            .map(|path| ("--out", path.clone()))
            .collect()
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

type PlanetsJob = EnsembleJob<Validated, OutputArgs>;

/// Systems that were followed, with the figures of this run for the report.
struct Followed {
    records: Vec<Record>,
    report: Report,
    /// Steps that this run took.
    steps: u64,
    resumed: Option<u64>,
    written: Vec<PathBuf>,
    check: Option<StepCheck>,
}

impl Args {
    /// The validated specification and the largest allowed error. The command line overrides the configuration file, which overrides `under`
    /// (a resumed computation).
    fn specify(&self, under: Option<&PlanetContents>) -> Result<(Validated, Option<f64>), Failure> {
        let own = &self.overrides.values;
        let mut overrides = own.clone();
        if let Some(path) = &self.config {
            overrides = overrides.merged_over(config::load(path)?);
        }
        if let Some(under) = under {
            overrides = overrides.merged_over(under.specification.clone());
        }
        let refused = |e: SpecError| {
            // A planet is missing on the command line if it is nowhere.
            let on_command_line = own.has(e.option) || self.config.is_none();
            Failure::specification(&e, on_command_line, self.config.as_deref())
        };
        let valid = overrides.validated().map_err(refused)?;
        Ok((valid, overrides.max_error))
    }
}

/// Follows systems and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    let options = args.devices.options();
    let communicator = Communicator::join()?;
    let points = || part::points(None);
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
    let of_job = JobArgs {
        points: &None,
        config: &args.config,
        stream: args.stream,
        resume: &args.resume,
        part: args.part.part,
    };
    let specify = |under: Option<&PlanetContents>, _: Option<&Path>| args.specify(under);
    let job = PlanetsJob::new(&of_job, &args.output, typed, specify, |_, _| {})?;
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
        let text = values.to_toml();
        let refused =
            |reason: String| Failure::value(&path.display().to_string(), "--save-config", &reason);
        config::write(path, &text.map_err(refused)?)?;
    }
    if !args.quiet {
        warn_of_one_lane(options.backend);
    }
    let followed = follow(args, executor, &job, &out, options)?;
    let summary = Summary::of(&job, &followed);
    if !args.quiet {
        for note in &followed.report.notes {
            report::to_stderr(&format!("note: {note}"));
        }
        for warning in &summary.warnings {
            report::to_stderr(&format!("warning: {warning}"));
        }
    }
    if args.json {
        let mut object = summary.object(&job, &followed);
        part::add(job.part, &mut object);
        report::json(&object)?;
    } else if !args.quiet {
        report::to_stdout(&summary.text(&job, &followed))?;
    }
    summary.check(job.output.max_error)
}

/// Computes the records, in memory or in a file, and writes the outputs.
fn follow(
    args: &Args,
    executor: &dyn Executor<Validated>,
    job: &PlanetsJob,
    out: &[(PathBuf, Format)],
    options: &RunOptions,
) -> Result<Followed, Failure> {
    let quiet = args.quiet || args.json;
    let look = Look {
        theme: job.output.theme,
        y: job.output.y_axis.unwrap_or_default(),
    };
    let all_steps = |records: &[Record]| records.iter().map(|r| u64::from(r.steps)).sum();
    let Some(main) = &job.streamed else {
        let progress = Progress::new("systems", quiet);
        let computed = ensemble::compute(executor, &job.valid, options, &progress);
        let computed = computed.map_err(|error| match error {
            EngineError::OutOfMemory { .. } => Failure::Failed(format!(
                "{error}\nhint: fewer systems need less memory, and --part computes some of them"
            )),
            error => error.into(),
        })?;
        let check = step_check(
            executor,
            &job.valid,
            &computed.values,
            CHECKED,
            options,
            &progress,
        )?;
        progress.finish();
        let mut written = Vec::new();
        for (path, format) in out {
            interrupt::check()?;
            format.write(path, &job.valid, &computed.values, &look)?;
            written.push(path.clone());
        }
        written.extend(job.output.save_config.clone());
        return Ok(Followed {
            steps: all_steps(&computed.values),
            records: computed.values,
            report: computed.report,
            resumed: None,
            written,
            check,
        });
    };
    let kept = job.open(main)?;
    let mut report = if kept.missing.is_empty() {
        Report::nothing("all records were there")
    } else {
        let progress = Progress::new("systems", quiet);
        // After Ctrl-C, the records of ended systems are saved.
        let _patient = interrupt::patient();
        job.compute(&kept, executor, options, progress, args.quiet, |_, work| {
            work()
        })?
    };
    report.notes.extend(kept.notes.iter().cloned());
    let mapped = kept.store.mapped()?;
    let records = ensemble::plain_of::<Record>(mapped.bytes()).unwrap_or_default();
    drop(mapped);
    let missing = kept.missing_from_first();
    let steps = missing
        .iter()
        .map(|span| all_steps(&records[span.start as usize..span.end as usize]));
    let mut followed = Followed {
        steps: steps.sum(),
        report,
        resumed: kept.resumed,
        written: Vec::new(),
        check: None,
        records,
    };
    if job.part.is_some() {
        followed.written.push(kept.store.part().to_owned());
        followed.written.extend(job.output.save_config.clone());
        kept.store.finish_part()?;
        return Ok(followed);
    }
    let progress = Progress::new("systems", quiet);
    followed.check = step_check(
        executor,
        &job.valid,
        &followed.records,
        CHECKED,
        options,
        &progress,
    )?;
    progress.finish();
    for (path, format) in out {
        interrupt::check()?;
        job.commit(&kept, || {
            format.write(path, &job.valid, &followed.records, &look)
        })?;
        followed.written.push(path.clone());
    }
    followed.written.extend(job.output.save_config.clone());
    kept.store.finish(main)?;
    Ok(followed)
}

/// What is reported.
struct Summary {
    /// Systems of each outcome.
    counts: [(&'static str, u64); OUTCOMES.len()],
    /// Systems that were followed to the end with a mean MEGNO within 1 of 2.
    regular: Option<u64>,
    /// The median and the largest relative error of the energy.
    energy: [f64; 2],
    warnings: Vec<String>,
}

impl Summary {
    fn of(job: &PlanetsJob, followed: &Followed) -> Self {
        let records = &followed.records;
        let count =
            |outcome: Outcome| records.iter().filter(|r| r.outcome == outcome.0).count() as u64;
        let mut errors: Vec<f64> = records.iter().map(|r| r.energy_error.abs()).collect();
        errors.retain(|error| error.is_finite());
        errors.sort_by(f64::total_cmp);
        let median = errors.get(errors.len() / 2).copied();
        let mut warnings = job.valid.warnings();
        if let Some(check) = followed.check.filter(|check| check.changed > 0) {
            warnings.push(format!(
                "with half the step, {} of {} systems that were checked have another verdict",
                check.changed, check.sample
            ));
        }
        let counts = OUTCOMES.map(|(outcome, name)| (name, count(outcome)));
        let unsolved = count(Outcome::UNSOLVED);
        if unsolved > 0 {
            warnings.push(format!(
                "{unsolved} systems were not solved; their values are missing"
            ));
        }
        let is_regular =
            |r: &&Record| r.outcome == Outcome::STABLE.0 && (r.mean_megno - 2.0).abs() <= 1.0;
        let has_tangent = job.valid.specification().has_tangent();
        Self {
            counts,
            regular: has_tangent.then(|| records.iter().filter(is_regular).count() as u64),
            energy: [
                median.unwrap_or(f64::NAN),
                errors.last().copied().unwrap_or(f64::NAN),
            ],
            warnings,
        }
    }

    /// Fails if an error is above the largest one that is allowed.
    fn check(&self, most: Option<f64>) -> Result<(), Failure> {
        let Some(most) = most else { return Ok(()) };
        let unsolved = self.counts[OUTCOMES.len() - 1].1;
        if unsolved > 0 || self.energy[1] > most {
            return Err(Failure::Failed(format!(
                "{unsolved} systems were not solved, and the largest relative energy error is {:.1e}, above --max-error {most:e}",
                self.energy[1]
            )));
        }
        Ok(())
    }

    fn object(&self, job: &PlanetsJob, followed: &Followed) -> serde_json::Value {
        let seconds = followed.report.elapsed.as_secs_f64();
        let common = Common {
            specification: json!(job.valid.specification()),
            files: followed.written.clone(),
            devices: report::portions(&followed.report, "systems"),
            seconds,
            rate: Some(followed.steps as f64 / seconds),
            rate_unit: "steps/s",
            errors: json!({
                "energy_median": self.energy[0],
                "energy_largest": self.energy[1],
                "step_check": followed.check,
            }),
            warnings: self.warnings.clone(),
            notes: followed.report.notes.clone(),
        };
        let outcomes: serde_json::Map<String, serde_json::Value> = self
            .counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        let mut object = common.with(json!({
            "engine": followed.report.engine,
            "device": followed.report.device,
            "systems": followed.records.len(),
            "outcomes": outcomes,
            "regular": self.regular,
        }));
        if let Some(resumed) = followed.resumed {
            object["resumed_systems"] = resumed.into();
        }
        if let [record] = &followed.records[..] {
            let values = trisolar::planets::files::REALS;
            let values = values.map(|(name, value)| (name.to_owned(), json!(value(record))));
            object["record"] = serde_json::Value::Object(values.into_iter().collect());
        }
        object
    }

    fn text(&self, job: &PlanetsJob, followed: &Followed) -> String {
        let mut lines = Lines::default();
        let all = followed.records.len() as u64;
        lines.add("systems", &report::grouped(all));
        for (name, count) in self.counts.iter().filter(|(_, count)| *count > 0) {
            let share = 100.0 * *count as f64 / all.max(1) as f64;
            lines.add(
                "",
                &format!("{} ({share:.2} %) {name}", report::grouped(*count)),
            );
        }
        if let Some(regular) = self.regular {
            let text = format!(
                "{} systems, followed to the end with a mean MEGNO from 1 to 3",
                report::grouped(regular)
            );
            lines.add("regular", &text);
        }
        if let [record] = &followed.records[..] {
            for (name, value) in trisolar::planets::files::REALS {
                lines.add(&name.replace('_', " "), &format!("{}", value(record)));
            }
        }
        let [median, largest] = self.energy;
        lines.add(
            "energy error",
            &format!("median {median:.1e}, largest {largest:.1e}"),
        );
        if let Some(check) = followed.check {
            let text = format!(
                "{} of {} systems have another verdict with half the step",
                check.changed, check.sample
            );
            lines.add("step check", &text);
        }
        let used = &followed.report;
        lines.add("engine", &format!("{}: {}", used.engine, used.device));
        if let Some(shares) = report::shares(used) {
            lines.add("shares", &shares);
        }
        let seconds = used.elapsed.as_secs_f64();
        let rate = followed.steps as f64 / seconds.max(1e-9);
        lines.add(
            "time",
            &format!("{}, {rate:.3e} steps/s", report::time(seconds)),
        );
        if let Some(resumed) = followed.resumed {
            let text = format!(
                "{} systems were there from an earlier computation; time and rate are of the others",
                report::grouped(resumed)
            );
            lines.add("resumed", &text);
        }
        for path in &followed.written {
            lines.add_whole("file", &path.display().to_string());
        }
        if let (Some(part), Some(main)) = (job.part, &job.streamed) {
            part::add_lines(part, main, ".part", &mut lines);
        }
        lines.as_str().to_owned()
    }
}
