//! The start and the integration of a run as far as the user gives them: plain data from which a problem is made.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{self, BodyFile, Carried, FileError};
use super::spec::{MAX_STEPS, named};
use super::{
    Bodies, EnergyLooks, Integrator, MAX_BODIES, Method, Methods, Model, ModelError, Precision,
    Solver, SpecError, Specification, UnitSystem, Validated,
};
use trisolar_run::Paths;
use trisolar_run::max_error;
use trisolar_spec::{Parameters as _, parameters, read};

/// The number of longest steps in the time that a model is known for, so many that paths through their ends are smooth.
fn longest_steps(name: ModelName) -> f64 {
    match name {
        ModelName::Kepler | ModelName::FigureEight | ModelName::Lagrange => 200.0,
        _ => 5000.0,
    }
}

/// The relative difference of constants of gravitation that are the same, with other digits.
const SAME_G: f64 = 1e-6;

/// The units of models that have particular ones.
fn own_units(name: ModelName) -> Option<UnitSystem> {
    let text = match name {
        ModelName::OuterPlanets | ModelName::SolarSystem => "au,days,msun",
        ModelName::Line => "m,s,kg",
        _ => return None,
    };
    text.parse().ok()
}

/// The heading of parameters of a start.
const START: &str = "Start";

parameters! {
    /// Start and integration under the names of the options. The model or file determines values that are not given.
    pub struct Overrides {
        START replaced by model, input {
            /// Start model: plummer, king, cube, sphere, kepler, burrau, figure-eight, lagrange, line (of Pacheco & Malensek 2021),
            /// outer-planets, solar-system (eight planets and Pluto on 2000-01-01 12:00; au, days, solar masses), or six-bodies (masses 1 to 10 in a cube of side 10, 5000000 steps of 1e-5; Bertinelli 2024/25)
            model: Option<ModelName> = "NAME" => read::parsed, default "plummer", where { conflicts: &["input"] };
            /// Start from a file of bodies
            input: Option<PathBuf> = "FILE";
            /// Number of bodies of a model, or the number that the file must have
            n: Option<usize> = "N" => |text| read::whole(text, 1..=MAX_BODIES as u64), default "1024; line: 4";
            /// Seed of a random model
            seed: Option<u64> = "SEED" => read::parsed, default "1";
            /// Move the bodies at the start, each coordinate by a random number up to this share of their root mean square distance from
            /// their mean position (--seed); two such runs show how fast neighbouring starts part
            perturb: Option<f64> = "SHARE" => read::number;
            /// king: dimensionless central potential, 0.1 to 16
            w0: Option<f64> = "W0" => read::number, default "6";
            /// cube: half the length of an edge
            half_width: Option<f64> = "LENGTH" => read::number, unit "length", default "1";
            /// cube: largest component of a velocity
            speed: Option<f64> = "SPEED" => read::number, unit "length / time", default "0";
            /// cube: smallest and largest mass
            masses: Option<[f64; 2]> = "LOW,HIGH" => read::pair, default "equal masses, 1 in total";
            /// sphere: radius
            radius: Option<f64> = "LENGTH" => read::number, unit "length", default "1";
            /// kepler: semi-major axis
            semi_major: Option<f64> = "LENGTH" => read::number, unit "length", default "1";
            /// kepler: eccentricity, from 0 to below 1
            eccentricity: Option<f64> = "E" => read::number, default "0.5";
            /// kepler: mass of the second body; the first has mass 1
            mass_ratio: Option<f64> = "RATIO" => read::number, default "1";
        }
        "Integration" {
            /// Units of lengths, times and masses, which determine the gravitational constant, such as au,yr,msun or pc,myr,msun; the units are m, km, rearth, rsun,
            /// au, pc and kpc; s, hours, days, yr, kyr, myr and gyr; kg, mearth, mjup and msun
            units: Option<UnitSystem> = "LENGTH,TIME,MASS" => str::parse, where { conflicts: &["g"] };
            /// Gravitational constant
            g: Option<f64> = "G" => read::number, unit "length^3 / mass / time^2",
                default "that of the model's units or of the file; if the file has none, 6.673e-11 for text of five columns, the format \
                         of Pacheco & Malensek (2021), and 1 for others", where { conflicts: &["units"] };
            /// Softening length
            softening: Option<f64> = "LENGTH" => read::number, unit "length", default "that of the file, or 0", where { aliases: &["eps"] };
            /// Time step
            dt: Option<f64> = "TIME" => read::number, unit "time", default "one that suits the model, that of the file, or 0.001";
            /// Number of steps
            steps: Option<u64> = "N" => steps,
                default "those of a period or of the known history for kepler, burrau, figure-eight, lagrange, outer-planets and \
                         solar-system; 1000 for others", where { conflicts: &["end"] };
            /// Time at which the run ends, on the clock of the file if it has one, instead of --steps
            end: Option<f64> = "TIME" => read::number, unit "time", where { conflicts: &["steps"] };
            /// Dimensions: 2 (the plane z = 0) or 3
            dimensions: Option<u8> = "D" => dimensions, default "3; 2 for line, for texts of 5 columns and for files that say so";
            /// How positions and velocities advance; several names compare integrators: the same start is integrated by each, and --plots draws
            /// their energy errors into one picture
            integrator: Option<Methods> = "NAME[,NAME...]" => str::parse,
                default "velocity-verlet; forest-ruth for kepler, burrau, figure-eight, lagrange, outer-planets and solar-system; \
                         explicit-euler with --format textbook",
                where { lines: Some(Method::help) };
            /// adaptive: largest error of a step, relative to the distance of the nearest body and the speed of an orbit about it, 1e-15 to 1e-3
            tolerance: Option<f64> = "X" => read::number, default "1e-12";
            /// Solver: basic (each pair is evaluated twice) or reduced (each pair once); their sums differ in the last bits
            solver: Option<Solver> = "NAME" => read::parsed, default "reduced";
            /// Arithmetic: f64 (the same bits on every machine), f32 (fast on a GPU) or float-float (pairs of f32, 44 bits); in f32 and
            /// float-float the last bits of a GPU differ from those of a CPU
            precision: Option<Precision> = "NAME" => read::parsed, default "f64";
        }
        "Accuracy" {
            /// When to evaluate the energy, from which the error of the run follows: ends (at the start and at the end; takes a time
            /// proportional to the square of the number of bodies) or none (the error is then not known)
            energy: Option<EnergyLooks> = "NAME" => read::parsed, default "ends";
            /// Fail (exit code 1), after writing all files, if the relative energy error exceeds X at the end or at any record, or if the
            /// errors of the steps displace a body by more than X (at least 0.01) of its distance from the body that attracts it; without
            /// --max-error, an error above 0.01 is a warning
            max_error: Option<f64> = "X" => read::number;
        }
    }
}

