//! The start and the integration of a run as far as the user gives them: plain data from which a problem is made.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{BodyFile, Carried, FileError, read};
use super::spec::named;
use super::{
    Bodies, EnergyLooks, Integrator, Model, ModelError, Precision, Solver, SpecError,
    Specification, Validated,
};
use trisolar_run::Paths;
use trisolar_run::max_error;

/// Start and integration under the names of the options. The model or file determines values that are not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Given {
    /// Start model \[plummer\].
    pub model: Option<ModelName>,
    /// File of bodies to start from.
    pub input: Option<PathBuf>,
    /// Bodies: of a model, or those that the file must have.
    pub n: Option<usize>,
    /// Seed of a random model \[1\].
    pub seed: Option<u64>,
    /// Cube: half its edge (length) \[1\].
    pub half_width: Option<f64>,
    /// Cube: largest component of a velocity (length / time) \[0\].
    pub speed: Option<f64>,
    /// Cube: least and greatest mass \[all equal, 1 together\].
    pub masses: Option<[f64; 2]>,
    /// Sphere: its radius (length) \[1\].
    pub radius: Option<f64>,
    /// Kepler: half the major axis (length) \[1\].
    pub semi_major: Option<f64>,
    /// Kepler: eccentricity \[0.5\].
    pub eccentricity: Option<f64>,
    /// Kepler: mass of the second body, that of the first being 1 \[1\].
    pub mass_ratio: Option<f64>,
    /// As in [`Specification`] \[that of the model's units, or what the file tells\].
    pub g: Option<f64>,
    /// As in [`Specification`] \[what the file tells, or 0\].
    pub softening: Option<f64>,
    /// As in [`Specification`] \[one that suits the model, what the file tells, or 0.001\].
    pub dt: Option<f64>,
    /// As in [`Specification`] \[1000\].
    pub steps: Option<u64>,
    /// As in [`Specification`] \[those of the model or file\].
    pub dimensions: Option<u8>,
    /// As in [`Specification`].
    pub integrator: Option<Integrator>,
    /// As in [`Specification`].
    pub solver: Option<Solver>,
    /// As in [`Specification`].
    pub precision: Option<Precision>,
    /// When the energy is evaluated \[ends\].
    pub energy: Option<EnergyLooks>,
    /// A relative error of the energy above which the run is a failure \[none\].
    pub max_error: Option<f64>,
}

named! {
    /// A start model's name.
    ModelName {
        /// [`Model::Plummer`].
        #[default]
        Plummer = "plummer",
        /// [`Model::Cube`].
        Cube = "cube",
        /// [`Model::Sphere`].
        Sphere = "sphere",
        /// [`Model::Kepler`].
        Kepler = "kepler",
        /// [`Model::Burrau`].
        Burrau = "burrau",
        /// [`Model::FigureEight`].
        FigureEight = "figure-eight",
        /// [`Model::Lagrange`].
        Lagrange = "lagrange",
        /// [`Model::Line`].
        Line = "line",
        /// [`Model::OuterPlanets`].
        OuterPlanets = "outer-planets",
        /// [`Model::Cube`] with masses 1 to 10 and velocities up to 1 in an edge of 10.
        SixBodies = "six-bodies",
    }
}

/// Why the given values do not make a problem.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// A value that is not allowed.
    #[error("invalid value '{given}' for '--{option}': {allowed}")]
    Value {
        /// Name of the option.
        option: &'static str,
        /// The value.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// Values that do not go together, or bodies that cannot be integrated.
    #[error("{0}")]
    Other(String),
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<ModelError> for GivenError {
    fn from(error: ModelError) -> Self {
        SpecError::from(error).into()
    }
}

impl From<SpecError> for GivenError {
    fn from(error: SpecError) -> Self {
        match error {
            SpecError::Option {
                option,
                given,
                allowed,
            } => Self::Value {
                option,
                given,
                allowed: format!("must be {allowed}"),
            },
            error => Self::Other(error.to_string()),
        }
    }
}

/// What is done to every field.
macro_rules! fields {
    ($($field:ident)*) => {
        impl Given {
            /// These values, merged over those of `under`. If these values name another start, the start in `under` is ignored.
            #[must_use]
            pub fn over(self, under: Self) -> Self {
                let under = if self.model.is_some() || self.input.is_some() {
                    under.without_start()
                } else {
                    under
                };
                Self { $($field: self.$field.or(under.$field),)* }
            }

            /// Whether an option is given, by its name on the command line.
            pub fn has(&self, option: &str) -> bool {
                match option.replace('-', "_").as_str() {
                    $(stringify!($field) => self.$field.is_some(),)*
                    _ => false,
                }
            }
        }
    };
}

fields! {
    model
    input
    n
    seed
    half_width
    speed
    masses
    radius
    semi_major
    eccentricity
    mass_ratio
    g
    softening
    dt
    steps
    dimensions
    integrator
    solver
    precision
    energy
    max_error
}

impl Paths for Given {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.input.iter_mut().collect()
    }
}

