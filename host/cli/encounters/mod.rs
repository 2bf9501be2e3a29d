//! `trisolar encounters`: three bodies integrated to the end, their records, summary and pictures.

use std::path::{Path, PathBuf};

use serde_json::json;
use trisolar::bodies::Points;
use trisolar::encounters::files::Format;
use trisolar::encounters::pictures::Look;
use trisolar::encounters::store::EncounterContents;
use trisolar::encounters::{
    Encounters, Overrides, Record, Records, Summary, Validated, pictures, step_check,
};
use trisolar::ensemble::Report;
use trisolar::io::IoError;
use trisolar::run::Outputs;
use trisolar::run::plots::PLOTS;
use trisolar::spec::SpecError;

use super::Failure;
use super::ensemble::{OutputOptions, fields_of_outputs};
use super::records::{self, Again, Outcome, RecordCommand, RecordJob, Reported};
use super::report::{self, Lines};
use super::resume::Typed;

mod options;
mod sequence;
mod sweep;
mod zoom;

use options::Sequence;
pub(crate) use options::{Args, OutputArgs};

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
        out.chain(plots).collect()
    }

    fn declare(&self, outputs: &mut Outputs) {
        if let Some(folder) = &self.plots {
            outputs.folder("--plots", folder, PLOTS);
        }
    }
}

/// Computes encounters and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    match &args.sequence {
        Some(Sequence::Zoom(args)) => zoom::run(args, typed),
        Some(Sequence::Sweep(args)) => sweep::run(args, typed),
        None => records::run(&args.ensemble, &args.points, typed),
    }
}

impl RecordCommand for Overrides {
    type Of = Validated;
    type Record = Record;
    type Output = OutputArgs;
    type Format = Format;
    type Computed = Encounters;

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

    fn gathered(
        job: &RecordJob<Self>,
        records: Records,
        report: &Report,
        whole: Option<Again<'_, Validated>>,
    ) -> Result<Encounters, Failure> {
        let step_check = match whole {
            None => None,
            Some((executor, options, progress)) => {
                step_check(executor, &job.valid, &records, options, progress)?
            }
        };
        Ok(Encounters {
            step_check,
            specification: job.valid.specification().clone(),
            records,
            report: report.clone(),
        })
    }

    fn write(
        format: Format,
        path: &Path,
        job: &RecordJob<Self>,
        computed: &Encounters,
    ) -> Result<(), IoError> {
        let look = Look {
            theme: job.output.theme,
            y: job.output.y_axis.unwrap_or_default(),
        };
        format.write(path, &job.valid, computed, &look)
    }

    fn other_files<'a>(
        job: &'a RecordJob<Self>,
        computed: &'a Encounters,
    ) -> Option<Box<dyn Fn() -> Result<Vec<PathBuf>, IoError> + 'a>> {
        let OutputArgs {
            plots,
            theme,
            plot_format,
            ..
        } = &job.output;
        let prefix = plots.as_ref()?;
        Some(Box::new(move || {
            pictures::histograms(prefix, computed, *theme, *plot_format)
        }))
    }

    fn reported(_: &RecordJob<Self>, outcome: &Outcome<Self>, most: Option<f64>) -> Reported {
        let summary = Summary::of(&outcome.computed);
        let runs = outcome.new.iter().map(|s| (s.end - s.start) as f64).sum();
        let kicks = outcome.computed.kicks(&outcome.new);
        let [encounters, kicks] = [runs, kicks].map(|count| outcome.per_second(count));
        let (above, lines) = table(&outcome.computed, &summary);
        let mut errors = json!(summary.errors);
        errors["step_check"] = json!(summary.step_check);
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
            warnings: summary.warnings(),
            checked: summary.check(most),
        }
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
    let text = report::shares_table(spec.setup.name(), "runs", shares);
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
