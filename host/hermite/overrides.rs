//! The values that a user gives for the start and the integration of a run: plain data, from which a start is made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::{self, FileError};
use super::spec::{MAX_BODIES, MAX_NEIGHBOURS};
use super::{AhmadCohen, ClosePairs, Order, Precision, SpecError, Specification, Validated};
use trisolar_bodies::files::{BodyFile, Carried};
use trisolar_bodies::near::median_separation;
use trisolar_bodies::start::{self, FEW_BODIES};
use trisolar_bodies::{Bodies, KING_W0, Model};
use trisolar_run::Paths;
use trisolar_run::max_error;
use trisolar_spec::{Parameters as _, parameters, read};

/// The heading of parameters of a start.
const START: &str = "Start";

parameters! {
    /// Start and integration under the names of the options; what is not given has its default.
    pub struct Overrides {
        START replaced by model, input {
            /// Read the start model from a file: .npz, .csv, .tipsy, .std or .bin (TIPSY); any other name is text
            input: Option<PathBuf> = "FILE", where { conflicts: &["model", "w0", "n", "seed"] };
            /// Start model: plummer or king (with --w0) in Henon units; burrau or figure-eight, without softening
            model: Option<StartModel> = "NAME" => str::parse, default "plummer";
            /// Dimensionless central potential of the King model, 0.1 to 16
            w0: Option<f64> = "W0" => read::number, default "6";
            /// Particles of the model, 2 to 16777216
            n: Option<usize> = "N" => particles, default "1024";
            /// Seed of the model
            seed: Option<u64> = "SEED" => read::parsed, default "1";
        }
        "Integration" {
            /// Order of the scheme: 4, 6 or 8
            order: Option<Order> = "P" => order, default "6; 4 with --scheme ahmad-cohen, 8 for burrau and figure-eight";
            /// Softening length
            softening: Option<f64> = "LENGTH" => read::number, unit "length",
                default "that of the file, or 4/n; 0 for fewer than 100 bodies of a file or 5 of a model, burrau, figure-eight and --close-pairs regularised", where { aliases: &["eps"] };
            /// Accuracy parameter of the time step; at order 4 the square root of Aarseth's (Makino & Aarseth 1992)
            eta: Option<f64> = "ETA" => read::number, default "0.1, 0.5, 0.75 at order 4, 6, 8; 0.15 for burrau and figure-eight";
            /// Accuracy parameter of the first step
            eta_start: Option<f64> = "ETA" => read::number, default "0.01, 0.1, 0.1 at order 4, 6, 8; 0.02 for burrau and figure-eight";
            /// Longest step, a power of two
            max_step: Option<f64> = "TIME" => read::number, unit "time", default "0.0625";
            /// Shortest step, a power of two
            min_step: Option<f64> = "TIME" => read::number, unit "time",
                then "; without it, a step that is too small to advance the time is an error";
            /// Evaluations and corrections per step, n of P(EC)^n, 1 to 100
            iterations: Option<u32> = "N" => |text| read::unchecked(text, 1..=100), default "1";
            /// Precision of pairs: f64, or split-f32 (f32 pairs, positions and accelerations as sums of two f32)
            precision: Option<Precision> = "NAME" => read::parsed, default "f64";
            /// How forces are evaluated: plain (all at the same steps), or ahmad-cohen (those of neighbours at shorter steps, order 4;
            /// Ahmad & Cohen 1973)
            scheme: Option<Scheme> = "NAME" => str::parse, default "plain";
            /// Number of neighbours that a particle should have in the Ahmad-Cohen scheme, 1 to 4096
            neighbours: Option<u32> = "N" => |text| read::unchecked(text, 1..=u64::from(MAX_NEIGHBOURS)),
                default "the square root of n, from 10 to 50";
            /// Accuracy parameter of the steps of regular forces in the Ahmad-Cohen scheme
            eta_regular: Option<f64> = "ETA" => read::number, default "0.1";
            /// How close pairs are integrated: plain (as all other particles), or regularised (a pair is one particle with a Kepler orbit
            /// that the tide of the others disturbs; without softening)
            close_pairs: Option<CloseEncounters> = "NAME"
                => str::parse, default "plain";
            /// Largest apocentre of the pairs that --close-pairs regularised keeps as one particle; close passes begin within a sixteenth of it
            pair_radius: Option<f64> = "LENGTH" => read::number, unit "length", default "4/n";
            /// Time at which the run ends, on the clock of the file if it has one; a time before the start is reached by running backwards
            end: Option<f64> = "TIME" => read::number, unit "time", default "1 after the start; 70 for burrau, a period for figure-eight", where { conflicts: &["steps"] };
            /// Number of longest steps (--max-step) after which the run ends
            steps: Option<u64> = "N" => |text| read::whole(text, 1..=1 << 53), where { conflicts: &["end"] };
        }
        "Output" {
            /// Time between two lines of diagnostics
            every: Option<f64> = "TIME" => read::number, default "0.25";
        }
        "Accuracy" {
            /// Fail (exit code 1), after writing all files, if the relative energy error exceeds X at any line of diagnostics; without
            /// --max-error, an error above 0.01 is a warning
            max_error: Option<f64> = "X" => read::number;
        }
    }
}

