//! `trisolar sweep`: a map for each value of a parameter or each pair of values of two, a contact sheet and a table.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;
use trisolar::divergence::{Executor, Parameter, Specification, Validated};
use trisolar::io::colour::ColourMap;
use trisolar::run::{Paths, RunOptions};
use trisolar::zoom::{self, Colours, ContactSheet, Outcome, Style, Summary, Vary, short};

use super::progress::Progress;
use super::resume::Typed;
use super::sequence::{self, FolderArgs, LookArgs, SequenceArgs, SequenceReport};
use super::{Failure, interrupt, report};

/// Compute a map for each value of a parameter, such as a body's mass, the shift or the time step, or for each pair of values of
/// two parameters. Run it again to continue an interrupted run.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute a map for each value of a parameter, or each pair of values of two",
    after_help = format!("NAME is one of {}.", Parameter::names())
)]
pub(crate) struct Args {
    /// The parameter and its values: FROM:TO:COUNT for evenly spaced ones (as mass2=5:40:16), FROM:TO:COUNT:log for a constant
    /// ratio (as shift=1e-6:1e-2:9:log), or a list (as dt=0.001,0.002,0.004). Give it twice for two parameters: there is then a map
    /// for each pair of values, with the first parameter along the rows of the sheet and the second along its columns
    #[arg(
        long,
        value_name = "NAME=VALUES",
        help_heading = "Sweep",
        required_unless_present = "resume"
    )]
    vary: Vec<Vary>,
    /// Folder for the maps: frame-00000.png (or as --plot-format says), .npy and .json (specification and summary) of each value (of two parameters
    /// frame-00000_mass2=5_dt=0.001.png and so on), sheet.png (all maps side by side), table.csv and table.json. An interrupted run
    /// in it is continued
    #[arg(
        long,
        value_name = "FOLDER",
        help_heading = "Files",
        default_value = "sweep"
    )]
    out: PathBuf,
    /// Write pictures without axes and colour bar, with one pixel per pixel of the map
    #[arg(long, help_heading = "Picture")]
    bare: bool,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    sequence: SequenceArgs,
}

/// The description of a sweep, which `sequence.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sweep {
    /// The base of every map.
    base: Specification,
    /// The largest allowed share of unresolved pixels in each map.
    max_error: Option<f64>,
    vary: Vec<String>,
    bare: bool,
    colormap: ColourMap,
    colours: Colours,
    /// Whether all maps are written as one Zarr store.
    #[serde(default)]
    zarr: bool,
    #[serde(flatten)]
    look: LookArgs,
}

