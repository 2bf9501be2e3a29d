//! The specification of a cluster's integration: plain data, validated once.

use std::fmt;

use kernels_gpu::hermite::step::{SMALLEST_RATIO, lowest_step};
use kernels_gpu::physics::softening::{softening2, softening2_single};
use serde::{Deserialize, Serialize};

use super::{Star, bodies_of};
use trisolar_bodies::near::pair_within;
use trisolar_bodies::{Bodies, DVec3};

/// The order of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub enum Order {
    /// 4: acceleration and jerk.
    Four,
    /// 6: also snap.
    Six,
    /// 8: also crackle.
    Eight,
}

impl Order {
    /// All, lowest first.
    pub const ALL: [Self; 3] = [Self::Four, Self::Six, Self::Eight];

    /// 4, 6 or 8.
    pub fn number(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Six => 6,
            Self::Eight => 8,
        }
    }

    /// Vectors a force consists of: 2, 3 or 4.
    pub fn derivatives(self) -> usize {
        self.number() as usize / 2
    }

    /// Operations a pair counts as: 60, 97 or 144.
    pub fn operations(self) -> u32 {
        kernels_gpu::hermite::force::operations(self.derivatives())
    }

    /// Evaluations of the forces before the first step. Snap and crackle depend on accelerations and jerks, which the first one finds.
    pub(crate) fn evaluations_to_start(self) -> u32 {
        match self {
            Self::Four => 1,
            Self::Six | Self::Eight => 2,
        }
    }

    /// The default accuracy parameters of the steps and of the first step.
    pub fn usual_eta(self) -> (f64, f64) {
        match self {
            Self::Four => (0.1, 0.01),
            Self::Six => (0.5, 0.1),
            Self::Eight => (0.75, 0.1),
        }
    }
}

impl TryFrom<u32> for Order {
    type Error = String;
    fn try_from(n: u32) -> Result<Self, String> {
        match n {
            4 => Ok(Self::Four),
            6 => Ok(Self::Six),
            8 => Ok(Self::Eight),
            _ => Err(format!("order {n}: must be 4, 6 or 8")),
        }
    }
}

impl From<Order> for u32 {
    fn from(order: Order) -> Self {
        order.number()
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// The precision of pairs. Everything else is f64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// f64 throughout. Also read as `exact`.
    #[default]
    #[serde(alias = "exact")]
    F64,
    /// f32 pairs, with positions and accelerations as sums of two f32: relative error of a force about 1e-7. Also read by its former
    /// name, `float-float`.
    #[serde(rename = "split-f32", alias = "float-float")]
    SplitF32,
}

trisolar_io::names!(Precision {
    F64 = "f64" or "exact",
    SplitF32 = "split-f32" or "float-float",
});

impl Precision {
    /// The approximate relative error of a force.
    pub fn epsilon(self) -> f64 {
        match self {
            Self::F64 => 0.5 * f64::EPSILON,
            Self::SplitF32 => 0.5 * f64::from(f32::EPSILON),
        }
    }
}

/// The Ahmad–Cohen scheme: forces of neighbours at shorter steps than those of all others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AhmadCohen {
    /// Number of neighbours that a particle should have.
    pub neighbours: u32,
    /// Accuracy parameter of the steps of the regular force, as `eta`.
    pub eta_regular: f64,
}

impl AhmadCohen {
    /// The default values for a number of particles: √n neighbours, from 10 to 50.
    pub fn new(particles: usize) -> Self {
        let root = (particles as f64).sqrt() as u32;
        Self {
            neighbours: root.clamp(10, 50),
            eta_regular: Order::Four.usual_eta().0,
        }
    }

    /// Capacity of a list. A list that would be longer is made again with a smaller radius.
    pub fn capacity(&self) -> usize {
        Self::capacity_for(self.neighbours)
    }

    /// The capacity of a list that should have this many neighbours.
    pub(crate) const fn capacity_for(neighbours: u32) -> usize {
        (2 * neighbours as usize + 32).next_multiple_of(64)
    }
}

/// Close pairs are integrated as single particles, with a regularised relative orbit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosePairs {
    /// The largest apocentre of a pair that remains a single particle (length). Close passes begin within a sixteenth of it.
    pub radius: f64,
}

