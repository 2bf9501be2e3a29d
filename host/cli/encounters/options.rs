//! The options of `trisolar encounters`, and the specification that they make.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trisolar::divergence::{MapBackend, OneOrTwo, Points};
use trisolar::encounters::{Given, Jump, Order, Setup, Validated, whole_number};
use trisolar::io::plot::Theme;
use trisolar::run::Paths;

use crate::{Failure, config, values};

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
    /// Start of the three bodies: binary-single, free-fall (three bodies at rest, the first two at x = -0.5 and 0.5) or burrau
    /// (Burrau 1913) [default: binary-single]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Start",
        conflicts_with = "points"
    )]
    setup: Option<Setup>,
    /// Start from a file with a line or row for each run: positions, velocities and masses of bodies 1, 2, 3 (21 numbers); .npy,
    /// .npz (its array points) or text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["n", "draw", "map", "size", "seed"])]
    pub(super) points: Option<PathBuf>,
    /// Number of runs, 1 to 4294967296, such as 1e6 [default: 10000; burrau: 1]
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = runs, conflicts_with = "map")]
    n: Option<u64>,
    /// Seed of all random numbers [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    seed: Option<u64>,
    /// Masses of bodies 1, 2 (the binary) and 3 [default: 15,17.5,12.5; free-fall: 1,1,1]
    #[arg(long, value_name = "M1,M2,M3", help_heading = "Start", allow_hyphen_values = true, value_parser = values::triple)]
    masses: Option<[f64; 3]>,
    /// Semi-major axis of the binary (length) [default: 5]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    a: Option<f64>,
    /// Eccentricity of the binary, 0 to 0.999999 [default: 0]
    #[arg(long, value_name = "E", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    e: Option<f64>,
    /// Angle between the binary's angular momentum and the direction in which the single body comes in, 0 to 180 degrees [default:
    /// uniform; in a map 90]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    inclination: Option<f64>,
    /// Longitude of the binary's ascending node, from the y axis (degrees) [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    node: Option<f64>,
    /// Argument of the binary's pericentre, from the ascending node (degrees) [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    argument: Option<f64>,
    /// Mean anomaly of the binary (degrees) [default: uniform; in a map 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    phase: Option<f64>,
    /// Distance of the single body from the binary's centre of mass, on the x axis (length) [default: 100]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    distance: Option<f64>,
    /// Velocity of the single body at infinity; 0 is a parabola (length / time) [default: none: it is at rest at its distance]
    #[arg(long, value_name = "SPEED", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    v_inf: Option<f64>,
    /// Impact parameter of the single body (length) [default: 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    impact: Option<f64>,
    /// free-fall: x of body 3 (length) [default: drawn in the region of Agekyan & Anosova (1967); in a map 0.2]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    x: Option<f64>,
    /// free-fall: y of body 3 (length) [default: drawn in the region of Agekyan & Anosova (1967); in a map 0.5]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    y: Option<f64>,
    /// Draw a parameter (mass1, mass2, mass3, a, e, inclination, node, argument, phase, distance, v-inf, impact; x, y): uniform,
    /// isotropic (inclination), thermal (e), disc (impact: uniform in its square) or region (x and y), with :LOW:HIGH where it
    /// has no range of its own, such as inclination=isotropic or impact=disc:0:20; can be repeated
    #[arg(
        long,
        value_name = "NAME=LAW,...",
        help_heading = "Start",
        value_delimiter = ','
    )]
    draw: Vec<String>,
    /// Compute a map over two parameters (columns, then rows) or one, with a range where they have none of their own, such as
    /// phase,inclination or a=1:10,e=0:0.9. Nothing else is drawn unless --draw says so
    #[arg(
        long,
        value_name = "X[=LOW:HIGH],Y[=LOW:HIGH]",
        help_heading = "Start",
        value_delimiter = ','
    )]
    map: Vec<String>,
    /// Pixels of the map: W or WxH [default: 300]
    #[arg(long, value_name = "W[xH]", help_heading = "Start", allow_hyphen_values = true, value_parser = values::size, requires = "map")]
    size: Option<OneOrTwo<u64>>,

    /// Order of the integrator: 2, 6 or 8 [default: 6]
    #[arg(long, value_name = "P", help_heading = "Integration", allow_hyphen_values = true, value_parser = str::parse::<Order>)]
    order: Option<Order>,
    /// Steps in a period of the tightest circular binary that the energy allows, 10 to 1e6 [default: 1000, 50, 35 at order 2, 6,
    /// 8]
    #[arg(long, value_name = "N", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    steps_per_period: Option<f64>,
    /// Jump over excursions of the third body where what is left out of its tide is below this, 1e-12 to 1e-4; or off
    /// [default: 1e-6, beyond 31.6 semi-major axes]
    #[arg(long, value_name = "TOLERANCE", help_heading = "Integration", allow_hyphen_values = true, value_parser = str::parse::<Jump>)]
    jump: Option<Jump>,

    /// Distance at which an unbound body has escaped, 5 to 1e6 (semi-major axes of the binary) [default: 20]
    #[arg(long, value_name = "RATIO", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::number)]
    escape_radius: Option<f64>,
    /// Radii of bodies 1, 2, 3, which collide when they touch (length) [default: 0,0,0]
    #[arg(long, value_name = "R1,R2,R3", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::triple)]
    radii: Option<[f64; 3]>,
    /// End runs that are still open at this time [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::number)]
    max_time: Option<f64>,
    /// End runs that are still open after so many steps, 1 to 4e9 [default: 4000000]
    #[arg(long, value_name = "N", help_heading = "Ends", allow_hyphen_values = true, value_parser = steps)]
    max_steps: Option<u64>,

    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Read the specification from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    pub(super) config: Option<PathBuf>,
    /// Write records to disk while they are computed instead of keeping them in memory, in NAME.part beside the first .npz file of
    /// --out (or the first file): for ensembles larger than memory, and for computations that may be interrupted
    #[arg(long, help_heading = "Output")]
    pub(super) stream: bool,
    /// Resume the unfinished computation of a command with --stream, by the NAME of the file that it was to write, with all options
    /// of that command, files included; the files get the same bytes as without the interruption. Options that are given again must
    /// have the same values. Without NAME: the first .npz file, or the first file, of --out; if nothing was begun for it, the
    /// computation begins as with --stream
    #[arg(long, value_name = "NAME", help_heading = "Output", num_args = 0..=1)]
    pub(super) resume: Option<Option<PathBuf>>,

    /// Where to compute: auto (GPUs for 20000 runs and more, if any can be used), cpu, gpu, or gpu+cpu (both together)
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::map_backend)]
    pub(super) backend: MapBackend,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub(super) threads: Option<usize>,
    /// GPUs that share the work, which chooses --backend gpu; their number changes no bit [default: all, but only as many as the
    /// runs can keep busy]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub(super) gpus: Option<u32>,

    /// Fail (exit code 1), after writing all files, if the relative energy error of any run exceeds X; without --max-error, errors
    /// above 1e-6 are a warning
    #[arg(long, value_name = "X", help_heading = "Accuracy", allow_hyphen_values = true, value_parser = values::number)]
    pub(super) max_error: Option<f64>,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