/// A number of steps, of a run or between two records.
///
/// # Errors
/// What is allowed.
pub fn steps(text: &str) -> Result<u64, String> {
    read::whole(text, 1..=MAX_STEPS)
}

fn dimensions(text: &str) -> Result<u8, String> {
    let allowed = |_| "must be 2 or 3".to_owned();
    read::whole(text, 2..=3).map_err(allowed)
}

named! {
    /// A start model's name.
    ModelName {
        /// [`Model::Plummer`].
        #[default]
        Plummer = "plummer",
        /// [`Model::King`].
        King = "king",
        /// [`Model::Cube`].
        Cube = "cube",
        /// [`Model::Sphere`].
        Sphere = "sphere",
        /// [`Model::Kepler`].
        Kepler = "kepler",
        /// [`Model::Burrau`].
        Burrau = "burrau" or "pythagorean",
        /// [`Model::FigureEight`].
        FigureEight = "figure-eight",
        /// [`Model::Lagrange`].
        Lagrange = "lagrange",
        /// [`Model::Line`].
        Line = "line",
        /// [`Model::OuterPlanets`].
        OuterPlanets = "outer-planets",
        /// [`Model::SolarSystem`].
        SolarSystem = "solar-system",
        /// [`Model::Cube`] with masses 1 to 10 and velocities up to 1 in an edge of 10.
        SixBodies = "six-bodies",
    }
}

/// Why the given values do not make a problem.
#[derive(Debug, thiserror::Error)]
pub enum OverridesError {
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

impl From<ModelError> for OverridesError {
    fn from(error: ModelError) -> Self {
        SpecError::from(error).into()
    }
}

impl From<SpecError> for OverridesError {
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

impl Paths for Overrides {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.input.iter_mut().collect()
    }
}

impl Overrides {
    /// These values without those of a start.
    #[must_use]
    pub fn without_start(self) -> Self {
        self.without(START)
    }