impl ClosePairs {
    /// The default value for a number of particles, 4/n.
    pub fn new(particles: usize) -> Self {
        Self {
            radius: 4.0 / particles.max(1) as f64,
        }
    }
}

/// Everything that a run depends on except the start model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The scheme.
    pub order: Order,
    /// Softening length (length).
    pub softening: f64,
    /// Accuracy parameter of the generalised criterion. At order 4 it is the square root of the parameter of
    /// Aarseth's formula.
    pub eta: f64,
    /// Accuracy parameter of the first step.
    pub eta_start: f64,
    /// The longest step, a power of two (time).
    pub max_step: f64,
    /// The shortest step, a power of two (time), which replaces shorter steps. Without it, a step that is too small to advance the
    /// time is an error.
    pub min_step: Option<f64>,
    /// How often each step is evaluated and corrected, n of P(EC)ⁿ.
    pub iterations: u32,
    /// The precision of pairs.
    #[serde(default)]
    pub precision: Precision,
    /// Forces of neighbours at steps of their own, at order 4; `None`: all forces at the same steps.
    #[serde(default)]
    pub ahmad_cohen: Option<AhmadCohen>,
    /// Close pairs as single particles; `None`: all particles by the same scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close_pairs: Option<ClosePairs>,
    /// The time at the beginning of the run, on the clock of the file from which the particles come. It changes no value:
    /// [`Cluster`](super::Cluster) counts from 0, and reports and files count from this time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_time: f64,
    /// Whether time runs backwards on the clock of the file. The run itself goes forwards with reversed velocities, and
    /// [`bodies_of`](Self::bodies_of) turns them back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backwards: bool,
    /// Names of the particles, for files, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_false(x: &bool) -> bool {
    !*x
}

impl Specification {
    /// The shortest step that may begin at `time`: [`min_step`](Self::min_step), or the shortest one that still advances the time.
    pub(crate) fn shortest_step(&self, time: f64) -> f64 {
        self.min_step
            .unwrap_or_else(|| lowest_step(self.max_step, time))
    }

    /// Converts a time of the run to the clock of the file, which shows [`start_time`](Self::start_time) at the run's time 0.
    pub fn on_the_clock(&self, time: f64) -> f64 {
        match self.backwards {
            false => self.start_time + time,
            true => self.start_time - time,
        }
    }

    /// Particles of a run at one time as bodies, with their velocities on the clock of the file.
    pub fn bodies_of(&self, stars: &[Star]) -> Bodies {
        let mut bodies = bodies_of(stars);
        if self.backwards {
            bodies
                .velocity
                .iter_mut()
                .for_each(|v| *v = DVec3::ZERO - *v);
        }
        bodies
    }

    /// The default values for an order.
    pub fn new(order: Order) -> Self {
        let (eta, eta_start) = order.usual_eta();
        Self {
            order,
            softening: 0.0,
            eta,
            eta_start,
            max_step: 0.0625,
            min_step: None,
            iterations: 1,
            precision: Precision::F64,
            ahmad_cohen: None,
            close_pairs: None,
            start_time: 0.0,
            backwards: false,
            names: None,
        }
    }
}

/// A value that cannot be computed with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{option} {given}: {allowed}")]
pub struct SpecError {
    /// The option as on the command line, or `body`.
    pub option: &'static str,
    /// The value given.
    pub given: String,
    /// The allowed values.
    pub allowed: String,
}

/// A specification and bodies that go together.
pub type Validated = trisolar_bodies::Checked<Specification>;

/// Largest number of bodies. Places are u32, and an all-pairs sum of this number takes minutes on any device.
pub const MAX_BODIES: usize = 1 << 24;

