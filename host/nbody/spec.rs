//! What a run computes: plain data, validated once with the bodies it starts from.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Bodies, Model};
use crate::Integrator;

/// Bodies at most: their numbers and those of memory planes stay within 32 bits on a GPU.
pub const MAX_BODIES: usize = 1 << 26;
/// Steps at most.
pub const MAX_STEPS: u64 = 1 << 53;
/// Up to this many bodies every pair is looked at for a step too long for it.
const PAIRWISE_CHECK: usize = 4096;

/// Everything the values of a run depend on, beside the bodies it starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// Gravitational constant (length³ / mass / time²); below 0 gravity repels.
    pub g: f64,
    /// Softening length (length): r² + softening² takes the place of r².
    pub softening: f64,
    /// Time step (time); below 0 time runs backwards.
    pub dt: f64,
    /// Steps to take.
    pub steps: u64,
    /// 2 (in the plane z = 0) or 3. It changes no value, but in 2 the third component is neither computed nor written.
    pub dimensions: u8,
    /// How positions and velocities advance.
    pub integrator: Integrator,
    /// How accelerations are summed: decides the last bits.
    pub solver: Solver,
    /// The arithmetic.
    pub precision: Precision,
}

impl Default for Specification {
    fn default() -> Self {
        Self {
            g: 1.0,
            softening: 0.0,
            dt: 0.001,
            steps: 1000,
            dimensions: 3,
            integrator: Integrator::VelocityVerlet,
            solver: Solver::default(),
            precision: Precision::default(),
        }
    }
}

/// Names for options: each value with its name and the names by which it is read as well.
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
        /// 32 bits: on a GPU with its approximate 1/√ and the same bits on GPUs of one kind, on CPUs with others.
        F32 = "f32",
        /// Sums of two `f32`, 42 bits or more, for GPUs whose `f64` is slow.
        FloatFloat = "float-float",
    }
}

named! {
    /// How rows are dealt to threads; changes no value.
    Schedule {
        /// Whoever is free takes the next one.
        #[default]
        Dynamic = "dynamic",
        /// Each thread has a part in one piece.
        Block = "block",
        /// The threads take turns.
        Cyclic = "cyclic",
        /// The threads take turns with the pulls, but each sums up a part in one piece.
        CyclicForces = "cyclic-forces",
    }
}

named! {
    /// Where the reduced solver keeps what rows of bodies do to those behind them, before it is summed up.
    Partials {
        /// Memory of its own for every row under way: the specified order, the same bits for any number of threads.
        #[default]
        Rows = "rows",
        /// Memory of its own for every thread, as in the textbook: less of it for many bodies, but the last bits depend on the
        /// number of threads and the schedule.
        Threads = "threads",
    }
}

/// A value that cannot be computed with. Bodies are numbered from 0.
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
    /// A model's parameter is out of its range.
    #[error("--model {model}: {reason}")]
    Model {
        /// Its name.
        model: String,
        /// What is wrong.
        reason: String,
    },
    /// A model of a fixed number of bodies, and another number.
    #[error("--n {given}: the model has {has} bodies; leave --n out")]
    Count {
        /// Bodies asked for.
        given: usize,
        /// Bodies of the model.
        has: usize,
    },
    /// No bodies, or too many.
    #[error("{given} bodies: there must be 1 to {MAX_BODIES}")]
    Bodies {
        /// How many.
        given: usize,
    },
    /// A number of a body that is infinite or not a number.
    #[error("body {body}: {what} is {given}, but must be finite")]
    NotFinite {
        /// Which body.
        body: usize,
        /// Which of its numbers.
        what: &'static str,
        /// Its value.
        given: f64,
    },
    /// A negative mass.
    #[error("body {body}: mass {given} must be 0 (a test body) or more")]
    NegativeMass {
        /// Which body.
        body: usize,
        /// Its mass.
        given: f64,
    },
    /// Two bodies at the same place, and no softening.
    #[error(
        "bodies {first} and {second} are both at ({}, {}, {}): move one of them, or give a softening length",
        .at[0], .at[1], .at[2]
    )]
    Coincident {
        /// One.
        first: usize,
        /// The other.
        second: usize,
        /// Where they are.
        at: [f64; 3],
    },
    /// A body outside of the plane z = 0, in two dimensions.
    #[error("body {body}: z = {z}, vz = {vz}, but --dimensions 2 wants 0 for both")]
    OutOfPlane {
        /// Which body.
        body: usize,
        /// Its third coordinate.
        z: f64,
        /// Its third velocity.
        vz: f64,
    },
}

