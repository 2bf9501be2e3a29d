//! The options of `trisolar nbody`, and the problem they describe.

use std::path::PathBuf;

use trisolar::divergence::Backend;
use trisolar::nbody::files::{Checkpoint, FileError, read_bodies};
use trisolar::nbody::{
    Integrator, Model, Precision, Schedule, Snapshot, Solver, SpecError, Specification, Validated,
};

use super::super::{Failure, values};

/// Integrate bodies that all pull each other. Without options: 1024 bodies of a Plummer sphere, 1000 steps.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "Lengths, times and masses are in any consistent units; --g ties them together.\n\
                  In f64 a run has the same bits on every CPU and GPU, for any number of threads.\n\
                  Start files: .csv (mass,x,y,z,vx,vy,vz), .npz (mass, position, velocity), .tipsy or .bin (TIPSY), any other: text,\n\
                  a body a line, mass x y vx vy or mass x y z vx vy vz."
)]
pub(crate) struct Args {
    /// Start model: plummer, cube, sphere, kepler, burrau, figure-eight, lagrange, line (the textbook's), outer-planets, or
    /// six-bodies (masses 1 to 10 in a cube of 10, 5000000 steps of 1e-5) [default: plummer]
    #[arg(long, value_name = "NAME", help_heading = "Start", value_parser = ModelName::parse, conflicts_with_all = ["input", "resume"])]
    model: Option<ModelName>,
    /// Start from a file of bodies
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Start",
        conflicts_with = "resume"
    )]
    input: Option<PathBuf>,
    /// Go on from a checkpoint with its specification, to the bits of an uninterrupted run
    #[arg(long, value_name = "FILE.npz", help_heading = "Start",
        conflicts_with_all = ["n", "seed", "g", "softening", "dt", "dimensions", "integrator", "solver", "precision"])]
    resume: Option<PathBuf>,
    /// Bodies: of a model [default: 1024; line: 4], or those that the file must have
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = bodies)]
    n: Option<usize>,
    /// Seed of a random model [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    seed: Option<u64>,
    /// cube: half its edge (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    half_width: Option<f64>,
    /// cube: largest component of a velocity (length / time) [default: 0]
    #[arg(long, value_name = "SPEED", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    speed: Option<f64>,
    /// cube: least and greatest mass [default: all equal, 1 together]
    #[arg(long, value_name = "LOW,HIGH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::pair)]
    masses: Option<[f64; 2]>,
    /// sphere: its radius (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    radius: Option<f64>,
    /// kepler: half the major axis (length) [default: 1]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    semi_major: Option<f64>,
    /// kepler: eccentricity, from 0 to below 1 [default: 0.5]
    #[arg(long, value_name = "E", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    eccentricity: Option<f64>,
    /// kepler: mass of the second body, that of the first being 1 [default: 1]
    #[arg(long, value_name = "RATIO", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    mass_ratio: Option<f64>,

    /// Gravitational constant (length^3 / mass / time^2) [default: that of the model's units; 1 for csv, npz and TIPSY,
    /// 6.673e-11 for text]
    #[arg(long, value_name = "G", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    g: Option<f64>,
    /// Softening length (length) [default: 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    softening: Option<f64>,
    /// Time step (time) [default: one that suits the model, or 0.001]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    dt: Option<f64>,
    /// Steps [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Integration", allow_hyphen_values = true, value_parser = steps)]
    steps: Option<u64>,
    /// 2 (the plane z = 0) or 3 [default: 3; 2 for line and texts of 5 columns]
    #[arg(long, value_name = "D", help_heading = "Integration", allow_hyphen_values = true, value_parser = dimensions)]
    dimensions: Option<u8>,
    /// explicit-euler, symplectic-euler, leapfrog, velocity-verlet, runge-kutta-4 or forest-ruth [default: velocity-verlet;
    /// explicit-euler with --format textbook]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    integrator: Option<Integrator>,
    /// basic (each pair twice) or reduced (each pair once): their sums differ in the last bits [default: reduced]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    solver: Option<Solver>,
    /// f64 (the same bits on every machine) or f32 (on a GPU) [default: f64]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    precision: Option<Precision>,

    /// Look at the bodies every so many steps [default: at the end only]
    #[arg(long, value_name = "K", help_heading = "Output", allow_hyphen_values = true, value_parser = steps)]
    pub every: Option<u64>,
    /// Print only the last state, with --format textbook
    #[arg(long, help_heading = "Output")]
    pub final_only: bool,
    /// What to print: summary, or textbook (the textbook's states)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Output",
        default_value = "summary"
    )]
    pub format: Format,
    /// Write the last state to .csv, .npz or .txt; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Vec<PathBuf>,
    /// Write energies, momenta, centre, virial ratio and Lagrange radii over time to .csv or .npz
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub series: Option<PathBuf>,
    /// Write positions over time to an npz file
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    pub trajectory: Option<PathBuf>,
    /// Draw energy error and orbits to PREFIX-energy.png and PREFIX-orbits.png
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub plots: Option<PathBuf>,
    /// Write a checkpoint with every look at the bodies
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    pub checkpoint: Option<PathBuf>,

    /// Where to compute: auto (a GPU for 2048 bodies and more, if one can be used), cpu or gpu
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub backend: Backend,
    /// Number of the GPU
    #[arg(
        long,
        value_name = "N",
        help_heading = "Computation",
        default_value_t = 0
    )]
    pub device: u32,
    /// GPUs that compute together, from --device on; their number changes no bit [default: all from 131072 bodies on]
    #[arg(long, value_name = "N", help_heading = "Computation", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub gpus: Option<u32>,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use, 1 for few bodies]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub threads: Option<usize>,
    /// How threads share rows: dynamic, block or cyclic
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value_t = Schedule::Dynamic)]
    pub schedule: Schedule,

    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report", conflicts_with = "format")]
    pub json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub quiet: bool,
}