/// A number of particles of a model.
///
/// # Errors
/// A description of the allowed values.
pub fn particles(text: &str) -> Result<usize, String> {
    read::whole(text, 2..=MAX_BODIES as u64)
}

/// The order of a scheme.
///
/// # Errors
/// A description of the allowed values.
pub fn order(text: &str) -> Result<Order, String> {
    let order = text.parse().ok().and_then(|n: u32| Order::try_from(n).ok());
    order.ok_or_else(|| "must be 4, 6 or 8".into())
}

impl Paths for Overrides {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        self.input.iter_mut().collect()
    }
}

/// Start models, see [`Model`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartModel {
    /// Plummer's sphere.
    #[default]
    Plummer,
    /// King's model.
    King,
    /// Burrau's three bodies.
    #[serde(alias = "pythagorean")]
    Burrau,
    /// Three bodies on a figure eight.
    FigureEight,
}

trisolar_io::names!(StartModel {
    Plummer = "plummer",
    King = "king",
    Burrau = "burrau" or "pythagorean",
    FigureEight = "figure-eight",
});

impl StartModel {
    /// The model of few bodies with a known solution, if this is one.
    fn problem(self) -> Option<Model> {
        match self {
            Self::Plummer | Self::King => None,
            Self::Burrau => Some(Model::Burrau),
            Self::FigureEight => Some(Model::FigureEight),
        }
    }
}

/// How forces are evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// All forces at the same steps.
    #[default]
    Plain,
    /// The forces of neighbours at shorter steps, see [`AhmadCohen`].
    AhmadCohen,
}

trisolar_io::names!(Scheme {
    Plain = "plain",
    AhmadCohen = "ahmad-cohen",
});

/// How close pairs are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CloseEncounters {
    /// As all other particles.
    #[default]
    Plain,
    /// As single particles, see [`ClosePairs`].
    Regularised,
}

trisolar_io::names!(CloseEncounters {
    Plain = "plain",
    Regularised = "regularised",
});

/// Why the given values do not make a start.
#[derive(Debug, thiserror::Error)]
pub enum OverridesError {
    /// A value that is not allowed; the option as on the command line, or `body`.
    #[error("invalid value '{}' for '{}': {}", .0.given, .0.option, .0.allowed)]
    Value(SpecError),
    /// Incompatible values.
    #[error("{0}")]
    Other(String),
    /// A file that cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The end of a run and the interval of its diagnostics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Time to stop at.
    pub end: f64,
    /// Time between two lines of diagnostics.
    pub every: f64,
}

/// Particles to start from.
struct Started {
    bodies: Bodies,
    /// The other values of their file.
    carried: Carried,
    /// Notes for the user.
    notes: Vec<String>,
    /// The file, or what stands in its place in notes; empty for a model.
    name: String,
}

/// The softening length of bodies for which none is known: 4/n, as for the models, if these are so many that it is much less than their
/// distances, and otherwise 0.
fn usual_softening(bodies: &Bodies) -> f64 {
    let usual = 4.0 / bodies.len().max(1) as f64;
    let is_small = || usual < median_separation(&bodies.position);
    match bodies.len() >= FEW_BODIES && is_small() {
        true => usual,
        false => 0.0,
    }
}

/// Number of longest steps from which on a run says so beforehand.
const MANY_STEPS: f64 = 1e8;

/// Largest number of lines of diagnostics.
const MAX_DIAGNOSTICS: f64 = 1e7;

impl Overrides {
    /// Checks that the limit of the error is allowed.
    ///
    /// # Errors
    /// [`OverridesError::Value`].
    pub fn check_max_error(&self) -> Result<(), OverridesError> {
        let Some(most) = self.max_error else {
            return Ok(());
        };
        max_error(most).map_err(|allowed| {
            OverridesError::Value(SpecError {
                option: "--max-error",
                given: most.to_string(),
                allowed: allowed.into(),
            })
        })
    }

