//! `trisolar encounters`: three bodies integrated to the end, their records, summary and pictures.

use std::path::{Path, PathBuf};

use serde_json::json;
use trisolar::bodies::Points;
use trisolar::encounters::files::Format;
use trisolar::encounters::pictures::Look;
use trisolar::encounters::store::EncounterContents;
use trisolar::encounters::{
    Encounters, Overrides, Record, Records, Specification, Summary, Validated, pictures,
    step_check, with_twice_the_steps,
};
use trisolar::ensemble::{ClassShare, Repeated, Report, Verdict};
use trisolar::io::{IoError, PictureFormat};
use trisolar::run::plots::PLOTS;
use trisolar::run::{EngineError, Monitor, Outputs, RunOptions};
use trisolar::spec::SpecError;

use super::Failure;
use super::ensemble::{OutputOptions, fields_of_outputs};
use super::record_sequence::SequenceCommand;
use super::records::{self, Again, Outcome, RecordCommand, RecordJob, Reported};
use super::report::{self, Lines};
use super::resume::Typed;

mod options;

pub(crate) use options::{Args, OutputArgs};

/// The pictures of the verdicts.
fn verdict_pictures(output: &OutputArgs) -> Vec<PathBuf> {
    let out = output.out.iter().filter(|_| output.certify);
    let pictures = out.filter(|path| PictureFormat::of(path).is_some());
    pictures
        .filter_map(|path| Verdict::picture_beside(path))
        .collect()
}

/// The appearance of the map of outcomes.
fn look(output: &OutputArgs) -> Look {
    Look {
        theme: output.theme,
        y: output.y_axis.unwrap_or_default(),
    }
}

/// The pictures that `--plots` may draw.
fn plots(output: &OutputArgs) -> Vec<PathBuf> {
    let prefix = output.plots.iter();
    let paths = prefix.flat_map(|p| pictures::histogram_paths(p, output.plot_format));
    paths.collect()
}

impl OutputOptions for OutputArgs {
    const OF_SPECIFICATION: &'static [&'static str] = &[
        "Start",
        "Integration",
        "Ends",
        "max_error",
        "points",
        "config",
    ];

    fields_of_outputs!();

    fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let out = self.out.iter().map(|path| ("--out", path.clone()));
        let plots = plots(self).into_iter().map(|path| ("--plots", path));
        let verdicts = verdict_pictures(self).into_iter();
        let verdicts = verdicts.map(|path| ("--certify", path));
        out.chain(plots).chain(verdicts).collect()
    }

    fn declare(&self, outputs: &mut Outputs) {
        for path in verdict_pictures(self) {
            outputs.file("--certify", &path);
        }
        if let Some(folder) = &self.plots {
            outputs.folder("--plots", folder, PLOTS);
        }
    }
}

/// Computes encounters and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    match &args.sequence {
        Some(sequence) => sequence.run(typed),
        None => records::run(&args.ensemble, &args.points, typed),
    }
}

impl RecordCommand for Overrides {
    type Of = Validated;
    type Record = Record;
    type Output = OutputArgs;
    type Format = Format;
    type Computed = Encounters;
    type Sample = Repeated<Record>;

    const PROGRESS: &'static str = "encounters";
    const LESS_MEMORY: &'static str = "fewer runs (--n, --size) need less, and --stream keeps the records on the disk instead of in memory";

    fn validate(&self, points: Option<&Points>) -> Result<Validated, SpecError> {
        self.validated(points)
    }

    fn of(valid: &Validated, max_error: Option<f64>) -> Self {
        Self {
            max_error,
            ..Self::of(valid.specification())
        }
    }

    fn of_contents(contents: &EncounterContents) -> Self {
        contents.specification.clone()
    }

    fn most(&self) -> Option<f64> {
        self.max_error
    }

