//! `trisolar sweep`: a map for each value of a parameter, a contact sheet and a table.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::json;
use trisolar::divergence::{Computer, Parameter, RunOptions};
use trisolar::io::atomic::write_with;
use trisolar::zoom::{self, Frame, Outcome, Summary, short};

use super::progress::Progress;
use super::sequence::{self, SequenceArgs};
use super::{Failure, interrupt, report};

/// A map for each value of a parameter: of a body's mass, the shift, the time step and so on. Run it again to go on with what an
/// interrupted run left.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    about = "Compute a map for each value of a parameter",
    after_help = format!("NAME is one of {}.", Parameter::NAMES)
)]
pub(crate) struct Args {
    /// The parameter and its values: FROM:TO:COUNT for evenly spaced ones (as mass2=5:40:16), FROM:TO:COUNT:log for a constant
    /// ratio (as shift=1e-6:1e-2:9:log), or a list (as dt=0.001,0.002,0.004)
    #[arg(long, value_name = "NAME=VALUES", help_heading = "Sweep")]
    vary: Vary,
    /// Folder for the maps: frame-00000.png, .npy and .json (specification and summary) of each value, sheet.png (all maps
    /// beside each other), table.csv and table.json. A run that was interrupted goes on there
    #[arg(
        long,
        value_name = "FOLDER",
        help_heading = "Files",
        default_value = "sweep"
    )]
    out: PathBuf,
    /// Pictures of a pixel a pixel, without axes and colour bar
    #[arg(long, help_heading = "Picture")]
    bare: bool,
    #[command(flatten)]
    sequence: SequenceArgs,
}

/// A parameter and its values.
#[derive(Clone, Debug)]
struct Vary {
    parameter: Parameter,
    values: Vec<f64>,
}

/// The most values of a sweep.
const MAX_VALUES: usize = 10_000;

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text
            .split_once('=')
            .ok_or("must be NAME=FROM:TO:COUNT, NAME=FROM:TO:COUNT:log or NAME=A,B,...")?;
        let values = if values.contains(':') {
            spaced(values)?
        } else {
            let numbers = values.split(',').map(number);
            numbers.collect::<Result<_, _>>()?
        };
        if values.len() > MAX_VALUES {
            return Err(format!("at most {MAX_VALUES} values are possible"));
        }
        Ok(Self {
            parameter: name.trim().parse()?,
            values,
        })
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => Err(format!("'{}' is not a number", text.trim())),
    }
}

/// `FROM:TO:COUNT` and `FROM:TO:COUNT:log`.
fn spaced(text: &str) -> Result<Vec<f64>, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (from, to, count, logarithmic) = match parts[..] {
        [from, to, count] => (from, to, count, false),
        [from, to, count, "log"] => (from, to, count, true),
        _ => return Err("must be FROM:TO:COUNT or FROM:TO:COUNT:log".into()),
    };
    let (from, to) = (number(from)?, number(to)?);
    let count: usize = match count.trim().parse() {
        Ok(n) if (2..=MAX_VALUES).contains(&n) => n,
        _ => {
            return Err(format!(
                "COUNT must be a whole number from 2 to {MAX_VALUES}"
            ));
        }
    };
    if logarithmic && !(from > 0.0 && to > 0.0) {
        return Err("with log both ends must be above 0".into());
    }
    let value = |i: usize| {
        let t = i as f64 / (count - 1) as f64;
        match i {
            0 => from,
            _ if i == count - 1 => to,
            _ if logarithmic => from * (to / from).powf(t),
            _ => from + (to - from) * t,
        }
    };
    Ok((0..count).map(value).collect())
}

/// Computes what is missing, then the sheet and the tables.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.sequence
        .on_all_ranks(|computer, options| run_on(args, computer, options))
}

fn run_on(args: &Args, computer: &dyn Computer, options: RunOptions) -> Result<(), Failure> {
    computer.check(&options)?;
    let base = args.sequence.base(None)?;
    let Vary { parameter, values } = &args.vary;
    let frames = zoom::sweep(&base, *parameter, values).map_err(|e| {
        let value = values.get(e.frame as usize).copied().unwrap_or_default();
        Failure::value(
            &format!("{parameter}={}", short(value)),
            "--vary",
            &e.reason,
        )
    })?;
    let style = args.sequence.style(!args.bare, true);
    let kind = json!({ "sweep": parameter.to_string() });
    let folder = args.sequence.folder(&args.out, &frames, style, &kind)?;
    interrupt::watch()?;
    args.sequence.warn(&frames);
    let settings = args.sequence.settings(style, options, computer.processes());
    let progress = Progress::new("sweep", args.sequence.quiet);
    let outcome = zoom::run_on(computer, &frames, &folder, &settings, &progress)
        .map_err(|e| args.sequence.ended(e, &folder))?;
    progress.finish();

    let files = ["sheet.png", "table.csv", "table.json"].map(|name| folder.path().join(name));
    let steps = base.steps;
    let heading = format!(
        "{parameter} from {} to {}, {steps} steps",
        short(values[0]),
        short(values[values.len() - 1])
    );
    zoom::contact_sheet(&files[0], &frames, &heading, &style, &folder)?;
    write_text(&files[1], &zoom::csv(&outcome.summaries))?;
    folder.write(&files[2], &table(*parameter, &frames, &outcome))?;
    if args.sequence.json {
        let mut object = sequence::object(&outcome, &folder);
        object["files"] = json!(files);
        return report::json(&object);
    }
    if args.sequence.quiet {
        return Ok(());
    }
    report::to_stdout(&summary(args, &outcome, &files))
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |file| {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}

fn table(parameter: Parameter, frames: &[Frame], outcome: &Outcome) -> serde_json::Value {
    let base = frames.first().map(|f| f.specification.specification());
    json!({
        "parameter": parameter.to_string(),
        "first": base,
        "maps": outcome.summaries,
    })
}

/// Maps listed in a summary at most.
const LISTED: usize = 20;

fn summary(args: &Args, outcome: &Outcome, files: &[PathBuf]) -> String {
    let lines = sequence::lines(outcome);
    let name = args.vary.parameter.to_string();
    let mut text = format!(
        "{}\n\n{name:>14} {:>14} {:>12} {:>14}",
        lines.as_str(),
        "never parted",
        "shortest",
        "mean steps"
    );
    let row = |s: &Summary| {
        let value = s.set.first().map_or(f64::NAN, |s| s.value);
        let never = 100.0 * s.never_parted as f64 / s.pixels as f64;
        format!(
            "\n{:>14} {never:>12.2} % {:>12} {:>14.1}",
            short(value),
            s.shortest,
            s.mean
        )
    };
    outcome
        .summaries
        .iter()
        .take(LISTED)
        .for_each(|s| text.push_str(&row(s)));
    if outcome.summaries.len() > LISTED {
        text.push_str("\n           ...");
    }
    text.push('\n');
    for path in files {
        text.push_str(&format!("\n{}", path.display()));
    }
    for note in &outcome.effort.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
