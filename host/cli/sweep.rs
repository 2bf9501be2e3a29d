//! `trisolar sweep`: a map for each value of a parameter or each pair of values of two, a contact sheet and a table.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trisolar::divergence::{Parameter, Specification};
use trisolar::io::colour::ColourMap;
use trisolar::run::{Part, Paths};
use trisolar::zoom::{self, Colours, ContactSheet, Frame, Style, Summary, Vary, short};

use super::Failure;
use super::map_sequence::SequenceArgs;
use super::report::Lines;
use super::resume::Typed;
use super::sequence::{self, Description, Ended, LookArgs};

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

/// Computes the missing maps, then the sheet and the tables.
pub(crate) fn run(args: &Args, typed: &Typed) -> Result<(), Failure> {
    let base = |under: Option<&_>| args.sequence.base(under, None);
    let describe = |base, max_error| {
        let (colormap, colours) = args.sequence.look(&base)?;
        Ok(Sweep {
            base,
            max_error,
            vary: args.vary.iter().map(Vary::to_string).collect(),
            bare: args.bare,
            colormap,
            colours,
            zarr: args.sequence.zarr,
            look: args.look,
        })
    };
    sequence::run(&args.sequence, typed, &args.out, base, describe)
}

impl Description for Sweep {
    type Options = SequenceArgs;
    const COMMAND: &'static str = "sweep";

    fn base(&self) -> &Specification {
        &self.base
    }

    fn max_error(&mut self) -> &mut Option<f64> {
        &mut self.max_error
    }

    fn take_over(&mut self, _: &Typed, here: &Self) {
        self.zarr |= here.zarr;
    }

    fn may_differ(_: &[Frame]) -> Vec<&'static str> {
        vec![
            "bare",
            "colormap",
            "colours",
            "theme",
            "plot_format",
            "y_axis",
            "zarr",
        ]
    }

    fn style(&self) -> Style {
        Style {
            colormap: self.colormap,
            colours: self.colours,
            axes: !self.bare,
            captions: false,
            theme: self.look.theme,
            format: self.look.plot_format,
            y: self.look.y_axis.unwrap_or_default(),
            npy: true,
        }
    }

    fn kind(&self) -> Value {
        // A single parameter is stored in the form of earlier versions.
        match &sequence::names::<Parameter>(&self.vary)[..] {
            [name] => json!({ "sweep": name }),
            names => json!({ "sweep": names }),
        }
    }

    fn frames(&self) -> Result<Vec<Frame>, Failure> {
        sequence::swept(&self.base, &sequence::varied(&self.vary)?)
    }

    fn is_named_by_values(&self) -> bool {
        self.vary.len() > 1
    }

    fn check(&self, frames: &[Frame], _: Option<Part>) -> Result<(), Failure> {
        self.sheet(frames, &self.style()).map(drop)
    }

    fn go_on(&mut self, there: &Self, _: &Path, _: &[Frame]) -> Result<(), Failure> {
        // What is there must not be older than the maps.
        self.zarr |= there.zarr;
        Ok(())
    }

    fn complete(&self, ended: &mut Ended<'_, Self>) -> Result<(), Failure> {
        let Ended { frames, folder, .. } = *ended;
        let (vary, style) = (sequence::varied(&self.vary)?, self.style());
        let sheet = self.sheet(frames, &style)?;
        ended.make_overview("sheet", |path, outcome| {
            sheet.write(path, folder, &outcome.summaries)
        })?;
        ended.write_tables(&zoom::csv(&ended.outcome.summaries), &vary)?;
        match self.zarr {
            true => ended.make_dataset(|path| zoom::write_sweep(path, frames, &vary, folder)),
            false => Ok(()),
        }
    }

    fn summary(&self, lines: Lines, ended: &Ended<'_, Self>) -> String {
        let names = sequence::names::<Parameter>(&self.vary);
        let names: String = names.iter().map(|name| format!("{name:>14}")).collect();
        let of_steps = ended.outcome.summaries.iter().all(|s| s.shortest.is_some());
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
        ended.sweep_summary(&lines, &titles, row)
    }
}

impl Sweep {
    /// The contact sheet.
    fn sheet<'a>(
        &self,
        frames: &'a [Frame],
        style: &'a Style,
    ) -> Result<ContactSheet<'a>, Failure> {
        let vary = sequence::varied(&self.vary)?;
        let sheet = ContactSheet::new(frames, &vary, heading(&vary, &self.base), style);
        sheet.map_err(|reason| {
            let last = vary.last().map(Vary::to_string).unwrap_or_default();
            Failure::value(&last, "--vary", &reason)
        })
    }
}

/// What varies, and the method, as far as it is the same in all maps.
fn heading(vary: &[Vary], base: &Specification) -> String {
    let ranges = sequence::ranges(vary);
    let varies = |name: &str| vary.iter().any(|v| v.parameter.to_string() == name);
    let method = match ["dt", "steps"].into_iter().any(varies) {
        true => base.integrator.to_string(),
        false => base.method(),
    };
    format!("{ranges}\n{method}")
}
