//! `trisolar encounters sweep`: an ensemble for each value of a parameter or each pair of values of two, a table, and a picture of the
//! shares.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;
use trisolar::encounters::{Adjustable, Executor, Overrides, Share, Validated};
use trisolar::run::{Paths, RunOptions};
use trisolar::zoom::{
    EncounterBase, EncounterFrame, EncounterSummary, Outcome, Vary, draw_shares, encounter_csv,
    short,
};

use super::sequence::{Description, SequenceArgs, check, lines, object};
use crate::resume::Typed;
use crate::sequence::{
    FolderArgs, LookArgs, SequenceReport, ZoomLookArgs, reported_part, sweep_summary, swept,
    varied, write_tables,
};
use crate::{Failure, report};

/// Compute an ensemble for each value of a parameter, such as a mass, the eccentricity or the velocity at infinity, or for each pair of
/// values of two parameters. Run it again to continue an interrupted run.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute an ensemble for each value of a parameter, or each pair of values of two",
    after_help = format!("NAME is one of {}.", Adjustable::names())
)]
pub(crate) struct Args {
    /// The parameter and its values: FROM:TO:COUNT for evenly spaced ones (as mass3=5:40:16), FROM:TO:COUNT:log for a constant ratio
    /// (as v-inf=0.1:10:9:log), or a list (as e=0,0.5,0.9). Give it twice for two parameters: there is then an ensemble for each
    /// pair of values. In each ensemble all runs have the value, also of a parameter that is drawn otherwise
    #[arg(
        long,
        value_name = "NAME=VALUES",
        help_heading = "Sweep",
        required_unless_present = "resume",
        allow_hyphen_values = true
    )]
    vary: Vec<Vary<Adjustable>>,
    /// Folder for the ensembles: frame-00000.json (specification and summary) of each value, with --map its .png (or as --plot-format says), table.csv and
    /// table.json, and of one parameter shares.png (the shares of the escapers over its values, with their 95 % intervals). Of two
    /// parameters the names are frame-00000_e=0.5_v-inf=1.json and so on. An interrupted run in it is continued
    #[arg(
        long,
        value_name = "FOLDER",
        help_heading = "Files",
        default_value = "sweep"
    )]
    out: PathBuf,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    sequence: SequenceArgs,
}

/// The description of a sweep, which `sequence.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sweep {
    base: Overrides,
    max_error: Option<f64>,
    vary: Vec<String>,
    npz: bool,
    #[serde(flatten)]
    look: LookArgs,
}

impl Paths for Sweep {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

impl Description for Sweep {
    fn base(&self) -> &Overrides {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }
}

/// Computes the missing ensembles, then the tables and the picture.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    args.sequence
        .on_all_ranks(|executor, options| run_on(args, typed, executor, options))
}

fn run_on(
    args: &Args,
    typed: &Typed,
    executor: &dyn Executor<Validated>,
    options: RunOptions,
) -> Result<(), Failure> {
    executor.check(&options)?;
    let sequence = &args.sequence;
    let describe = |base: &Overrides, max_error| Sweep {
        base: base.clone(),
        max_error,
        vary: args.vary.iter().map(Vary::to_string).collect(),
        npz: sequence.npz,
        look: args.look,
    };
    let (sweep, path, _) = sequence.described("encounters sweep", typed, &args.out, describe)?;
    let vary: Vec<Vary<Adjustable>> = varied(&sweep.vary)?;
    let frames = sweep.frames(&vary)?;
    let part = sequence.folder.part()?;
    let _claim = sequence.folder.claim(&path, part, &[])?;
    let pictures = ZoomLookArgs {
        axes: true,
        look: sweep.look,
    };
    let settings = sequence.settings(options, pictures, sweep.npz, part);
    let begun = sequence.folder.begun::<Sweep>("encounters sweep", &path);
    let record = FolderArgs::record("encounters sweep", &path, &sweep)?;
    let names: Vec<String> = vary.iter().map(|v| v.parameter.to_string()).collect();
    let kind = json!({ "encounters sweep": names });
    let mut folder = sequence.open(&path, &frames, &settings, &kind, record, (begun, &sweep))?;
    if vary.len() > 1 {
        folder = folder.named_by_values(&frames);
    }
    sequence.save_config(&sweep.base, sweep.max_error)?;
    let mut outcome = sequence.compute("sweep", executor, &frames, &folder, &settings)?;
    let SequenceArgs { json, quiet, .. } = *sequence;
    let report = SequenceReport { json, quiet };
    let of_part = || object(&frames, &outcome, &folder, settings.picture_format());
    if reported_part(part, &folder, of_part, || lines(&outcome), report)? {
        return check(&outcome, sweep.max_error);
    }
    let first = json!(frames.first().map(|f| f.specification.specification()));
    let csv = encounter_csv(&outcome.summaries);
    let mut files = write_tables(&folder, &csv, &vary, first, "ensembles", &outcome.summaries)?;
    if let [only] = &vary[..] {
        let (picture, notes) = folder.overview("shares", sweep.look.plot_format, |path| {
            draw_shares(path, only, &outcome.summaries, sweep.look.theme)
        })?;
        outcome.effort.notes.extend(notes);
        files.push(picture);
    }
    if sequence.json {
        let mut object = object(&frames, &outcome, &folder, settings.picture_format());
        report::add_files(&mut object, &files);
        report::json(&object)?;
    } else if !sequence.quiet {
        report::to_stdout(&summary(&vary, &outcome, &files))?;
    }
    check(&outcome, sweep.max_error)
}

impl Sweep {
    /// The ensembles.
    fn frames(&self, vary: &[Vary<Adjustable>]) -> Result<Vec<EncounterFrame>, Failure> {
        let base = self.base.validated(None);
        let base = base.map_err(|e| Failure::BadInput(e.to_string()))?;
        let base = EncounterBase::centred(base.specification().clone());
        swept(&base, vary)
    }
}

fn summary(
    vary: &[Vary<Adjustable>],
    outcome: &Outcome<EncounterSummary>,
    files: &[PathBuf],
) -> String {
    let names: String = (vary.iter())
        .map(|v| format!("{:>18}", v.parameter.to_string()))
        .collect();
    let titles = format!(
        "{names} {:>10} {:>27} {:>14} {:>10}",
        "escapes", "of bodies 1, 2, 3", "median time", "failed"
    );
    let row = |EncounterSummary { set, summary, .. }: &EncounterSummary| {
        let values = set.iter().map(|s| format!("{:>18}", short(s.value)));
        let values: String = values.collect();
        let escapes: u64 = summary.escapers.iter().map(|s| s.count).sum();
        let of_all = 100.0 * escapes as f64 / summary.runs as f64;
        let each = |s: &Share| format!("{:.2}", 100.0 * s.share);
        let each: Vec<String> = summary.escapers.iter().map(each).collect();
        let each = match &each[..] {
            [] => "-".to_owned(),
            each => format!("{} %", each.join(", ")),
        };
        let median = (summary.lifetimes.median).map_or("open".to_owned(), |t| format!("{t:.4}"));
        let failed = report::grouped(summary.failed);
        format!("{values} {of_all:>8.2} % {each:>27} {median:>14} {failed:>10}")
    };
    sweep_summary(&lines(outcome), &titles, outcome, row, files, None)
}
