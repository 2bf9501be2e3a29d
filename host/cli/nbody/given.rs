//! The options that say what a run starts from and how it is integrated, and configuration files of them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};
use trisolar::nbody::{Given, Integrator, ModelName, Precision, Solver};

use super::super::{Failure, values};

/// Start and integration; what is not given is decided by the model or file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GivenArgs {
    /// Start model: plummer, cube, sphere, kepler, burrau, figure-eight, lagrange, line (the textbook's), outer-planets, or
    /// six-bodies (masses 1 to 10 in a cube of 10, 5000000 steps of 1e-5) [default: plummer]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Start",
        conflicts_with = "input"
    )]
    pub model: Option<ModelName>,
    /// Start from a file of bodies
    #[arg(long, value_name = "FILE", help_heading = "Start")]
    pub input: Option<PathBuf>,
    /// Bodies: of a model [default: 1024; line: 4], or those that the file must have
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = bodies)]
    pub n: Option<usize>,
    /// Seed of a random model [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    pub seed: Option<u64>,
    /// cube: half its edge (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub half_width: Option<f64>,
    /// cube: largest component of a velocity (length / time) [default: 0]
    #[arg(long, value_name = "SPEED", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub speed: Option<f64>,
    /// cube: least and greatest mass [default: all equal, 1 together]
    #[arg(long, value_name = "LOW,HIGH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::pair)]
    pub masses: Option<[f64; 2]>,
    /// sphere: its radius (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub radius: Option<f64>,
    /// kepler: half the major axis (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub semi_major: Option<f64>,
    /// kepler: eccentricity, from 0 to below 1 [default: 0.5]
    #[arg(long, value_name = "E", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub eccentricity: Option<f64>,
    /// kepler: mass of the second body, that of the first being 1 [default: 1]
    #[arg(long, value_name = "RATIO", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub mass_ratio: Option<f64>,

    /// Gravitational constant (length^3 / mass / time^2) [default: that of the model's units; 1 for csv, npz and TIPSY,
    /// 6.673e-11 for text]
    #[arg(long, value_name = "G", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub g: Option<f64>,
    /// Softening length (length) [default: 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub softening: Option<f64>,
    /// Time step (time) [default: one that suits the model, or 0.001]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub dt: Option<f64>,
    /// Steps [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Integration", allow_hyphen_values = true, value_parser = steps)]
    pub steps: Option<u64>,
    /// 2 (the plane z = 0) or 3 [default: 3; 2 for line and texts of 5 columns]
    #[arg(long, value_name = "D", help_heading = "Integration", allow_hyphen_values = true, value_parser = dimensions)]
    pub dimensions: Option<u8>,
    /// explicit-euler, symplectic-euler, leapfrog, velocity-verlet, forest-ruth, adams-bashforth-2, adams-bashforth-4 or
    /// runge-kutta-4 [default: velocity-verlet; explicit-euler with --format textbook]
    #[arg(long, value_name = "NAME", help_heading = "Integration", value_parser = integrator)]
    pub integrator: Option<Integrator>,
    /// basic (each pair twice) or reduced (each pair once): their sums differ in the last bits [default: reduced]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub solver: Option<Solver>,
    /// f64 (the same bits on every machine), f32 (fast on a GPU; other bits there than on a CPU) or float-float (pairs of f32, 44
    /// bits, on CPUs) [default: f64]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub precision: Option<Precision>,
}

fn bodies(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=trisolar::nbody::MAX_BODIES) => Ok(n),
        _ => Err(format!(
            "must be a whole number from 1 to {}",
            trisolar::nbody::MAX_BODIES
        )),
    }
}

pub(super) fn steps(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n @ 1..=trisolar::nbody::MAX_STEPS) => Ok(n),
        _ => Err("must be a whole number from 1 to 9007199254740992 (2^53)".into()),
    }
}

fn integrator(text: &str) -> Result<Integrator, String> {
    Integrator::named(text, Integrator::of_any_bodies())
}

fn dimensions(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(n @ (2 | 3)) => Ok(n),
        _ => Err("must be 2 or 3".into()),
    }
}

impl GivenArgs {
    /// What is given, as the library takes it.
    pub(super) fn given(&self) -> Given {
        Given {
            model: self.model,
            input: self.input.clone(),
            n: self.n,
            seed: self.seed,
            half_width: self.half_width,
            speed: self.speed,
            masses: self.masses,
            radius: self.radius,
            semi_major: self.semi_major,
            eccentricity: self.eccentricity,
            mass_ratio: self.mass_ratio,
            g: self.g,
            softening: self.softening,
            dt: self.dt,
            steps: self.steps,
            dimensions: self.dimensions,
            integrator: self.integrator,
            solver: self.solver,
            precision: self.precision,
        }
    }
}

/// Reads a configuration file.
pub(super) fn load(path: &Path) -> Result<Given, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let name = path.display().to_string();
        Failure::value(&name, "--config", &format!("cannot read it: {e}"))
    })?;
    toml::from_str(&text).map_err(|e| {
        let before = e
            .span()
            .map_or("", |span| text.get(..span.start).unwrap_or(""));
        let line = before.matches('\n').count() + 1;
        Failure::BadInput(format!("{}:{line}: {}", path.display(), e.message()))
    })
}

/// Writes one, so that [`load`] gives back the same bits.
pub(super) fn save(given: &Given, path: &Path) -> Result<(), Failure> {
    let values = toml::Table::try_from(given)
        .map_err(|e| Failure::BadInput(format!("--save-config {}: {e}", path.display())))?;
    let mut text = String::from("# A Trisolar N-body run: trisolar nbody --config THIS_FILE\n");
    for (key, value) in values {
        let _ = writeln!(text, "{key} = {value}");
    }
    write_with(path, |file: &mut AtomicFile| -> Result<(), IoError> {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })?;
    Ok(())
}