impl Specification {
    /// Checks every value and the start model.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validate(self, bodies: Bodies) -> Result<Validated, SpecError> {
        self.check()?;
        self.check_bodies(&bodies)?;
        Ok(Validated::new(self, bodies, Vec::new()))
    }

    fn check(&self) -> Result<(), SpecError> {
        let fail = |option, given: String, allowed: &str| {
            Err(SpecError {
                option,
                given,
                allowed: allowed.into(),
            })
        };
        let (eps, eps2) = (self.softening, self.softening * self.softening);
        if eps != 0.0 && !(eps > 0.0 && eps2.is_finite() && eps2.is_normal()) {
            let allowed =
                "must be 0 or from 1.5e-154 to 1.3e154, so that its square is a number (length)";
            return fail("--softening", eps.to_string(), allowed);
        }
        for (option, eta) in [("--eta", self.eta), ("--eta-start", self.eta_start)] {
            if !(1e-6..=1e6).contains(&eta) {
                return fail(option, eta.to_string(), "must be from 1e-6 to 1e6");
            }
        }
        if !is_step(self.max_step) {
            let allowed = "must be a power of two from 2^-30 to 2^30, such as 0.0625 (time)";
            return fail("--max-step", self.max_step.to_string(), allowed);
        }
        if let Some(min) = self.min_step
            && !(is_power_of_two(min)
                && min <= self.max_step
                && min >= self.max_step * SMALLEST_RATIO)
        {
            let allowed = format!(
                "must be a power of two from {:e} to the longest step, {} (time)",
                self.max_step * SMALLEST_RATIO,
                self.max_step
            );
            return fail("--min-step", min.to_string(), &allowed);
        }
        if self.precision == Precision::SplitF32 && self.softening > LARGEST_SINGLE_SOFTENING {
            let allowed = "must be at most 1e9 with --precision split-f32 (length)";
            return fail("--softening", eps.to_string(), allowed);
        }
        if let Some(options) = self.ahmad_cohen {
            self.check_ahmad_cohen(options)?;
        }
        if let Some(options) = self.close_pairs {
            self.check_close_pairs(options)?;
        }
        if !(1..=100).contains(&self.iterations) {
            return fail(
                "--iterations",
                self.iterations.to_string(),
                "must be from 1 to 100",
            );
        }
        Ok(())
    }

    fn check_ahmad_cohen(&self, options: AhmadCohen) -> Result<(), SpecError> {
        let fail = |option, given: String, allowed: &str| {
            Err(SpecError {
                option,
                given,
                allowed: allowed.into(),
            })
        };
        if self.order != Order::Four {
            let allowed = "must be 4 with --scheme ahmad-cohen";
            return fail("--order", self.order.to_string(), allowed);
        }
        if self.iterations != 1 {
            let allowed = "must be 1 with --scheme ahmad-cohen";
            return fail("--iterations", self.iterations.to_string(), allowed);
        }
        if !(1..=MAX_NEIGHBOURS).contains(&options.neighbours) {
            let allowed = format!("must be from 1 to {MAX_NEIGHBOURS}");
            return fail("--neighbours", options.neighbours.to_string(), &allowed);
        }
        if !(1e-6..=1e6).contains(&options.eta_regular) {
            let allowed = "must be from 1e-6 to 1e6";
            return fail("--eta-regular", options.eta_regular.to_string(), allowed);
        }
        Ok(())
    }

    fn check_close_pairs(&self, options: ClosePairs) -> Result<(), SpecError> {
        let refused = if !(options.radius > 0.0 && options.radius.is_finite()) {
            let allowed = "must be a finite number above 0 (length)";
            Some(("--pair-radius", options.radius.to_string(), allowed))
        } else if self.softening != 0.0 {
            let allowed = "must be 0 with --close-pairs regularised";
            Some(("--softening", self.softening.to_string(), allowed))
        } else if self.ahmad_cohen.is_some() {
            let allowed = "cannot be used with --close-pairs regularised";
            Some(("--scheme", "ahmad-cohen".to_owned(), allowed))
        } else if self.precision != Precision::F64 {
            let allowed = "must be f64 with --close-pairs regularised";
            Some(("--precision", self.precision.to_string(), allowed))
        } else if self.iterations != 1 {
            let allowed = "must be 1 with --close-pairs regularised";
            Some(("--iterations", self.iterations.to_string(), allowed))
        } else {
            None
        };
        match refused {
            None => Ok(()),
            Some((option, given, allowed)) => Err(SpecError {
                option,
                given,
                allowed: allowed.to_owned(),
            }),
        }
    }

    fn check_bodies(&self, bodies: &Bodies) -> Result<(), SpecError> {
        let fail = |given: String, allowed: &str| {
            Err(SpecError {
                option: "body",
                given,
                allowed: allowed.into(),
            })
        };
        if bodies.is_empty() || bodies.len() > MAX_BODIES {
            let allowed = format!("there must be from 1 to {MAX_BODIES}");
            return Err(SpecError {
                option: "bodies",
                given: bodies.len().to_string(),
                allowed,
            });
        }
        for (i, mass) in bodies.mass.iter().enumerate() {
            if !(mass.is_finite() && *mass >= 0.0) {
                return fail(
                    format!("{} (mass {mass})", i + 1),
                    "a mass must be finite and at least 0",
                );
            }
            if self.precision == Precision::SplitF32 && *mass > LARGEST_SINGLE_MASS {
                return fail(
                    format!("{} (mass {mass})", i + 1),
                    "with --precision split-f32 a mass must be at most 1e12",
                );
            }
            if !(bodies.position[i].is_finite() && bodies.velocity[i].is_finite()) {
                return fail(
                    (i + 1).to_string(),
                    "positions and velocities must be finite",
                );
            }
        }
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max);
        self.check_extent(bodies, heaviest)?;
        if self.softening == 0.0 {
            // Without softening, the sums add this number to r², so that the force of a body on itself vanishes.
            let added = match self.precision {
                Precision::F64 => softening2(0.0),
                Precision::SplitF32 => softening2_single(0.0, heaviest),
            };
            let nearest = (added / self.precision.epsilon()).sqrt();
            // Test bodies do not attract each other.
            let pulls = |i: usize| bodies.mass[i] > 0.0;
            if let Some((i, j, distance)) = pair_within(&bodies.position, pulls, nearest) {
                let given = format!("{} and {}", i + 1, j + 1);
                if distance == 0.0 {
                    let allowed =
                        "they coincide; give them different positions or a --softening above 0";
                    return fail(given, allowed);
                }
                let allowed = format!(
                    "they are only {distance:e} apart, and forces are wrong at distances below {nearest:.1e}; give them different \
                     positions or a --softening above 0"
                );
                return fail(given, &allowed);
            }
        }
        Ok(())
    }
}

