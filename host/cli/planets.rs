//! `trisolar planets`: planetary systems, whether they are stable, and maps of that.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trisolar::bodies::Points;
use trisolar::ensemble::{Records, Repeated, Report};
use trisolar::io::IoError;
use trisolar::io::picture::YDirection;
use trisolar::io::plot::Theme;
use trisolar::planets::files::{Format, Look};
use trisolar::planets::{
    CHECKED, Overrides, PlanetContents, Record, Specification, StepCheck, Summary, Validated,
    step_check, with_half_the_step,
};
use trisolar::run::{EngineError, Monitor, Paths, RunOptions};
use trisolar::spec::SpecError;
use trisolar::zoom::Observed;

use super::Failure;
use super::ensemble::{OutputOptions, fields_of_outputs};
use super::record_sequence::SequenceCommand;
use super::record_sequences::Sequence;
use super::records::{self, Again, Outcome, RecordArgs, RecordCommand, RecordJob, Reported};
use super::report::{self, Lines};
use super::resume::Typed;

/// Follow planetary systems by a Wisdom-Holman or an adaptive integrator, each until its time is over or a condition ends it: a map over two numbers, an
/// ensemble of drawn ones, or one system, with MEGNO or another indicator of chaos, end and energy error of each, or what else is
/// observed.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Units are au, solar masses and years of 2 pi units of time with G = 1 (365.2569 days).\n\
                  System i depends on the seed and i alone, with the same bits on every CPU and GPU."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    sequence: Option<Sequence<Overrides>>,
    #[command(flatten)]
    ensemble: RecordArgs<Overrides>,
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
    const OF_SPECIFICATION: &'static [&'static str] = &[
        "Start",
        "Forces",
        "Integration",
        "Ends",
        "max_error",
        "config",
    ];

    fields_of_outputs!();
}

/// Systems that were followed, and a sample of them with half the step.
pub(crate) struct Followed {
    records: Records<Record>,
    check: Option<StepCheck>,
}

/// Follows systems and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    match &args.sequence {
        Some(sequence) => sequence.run(typed),
        None => records::run(&args.ensemble, &None, typed),
    }
}

impl RecordCommand for Overrides {
    type Of = Validated;
    type Record = Record;
    type Output = OutputArgs;
    type Format = Format;
    type Computed = Followed;
    type Sample = Repeated<Record>;

    const PROGRESS: &'static str = "systems";
    const LESS_MEMORY: &'static str =
        "fewer systems need less memory, and --part computes some of them";

    fn validate(&self, _: Option<&Points>) -> Result<Validated, SpecError> {
        self.validated()
    }

    fn of(valid: &Validated, max_error: Option<f64>) -> Self {
        Self {
            max_error,
            ..Self::of(valid.specification())
        }
    }

    fn of_contents(contents: &PlanetContents) -> Self {
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
        let repeat = with_half_the_step(&job.valid, CHECKED);
        repeat
            .map(|r| r.compute(options, monitor, <[Record]>::to_vec))
            .transpose()
    }

    fn gathered(
        _: &RecordJob<Self>,
        records: Records<Record>,
        _: &Report,
        whole: Option<Again<'_, Self>>,
    ) -> Result<Followed, Failure> {
        let sample = whole.and_then(|again| again.sample);
        let check = sample.map(|again| step_check(&records, &again));
        Ok(Followed { records, check })
    }

    fn write(
        format: Format,
        path: &Path,
        job: &RecordJob<Self>,
        followed: &Followed,
    ) -> Result<(), IoError> {
        let look = Look {
            theme: job.output.theme,
            y: job.output.y_axis.unwrap_or_default(),
        };
        format.write(path, &job.valid, &followed.records, &look)
    }

    fn reported(job: &RecordJob<Self>, outcome: &Outcome<Self>, most: Option<f64>) -> Reported {
        let Followed { records, check } = &outcome.computed;
        let summary = Summary::of(&job.valid, records, *check);
        let new = outcome.new.iter();
        let new = new.flat_map(|span| &records[span.start as usize..span.end as usize]);
        let steps: u64 = new.map(|r| u64::from(r.steps)).sum();
        let rate = outcome.per_second(steps as f64);
        let mut all = json!(summary);
        let mut own = json!({});
        for key in ["systems", "outcomes", "regular"] {
            own[key] = all[key].take();
        }
        let mut errors = json!({});
        for key in ["energy_median", "energy_largest", "step_check"] {
            errors[key] = all[key].take();
        }
        let mut lines = Lines::default();
        let systems = summary.systems;
        lines.add("systems", &report::grouped(systems));
        for (name, count) in summary.outcomes.into_iter().filter(|(_, count)| *count > 0) {
            let share = 100.0 * count as f64 / systems.max(1) as f64;
            let text = format!("{} ({share:.2} %) {name}", report::grouped(count));
            lines.add("", &text);
        }
        if let Some(regular) = summary.regular {
            let text = format!(
                "{} systems, followed to the end with a mean MEGNO from 1 to 3",
                report::grouped(regular)
            );
            lines.add("regular", &text);
        }
        if let [record] = &records[..] {
            let observable = job.valid.specification().observable;
            for (name, _, value) in observable.reals() {
                own["record"][name] = json!(value(record));
                lines.add(&name.replace('_', " "), &format!("{}", value(record)));
            }
        }
        let (median, largest) = (summary.energy_median, summary.energy_largest);
        let text = format!("median {median:.1e}, largest {largest:.1e}");
        lines.add("energy error", &text);
        if let Some(check) = check {
            let text = check.in_words("systems", "have another verdict with half the step");
            lines.add("step check", &text);
        }
        Reported {
            specification: json!(job.valid.specification()),
            errors,
            own,
            above: String::new(),
            lines,
            rate: (rate, "steps/s", format!("{rate:.3e} steps/s")),
            checked: summary.check(most),
            warnings: summary.warnings,
        }
    }
}

impl SequenceCommand for Overrides {
    type Specification = Specification;

    const ZOOM: &'static str = "planets zoom";
    const SWEEP: &'static str = "planets sweep";
    const STEPS: [&'static str; 2] = ["steps", "steps/s"];
    const TITLES: &'static str = "to the end    regular         median   energy error";

    fn specification(&self) -> Result<Specification, SpecError> {
        Ok(self.validated()?.specification().clone())
    }

    fn row(Observed { summary, observed }: &Observed<Summary>) -> String {
        let share = |count: u64| {
            let share = 100.0 * count as f64 / summary.systems.max(1) as f64;
            format!("{share:.2} %")
        };
        // The first outcome is that of systems that were followed to the end.
        let whole = share(summary.outcomes[0].1);
        let regular = summary.regular.map_or("-".to_owned(), share);
        let median = observed.as_ref().map_or(f64::NAN, |spread| spread.median);
        let error = summary.energy_largest;
        format!("{whole:>10} {regular:>10} {median:>14.6} {error:>14.1e}")
    }
}