    fn format(path: &Path, valid: &Validated) -> Result<Format, &'static str> {
        Format::of(path, valid)
    }

    fn sample(
        job: &RecordJob<Self>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<Repeated<Record>>, EngineError> {
        // Verdicts contain the check.
        let repeat = with_twice_the_steps(&job.valid).filter(|_| !job.output.certify);
        repeat
            .map(|r| r.compute(options, monitor, <[Record]>::to_vec))
            .transpose()
    }

    fn gathered(
        job: &RecordJob<Self>,
        records: Records,
        report: &Report,
        whole: Option<Again<'_, Self>>,
    ) -> Result<Encounters, Failure> {
        let mut all = Encounters {
            step_check: None,
            certificate: None,
            specification: job.valid.specification().clone(),
            records,
            report: report.clone(),
        };
        if let Some(again) = whole {
            let found = again.sample.as_ref();
            all.step_check = found.map(|again| step_check(&all.records, again));
            if job.output.certify {
                all.certify(again.executor, &job.valid, again.options, again.progress)?;
            }
        }
        Ok(all)
    }

    fn write(
        format: Format,
        path: &Path,
        job: &RecordJob<Self>,
        computed: &Encounters,
    ) -> Result<(), IoError> {
        format.write(path, &job.valid, computed, &look(&job.output))
    }

    fn other_files<'a>(
        job: &'a RecordJob<Self>,
        computed: &'a Encounters,
    ) -> Option<Box<dyn Fn() -> Result<Vec<PathBuf>, IoError> + 'a>> {
        let output = &job.output;
        let pictures = verdict_pictures(output);
        if output.plots.is_none() && pictures.is_empty() {
            return None;
        }
        Some(Box::new(move || {
            let mut drawn = match &output.plots {
                Some(folder) => {
                    pictures::histograms(folder, computed, output.theme, output.plot_format)?
                }
                None => Vec::new(),
            };
            for path in &pictures {
                let made = pictures::verdict_map(path, computed, &look(output))?;
                drawn.extend(made.map(|()| path.clone()));
            }
            Ok(drawn)
        }))
    }

    fn reported(job: &RecordJob<Self>, outcome: &Outcome<Self>, most: Option<f64>) -> Reported {
        let summary = Summary::of(&outcome.computed);
        let runs = outcome.new.iter().map(|s| (s.end - s.start) as f64).sum();
        let kicks = outcome.computed.kicks(&outcome.new);
        let [encounters, kicks] = [runs, kicks].map(|count| outcome.per_second(count));
        let (above, lines) = table(&outcome.computed, &summary);
        let mut errors = json!(summary.errors);
        errors["step_check"] = json!(summary.step_check);
        let mut warnings = summary.warnings();
        if job.output.certify && summary.certificate.is_none() {
            warnings.push("there are no verdicts: twice --steps-per-period is not allowed".into());
        }
        Reported {
            specification: json!(outcome.computed.specification),
            errors,
            own: json!({
                "encounters_per_second": encounters,
                "kicks_per_second": kicks,
                "summary": summary,
            }),
            above,
            lines,
            rate: (
                encounters,
                "encounters/s",
                format!("{encounters:.4e} encounters/s, {kicks:.3e} kicks/s"),
            ),
            warnings,
            checked: summary.check(most),
        }
    }
}

impl SequenceCommand for Overrides {
    type Specification = Specification;

    const ZOOM: &'static str = "encounters zoom";
    const SWEEP: &'static str = "encounters sweep";
    const STEPS: [&'static str; 2] = ["steps", "steps/s"];
    const SCHEDULE: &'static [&'static str] = &["set", "schedule"];
    const TITLES: &'static str = "   escapes           of bodies 1, 2, 3    median time     failed";

    fn specification(&self) -> Result<Specification, SpecError> {
        Ok(self.validated(None)?.specification().clone())
    }

    fn row(summary: &Summary) -> String {
        let escapes: u64 = summary.escapers.iter().map(|s| s.count).sum();
        let of_all = 100.0 * escapes as f64 / summary.runs as f64;
        let each = |s: &ClassShare| format!("{:.2}", 100.0 * s.share);
        let each: Vec<String> = summary.escapers.iter().map(each).collect();
        let each = match &each[..] {
            [] => "-".to_owned(),
            each => format!("{} %", each.join(", ")),
        };
        let median = (summary.lifetimes.median).map_or("open".to_owned(), |t| format!("{t:.4}"));
        let failed = report::grouped(summary.failed);
        format!("{of_all:>8.2} % {each:>27} {median:>14} {failed:>10}")
    }
}

/// The shares of outcomes, and the lines below them.
fn table(ensemble: &Encounters, summary: &Summary) -> (String, Lines) {
    let spec = &ensemble.specification;
    let mut shares = Vec::new();
    for share in &summary.outcomes {
        shares.push(("  ", share));
        if share.what == "escape" {
            shares.extend(summary.escapers.iter().map(|share| ("    ", share)));
        }
    }
    let mut text = report::shares_table(spec.setup.name(), "runs", shares);
    if let Some(found) = &summary.certificate {
        let verdicts = found.verdicts.iter().map(|share| ("  ", share));
        let of_lives = found.lifetimes.iter().map(|life| ClassShare {
            what: format!(
                "{} to {}: {}",
                life.from,
                life.to,
                report::grouped(life.runs)
            ),
            ..life.rounding.clone()
        });
        let of_lives: Vec<ClassShare> = of_lives.collect();
        let shares = of_lives.iter().map(|share| ("  ", share));
        for table in [
            report::shares_table("verdict on the outcome", "runs", verdicts),
            report::shares_table("time to the end: runs", "by rounding", shares),
        ] {
            text.push_str(&table);
        }
    }
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
    if let Some(check) = &summary.step_check {
        let text = check.in_words("runs", "have another outcome with twice the steps");
        lines.add("step check", &text);
    }
    lines.add(
        "failed",
        &format!("{} runs", report::grouped(summary.failed)),
    );
    (text, lines)
}