impl Given {
    /// Without what belongs to a start.
    #[must_use]
    pub fn without_start(self) -> Self {
        Self {
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
            ..Self::default()
        }
    }

    /// The problem of the given model or file, and all values of the run, including the defaults.
    ///
    /// # Errors
    /// [`GivenError`].
    pub fn problem(self) -> Result<(Validated, Self), GivenError> {
        match self.input.clone() {
            Some(path) => self.of_file(&path),
            None => self.of_model(),
        }
    }

    /// The problem of these bodies with the other values of their file, in this number of dimensions. No other start may be given.
    ///
    /// # Errors
    /// [`GivenError`].
    pub fn problem_of(
        self,
        bodies: Bodies,
        dimensions: u8,
        carried: Carried,
    ) -> Result<(Validated, Self), GivenError> {
        let start = [
            ("model", self.model.is_some()),
            ("input", self.input.is_some()),
            ("n", self.n.is_some()),
            ("seed", self.seed.is_some()),
        ];
        if let Some((name, _)) = start.iter().find(|(_, given)| *given) {
            return Err(GivenError::Other(format!(
                "--{name} cannot be used with bodies"
            )));
        }
        self.refuse_parameters("bodies", &[])?;
        let told = carried.check(bodies.len());
        told.map_err(|reason| GivenError::Other(format!("bodies: {reason}")))?;
        let file = BodyFile {
            bodies,
            dimensions,
            carried,
            usual_g: 1.0,
        };
        self.of_bodies(file, "the bodies")
    }

    fn of_file(self, path: &Path) -> Result<(Validated, Self), GivenError> {
        let other = |text: &str| Err(GivenError::Other(text.into()));
        if self.model.is_some() {
            return other("--model cannot be used with --input");
        }
        if self.seed.is_some() {
            return other("--seed needs a random --model");
        }
        self.refuse_parameters("--input", &[])?;
        let file = read(path)?;
        let has = file.bodies.len();
        if let Some(n) = self.n.filter(|n| *n != has) {
            return Err(GivenError::Value {
                option: "n",
                given: n.to_string(),
                allowed: format!("{} has {has} bodies", path.display()),
            });
        }
        self.of_bodies(file, &path.display().to_string())
    }

    /// What is told of the bodies stands under the options. Notes say what is told otherwise, and what is not told.
    fn of_bodies(self, file: BodyFile, name: &str) -> Result<(Validated, Self), GivenError> {
        let BodyFile {
            bodies,
            dimensions,
            carried,
            usual_g,
        } = file;
        if let (None, Some([least, greatest])) = (self.softening, carried.softenings) {
            return Err(GivenError::Value {
                option: "softening",
                given: "not given".into(),
                allowed: format!(
                    "the bodies of {name} have different softening lengths, from {least} to {greatest}; give one for all bodies"
                ),
            });
        }
        let mut notes = Vec::new();
        let told = [
            ("g", "G", self.g, carried.g),
            ("softening", "softening", self.softening, carried.softening),
            (
                "dimensions",
                "dimensions",
                self.dimensions.map(f64::from),
                Some(f64::from(dimensions)),
            ),
        ];
        for (option, what, given, told) in told {
            if let (Some(given), Some(told)) = (given, told)
                && given != told
            {
                notes.push(format!(
                    "--{option} {given} overrides {name}, where {what} is {told}"
                ));
            }
        }
        let missing = [
            ("g", "G", self.g.or(carried.g), usual_g),
            (
                "softening",
                "a softening length",
                self.softening.or(carried.softening),
                0.0,
            ),
        ];
        for (option, what, known, usual) in missing {
            if known.is_none() {
                notes.push(format!(
                    "{name} does not contain {what}: {usual} is used; --{option} sets another value"
                ));
            }
        }
        let mut spec = self.specification(
            carried.g.unwrap_or(usual_g),
            carried.dt.unwrap_or(0.001),
            1000,
            dimensions,
        );
        spec.softening = self.softening.or(carried.softening).unwrap_or(0.0);
        spec.start_time = carried.time.unwrap_or(0.0);
        spec.names = carried.names;
        let (problem, given) = self.decided(spec, bodies)?;
        Ok((problem.with_notes(notes), given))
    }

