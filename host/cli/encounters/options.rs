//! The options of `trisolar encounters`, and the specification that they make.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trisolar::encounters::Overrides;
use trisolar::io::PictureFormat;
use trisolar::io::picture::YDirection;
use trisolar::io::plot::Theme;
use trisolar::run::Paths;

use crate::divergence::down;
use crate::record_sequences::Sequence;
use crate::records::RecordArgs;

/// Integrate three-body encounters to their end: which body escapes, when and how fast, and which binary stays behind. Without
/// options: 10000 encounters of a circular binary (masses 15 and 17.5, a = 5) with a single body of mass 12.5 that is at rest at a
/// distance of 100 (Trani et al. 2024).
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "G = 1: with solar masses and astronomical units a year is 2 pi units of time.\n\
                  Run i depends on the seed and i alone, with the same bits on every CPU and GPU."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) sequence: Option<Sequence<Overrides>>,
    /// Start from a file with a line or row for each run: positions, velocities and masses of bodies 1, 2, 3 (21 numbers); .npy,
    /// .npz (its array points) or text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["setup", "n", "draw", "map", "size", "seed"])]
    pub(super) points: Option<PathBuf>,
    #[command(flatten)]
    pub(super) ensemble: RecordArgs<Overrides>,
}

/// The options of outputs, all of which the record of an unfinished computation holds.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct OutputArgs {
    /// Write the records to .npz or .csv, or the map of outcomes to .png, .svg or .pdf; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Vec<PathBuf>,
    /// Draw the distributions of e², velocities and lifetimes to e2.png, v-inf.png and lifetime.png in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value_t = PictureFormat::Png)]
    #[serde(default)]
    pub(super) plot_format: PictureFormat,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    pub(super) theme: Theme,
    /// Direction of the vertical axis of the map: down or up [default: up]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    #[serde(default = "down")]
    pub(super) y_axis: Option<YDirection>,
    /// Write the whole specification to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    pub(super) save_config: Option<PathBuf>,
    /// Integrate every run again, with twice the steps, and with a step of which only the last digits differ, and give a verdict on each:
    /// agrees, step (the step decides the outcome), rounding (the digits do) or undecided (a run failed). The shares, and that of rounding
    /// against the time to the end, stand in the summary and in JSON, the verdicts in the column `verdict` of .npz and .csv and in a second picture
    /// of a map, NAME-verdict. Takes four times as long
    #[arg(long, help_heading = "Output", conflicts_with = "part")]
    #[serde(default)]
    pub(super) certify: bool,
    /// The file of points.
    #[arg(skip)]
    pub(crate) points: Option<PathBuf>,
    /// The largest allowed energy error.
    #[arg(skip)]
    pub(super) max_error: Option<f64>,
}

impl Paths for OutputArgs {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let others = [&mut self.plots, &mut self.save_config, &mut self.points];
        let others = others.into_iter().flatten();
        self.out.iter_mut().chain(others).collect()
    }
}