    /// These values without those of a start.
    #[must_use]
    pub fn without_start(self) -> Self {
        self.without(START)
    }

    /// Whether the model has an end that shows what it is known for.
    pub fn is_of_known_time(&self) -> bool {
        self.model.is_some_and(|model| model.problem().is_some())
    }

    /// The end of the run and the interval of its diagnostics, for a start at time 0. A run that is resumed from a checkpoint needs them as
    /// well.
    ///
    /// # Errors
    /// [`OverridesError::Value`].
    pub fn times(&self) -> Result<Times, OverridesError> {
        self.times_from(0.0)
    }

    /// The time at which the run ends, on the clock of the start: the given one, or that after the given number of longest steps, or that of
    /// what the model is known for.
    pub fn end_from(&self, start_time: f64) -> f64 {
        let max_step = self
            .max_step
            .unwrap_or(Specification::new(Order::Six).max_step);
        let known = match self.model {
            // After t = 60 a body escapes and leaves a binary.
            Some(StartModel::Burrau) => 70.0,
            Some(StartModel::FigureEight) => Model::FigureEight.natural_time(1.0).unwrap_or(1.0),
            _ => 1.0,
        };
        match (self.end, self.steps) {
            (Some(end), _) => end,
            (None, Some(steps)) => start_time + steps as f64 * max_step,
            (None, None) => start_time + known,
        }
    }

    /// Whether the run goes backwards from the time of its start.
    pub fn is_backwards(&self, start_time: f64) -> bool {
        self.end_from(start_time) < start_time
    }

    /// The same for a start whose file has the time `start_time`. The given end is on the clock of the file; the [`Times`] are on the run's
    /// own clock, which begins at 0.
    ///
    /// # Errors
    /// [`OverridesError::Value`].
    pub fn times_from(&self, start_time: f64) -> Result<Times, OverridesError> {
        let time = self.end_from(start_time) - start_time;
        let every = self.every.unwrap_or(0.25);
        let value = |option, given: f64, allowed: &str| {
            Err(OverridesError::Value(SpecError {
                option,
                given: given.to_string(),
                allowed: allowed.into(),
            }))
        };
        if !(every.is_finite() && every > 0.0) {
            return value("--every", every, "must be a finite number above 0 (time)");
        }
        if !time.is_finite() || time == 0.0 {
            let allowed = format!(
                "must be a finite time after {start_time}, the time of the start, or before it for a run backwards"
            );
            return value("--end", self.end_from(start_time), &allowed);
        }
        let end = time.abs();
        if end / every > MAX_DIAGNOSTICS {
            return value(
                "--every",
                every,
                "there would be more than 10000000 outputs up to --end",
            );
        }
        Ok(Times { end, every })
    }

    /// The start from these bodies or from the given file or model, and all values of the run, including the defaults.
    ///
    /// # Errors
    /// [`OverridesError`].
    pub fn start(self, bodies: Option<Bodies>) -> Result<(Validated, Self), OverridesError> {
        self.start_with(bodies, Carried::default())
    }