impl Specification {
    /// Checks that no body is so far away that forces lose their digits.
    fn check_extent(&self, bodies: &Bodies, heaviest: f64) -> Result<(), SpecError> {
        let middle = bodies.middle();
        let most = match self.precision {
            Precision::F64 => FARTHEST,
            // The force at the largest distance must be an f32 number with all digits.
            Precision::SplitF32 => {
                let by_mass = (heaviest.min(1.0) / LEAST_SINGLE_FORCE).cbrt();
                by_mass.min(FARTHEST_SINGLE)
            }
        };
        let far = |x: &DVec3| (*x - middle).abs().max_element() > most;
        match bodies.position.iter().position(far) {
            Some(body) if heaviest > 0.0 => Err(SpecError {
                option: "body",
                given: (body + 1).to_string(),
                allowed: format!(
                    "it is more than {most:.1e} from the middle of the bodies, where --precision {} has no exact forces; choose other units",
                    self.precision
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Largest distance from the middle of the bodies in f64, whose r⁻³ is a number with all digits.
const FARTHEST: f64 = 1e100;
/// The same in split-f32.
const FARTHEST_SINGLE: f64 = 1e12;
/// Least G·m·r⁻³ in split-f32.
const LEAST_SINGLE_FORCE: f64 = 1e-36;

/// Largest G·m of a body in split-f32: its force at the least distance must be an f32 number.
const LARGEST_SINGLE_MASS: f64 = 1e12;

/// Largest softening length in split-f32: its square and the power of -3/2 of that have to be f32 numbers.
const LARGEST_SINGLE_SOFTENING: f64 = 1e9;

/// Largest number of neighbours that can be requested.
pub const MAX_NEIGHBOURS: u32 = 1 << 12;

fn is_power_of_two(x: f64) -> bool {
    x > 0.0 && x.is_normal() && x.to_bits() << 12 == 0
}

fn is_step(x: f64) -> bool {
    let limit = (1u64 << 30) as f64;
    is_power_of_two(x) && x <= limit && x >= 1.0 / limit
}