/// A [`Specification`] and the bodies of its start, checked.
#[derive(Clone, Debug)]
pub struct Validated {
    specification: Specification,
    bodies: Bodies,
    warnings: Vec<String>,
}

impl Specification {
    /// Checks every value, and that the bodies can be integrated.
    ///
    /// # Errors
    /// The first value that does not fit.
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
        if ![2, 3].contains(&self.dimensions) {
            return option("dimensions", &self.dimensions, "2 or 3");
        }
        if !self.integrator.is_of_any_bodies() {
            let allowed = "one that needs no jerks; star clusters have Hermite's method, see trisolar cluster";
            return option("integrator", &self.integrator, allowed);
        }
        check_bodies(&bodies, self.softening, self.dimensions)?;
        if let Some(body) = bodies.mass.iter().position(|m| !(m * self.g).is_finite()) {
            let given = bodies.mass[body] * self.g;
            return Err(SpecError::NotFinite {
                body,
                what: "G times its mass",
                given,
            });
        }
        let warnings = warnings(&self, &bodies);
        Ok(Validated {
            specification: self,
            bodies,
            warnings,
        })
    }
}

fn check_bodies(bodies: &Bodies, softening: f64, dimensions: u8) -> Result<(), SpecError> {
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
        let (z, vz) = (bodies.position[body][2], bodies.velocity[body][2]);
        if dimensions == 2 && (z != 0.0 || vz != 0.0) {
            return Err(SpecError::OutOfPlane { body, z, vz });
        }
    }
    if softening == 0.0 {
        coincident(bodies)?;
    }
    Ok(())
}

/// No two bodies may be at the same place; test bodies do not mind each other.
fn coincident(bodies: &Bodies) -> Result<(), SpecError> {
    // -0 and 0 are the same place.
    let key = |i: usize| bodies.position[i].map(|x| x + 0.0);
    let mut order: Vec<usize> = (0..bodies.len()).collect();
    order.sort_by(|&a, &b| {
        let (p, q) = (key(a), key(b));
        let by = |d: usize| p[d].total_cmp(&q[d]);
        by(0).then(by(1)).then(by(2)).then(a.cmp(&b))
    });
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let massive = bodies.mass[first] > 0.0 || bodies.mass[second] > 0.0;
        if key(first) == key(second) && massive {
            return Err(SpecError::Coincident {
                first,
                second,
                at: bodies.position[first],
            });
        }
    }
    Ok(())
}

fn warnings(spec: &Specification, bodies: &Bodies) -> Vec<String> {
    let mut list = Vec::new();
    let n = bodies.len();
    if n > PAIRWISE_CHECK {
        return list;
    }
    // G (mᵢ + mⱼ) / r³ · dt², the square of the angle that a circular orbit of the pair goes through in a step.
    let mut worst = (0.0, 0, 0);
    for i in 0..n {
        for j in i + 1..n {
            let [p, q] = [bodies.position[i], bodies.position[j]];
            let r2 = (0..3).map(|d| (p[d] - q[d]) * (p[d] - q[d])).sum::<f64>()
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
            "bodies {i} and {j}: G·M/r³·dt² is {angle2:.3}, above 1: steps of {} cannot follow their orbit (wrong units?)",
            spec.dt
        ));
    }
    list
}

impl Model {
    /// The bodies of the start; `n` is needed by models that have no number of their own.
    ///
    /// # Errors
    /// [`SpecError`] for a number or parameter that does not fit.
    pub fn build(
        &self,
        n: Option<usize>,
        seed: u64,
        g: f64,
        dimensions: u8,
    ) -> Result<Bodies, SpecError> {
        if let Some(reason) = self.problem() {
            return Err(SpecError::Model {
                model: self.name().into(),
                reason,
            });
        }
        let n = match (self.fixed_count(), n) {
            (Some(has), Some(given)) if has != given => {
                return Err(SpecError::Count { given, has });
            }
            (Some(has), _) => has,
            (None, n) => n.unwrap_or(1024),
        };
        if !(1..=MAX_BODIES).contains(&n) {
            return Err(SpecError::Bodies { given: n });
        }
        Ok(self.bodies(n, seed, g, dimensions == 2))
    }
}

impl Validated {
    /// What is computed.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// What it starts from.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// What the user should know before waiting for the result.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
