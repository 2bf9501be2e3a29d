//! The specification of a run: plain data, validated once together with the bodies of its start.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::units::{self, Units};
use super::{Bodies, MAX_BODIES, Method, ModelError, UnitSystem};
use trisolar_bodies::DVec3;
use trisolar_bodies::near::pair_within;
use trisolar_bodies::start;
use trisolar_spec::Integrator;

/// Largest number of steps.
pub const MAX_STEPS: u64 = 1 << 53;
/// The tolerance of [`Method::Adaptive`] that is not given.
const TOLERANCE: f64 = 1e-12;
/// Largest number of bodies for which every pair is checked for a step that is too long.
const MAX_PAIRWISE_CHECKED_BODIES: usize = 4096;

/// All values on which the results of a run depend, except the bodies that it starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// Gravitational constant (length³ / mass / time²); if it is negative, bodies repel each other.
    pub g: f64,
    /// Softening length (length): r² + softening² takes the place of r².
    pub softening: f64,
    /// Time step (time); if it is negative, time runs backwards.
    pub dt: f64,
    /// Steps to take.
    pub steps: u64,
    /// 2 (in the plane z = 0) or 3. It changes no value, but in 2 the third component is neither computed nor written.
    pub dimensions: u8,
    /// How positions and velocities advance.
    pub integrator: Method,
    /// The largest error of a step of [`Method::Adaptive`], relative to the distance of the nearest body and the speed of an orbit about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// How accelerations are summed: decides the last bits.
    pub solver: Solver,
    /// The arithmetic.
    pub precision: Precision,
    /// The time before the first step (time): where bodies come from a file, that of the file. It changes no value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_time: f64,
    /// The units that [`g`](Self::g) belongs to, if they have names, for files and pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<UnitSystem>,
    /// Names of the bodies, for files and pictures, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl Default for Specification {
    fn default() -> Self {
        Self {
            g: 1.0,
            softening: 0.0,
            dt: 0.001,
            steps: 1000,
            dimensions: 3,
            integrator: Integrator::VelocityVerlet.into(),
            tolerance: None,
            solver: Solver::default(),
            precision: Precision::default(),
            start_time: 0.0,
            units: None,
            names: None,
        }
    }
}

/// Names for options: each value with its name and its former names.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal $(or $former:literal)*,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$variant_doc])* $(#[serde(alias = $former)])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name on the command line and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text $(| $former)* => Ok(Self::$variant),)*
                    _ => Err(format!("must be one of {}", [$($text),*].join(", "))),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(super) use named;

named! {
    /// How accelerations are summed.
    Solver {
        /// Every pair twice, once for each of its bodies.
        Basic = "basic",
        /// Every pair once (within rows of 128 bodies, twice).
        #[default]
        Reduced = "reduced",
    }
}

named! {
    /// The arithmetic of a run.
    Precision {
        /// 64 bits, IEEE operations in a fixed order: the same bits on every engine.
        #[default]
        F64 = "f64" or "exact",
        /// 32 bits. GPUs use their approximate 1/√: GPUs of one kind give the same bits, and CPUs give others.
        F32 = "f32",
        /// Sums of two `f32`, 42 bits or more, for GPUs whose `f64` is slow: the same bits on every GPU; CPUs, which add in `f64`, give
        /// others.
        FloatFloat = "float-float",
    }
}

named! {
    /// How rows of bodies are distributed over threads. It changes no value.
    Schedule {
        /// A thread that is free takes the next row.
        #[default]
        Dynamic = "dynamic",
        /// Each thread has a contiguous part.
        Block = "block",
        /// Rows are distributed cyclically.
        Cyclic = "cyclic",
        /// Rows are distributed cyclically for the forces, and in blocks for the sums.
        CyclicForces = "cyclic-forces",
    }
}