    /// The same for bodies with other values from their file. Options override these values; notes name values that are overridden
    /// or missing.
    ///
    /// # Errors
    /// [`OverridesError`].
    pub fn start_with(
        mut self,
        bodies: Option<Bodies>,
        carried: Carried,
    ) -> Result<(Validated, Self), OverridesError> {
        self.check_max_error()?;
        let Started {
            bodies,
            carried,
            mut notes,
            name,
        } = self.bodies(bodies, carried)?;
        let is_of_user = !name.is_empty();
        let start_time = carried.time.unwrap_or(0.0);
        self.times_from(start_time)?;
        let ahmad_cohen = self.ahmad_cohen(bodies.len())?;
        let close_pairs = self.regularised(bodies.len())?;
        // Known orbits need more than the usual accuracy: with these values, Burrau's positions at t = 20 are right to 1e-8.
        let is_known = self.model.and_then(StartModel::problem).is_some();
        let order = match ahmad_cohen {
            Some(_) => Order::Four,
            None if is_known => Order::Eight,
            None => Order::Six,
        };
        let mut usual = Specification::new(self.order.unwrap_or(order));
        if is_known && self.order.is_none() && ahmad_cohen.is_none() {
            (usual.eta, usual.eta_start) = (0.15, 0.02);
        }
        let given = self.softening.or(carried.softening);
        let usual_softening = match self.model.and_then(StartModel::problem) {
            Some(_) => 0.0,
            None if close_pairs.is_some() => 0.0,
            None if is_of_user => usual_softening(&bodies),
            // 4/n would not be less than the virial radius.
            None if bodies.len() < 5 => 0.0,
            None => 4.0 / bodies.len() as f64,
        };
        if let (None, None, true) = (given, close_pairs, is_of_user) {
            let used = match usual_softening {
                0.0 => "0",
                _ => "4/n",
            };
            notes.insert(
                0,
                format!("{name} does not contain a softening length: {used} is used; --softening sets another value"),
            );
        }
        let specification = Specification {
            softening: given.unwrap_or(usual_softening),
            start_time,
            backwards: self.is_backwards(start_time),
            names: carried.names,
            eta: self.eta.unwrap_or(usual.eta),
            eta_start: self.eta_start.unwrap_or(usual.eta_start),
            max_step: self.max_step.unwrap_or(usual.max_step),
            min_step: self.min_step,
            iterations: self.iterations.unwrap_or(usual.iterations),
            precision: self.precision.unwrap_or(usual.precision),
            ahmad_cohen,
            close_pairs,
            ..usual
        };
        let end = self.end_from(start_time);
        if specification.backwards {
            notes.push(format!(
                "the run goes backwards in time, from {start_time} to {end}"
            ));
        }
        let steps = (end - start_time).abs() / specification.max_step;
        let start = specification
            .validate(bodies)
            .map_err(OverridesError::Value)?;
        let (s, bodies) = (start.specification(), start.bodies());
        // The softening of random models is meant, even if two bodies happen to be close to each other.
        let softened = Some(s.softening).filter(|_| is_of_user || given.is_some());
        let warnings = [
            start::doubtful_energies(bodies, 1.0, s.softening),
            softened.and_then(|softening| start::softening_above_distance(bodies, softening)),
            start::many_steps(steps, s.max_step, MANY_STEPS),
        ];
        let start = start.with(notes, warnings.into_iter().flatten().collect());
        let s = start.specification();
        self.order = Some(s.order);
        self.softening = Some(s.softening);
        self.eta = Some(s.eta);
        self.eta_start = Some(s.eta_start);
        self.max_step = Some(s.max_step);
        self.min_step = s.min_step;
        self.iterations = Some(s.iterations);
        self.precision = Some(s.precision);
        if let Some(scheme) = s.ahmad_cohen {
            self.neighbours = Some(scheme.neighbours);
            self.eta_regular = Some(scheme.eta_regular);
        }
        self.pair_radius = s.close_pairs.map(|options| options.radius);
        self.end = Some(end);
        self.steps = None;
        self.every.get_or_insert(0.25);
        Ok((start, self))
    }

    /// The given bodies, or those of the file or of the model.
    fn bodies(
        &mut self,
        bodies: Option<Bodies>,
        carried: Carried,
    ) -> Result<Started, OverridesError> {
        let other = |text: &str| Err(OverridesError::Other(text.into()));
        let of_model = self.model.is_some() || self.w0.is_some();
        if (bodies.is_some() || self.input.is_some())
            && (of_model || self.n.is_some() || self.seed.is_some())
        {
            return other(
                "--model, --w0, --n and --seed are for a model, not for a file or bodies",
            );
        }
        match (bodies, &self.input) {
            (Some(_), Some(_)) => other("--input cannot be used with bodies"),
            (Some(bodies), None) => {
                let carried = Carried {
                    g: carried.g.or(Some(1.0)),
                    ..carried
                };
                self.told(BodyFile::new(bodies, 3, carried, 1.0), "the bodies")
            }
            (None, Some(path)) => self.told(files::read(path)?, &path.display().to_string()),
            (None, None) => Ok(Started {
                bodies: self.modelled()?,
                carried: Carried::default(),
                notes: Vec::new(),
                name: String::new(),
            }),
        }
    }

