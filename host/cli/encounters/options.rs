//! The options of `trisolar encounters`, and the specification that they make.

use std::path::PathBuf;

use trisolar::divergence::{Backend, Points};
use trisolar::encounters::{Given, Validated};
use trisolar::io::plot::Theme;

use crate::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use crate::{Failure, values};

/// Integrate three-body encounters to their end: which body escapes, when and how fast, and which binary stays behind. Without
/// options: 10000 encounters of a circular binary (masses 15 and 17.5, a = 5) with a single body of mass 12.5 that is at rest at a
/// distance of 100 (Trani et al. 2024).
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "G = 1: with solar masses and astronomical units a year is 2 pi units of time.\n\
                  Run i depends on the seed and i alone, with the same bits on every CPU and GPU."
)]
pub(crate) struct Args {
    /// Start from a file with a line or row for each run: positions, velocities and masses of bodies 1, 2, 3 (21 numbers); .npy,
    /// .npz (its array points) or text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["setup", "n", "draw", "map", "size", "seed"])]
    pub(super) points: Option<PathBuf>,
    #[command(flatten)]
    pub(super) given: ParameterArgs<Given, Accuracy>,

    /// Write the records to .npz or .csv, or the map of outcomes to .png; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Vec<PathBuf>,
    /// Draw the distributions of e², velocities and lifetimes to PREFIX-e2.png, PREFIX-v-inf.png and PREFIX-lifetime.png
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    pub(super) theme: Theme,

    /// Where to compute: auto (a GPU for 20000 runs and more, if one can be used), cpu or gpu
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub(super) backend: Backend,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub(super) threads: Option<usize>,
    /// GPUs that share the work, which chooses --backend gpu; their number changes no bit [default: all]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub(super) gpus: Option<u32>,

    #[command(flatten)]
    accuracy: PlacedArgs<Given, Accuracy>,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

impl Args {
    /// What the options ask for, checked; points are read.
    pub(super) fn validated(&self) -> Result<Validated, Failure> {
        let points = match &self.points {
            None => None,
            Some(path) => Some(Points::read(path).map_err(Failure::BadInput)?),
        };
        let valid = self.given.values.validated(points.as_ref());
        valid.map_err(|e| Failure::specification(&e, true, None))
    }
}