named! {
    /// When to evaluate the energy, which gives the error of a run, in a time proportional to the square of the number of bodies.
    EnergyLooks {
        /// At the start and at the end.
        #[default]
        Ends = "ends",
        /// Never, except for a series: the error is not known.
        #[serde(rename = "none")]
        Never = "none",
    }
}

named! {
    /// Where the reduced solver keeps the forces of rows on the bodies behind them before they are added.
    Partials {
        /// An array for every row in progress: forces are added in the specified order and have the same bits for any number of
        /// threads.
        #[default]
        Rows = "rows",
        /// An array for every thread, as in Pacheco & Malensek (2021): less memory for many bodies, but the last bits depend on the
        /// number of threads and the schedule.
        Threads = "threads",
    }
}

/// The reason why a specification or its bodies are refused. Places of bodies count from 0, and messages from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// An option is out of its range.
    #[error("--{option} {given}: must be {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A start model that cannot be built.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No bodies, or too many.
    #[error("{given} bodies: there must be 1 to {MAX_BODIES}")]
    Bodies {
        /// Their number.
        given: usize,
    },
    /// A number of a body that is infinite or not a number.
    #[error("body {}: {what} is {given}, but must be finite", .body + 1)]
    NotFinite {
        /// The number of the body.
        body: usize,
        /// The name of the number.
        what: &'static str,
        /// Its value.
        given: f64,
    },
    /// A negative mass.
    #[error("body {}: mass {given} must be 0 (a test body) or more", .body + 1)]
    NegativeMass {
        /// The number of the body.
        body: usize,
        /// Its mass.
        given: f64,
    },
    /// Two bodies at the same place, and no softening.
    #[error(
        "bodies {} and {} are both at ({}, {}, {}): move one of them, or give a softening length",
        .first + 1, .second + 1, .at.x, .at.y, .at.z
    )]
    Coincident {
        /// The first body.
        first: usize,
        /// The second body.
        second: usize,
        /// Where they are.
        at: DVec3,
    },
    /// Two bodies so close to each other, without softening, that the force between them is not a finite number.
    #[error(
        "bodies {} and {} are only {distance:e} apart: below {least:.1e} the force between them is not a finite number; \
         move one of them, or give a softening length",
        .first + 1, .second + 1
    )]
    TooClose {
        /// The first body.
        first: usize,
        /// The second body.
        second: usize,
        /// Their distance (length).
        distance: f64,
        /// The least distance (length).
        least: f64,
    },
    /// A body so far from the others that r⁻³ loses its digits.
    #[error(
        "body {} is more than {most:.1e} from the middle of the bodies, where --precision {precision} has no exact forces; choose other units, \
         another --precision, or leave it out",
        .body + 1
    )]
    TooFar {
        /// The number of the body.
        body: usize,
        /// The largest distance (length).
        most: f64,
        /// The arithmetic.
        precision: Precision,
    },
    /// A body outside of the plane z = 0, in two dimensions.
    #[error("body {}: z = {z}, vz = {vz}, but --dimensions 2 needs 0 for both", .body + 1)]
    OutOfPlane {
        /// The number of the body.
        body: usize,
        /// Its third coordinate.
        z: f64,
        /// Its third velocity.
        vz: f64,
    },
}

/// A [`Specification`] and the bodies of its start, checked.
pub type Validated = trisolar_bodies::Checked<Specification>;

impl Specification {
    /// The time after this number of steps.
    pub fn time(&self, step: u64) -> f64 {
        trisolar_bodies::files::time_of_step(self.start_time, step, self.dt)
    }

