//! `trisolar encounters sweep`: an ensemble for each value of a parameter or each pair of values of two, a table, and a picture of the
//! shares.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::encounters::{Adjustable, Overrides};
use trisolar::ensemble::ClassShare;
use trisolar::run::Paths;
use trisolar::zoom::{
    EncounterBase, EncounterFrame, EncounterSummary, Style, Vary, draw_shares, encounter_csv, short,
};

use super::sequence::{SequenceArgs, may_differ, style};
use crate::report::Lines;
use crate::resume::Typed;
use crate::sequence::{self, Description, Ended, LookArgs, ZoomLookArgs};
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

/// Computes the missing ensembles, then the tables and the picture.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    let describe = |base, max_error| {
        Ok(Sweep {
            base,
            max_error,
            vary: args.vary.iter().map(Vary::to_string).collect(),
            npz: args.sequence.npz,
            look: args.look,
        })
    };
    let base = |under: Option<&_>| args.sequence.base(under);
    sequence::run(&args.sequence, typed, &args.out, base, describe)
}

impl Description for Sweep {
    type Options = SequenceArgs;
    const COMMAND: &'static str = "encounters sweep";

    fn base(&self) -> &Overrides {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }

    fn may_differ(frames: &[EncounterFrame]) -> Vec<&'static str> {
        may_differ(frames)
    }

    fn style(&self) -> Style {
        let look = ZoomLookArgs {
            axes: true,
            look: self.look,
        };
        style(look, self.npz)
    }

    fn kind(&self) -> Value {
        json!({ "encounters sweep": sequence::names::<Adjustable>(&self.vary) })
    }

    fn frames(&self) -> Result<Vec<EncounterFrame>, Failure> {
        let vary = sequence::varied(&self.vary)?;
        let base = self.base.validated(None);
        let base = base.map_err(|e| Failure::BadInput(e.to_string()))?;
        sequence::swept(&EncounterBase::centred(base.specification().clone()), &vary)
    }

    fn is_named_by_values(&self) -> bool {
        self.vary.len() > 1
    }

    fn complete(&self, ended: &mut Ended<'_, Self>) -> Result<(), Failure> {
        let vary = sequence::varied::<Adjustable>(&self.vary)?;
        ended.write_tables(&encounter_csv(&ended.outcome.summaries), &vary)?;
        match &vary[..] {
            [only] => ended.make_overview("shares", |path, outcome| {
                draw_shares(path, only, &outcome.summaries, self.look.theme)
            }),
            _ => Ok(()),
        }
    }

    fn summary(&self, lines: Lines, ended: &Ended<'_, Self>) -> String {
        let names = sequence::names::<Adjustable>(&self.vary);
        let names: String = names.iter().map(|name| format!("{name:>18}")).collect();
        let titles = format!(
            "{names} {:>10} {:>27} {:>14} {:>10}",
            "escapes", "of bodies 1, 2, 3", "median time", "failed"
        );
        let row = |EncounterSummary { set, summary, .. }: &EncounterSummary| {
            let values = set.iter().map(|s| format!("{:>18}", short(s.value)));
            let values: String = values.collect();
            let escapes: u64 = summary.escapers.iter().map(|s| s.count).sum();
            let of_all = 100.0 * escapes as f64 / summary.runs as f64;
            let each = |s: &ClassShare| format!("{:.2}", 100.0 * s.share);
            let each: Vec<String> = summary.escapers.iter().map(each).collect();
            let each = match &each[..] {
                [] => "-".to_owned(),
                each => format!("{} %", each.join(", ")),
            };
            let median =
                (summary.lifetimes.median).map_or("open".to_owned(), |t| format!("{t:.4}"));
            let failed = report::grouped(summary.failed);
            format!("{values} {of_all:>8.2} % {each:>27} {median:>14} {failed:>10}")
        };
        ended.sweep_summary(&lines, &titles, row)
    }
}