/// What is written: the record of an unfinished computation holds all of it.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct OutputArgs {
    /// Write the records to .npz or .csv, or the map of outcomes to .png; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Vec<PathBuf>,
    /// Draw the distributions of e², velocities and lifetimes to PREFIX-e2.png, PREFIX-v-inf.png and PREFIX-lifetime.png
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    pub(super) theme: Theme,
    /// Write the whole specification to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    pub(super) save_config: Option<PathBuf>,
    /// The file of points.
    #[arg(skip)]
    pub(super) points: Option<PathBuf>,
    /// The energy error that is allowed.
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

/// A whole number, also written as 1e6.
fn whole(text: &str, most: u64) -> Option<u64> {
    let text = text.trim();
    let exact = text.parse::<u64>().ok();
    let rounded = || whole_number(text.parse().ok()?);
    exact.or_else(rounded).filter(|n| (1..=most).contains(n))
}

fn runs(text: &str) -> Result<u64, String> {
    whole(text, 1 << 32).ok_or_else(|| "must be a whole number from 1 to 4294967296 (2^32)".into())
}

fn steps(text: &str) -> Result<u64, String> {
    whole(text, 4_000_000_000).ok_or_else(|| "must be a whole number from 1 to 4000000000".into())
}

impl Args {
    /// The values that are given.
    fn given(&self) -> Given {
        Given {
            setup: self.setup,
            n: self.n,
            seed: self.seed,
            masses: self.masses,
            a: self.a,
            e: self.e,
            inclination: self.inclination,
            node: self.node,
            argument: self.argument,
            phase: self.phase,
            distance: self.distance,
            v_inf: self.v_inf,
            impact: self.impact,
            x: self.x,
            y: self.y,
            draw: self.draw.clone(),
            map: self.map.clone(),
            size: self.size,
            order: self.order,
            steps_per_period: self.steps_per_period,
            jump: self.jump,
            escape_radius: self.escape_radius,
            radii: self.radii,
            max_time: self.max_time,
            max_steps: self.max_steps,
            max_error: self.max_error,
        }
    }

    /// What the options ask for, checked: command line over configuration file over `under`, the computation that is gone on with, or
    /// else the defaults. Starts are those of the file of `points`, if there is one.
    pub(super) fn validated(
        &self,
        under: Option<&Given>,
        points: Option<&Path>,
    ) -> Result<(Validated, Option<f64>), Failure> {
        let own = self.given();
        let mut given = own.clone();
        if let Some(path) = &self.config {
            given = given.over(config::load(path)?);
        }
        if let Some(under) = under {
            given = given.over(under.clone());
        }
        let points = match points {
            None => None,
            Some(path) => Some(Points::read(path).map_err(Failure::BadInput)?),
        };
        let refused = |e| Failure::specification(&e, own.has(e.option), self.config.as_deref());
        let valid = given.validated(points.as_ref()).map_err(refused)?;
        Ok((valid, given.max_error))
    }
}