    /// The model or the file of the bodies, for titles.
    pub fn start_name(&self) -> String {
        match &self.input {
            Some(path) => path.display().to_string(),
            None => self.model.unwrap_or_default().to_string(),
        }
    }

    /// The units of length and time, if they have names.
    pub fn units(&self) -> Option<[&'static str; 2]> {
        if let Some(units) = self.units {
            return Some(units.names());
        }
        if self.input.is_some() {
            return None;
        }
        self.model_of(self.model.unwrap_or_default()).ok()?.units()
    }

    /// These values for each of the integrators, if there are several.
    pub fn compared(&self) -> Option<Vec<Self>> {
        let methods = self.integrator.as_ref().map_or(&[][..], Methods::all);
        // A tolerance that none of them has is refused.
        let none = !methods.contains(&Method::Adaptive);
        let with = |method: &Method| Self {
            integrator: Some((*method).into()),
            tolerance: (self.tolerance).filter(|_| none || *method == Method::Adaptive),
            ..self.clone()
        };
        (methods.len() > 1).then(|| methods.iter().map(with).collect())
    }

    /// The problem of the given model or file, and all values of the run, including the defaults.
    ///
    /// # Errors
    /// [`OverridesError`].
    pub fn problem(self) -> Result<(Validated, Self), OverridesError> {
        match self.input.clone() {
            Some(path) => self.of_file(&path),
            None => self.of_model(),
        }
    }

    /// The problem of these bodies with the other values of their file, in this number of dimensions. No other start may be given.
    ///
    /// # Errors
    /// [`OverridesError`].
    pub fn problem_of(
        self,
        bodies: Bodies,
        dimensions: u8,
        carried: Carried,
    ) -> Result<(Validated, Self), OverridesError> {
        let start = [
            ("model", self.model.is_some()),
            ("input", self.input.is_some()),
            ("n", self.n.is_some()),
            ("seed", self.has_idle_seed()),
        ];
        if let Some((name, _)) = start.iter().find(|(_, given)| *given) {
            return Err(OverridesError::Other(format!(
                "--{name} cannot be used with bodies"
            )));
        }
        self.refuse_parameters("bodies", &[])?;
        let told = carried.check(bodies.len());
        told.map_err(|reason| OverridesError::Other(format!("bodies: {reason}")))?;
        let file = BodyFile::new(bodies, dimensions, carried, 1.0);
        self.of_bodies(file, "the bodies")
    }

    fn of_file(self, path: &Path) -> Result<(Validated, Self), OverridesError> {
        let other = |text: &str| Err(OverridesError::Other(text.into()));
        if self.model.is_some() {
            return other("--model cannot be used with --input");
        }
        if self.has_idle_seed() {
            return other("--seed needs a random --model, or --perturb");
        }
        self.refuse_parameters("--input", &[])?;
        let file = files::read(path)?;
        let has = file.bodies.len();
        if let Some(n) = self.n.filter(|n| *n != has) {
            return Err(OverridesError::Value {
                option: "n",
                given: n.to_string(),
                allowed: format!("{} has {has} bodies", path.display()),
            });
        }
        self.of_bodies(file, &path.display().to_string())
    }

