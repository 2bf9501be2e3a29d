//! Sweeps of ensembles of records: an ensemble for each value of a parameter or each pair of values of two, a table, and a picture of
//! the figures or a sheet of the maps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::run::{Part, Paths};
use trisolar::zoom::{
    Figures, FrameSummary, Named, NamedBase, Number, RecordSheet, Recorded, Style, Vary,
    draw_curves, records_csv, short,
};

use super::Failure;
use super::record_sequence::{
    FiguresOf, FrameOf, SequenceArgs, SequenceCommand, may_differ, style,
};
use super::report::Lines;
use super::resume::Typed;
use super::sequence::{self, Description, Ended, LookArgs, ZoomLookArgs};

/// A number of a sweep.
type NumberOf<C> = Number<<C as SequenceCommand>::Specification>;

/// Compute an ensemble for each value of a parameter, such as a mass or a step, or for each pair of values of two parameters. Run it again to
/// continue an interrupted run.
#[derive(Debug, clap::Args)]
#[command(
    about = "Compute an ensemble for each value of a parameter, or each pair of values of two",
    after_help = format!("NAME is one of {}.", NumberOf::<C>::names())
)]
pub(crate) struct Args<C: SequenceCommand> {
    /// The parameter and its values: FROM:TO:COUNT for evenly spaced ones (as 5:40:16), FROM:TO:COUNT:log for a constant ratio
    /// (as 0.1:10:9:log), or a list (as 0,0.5,0.9). Give it twice for two parameters: there is then an ensemble for each
    /// pair of values. In each ensemble all runs have the value, also of a parameter that is drawn otherwise
    #[arg(
        long,
        value_name = "NAME=VALUES",
        help_heading = "Sweep",
        required_unless_present = "resume",
        allow_hyphen_values = true,
        value_parser = str::parse::<Vary<NumberOf<C>>>
    )]
    vary: Vec<Vary<NumberOf<C>>>,
    /// Folder for the ensembles: frame-00000.json (specification and summary) of each value, of maps its .png (or as --plot-format says), table.csv and
    /// table.json, of one parameter shares.png (the shares of the outcomes over its values, with their 95 % intervals) or median.png, and
    /// of maps of numbers sheet.png (all maps side by side) and the .npz of each. Of two parameters the names are
    /// frame-00000_e=0.5_v-inf=1.json and so on. An interrupted run in it is continued
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
    sequence: SequenceArgs<C>,
}

/// The description of a sweep, which `sequence.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Sweep<C: SequenceCommand> {
    base: C,
    max_error: Option<f64>,
    vary: Vec<String>,
    npz: bool,
    #[serde(flatten)]
    look: LookArgs,
}

impl<C: SequenceCommand> Paths for Sweep<C> {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

/// Computes the missing ensembles, then the tables and the picture.
pub(crate) fn run<C: SequenceCommand>(args: &Args<C>, typed: &Typed) -> Result<(), Failure> {
    let describe = |base, max_error| {
        Ok(Sweep {
            base,
            max_error,
            vary: args.vary.iter().map(Vary::to_string).collect(),
            npz: args.sequence.npz,
            look: args.look,
        })
    };
    let first = |vary: &Vary<NumberOf<C>>| (vary.parameter.to_string(), vary.values[0]);
    let base = |under: Option<&_>| args.sequence.base(under, args.vary.iter().map(first));
    sequence::run(&args.sequence, typed, &args.out, base, describe)
}

impl<C: SequenceCommand> Description for Sweep<C> {
    type Options = SequenceArgs<C>;
    const COMMAND: &'static str = C::SWEEP;

    fn base(&self) -> &C {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }

    fn may_differ(frames: &[FrameOf<C>]) -> Vec<&'static str> {
        may_differ::<C>(frames)
    }

    fn style(&self) -> Style {
        let look = ZoomLookArgs {
            axes: true,
            look: self.look,
        };
        // A sheet is made of the records.
        let valid = self.base.validate(None);
        let has_a_sheet = valid.is_ok_and(|valid| valid.colours().is_some());
        style(look, self.npz || has_a_sheet)
    }

    fn kind(&self) -> Value {
        json!({ (C::SWEEP): sequence::names::<NumberOf<C>>(&self.vary) })
    }

    fn frames(&self) -> Result<Vec<FrameOf<C>>, Failure> {
        let vary = sequence::varied(&self.vary)?;
        let base = self.base.specification();
        let base = base.map_err(|e| Failure::BadInput(e.to_string()))?;
        sequence::swept(&NamedBase::centred(base), &vary)
    }

    fn is_named_by_values(&self) -> bool {
        self.vary.len() > 1
    }

    fn check(&self, frames: &[FrameOf<C>], _: Option<Part>) -> Result<(), Failure> {
        self.sheet(frames, &self.style()).map(drop)
    }

    fn complete(&self, ended: &mut Ended<'_, Self>) -> Result<(), Failure> {
        let Ended { frames, folder, .. } = *ended;
        let vary = sequence::varied::<NumberOf<C>>(&self.vary)?;
        if let Some(sheet) = self.sheet(frames, &self.style())? {
            ended.make_overview("sheet", |path, _| sheet.write(path, folder))?;
        }
        ended.write_tables(&records_csv(&ended.outcome.summaries), &vary)?;
        match &vary[..] {
            [only] => {
                let curves = FiguresOf::<C>::curves(&ended.outcome.summaries);
                let theme = self.look.theme;
                ended.make_overview(curves.what, |path, _| {
                    draw_curves(path, only, &curves, theme)
                })
            }
            _ => Ok(()),
        }
    }

    fn summary(&self, lines: Lines, ended: &Ended<'_, Self>) -> String {
        let names = sequence::names::<NumberOf<C>>(&self.vary);
        let names: String = names.iter().map(|name| format!("{name:>18}")).collect();
        let titles = format!("{names} {}", C::TITLES);
        let row = |FrameSummary { set, figures, .. }: &FrameSummary<FiguresOf<C>>| {
            let values = set.iter().map(|s| format!("{:>18}", short(s.value)));
            let values: String = values.collect();
            format!("{values} {}", C::row(figures))
        };
        ended.sweep_summary(&lines, &titles, row)
    }
}

impl<C: SequenceCommand> Sweep<C> {
    /// The sheet of the maps, if there is one.
    fn sheet<'a>(
        &self,
        frames: &'a [FrameOf<C>],
        style: &Style,
    ) -> Result<Option<RecordSheet<'a, C::Of>>, Failure> {
        let vary = sequence::varied::<NumberOf<C>>(&self.vary)?;
        let base = self.base.specification();
        let axes = base.map_or([None, None], |base| base.map_axes());
        let size = axes.map(|axis| axis.map_or(1, |(_, _, pixels)| pixels as usize));
        let sheet = RecordSheet::new(frames, &vary, size, sequence::ranges(&vary), style);
        sheet.map_err(|reason| {
            let last = vary.last().map(Vary::to_string).unwrap_or_default();
            Failure::value(&last, "--vary", &reason)
        })
    }
}