    /// Bodies with the other values of their file, in units in which G = 1.
    fn told(&self, file: BodyFile, name: &str) -> Result<Started, OverridesError> {
        let BodyFile {
            mut bodies,
            carried,
            usual_g,
            mut notes,
            ..
        } = file;
        let told = carried.check(bodies.len());
        told.map_err(|reason| OverridesError::Other(format!("{name}: {reason}")))?;
        if self.softening.is_none() {
            let checked = carried.check_softening();
            checked.map_err(|reason| FileError::contents(name, reason))?;
        }
        if carried.g.is_none() {
            notes.push(format!(
                "{name} does not contain G: {usual_g} is used; a column g, or the comment # trisolar {{\"g\": 39.478}}, sets another value"
            ));
        }
        let g = carried.g.unwrap_or(usual_g);
        if g != 1.0 {
            bodies.mass.iter_mut().for_each(|mass| *mass *= g);
            notes.push(format!(
                "{name} has G = {g}: masses are multiplied by it, because clusters are integrated with G = 1"
            ));
        }
        if let (Some(given), Some(told)) = (self.softening, carried.softening)
            && given != told
        {
            notes.push(format!(
                "--softening {given} overrides {name}, where it is {told}"
            ));
        }
        Ok(Started {
            bodies,
            carried,
            notes,
            name: name.to_owned(),
        })
    }

    /// The parameters of the Ahmad–Cohen scheme, if it is selected.
    fn ahmad_cohen(&self, particles: usize) -> Result<Option<AhmadCohen>, OverridesError> {
        let usual = AhmadCohen::new(particles);
        if self.scheme == Some(Scheme::AhmadCohen) {
            return Ok(Some(AhmadCohen {
                neighbours: self.neighbours.unwrap_or(usual.neighbours),
                eta_regular: self.eta_regular.unwrap_or(usual.eta_regular),
            }));
        }
        let surplus = [
            ("--neighbours", self.neighbours.map(|n| n.to_string())),
            ("--eta-regular", self.eta_regular.map(|eta| eta.to_string())),
        ];
        for (option, given) in surplus {
            refuse(option, given, "needs --scheme ahmad-cohen")?;
        }
        Ok(None)
    }

    /// The treatment of close pairs, if they are regularised.
    fn regularised(&self, particles: usize) -> Result<Option<ClosePairs>, OverridesError> {
        if self.close_pairs == Some(CloseEncounters::Regularised) {
            let usual = ClosePairs::new(particles).radius;
            return Ok(Some(ClosePairs {
                radius: self.pair_radius.unwrap_or(usual),
            }));
        }
        let given = self.pair_radius.map(|radius| radius.to_string());
        refuse("--pair-radius", given, "needs --close-pairs regularised")?;
        Ok(None)
    }

    fn modelled(&mut self) -> Result<Bodies, OverridesError> {
        if let Some(problem) = self.model.and_then(StartModel::problem) {
            let surplus = [
                ("--n", self.n.map(|n| n.to_string())),
                ("--seed", self.seed.map(|seed| seed.to_string())),
                ("--w0", self.w0.map(|w0| w0.to_string())),
            ];
            for (option, given) in surplus {
                let reason = format!("cannot be used with --model {}", problem.name());
                refuse(option, given, &reason)?;
            }
            return built(problem, None, 1);
        }
        let n = *self.n.get_or_insert(1024);
        if !(2..=MAX_BODIES).contains(&n) {
            return Err(OverridesError::Value(SpecError {
                option: "--n",
                given: n.to_string(),
                allowed: format!("must be a whole number from 2 to {MAX_BODIES}"),
            }));
        }
        let seed = *self.seed.get_or_insert(1);
        let model = match (*self.model.get_or_insert_default(), self.w0) {
            (StartModel::King, _) => {
                let w0 = *self.w0.get_or_insert(6.0);
                let [least, most] = KING_W0;
                if !(least..=most).contains(&w0) {
                    let allowed = format!("must be from {least} to {most}");
                    return Err(not_allowed("--w0", w0.to_string(), &allowed));
                }
                Model::King { w0 }
            }
            (_, Some(w0)) => {
                return Err(not_allowed("--w0", w0.to_string(), "needs --model king"));
            }
            _ => Model::Plummer,
        };
        built(model, Some(n), seed)
    }
}

/// The bodies of a model, in units in which G = 1.
fn built(model: Model, n: Option<usize>, seed: u64) -> Result<Bodies, OverridesError> {
    let bodies = model.build(n, seed, 1.0, 3);
    bodies.map_err(|error| OverridesError::Other(error.to_string()))
}

/// Refuses an option that is incompatible with others.
fn refuse(option: &'static str, given: Option<String>, reason: &str) -> Result<(), OverridesError> {
    match given {
        None => Ok(()),
        Some(given) => Err(not_allowed(option, given, reason)),
    }
}

fn not_allowed(option: &'static str, given: String, allowed: &str) -> OverridesError {
    OverridesError::Value(SpecError {
        option,
        given,
        allowed: allowed.into(),
    })
}