    /// Options override the values of the file. Notes name the overridden values, and the defaults of values that the file lacks.
    fn of_bodies(self, file: BodyFile, name: &str) -> Result<(Validated, Self), OverridesError> {
        let BodyFile {
            bodies,
            dimensions,
            carried,
            usual_g,
            mut notes,
        } = file;
        if self.softening.is_none() {
            let checked = carried.check_softening();
            checked.map_err(|reason| FileError::contents(name, reason))?;
        }
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
        if let (Some(units), Some(told)) = (self.units, carried.g)
            && (units.g() / told - 1.0).abs() > SAME_G
        {
            let g = units.g();
            notes.push(format!(
                "--units {units} with G = {g} overrides {name}, where G is {told}"
            ));
        }
        for (option, what, given, told) in told {
            if let (Some(given), Some(told)) = (given, told)
                && given != told
            {
                notes.push(format!(
                    "--{option} {given} overrides {name}, where {what} is {told}"
                ));
            }
        }
        let given_g = self.g.or(self.units.map(UnitSystem::g));
        let missing = [
            ("g", "G", given_g.or(carried.g), usual_g),
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
        let defaults = Specification {
            g: given_g.or(carried.g).unwrap_or(usual_g),
            softening: carried.softening.unwrap_or(0.0),
            dt: carried.dt.unwrap_or(0.001),
            dimensions,
            start_time: carried.time.unwrap_or(0.0),
            names: carried.names,
            ..Specification::default()
        };
        let spec = self.specification(defaults, None)?;
        let (problem, overrides) = self.decided(spec, bodies)?;
        Ok((problem.with(notes, Vec::new()), overrides))
    }

    fn of_model(mut self) -> Result<(Validated, Self), OverridesError> {
        let name = *self.model.get_or_insert_default();
        let model = self.model_of(name)?;
        // What 1 in the model's units is in those that are asked for.
        let [length, period, mass] = match self.units.zip(own_units(name)) {
            Some((units, own)) => units.per(own),
            None => [1.0; 3],
        };
        let own_g = match (own_units(name), self.units) {
            (None, Some(units)) => units.g(),
            _ => self.g.unwrap_or(model.natural_g()),
        };
        let g = own_g * (length * length * length) / (mass * period * period);
        let mut defaults = Specification {
            g,
            dt: model.natural_dt(own_g) * period,
            dimensions: model.natural_dimensions(),
            names: model.names(),
            ..Specification::default()
        };
        let mut time = model.natural_time(own_g).map(|time| time * period);
        match name {
            ModelName::SixBodies => {
                let symplectic = Integrator::SymplecticEuler.into();
                (defaults.dt, defaults.integrator) = (1e-5, symplectic);
                time = Some(5e6 * self.dt.unwrap_or(1e-5));
                self.n.get_or_insert(6);
            }
            ModelName::Line => {
                self.n.get_or_insert(4);
            }
            _ if time.is_some() => defaults.integrator = Integrator::ForestRuth.into(),
            _ => {}
        }
        if self.method() == Some(Method::Adaptive)
            && let Some(time) = &mut time
        {
            // Steps of their own follow the close encounters, too.
            if name == ModelName::Burrau {
                *time = 70.0;
            }
            defaults.dt = *time / longest_steps(name);
        }
        if model.is_fixed() && self.has_idle_seed() {
            let reason = format!("--seed: --model {name} is not random; --perturb makes it so");
            return Err(OverridesError::Other(reason));
        }
        if !model.is_fixed() {
            self.seed.get_or_insert(1);
        }
        let spec = self.specification(defaults, time)?;
        let seed = self.seed.unwrap_or(1);
        let mut bodies = model.build(self.n, seed, own_g, spec.dimensions)?;
        if self.units.is_some() {
            bodies.scale(length, length / period);
            bodies.mass.iter_mut().for_each(|m| *m *= mass);
        }
        // The notes of models are about their own units, and about steps of one length.
        let is_noted = self.units.is_none() && self.method() != Some(Method::Adaptive);
        let notes = model.note().filter(|_| is_noted).map(str::to_owned);
        let (problem, overrides) = self.decided(spec, bodies)?;
        Ok((
            problem.with(notes.into_iter().collect(), Vec::new()),
            overrides,
        ))
    }

    /// The method, the first of several.
    pub fn method(&self) -> Option<Method> {
        self.integrator.as_ref().map(Methods::first)
    }

    /// Whether a seed is given, and only a random model could use it.
    fn has_idle_seed(&self) -> bool {
        self.seed.is_some() && self.perturb.is_none()
    }

    fn decided(
        mut self,
        spec: Specification,
        bodies: Bodies,
    ) -> Result<(Validated, Self), OverridesError> {
        self.check_max_error()?;
        let bodies = match self.perturb {
            None => bodies,
            Some(share) if share > 0.0 && share <= 1.0 => {
                bodies.perturbed(share, *self.seed.get_or_insert(1), spec.dimensions == 2)
            }
            Some(share) => {
                return Err(OverridesError::Value {
                    option: "perturb",
                    given: share.to_string(),
                    allowed: "must be above 0, at most 1".into(),
                });
            }
        };
        let problem = spec.validate(bodies)?;
        let spec = problem.specification();
        if self.model.is_some() || self.input.is_some() {
            self.n = Some(problem.bodies().len());
        }
        self.g = self.units.is_none().then_some(spec.g);
        self.softening = Some(spec.softening);
        self.dt = Some(spec.dt);
        self.steps = Some(spec.steps);
        self.end = None;
        self.dimensions = Some(spec.dimensions);
        self.integrator = Some(spec.integrator.into());
        self.tolerance = spec.tolerance;
        self.solver = Some(spec.solver);
        self.precision = Some(spec.precision);
        Ok((problem, self))
    }

    /// Checks the limit of the energy error.
    ///
    /// # Errors
    /// [`OverridesError::Value`].
    pub fn check_max_error(&self) -> Result<(), OverridesError> {
        let Some(most) = self.max_error else {
            return Ok(());
        };
        let refused = |allowed: &str| {
            Err(OverridesError::Value {
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

    /// `defaults` with the given values. If neither the number of steps nor the end is given, the run takes `time`, or 1000 steps.
    ///
    /// # Errors
    /// [`OverridesError::Value`] for an end that no steps reach.
    fn specification(
        &self,
        defaults: Specification,
        time: Option<f64>,
    ) -> Result<Specification, OverridesError> {
        let mut spec = Specification {
            g: self.g.unwrap_or(defaults.g),
            softening: self.softening.unwrap_or(defaults.softening),
            dt: self.dt.unwrap_or(defaults.dt),
            dimensions: self.dimensions.unwrap_or(defaults.dimensions),
            integrator: self.method().unwrap_or(defaults.integrator),
            tolerance: self.tolerance,
            units: self.units,
            solver: self.solver.unwrap_or_default(),
            precision: self.precision.unwrap_or_default(),
            ..defaults
        };
        // With a step of the wrong sign, or none, there is an error about the step.
        let known = time.map_or(Ok(1000), |time| match spec.dt {
            dt if dt > 0.0 => spec.steps_to(spec.start_time + time),
            _ => Ok(1000),
        });
        spec.steps = match (self.steps, self.end) {
            (Some(steps), _) => steps,
            (None, Some(end)) => spec.steps_to(end)?,
            (None, None) => known?,
        };
        Ok(spec)
    }

    /// Whether the model has a time that shows what it is known for, such as a period.
    pub fn is_of_known_time(&self) -> bool {
        let model = self.model.and_then(|name| self.model_of(name).ok());
        model.is_some_and(|model| model.natural_time(model.natural_g()).is_some())
    }

    /// Refuses parameters of models, by name, where only those in `allowed` have an effect.
    ///
    /// # Errors
    /// [`OverridesError::Other`].
    fn refuse_parameters(&self, what: &str, allowed: &[&str]) -> Result<(), OverridesError> {
        let of_all = ["model", "input", "n", "seed", "perturb"];
        let of_models = Self::DECLARATIONS.iter().filter(|d| d.heading == START);
        let mut surplus = of_models
            .map(|declaration| declaration.name)
            .filter(|name| !of_all.contains(name) && !allowed.contains(name) && self.has(name));
        match surplus.next() {
            Some(name) => {
                let reason = format!("--{} cannot be used with {what}", name.replace('_', "-"));
                Err(OverridesError::Other(reason))
            }
            None => Ok(()),
        }
    }

    fn model_of(&self, name: ModelName) -> Result<Model, OverridesError> {
        let (model, allowed): (_, &[&str]) = match name {
            ModelName::Plummer => (Model::Plummer, &[]),
            ModelName::King => (
                Model::King {
                    w0: self.w0.unwrap_or(6.0),
                },
                &["w0"],
            ),
            ModelName::Cube => (
                Model::Cube {
                    half_width: self.half_width.unwrap_or(1.0),
                    speed: self.speed.unwrap_or(0.0),
                    mass: self.masses.unwrap_or([1.0, 1.0]),
                    whole_masses: self.masses.is_some(),
                },
                &["half_width", "speed", "masses"],
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
                &["radius"],
            ),
            ModelName::Kepler => (
                Model::Kepler {
                    a: self.semi_major.unwrap_or(1.0),
                    e: self.eccentricity.unwrap_or(0.5),
                    ratio: self.mass_ratio.unwrap_or(1.0),
                },
                &["semi_major", "eccentricity", "mass_ratio"],
            ),
            ModelName::Burrau => (Model::Burrau, &[]),
            ModelName::FigureEight => (Model::FigureEight, &[]),
            ModelName::Lagrange => (Model::Lagrange, &[]),
            ModelName::Line => (Model::Line, &[]),
            ModelName::OuterPlanets => (Model::OuterPlanets, &[]),
            ModelName::SolarSystem => (Model::SolarSystem, &[]),
        };
        self.refuse_parameters(&format!("--model {name}"), allowed)?;
        Ok(model)
    }
}