impl Paths for Sweep {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

impl Args {
    /// The sweep and its folder.
    fn sweep(&self, typed: &Typed) -> Result<(Sweep, PathBuf), Failure> {
        let sequence = &self.sequence;
        let given = |base: sequence::Base| -> Result<Sweep, Failure> {
            let sequence::Base {
                specification,
                max_error,
            } = base;
            let (colormap, colours) = sequence.look(&specification)?;
            Ok(Sweep {
                base: specification,
                max_error,
                vary: self.vary.iter().map(Vary::to_string).collect(),
                bare: self.bare,
                colormap,
                colours,
                zarr: sequence.zarr,
                look: self.look,
            })
        };
        let Some(path) = &sequence.folder.resume else {
            return Ok((given(sequence.base(None)?)?, sequence.folder.of(&self.out)));
        };
        let (_, mut sweep): (_, Sweep) = sequence.folder.resumed("sweep", path)?;
        sweep.max_error = sequence.max_error_over(sweep.max_error)?;
        let here = given(sequence::Base {
            specification: sweep.base.clone(),
            max_error: sweep.max_error,
        })?;
        sweep.zarr |= here.zarr;
        sequence.refuse_others(typed, path, &sweep.base, [&sweep, &here], &self.out)?;
        Ok((sweep, path.clone()))
    }
}

/// Computes the missing maps, then the sheet and the tables.
pub(crate) fn run(args: Args, typed: &Typed) -> Result<(), Failure> {
    args.sequence
        .on_all_ranks(|executor, options| run_on(&args, typed, executor, options))
}

fn run_on(
    args: &Args,
    typed: &Typed,
    executor: &dyn Executor<Validated>,
    options: RunOptions,
) -> Result<(), Failure> {
    executor.check(&options)?;
    let (mut sweep, path) = args.sweep(typed)?;
    let begun = args.sequence.folder.begun::<Sweep>("sweep", &path);
    // What is there must not be older than the maps.
    sweep.zarr |= begun.as_ref().is_some_and(|there| there.zarr);
    let base = &sweep.base;
    let vary: Vec<Vary> = sequence::varied(&sweep.vary)?;
    let frames = sequence::swept(base, &vary)?;
    let style = Style {
        colormap: sweep.colormap,
        colours: sweep.colours,
        axes: !sweep.bare,
        captions: false,
        theme: sweep.look.theme,
        format: sweep.look.plot_format,
        y: sweep.look.y_axis.unwrap_or_default(),
        npy: true,
    };
    let names: Vec<String> = vary.iter().map(|v| v.parameter.to_string()).collect();
    // A single parameter is stored in the form of earlier versions.
    let kind = match &names[..] {
        [name] => json!({ "sweep": name }),
        names => json!({ "sweep": names }),
    };
    let heading = heading(&vary, base);
    let sheet = ContactSheet::new(&frames, &vary, heading, &style).map_err(|reason| {
        let last = vary.last().map(Vary::to_string).unwrap_or_default();
        Failure::value(&last, "--vary", &reason)
    })?;
    let part = args.sequence.folder.part()?;
    let _claim = args.sequence.folder.claim(&path, part, &[])?;
    let differing = begun.map_or_else(Vec::new, |there| {
        let bases = [&there.base, &sweep.base];
        sequence::differing(
            [&there, &sweep],
            bases,
            &[
                "bare",
                "colormap",
                "colours",
                "theme",
                "plot_format",
                "y_axis",
                "zarr",
            ],
        )
    });
    let record = FolderArgs::record("sweep", &path, &sweep)?;
    let mut folder = args
        .sequence
        .open(&path, &frames, &kind, record, &differing, part)?;
    if vary.len() > 1 {
        folder = folder.named_by_values(&frames);
    }
    interrupt::watch()?;
    args.sequence.save_config(base, sweep.max_error)?;
    args.sequence.warn(&frames);
    let settings = args
        .sequence
        .settings(style, options, executor.processes(), part);
    let progress = Progress::new("sweep", args.sequence.quiet);
    let mut outcome = zoom::run_on(executor, &frames, &folder, &settings, &progress)
        .map_err(|e| FolderArgs::ended(e, "sweep", &folder, args.sequence.quiet))?;
    progress.finish();
    sequence::advise(&frames, &mut outcome);
    let object = || sequence::object(&frames, &outcome, &folder, style.picture_format());
    let lines = || sequence::lines(&outcome, "maps", "pixel-steps");
    let SequenceArgs { json, quiet, .. } = args.sequence;
    let report = SequenceReport { json, quiet };
    if sequence::reported_part(part, &folder, object, lines, report)? {
        return sequence::check(&outcome, sweep.max_error);
    }

    let (picture, notes) = folder.overview("sheet", sweep.look.plot_format, |path| {
        sheet.write(path, &folder, &outcome.summaries)
    })?;
    outcome.effort.notes.extend(notes);
    let first = json!(frames.first().map(|f| f.specification.specification()));
    let csv = zoom::csv(&outcome.summaries);
    let tables = sequence::write_tables(&folder, &csv, &vary, first, "maps", &outcome.summaries)?;
    let dataset = sequence::make_dataset(sweep.zarr, &folder, |path| {
        zoom::write_sweep(path, &frames, &vary, &folder)
    })?;
    let files: Vec<PathBuf> = [vec![picture], tables, Vec::from_iter(dataset)].concat();
    if args.sequence.json {
        let mut object = sequence::object(&frames, &outcome, &folder, style.picture_format());
        report::add_files(&mut object, &files);
        report::json(&object)?;
    } else if !args.sequence.quiet {
        report::to_stdout(&summary(&vary, &outcome, &files))?;
    }
    sequence::check(&outcome, sweep.max_error)
}

/// What varies, and the method, as far as it is the same in all maps.
fn heading(vary: &[Vary], base: &Specification) -> String {
    let range = |vary: &Vary| {
        let [first, last] = [vary.values.first(), vary.values.last()]
            .map(|value| short(value.copied().unwrap_or_default()));
        format!("{} from {first} to {last}", vary.parameter)
    };
    let ranges = match vary {
        [rows, columns] => format!(
            "{} down the rows, {} along the columns",
            range(rows),
            range(columns)
        ),
        all => all.iter().map(range).collect::<Vec<_>>().join(", "),
    };
    let varies = |name: &str| vary.iter().any(|v| v.parameter.to_string() == name);
    let method = match ["dt", "steps"].into_iter().any(varies) {
        true => base.integrator.to_string(),
        false => base.method(),
    };
    format!("{ranges}\n{method}")
}

fn summary(vary: &[Vary], outcome: &Outcome, files: &[PathBuf]) -> String {
    let lines = sequence::lines(outcome, "maps", "pixel-steps");
    let names: String = (vary.iter())
        .map(|v| format!("{:>14}", v.parameter.to_string()))
        .collect();
    let of_steps = outcome.summaries.iter().all(|s| s.shortest.is_some());
    let titles = if of_steps {
        ["never parted", "shortest", "mean steps"]
    } else {
        ["least", "greatest", "mean"]
    };
    let [a, b, c] = titles;
    let titles = format!("{names} {a:>14} {b:>12} {c:>14}");
    let row = |s: &Summary| {
        let values: String = s
            .set
            .iter()
            .map(|s| format!("{:>14}", short(s.value)))
            .collect();
        if let (Some(never), Some(shortest)) = (s.never_parted, s.shortest) {
            let never = 100.0 * never as f64 / s.pixels as f64;
            return format!("{values} {never:>12.2} % {shortest:>12} {:>14.1}", s.mean);
        }
        let [least, greatest] = s.range.unwrap_or([f64::NAN; 2]);
        format!(
            "{values} {least:>14.4e} {greatest:>12.4e} {:>14.4e}",
            s.mean
        )
    };
    let warning = sequence::unresolved(outcome);
    sequence::sweep_summary(&lines, &titles, outcome, row, files, warning)
}