    /// The tolerance of [`Method::Adaptive`], given or default.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(TOLERANCE)
    }

    /// The number of steps that reach the time `end`.
    ///
    /// # Errors
    /// [`SpecError::Option`] if the end is not after the start, or too far from it.
    pub fn steps_to(&self, end: f64) -> Result<u64, SpecError> {
        let steps = (end - self.start_time) / self.dt;
        let refused = |allowed| {
            Err(SpecError::Option {
                option: "end",
                given: end.to_string(),
                allowed,
            })
        };
        if steps.is_nan() || steps <= 0.0 {
            return refused(
                "a time that the steps reach, after the start (before it for a negative --dt)",
            );
        }
        if steps > MAX_STEPS as f64 {
            return refused("a time within 9007199254740992 (2^53) steps of the start");
        }
        // A multiple of the step that is not exact in binary does not take one step more.
        let nearest = steps.round();
        let whole = (steps - nearest).abs() <= 1e-9 * nearest;
        Ok(if whole { nearest } else { steps.ceil() }.max(1.0) as u64)
    }

    /// Checks every value, and that the bodies can be integrated.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn validate(self, bodies: Bodies) -> Result<Validated, SpecError> {
        let option = |option, given: &dyn fmt::Display, allowed| {
            Err(SpecError::Option {
                option,
                given: given.to_string(),
                allowed,
            })
        };
        if !self.g.is_finite() {
            return option("g", &self.g, "a finite number");
        }
        if !(self.softening >= 0.0 && (self.softening * self.softening).is_finite()) {
            return option("softening", &self.softening, "a finite length of 0 or more");
        }
        if !(self.dt.is_finite() && self.dt != 0.0) {
            return option("dt", &self.dt, "a finite time other than 0");
        }
        if !(1..=MAX_STEPS).contains(&self.steps) {
            return option("steps", &self.steps, "from 1 to 9007199254740992 (2^53)");
        }
        if !self.start_time.is_finite() {
            return option("start-time", &self.start_time, "a finite time");
        }
        if let Some(names) = &self.names
            && names.len() != bodies.len()
        {
            return option("names", &names.len(), "as many as there are bodies");
        }
        if ![2, 3].contains(&self.dimensions) {
            return option("dimensions", &self.dimensions, "2 or 3");
        }
        check_bodies(&bodies, self.dimensions)?;
        let units = match self.precision {
            Precision::F64 => None,
            Precision::F32 | Precision::FloatFloat => {
                Some(Units::of(&bodies, self.g, self.softening))
            }
        };
        if self.softening == 0.0 {
            check_distances(&bodies, units)?;
        }
        check_extent(&bodies, units, self.precision)?;
        match self.integrator {
            Method::Fixed(integrator) if !integrator.is_of_any_bodies() => {
                let allowed =
                    "an integrator that needs no jerks; trisolar cluster has Hermite integration";
                return option("integrator", &integrator, allowed);
            }
            Method::Adaptive if self.precision != Precision::F64 => {
                return option(
                    "precision",
                    &self.precision,
                    "f64 with --integrator adaptive",
                );
            }
            _ => {}
        }
        if let Some(tolerance) = self.tolerance {
            if self.integrator != Method::Adaptive {
                return option("tolerance", &tolerance, "given with --integrator adaptive");
            }
            if !(1e-15..=1e-3).contains(&tolerance) {
                return option("tolerance", &tolerance, "from 1e-15 to 1e-3");
            }
        }
        if let Some(body) = bodies.mass.iter().position(|m| !(m * self.g).is_finite()) {
            let given = bodies.mass[body] * self.g;
            return Err(SpecError::NotFinite {
                body,
                what: "G times its mass",
                given,
            });
        }
        let warnings = warnings(&self, &bodies);
        Ok(Validated::new(self, bodies, warnings))
    }
}