/// What goes to the standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Times, energies, files.
    Summary,
    /// States as the textbook prints them.
    Textbook,
}

/// A start model's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelName {
    Plummer,
    Cube,
    Sphere,
    Kepler,
    Burrau,
    FigureEight,
    Lagrange,
    Line,
    OuterPlanets,
    SixBodies,
}

impl ModelName {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "plummer" => Self::Plummer,
            "cube" => Self::Cube,
            "sphere" => Self::Sphere,
            "kepler" => Self::Kepler,
            "burrau" => Self::Burrau,
            "figure-eight" => Self::FigureEight,
            "lagrange" => Self::Lagrange,
            "line" => Self::Line,
            "outer-planets" => Self::OuterPlanets,
            "six-bodies" => Self::SixBodies,
            _ => {
                return Err(
                    "must be plummer, cube, sphere, kepler, burrau, figure-eight, lagrange, line, \
                     outer-planets or six-bodies"
                        .into(),
                );
            }
        })
    }
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

fn steps(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n @ 1..=trisolar::nbody::MAX_STEPS) => Ok(n),
        _ => Err("must be a whole number from 1 to 9007199254740992 (2^53)".into()),
    }
}

fn dimensions(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(n @ (2 | 3)) => Ok(n),
        _ => Err("must be 2 or 3".into()),
    }
}

/// A problem and where in it to begin.
pub(super) struct Start {
    pub problem: Validated,
    pub from: Snapshot,
    pub start_energy: Option<f64>,
    /// What it starts from, in words.
    pub name: String,
}

impl Args {
    pub(super) fn start(&self) -> Result<Start, Failure> {
        if let Some(path) = &self.resume {
            return self.resumed(path);
        }
        if let Some(path) = &self.input {
            self.refuse_parameters("--input", &[])?;
            let (bodies, dimensions) = read_bodies(path).map_err(file)?;
            if let Some(n) = self.n
                && n != bodies.len()
            {
                let reason = format!("{} has {} bodies", path.display(), bodies.len());
                return Err(Failure::value(&n.to_string(), "--n", &reason));
            }
            if self.seed.is_some() {
                return Err(Failure::BadInput("--seed needs a random --model".into()));
            }
            let extension = path
                .extension()
                .and_then(|e| e.to_str())
                .unwrap_or_default();
            let textual = !["csv", "npz", "tipsy", "bin"].contains(&extension);
            let g = if textual { 6.673e-11 } else { 1.0 };
            let spec = self.specification(g, 0.001, 1000, dimensions);
            return Self::begin(spec, bodies, path.display().to_string());
        }
        let name = self.model.unwrap_or(ModelName::Plummer);
        let (model, label) = self.model(name)?;
        let (mut dt, mut steps, mut n) = (model.natural_dt(), 1000, self.n);
        match name {
            ModelName::SixBodies => (dt, steps, n) = (1e-5, 5_000_000, Some(n.unwrap_or(6))),
            ModelName::Line => n = Some(n.unwrap_or(4)),
            _ => {}
        }
        if self.seed.is_some() && model.is_fixed() {
            return Err(Failure::BadInput(format!(
                "--seed: --model {label} is not random"
            )));
        }
        let spec = self.specification(model.natural_g(), dt, steps, model.natural_dimensions());
        let bodies = model
            .build(n, self.seed.unwrap_or(1), spec.g, spec.dimensions)
            .map_err(refused)?;
        Self::begin(spec, bodies, label.to_owned())
    }

    fn begin(
        spec: Specification,
        bodies: trisolar::nbody::Bodies,
        name: String,
    ) -> Result<Start, Failure> {
        let problem = spec.validate(bodies).map_err(refused)?;
        let from = Snapshot {
            step: 0,
            time: 0.0,
            bodies: problem.bodies().clone(),
        };
        Ok(Start {
            problem,
            from,
            start_energy: None,
            name,
        })
    }

