//! `trisolar map`: maps and ensembles of equations that are given as text.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use trisolar::bodies::Points;
use trisolar::ensemble::{Records, Repeated, Report};
use trisolar::equation_text::Text;
use trisolar::io::IoError;
use trisolar::run::{EngineError, Monitor, Paths, RunOptions};
use trisolar::spec::SpecError;
use trisolar::system::files::Format;
use trisolar::system::{Overrides, Summary, SystemContents, Validated, words};
use trisolar::zoom::{Observed, TextSpecification};

use super::Failure;
use super::ensemble::{OutputOptions, fields_of_outputs};
use super::record_sequence::SequenceCommand;
use super::record_sequences::Sequence;
use super::records::{self, Again, Outcome, RecordArgs, RecordCommand, RecordJob, Reported};
use super::report::{self, Lines};
use super::resume::Typed;

/// Follow trajectories of differential equations (--ode) or of an iterated map (--iterate), which are given as text: a map over start values
/// and parameters, or an ensemble of drawn ones, with Lyapunov exponent, MEGNO, outcome and final state of each.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Formulas have + - * / ^ with whole or half-integer powers, parentheses, the time t, pi, and the functions abs, atan, atan2, cos, cosh, \
                  exp, floor, ln, max, min, sign, sin, sinh, sqrt, tan, tanh. All other names are parameters, which need a value.\n\
                  A start value that is not given is 1. Without --map, --draw and --n the axes are the first two numbers of the state, from -2 to 2.\n\
                  A map of --ode over two axes has 100x100 pixels without --size, which takes two cores about ten seconds."
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
    /// Write all values to .npz, the first one to .npy, or its map to .png, .svg or .pdf; can be repeated [default: map.png, if there are two
    /// axes]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Vec<PathBuf>,
    /// Write the whole specification to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    save_config: Option<PathBuf>,
    /// There are no points.
    #[arg(skip)]
    points: Option<PathBuf>,
    /// There is no limit of errors.
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
        &["Equations", "Items", "Values", "Integration", "config"];

    fields_of_outputs!();
}

/// Follows items and reports.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    match &args.sequence {
        Some(sequence) => sequence.run(typed),
        None => records::run(&args.ensemble, &None, typed),
    }
}

/// The columns of all items, and those that were followed again.
pub(crate) struct Followed {
    columns: Records<f64>,
    again: Option<Repeated<f64>>,
}

impl RecordCommand for Overrides {
    type Of = Validated<Text>;
    // The columns of the items, those of item 0 first.
    type Record = f64;
    type Output = OutputArgs;
    type Format = Format;
    type Computed = Followed;
    type Sample = Repeated<f64>;

    const PROGRESS: &'static str = "map";
    const LESS_MEMORY: &'static str =
        "fewer items or values need less memory, and --stream keeps them on the disk";

    fn validate(&self, _: Option<&Points>) -> Result<Validated<Text>, SpecError> {
        Text::validated(self)
    }

    fn of(valid: &Validated<Text>, _: Option<f64>) -> Self {
        Text::overrides(valid.specification())
    }

    fn of_contents(contents: &SystemContents) -> Self {
        Text::overrides(&contents.specification)
    }

    fn most(&self) -> Option<f64> {
        None
    }

    fn complete(valid: &Validated<Text>, output: &mut OutputArgs) {
        if output.out.is_empty() && valid.specification().axes()[1].is_some() {
            output.out.push("map.png".into());
        }
    }

    fn format(path: &Path, valid: &Validated<Text>) -> Result<Format, &'static str> {
        Format::of(path, valid)
    }

    fn sample(
        job: &RecordJob<Self>,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<Repeated<f64>>, EngineError> {
        job.valid.sample(options, monitor)
    }

    fn gathered(
        _: &RecordJob<Self>,
        columns: Records<f64>,
        _: &Report,
        whole: Option<Again<'_, Self>>,
    ) -> Result<Followed, Failure> {
        Ok(Followed {
            columns,
            again: whole.and_then(|again| again.sample),
        })
    }

    fn write(
        format: Format,
        path: &Path,
        job: &RecordJob<Self>,
        followed: &Followed,
    ) -> Result<(), IoError> {
        format.write(path, &job.valid, &followed.columns)
    }

    fn reported(job: &RecordJob<Self>, outcome: &Outcome<Self>, _: Option<f64>) -> Reported {
        let valid = &job.valid;
        let Followed { columns, again } = &outcome.computed;
        let summary = Summary::of(valid, columns, again.as_ref());
        let new: u64 = outcome.new.iter().map(|span| span.end - span.start).sum();
        let rate = outcome.per_second(new as f64);
        let mut lines = Lines::default();
        lines.add("equations", &valid.about().label);
        for (label, text) in words(valid) {
            lines.add(&label, &text);
        }
        lines.add("items", &report::grouped(valid.count()));
        for (label, text) in summary.lines() {
            lines.add(&label, &text);
        }
        let warnings = summary.warnings().into_iter().flatten();
        let warnings = warnings.map(|(_, text)| text).collect();
        Reported {
            specification: json!(Text::overrides(valid.specification())),
            errors: json!({ "step_check": summary.step_check }),
            own: json!(summary),
            above: String::new(),
            lines,
            rate: (rate, "items/s", format!("{rate:.3e} items/s")),
            checked: Ok(()),
            warnings,
        }
    }
}

impl SequenceCommand for Overrides {
    type Specification = TextSpecification;

    const ZOOM: &'static str = "map zoom";
    const SWEEP: &'static str = "map sweep";
    const STEPS: [&'static str; 2] = ["items", "items/s"];
    const TITLES: &'static str = "       least       median     greatest  most frequent outcome";

    fn specification(&self) -> Result<TextSpecification, SpecError> {
        TextSpecification::new(self)
    }

    fn add_number(&mut self, name: &str, value: f64) {
        TextSpecification::add_number(self, name, value);
    }

    fn row(Observed { summary, observed }: &Observed<Summary>) -> String {
        let numbers = observed.as_ref().map_or([f64::NAN; 3], |spread| {
            [spread.least, spread.median, spread.greatest]
        });
        let [least, median, greatest] = numbers.map(|x| match x.is_finite() {
            true => format!("{x:.5e}"),
            false => "-".to_owned(),
        });
        let outcomes = summary.outcomes.iter();
        let most = outcomes.max_by_key(|(_, count)| *count);
        let most = most.map_or(String::new(), |(name, count)| {
            let share = 100.0 * *count as f64 / summary.items.max(1) as f64;
            format!("{share:.2} % {name}")
        });
        format!("{least:>12} {median:>12} {greatest:>12}  {most}")
    }
}
