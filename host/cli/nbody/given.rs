//! The options that say what a run starts from and how it is integrated, and configuration files of them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use trisolar::io::IoError;
use trisolar::io::atomic::{AtomicFile, write_with};
use trisolar::nbody::{EnergyLooks, Given, Integrator, ModelName, Precision, Solver};

use super::super::{Failure, config, values};

/// Start and integration; what is not given is decided by the model or file.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct GivenArgs {
    /// Start model: plummer, cube, sphere, kepler, burrau, figure-eight, lagrange, line (of Pacheco & Malensek 2021),
    /// outer-planets, or six-bodies (masses 1 to 10 in a cube of side 10, 5000000 steps of 1e-5; Bertinelli 2024/25) [default:
    /// plummer]
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
    /// Number of bodies of a model [default: 1024; line: 4], or the number that the file must have
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = bodies)]
    pub n: Option<usize>,
    /// Seed of a random model [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    pub seed: Option<u64>,
    /// cube: half the length of an edge (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub half_width: Option<f64>,
    /// cube: largest component of a velocity (length / time) [default: 0]
    #[arg(long, value_name = "SPEED", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub speed: Option<f64>,
    /// cube: smallest and largest mass [default: equal masses, 1 in total]
    #[arg(long, value_name = "LOW,HIGH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::pair)]
    pub masses: Option<[f64; 2]>,
    /// sphere: radius (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub radius: Option<f64>,
    /// kepler: semi-major axis (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub semi_major: Option<f64>,
    /// kepler: eccentricity, from 0 to below 1 [default: 0.5]
    #[arg(long, value_name = "E", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub eccentricity: Option<f64>,
    /// kepler: mass of the second body; the first has mass 1 [default: 1]
    #[arg(long, value_name = "RATIO", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    pub mass_ratio: Option<f64>,

    /// Gravitational constant (length^3 / mass / time^2) [default: that of the model's units or of the file; if the file has none,
    /// 6.673e-11 for text in the format of Pacheco & Malensek (2021) and 1 for others]
    #[arg(long, value_name = "G", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub g: Option<f64>,
    /// Softening length (length) [default: that of the file, or 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub softening: Option<f64>,
    /// Time step (time) [default: one that suits the model, that of the file, or 0.001]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub dt: Option<f64>,
    /// Number of steps [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Integration", allow_hyphen_values = true, value_parser = steps)]
    pub steps: Option<u64>,
    /// Dimensions: 2 (the plane z = 0) or 3 [default: 3; 2 for line, for texts of 5 columns and for files that say so]
    #[arg(long, value_name = "D", help_heading = "Integration", allow_hyphen_values = true, value_parser = dimensions)]
    pub dimensions: Option<u8>,
    /// explicit-euler, symplectic-euler, leapfrog, velocity-verlet, forest-ruth, adams-bashforth-2, adams-bashforth-4 or
    /// runge-kutta-4 [default: velocity-verlet; explicit-euler with --format textbook]
    #[arg(long, value_name = "NAME", help_heading = "Integration", value_parser = integrator)]
    pub integrator: Option<Integrator>,
    /// Solver: basic (each pair is evaluated twice) or reduced (each pair once); their sums differ in the last bits [default:
    /// reduced]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub solver: Option<Solver>,
    /// Arithmetic: f64 (the same bits on every machine), f32 (fast on a GPU; GPUs and CPUs give different bits) or float-float
    /// (pairs of f32, 44 bits) [default: f64]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub precision: Option<Precision>,

    /// When to evaluate the energy, from which the error of the run follows: ends (at the start and at the end; takes a time
    /// proportional to the square of the number of bodies) or none (the error is then not known) [default: ends]
    #[arg(long, value_name = "NAME", help_heading = "Accuracy")]
    pub energy: Option<EnergyLooks>,
    /// Fail (exit code 1), after writing all files, if the relative energy error exceeds X at the end or at any record; without
    /// --max-error, an error above 0.01 is a warning
    #[arg(long, value_name = "X", help_heading = "Accuracy", allow_hyphen_values = true, value_parser = values::number)]
    pub max_error: Option<f64>,
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
            energy: self.energy,
            max_error: self.max_error,
        }
    }
}

/// Reads a configuration file.
pub(super) fn load(path: &Path) -> Result<Given, Failure> {
    let text = config::read(path)?;
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