    fn of_model(mut self) -> Result<(Validated, Self), GivenError> {
        let name = *self.model.get_or_insert_default();
        let model = self.model_of(name)?;
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
            let reason = format!("--seed: --model {name} is not random");
            return Err(GivenError::Other(reason));
        }
        if !model.is_fixed() {
            self.seed.get_or_insert(1);
        }
        let spec = self.specification(model.natural_g(), dt, steps, model.natural_dimensions());
        let seed = self.seed.unwrap_or(1);
        let bodies = model.build(self.n, seed, spec.g, spec.dimensions)?;
        self.decided(spec, bodies)
    }

    fn decided(
        mut self,
        spec: Specification,
        bodies: Bodies,
    ) -> Result<(Validated, Self), GivenError> {
        self.check_max_error()?;
        let problem = spec.validate(bodies)?;
        let spec = problem.specification();
        if self.model.is_some() || self.input.is_some() {
            self.n = Some(problem.bodies().len());
        }
        self.g = Some(spec.g);
        self.softening = Some(spec.softening);
        self.dt = Some(spec.dt);
        self.steps = Some(spec.steps);
        self.dimensions = Some(spec.dimensions);
        self.integrator = Some(spec.integrator);
        self.solver = Some(spec.solver);
        self.precision = Some(spec.precision);
        Ok((problem, self))
    }

    /// Checks the limit of the energy error.
    ///
    /// # Errors
    /// [`GivenError::Value`].
    pub fn check_max_error(&self) -> Result<(), GivenError> {
        let Some(most) = self.max_error else {
            return Ok(());
        };
        let refused = |allowed: &str| {
            Err(GivenError::Value {
                option: "max-error",
                given: most.to_string(),
                allowed: allowed.into(),
            })
        };
        match max_error(most) {
            Err(allowed) => refused(allowed),
            Ok(()) if self.energy == Some(EnergyLooks::Never) => {
                refused("needs the energy, which --energy none does not evaluate")
            }
            Ok(()) => Ok(()),
        }
    }

    fn specification(&self, g: f64, dt: f64, steps: u64, dimensions: u8) -> Specification {
        let integrator = match self.model {
            Some(ModelName::SixBodies) => Integrator::SymplecticEuler,
            _ => Integrator::VelocityVerlet,
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
            ..Specification::default()
        }
    }

    /// Refuses parameters of models, by name (such as `--radius`), where only those in `allowed` have an effect.
    ///
    /// # Errors
    /// [`GivenError::Other`].
    pub fn refuse_parameters(&self, what: &str, allowed: &[&str]) -> Result<(), GivenError> {
        let given = [
            ("--half-width", self.half_width.is_some()),
            ("--speed", self.speed.is_some()),
            ("--masses", self.masses.is_some()),
            ("--radius", self.radius.is_some()),
            ("--semi-major", self.semi_major.is_some()),
            ("--eccentricity", self.eccentricity.is_some()),
            ("--mass-ratio", self.mass_ratio.is_some()),
        ];
        let mut surplus = given
            .iter()
            .filter(|(name, given)| *given && !allowed.contains(name));
        match surplus.next() {
            Some((name, _)) => {
                let reason = format!("{name} cannot be used with {what}");
                Err(GivenError::Other(reason))
            }
            None => Ok(()),
        }
    }

    fn model_of(&self, name: ModelName) -> Result<Model, GivenError> {
        let (model, allowed): (_, &[&str]) = match name {
            ModelName::Plummer => (Model::Plummer, &[]),
            ModelName::Cube => (
                Model::Cube {
                    half_width: self.half_width.unwrap_or(1.0),
                    speed: self.speed.unwrap_or(0.0),
                    mass: self.masses.unwrap_or([1.0, 1.0]),
                    whole_masses: self.masses.is_some(),
                },
                &["--half-width", "--speed", "--masses"],
            ),
            ModelName::SixBodies => (
                Model::Cube {
                    half_width: 5.0,
                    speed: 1.0,
                    mass: [1.0, 10.0],
                    whole_masses: true,
                },
                &[],
            ),
            ModelName::Sphere => (
                Model::Sphere {
                    radius: self.radius.unwrap_or(1.0),
                },
                &["--radius"],
            ),
            ModelName::Kepler => (
                Model::Kepler {
                    a: self.semi_major.unwrap_or(1.0),
                    e: self.eccentricity.unwrap_or(0.5),
                    ratio: self.mass_ratio.unwrap_or(1.0),
                },
                &["--semi-major", "--eccentricity", "--mass-ratio"],
            ),
            ModelName::Burrau => (Model::Burrau, &[]),
            ModelName::FigureEight => (Model::FigureEight, &[]),
            ModelName::Lagrange => (Model::Lagrange, &[]),
            ModelName::Line => (Model::Line, &[]),
            ModelName::OuterPlanets => (Model::OuterPlanets, &[]),
        };
        self.refuse_parameters(&format!("--model {name}"), allowed)?;
        Ok(model)
    }
}