    fn resumed(&self, path: &std::path::Path) -> Result<Start, Failure> {
        self.refuse_parameters("--resume", &[])?;
        let checkpoint = Checkpoint::read(path).map_err(file)?;
        let Checkpoint {
            mut specification,
            step,
            start_energy,
            bodies,
        } = checkpoint;
        if let Some(steps) = self.steps {
            if steps < step {
                let reason = format!("the checkpoint has {step} steps already");
                return Err(Failure::value(&steps.to_string(), "--steps", &reason));
            }
            specification.steps = steps;
        }
        let dt = specification.dt;
        let problem = specification.validate(bodies).map_err(refused)?;
        let bodies = problem.bodies().clone();
        let from = Snapshot {
            step,
            time: step as f64 * dt,
            bodies,
        };
        Ok(Start {
            problem,
            from,
            start_energy,
            name: path.display().to_string(),
        })
    }

    fn specification(&self, g: f64, dt: f64, steps: u64, dimensions: u8) -> Specification {
        let integrator = match (self.format, self.model) {
            (Format::Textbook, _) => Integrator::ExplicitEuler,
            (_, Some(ModelName::SixBodies)) => Integrator::SymplecticEuler,
            _ => Integrator::default(),
        };
        Specification {
            g: self.g.unwrap_or(g),
            softening: self.softening.unwrap_or(0.0),
            dt: self.dt.unwrap_or(dt),
            steps: self.steps.unwrap_or(steps),
            dimensions: self.dimensions.unwrap_or(dimensions),
            integrator: self.integrator.unwrap_or(integrator),
            solver: self.solver.unwrap_or_default(),
            precision: self.precision.unwrap_or_default(),
        }
    }

    /// Options of models other than those listed.
    fn refuse_parameters(&self, what: &str, allowed: &[&str]) -> Result<(), Failure> {
        let given = [
            ("--half-width", self.half_width.is_some()),
            ("--speed", self.speed.is_some()),
            ("--masses", self.masses.is_some()),
            ("--radius", self.radius.is_some()),
            ("--semi-major", self.semi_major.is_some()),
            ("--eccentricity", self.eccentricity.is_some()),
            ("--mass-ratio", self.mass_ratio.is_some()),
        ];
        match given
            .iter()
            .find(|(name, given)| *given && !allowed.contains(name))
        {
            Some((name, _)) => Err(Failure::BadInput(format!(
                "{name} cannot be used with {what}"
            ))),
            None => Ok(()),
        }
    }

    fn model(&self, name: ModelName) -> Result<(Model, &'static str), Failure> {
        let (model, label, allowed): (_, _, &[&str]) = match name {
            ModelName::Plummer => (Model::Plummer, "plummer", &[]),
            ModelName::Cube => (
                Model::Cube {
                    half_width: self.half_width.unwrap_or(1.0),
                    speed: self.speed.unwrap_or(0.0),
                    mass: self.masses.unwrap_or([1.0, 1.0]),
                    whole_masses: self.masses.is_some(),
                },
                "cube",
                &["--half-width", "--speed", "--masses"],
            ),
            ModelName::SixBodies => (
                Model::Cube {
                    half_width: 5.0,
                    speed: 1.0,
                    mass: [1.0, 10.0],
                    whole_masses: true,
                },
                "six-bodies",
                &[],
            ),
            ModelName::Sphere => (
                Model::Sphere {
                    radius: self.radius.unwrap_or(1.0),
                },
                "sphere",
                &["--radius"],
            ),
            ModelName::Kepler => (
                Model::Kepler {
                    a: self.semi_major.unwrap_or(1.0),
                    e: self.eccentricity.unwrap_or(0.5),
                    ratio: self.mass_ratio.unwrap_or(1.0),
                },
                "kepler",
                &["--semi-major", "--eccentricity", "--mass-ratio"],
            ),
            ModelName::Burrau => (Model::Burrau, "burrau", &[]),
            ModelName::FigureEight => (Model::FigureEight, "figure-eight", &[]),
            ModelName::Lagrange => (Model::Lagrange, "lagrange", &[]),
            ModelName::Line => (Model::Line, "line", &[]),
            ModelName::OuterPlanets => (Model::OuterPlanets, "outer-planets", &[]),
        };
        self.refuse_parameters(&format!("--model {label}"), allowed)?;
        Ok((model, label))
    }
}

fn refused(error: SpecError) -> Failure {
    Failure::BadInput(error.to_string())
}

fn file(error: FileError) -> Failure {
    match error {
        FileError::Io(error) => error.into(),
        error => Failure::BadInput(error.to_string()),
    }
}