fn check_bodies(bodies: &Bodies, dimensions: u8) -> Result<(), SpecError> {
    let n = bodies.len();
    if !(1..=MAX_BODIES).contains(&n) {
        return Err(SpecError::Bodies { given: n });
    }
    const POSITION: [&str; 3] = ["x", "y", "z"];
    const VELOCITY: [&str; 3] = ["vx", "vy", "vz"];
    for body in 0..n {
        let check = |what, given: f64| {
            if given.is_finite() {
                Ok(())
            } else {
                Err(SpecError::NotFinite { body, what, given })
            }
        };
        check("mass", bodies.mass[body])?;
        for d in 0..3 {
            check(POSITION[d], bodies.position[body][d])?;
            check(VELOCITY[d], bodies.velocity[body][d])?;
        }
        if bodies.mass[body] < 0.0 {
            return Err(SpecError::NegativeMass {
                body,
                given: bodies.mass[body],
            });
        }
        let (z, vz) = (bodies.position[body].z, bodies.velocity[body].z);
        if dimensions == 2 && (z != 0.0 || vz != 0.0) {
            return Err(SpecError::OutOfPlane { body, z, vz });
        }
    }
    Ok(())
}

/// Checks that no two bodies are so close to each other that r⁻³ is not finite. Pairs of test bodies are not checked.
fn check_distances(bodies: &Bodies, units: Option<Units>) -> Result<(), SpecError> {
    let least = match units {
        None => f64::MAX.cbrt().recip(),
        Some(units) => f64::from(f32::MAX).cbrt().recip() * units.length,
    };
    let pull = |i: usize| bodies.mass[i] > 0.0;
    match pair_within(&bodies.position, pull, least) {
        None => Ok(()),
        Some((first, second, 0.0)) => Err(SpecError::Coincident {
            first,
            second,
            at: bodies.position[first],
        }),
        Some((first, second, distance)) => Err(SpecError::TooClose {
            first,
            second,
            distance,
            least,
        }),
    }
}

/// Number of steps from which on a run says so beforehand: those of three bodies take minutes.
const MANY_STEPS: f64 = 1e9;
/// The largest distance in `f64`, whose r⁻³ is a number with all digits, and the largest length in precisions of `f32`, whose lower parts
/// must be `f32` numbers.
const FARTHEST_F64: f64 = 1e100;
const FARTHEST_F32: f64 = 1e36;

/// Checks that no body is so far from the others that forces lose their digits.
fn check_extent(
    bodies: &Bodies,
    units: Option<Units>,
    precision: Precision,
) -> Result<(), SpecError> {
    let middle = bodies.middle();
    let most = match units {
        None => FARTHEST_F64,
        Some(units) => (units::FARTHEST * units.length).min(FARTHEST_F32),
    };
    let far = |x: &DVec3| (*x - middle).abs().max_element() > most;
    match bodies.position.iter().position(far) {
        None => Ok(()),
        Some(body) => Err(SpecError::TooFar {
            body,
            most,
            precision,
        }),
    }
}

fn warnings(spec: &Specification, bodies: &Bodies) -> Vec<String> {
    let mut list: Vec<String> = [
        start::doubtful_energies(bodies, spec.g, spec.softening),
        start::softening_above_distance(bodies, spec.softening),
        start::many_steps(spec.steps as f64, spec.dt, MANY_STEPS),
    ]
    .into_iter()
    .flatten()
    .collect();
    let n = bodies.len();
    if n > MAX_PAIRWISE_CHECKED_BODIES || spec.integrator == Method::Adaptive {
        return list;
    }
    // G (mᵢ + mⱼ) / r³ · dt², the square of the angle that a circular orbit of the pair goes through in a step.
    let mut worst = (0.0, 0, 0);
    for i in 0..n {
        for j in i + 1..n {
            let r2 = bodies.position[i].distance_squared(bodies.position[j])
                + spec.softening * spec.softening;
            let mass = bodies.mass[i] + bodies.mass[j];
            let angle2 = spec.g.abs() * mass / (r2 * r2.sqrt()) * spec.dt * spec.dt;
            if angle2 > worst.0 {
                worst = (angle2, i, j);
            }
        }
    }
    if worst.0 > 1.0 {
        let (angle2, i, j) = worst;
        list.push(format!(
            "bodies {} and {}: G·M/r³·dt² is {angle2:.3e}, above 1: steps of {} cannot follow their orbit (wrong units?)",
            i + 1,
            j + 1,
            spec.dt
        ));
    }
    list
}
