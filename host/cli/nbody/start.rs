//! From what is given to a problem: the model or file it starts from, or the checkpoint it goes on from.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trisolar::nbody::files::{Checkpoint, FileError, History, read_bodies};
use trisolar::nbody::{Bodies, Integrator, Model, Snapshot, SpecError, Specification, Validated};

use super::super::Failure;
use super::given::{Given, ModelName};
use super::options::{Args, Format};

/// A problem and where in it to begin.
pub(super) struct Start {
    pub problem: Validated,
    pub from: Snapshot,
    pub start_energy: Option<f64>,
    /// What was seen before.
    pub history: History,
    /// What it starts from, in words.
    pub name: String,
    /// All that was given or decided, to be saved.
    pub given: Given,
}

impl Args {
    pub(super) fn start(&self) -> Result<Start, Failure> {
        if let Some(path) = &self.resume {
            self.given.refuse_parameters("--resume", &[])?;
            return resumed(path, self.given.steps);
        }
        let given = match &self.config {
            Some(path) => self.given.clone().over(Given::load(path)?),
            None => self.given.clone(),
        };
        let place = |option: &str| match &self.config {
            Some(path) if !self.given.has(option) => {
                format!("{} in {}", option.replace('-', "_"), path.display())
            }
            _ => format!("--{option}"),
        };
        let refused = |error: SpecError| match error {
            SpecError::Option {
                option,
                given,
                allowed,
            } => Failure::value(&given, &place(option), &format!("must be {allowed}")),
            error => Failure::BadInput(error.to_string()),
        };
        let textbook = self.format == Format::Textbook;
        match given.input.clone() {
            Some(path) => given.start_with_file(&path, textbook, refused),
            None => given.start_with_model(textbook, refused),
        }
    }
}

fn resumed(path: &Path, steps: Option<u64>) -> Result<Start, Failure> {
    let Checkpoint {
        mut specification,
        step,
        start_energy,
        bodies,
        history,
    } = Checkpoint::read(path).map_err(file)?;
    if let Some(steps) = steps {
        if steps < step {
            let reason = format!("the checkpoint has {step} steps already");
            return Err(Failure::value(&steps.to_string(), "--steps", &reason));
        }
        specification.steps = steps;
    }
    let dt = specification.dt;
    let invalid = |e: SpecError| Failure::BadInput(format!("{}: {e}", path.display()));
    let problem = specification.validate(bodies).map_err(invalid)?;
    let from = Snapshot {
        step,
        time: step as f64 * dt,
        bodies: problem.bodies().clone(),
    };
    Ok(Start {
        problem,
        from,
        start_energy,
        history,
        name: path.display().to_string(),
        given: Given::default(),
    })
}

impl Given {
    fn start_with_file(
        self,
        path: &Path,
        textbook: bool,
        refused: impl Fn(SpecError) -> Failure,
    ) -> Result<Start, Failure> {
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
            .unwrap_or_default()
            .to_ascii_lowercase();
        let textual = !["csv", "npz", "tipsy", "bin"].contains(&extension.as_str());
        let g = if textual { 6.673e-11 } else { 1.0 };
        let spec = self.specification(g, 0.001, 1000, dimensions, textbook);
        self.begin(spec, bodies, path.display().to_string(), refused)
    }

    fn start_with_model(
        mut self,
        textbook: bool,
        refused: impl Fn(SpecError) -> Failure,
    ) -> Result<Start, Failure> {
        let name = self.model.unwrap_or(ModelName::Plummer);
        let (model, label) = self.model(name)?;
        let (mut dt, mut steps) = (model.natural_dt(), 1000);
        match name {
            ModelName::SixBodies => {
                (dt, steps) = (1e-5, 5_000_000);
                self.n.get_or_insert(6);
            }
            ModelName::Line => {
                self.n.get_or_insert(4);
            }
            _ => {}
        }
        if model.is_fixed() && self.seed.is_some() {
            let reason = format!("--seed: --model {label} is not random");
            return Err(Failure::BadInput(reason));
        }
        let g = model.natural_g();
        let spec = self.specification(g, dt, steps, model.natural_dimensions(), textbook);
        let bodies = model
            .build(self.n, self.seed.unwrap_or(1), spec.g, spec.dimensions)
            .map_err(&refused)?;
        self.model = Some(name);
        if !model.is_fixed() {
            self.seed.get_or_insert(1);
        }
        self.begin(spec, bodies, label.to_owned(), refused)
    }

    fn begin(
        mut self,
        spec: Specification,
        bodies: Bodies,
        name: String,
        refused: impl Fn(SpecError) -> Failure,
    ) -> Result<Start, Failure> {
        let problem = spec.validate(bodies).map_err(refused)?;
        let spec = problem.specification();
        self.n = Some(problem.bodies().len());
        self.g = Some(spec.g);
        self.softening = Some(spec.softening);
        self.dt = Some(spec.dt);
        self.steps = Some(spec.steps);
        self.dimensions = Some(spec.dimensions);
        self.integrator = Some(spec.integrator);
        self.solver = Some(spec.solver);
        self.precision = Some(spec.precision);
        let from = Snapshot {
            step: 0,
            time: 0.0,
            bodies: problem.bodies().clone(),
        };
        Ok(Start {
            problem,
            from,
            start_energy: None,
            history: History::default(),
            name,
            given: self,
        })
    }

    fn specification(
        &self,
        g: f64,
        dt: f64,
        steps: u64,
        dimensions: u8,
        textbook: bool,
    ) -> Specification {
        let integrator = match (textbook, self.model) {
            (true, _) => Integrator::ExplicitEuler,
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

fn file(error: FileError) -> Failure {
    Failure::BadInput(error.to_string())
}

/// All that ranks other than the first need of a start, beside the bodies.
#[derive(Serialize, Deserialize)]
struct Head {
    specification: Specification,
    step: u64,
    name: String,
}

impl Start {
    /// As bytes for other processes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            specification: self.problem.specification().clone(),
            step: self.from.step,
            name: self.name.clone(),
        };
        let head = serde_json::to_vec(&head).expect("plain numbers and names");
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        let bodies = &self.from.bodies;
        let vectors = bodies.position.iter().chain(&bodies.velocity).flatten();
        for number in bodies.mass.iter().chain(vectors) {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes) of the same program.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let broken = || Failure::Failed("what rank 0 sent is incomplete".into());
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
        let (head, numbers) = rest
            .split_at_checked(u64::from_le_bytes(*length) as usize)
            .ok_or_else(broken)?;
        let head: Head = serde_json::from_slice(head).map_err(|_| broken())?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let numbers: Vec<f64> = numbers.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let n = numbers.len() / 7;
        let (vectors, _) = numbers[n..].as_chunks::<3>();
        let bodies = Bodies {
            mass: numbers[..n].to_vec(),
            position: vectors[..n].to_vec(),
            velocity: vectors[n..].to_vec(),
        };
        let dt = head.specification.dt;
        let problem = head
            .specification
            .validate(bodies)
            .map_err(|e| Failure::Failed(e.to_string()))?;
        let from = Snapshot {
            step: head.step,
            time: head.step as f64 * dt,
            bodies: problem.bodies().clone(),
        };
        Ok(Self {
            problem,
            from,
            start_energy: None,
            history: History::default(),
            name: head.name,
            given: Given::default(),
        })
    }
}
