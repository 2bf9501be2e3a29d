//! The specification of a divergence map: plain data that is validated once and saved with every result.
//!
//! [`Overrides`] holds the values that a user gives, with abbreviations and omissions; [`Specification`] holds every value;
//! [`Validated`] holds values that an engine can compute with.

use std::f64::consts::{SQRT_2, TAU};
use std::sync::Arc;

use glam::DVec3;
use kernels_gpu::Real as _;
use kernels_gpu::map::{DivergenceCriterion, Grid, Masses, OwnSteps};
use kernels_gpu::number::{DoubleDouble, Long, exact_product, exact_sum};
use kernels_gpu::physics::three_body::MassTerms;
use serde::{Deserialize, Serialize};

use super::method::{Precision, Start};
use super::quantity::Quantity;
use trisolar_bodies::Points;
pub use trisolar_spec::{Center, OneOrThree, OneOrTwo};
use trisolar_spec::{Integrator, SpecError, one_or_more, parameters, read};

mod checks;
mod starts;
mod validated;

pub use starts::MapAxis;
pub use validated::Validated;

/// Everything a divergence map's values depend on. [`Default`] is the headline map.
///
/// Lengths, times and masses are in any consistent units: [`g`](Self::g) ties them together. It is read
/// from TOML or JSON like [`Overrides`], and written in full, with enough digits to restore the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Overrides")]
pub struct Specification {
    /// Pixels: width, height.
    pub size: [u64; 2],
    /// Centre of the map along the two spanned axes (length).
    pub center: Center,
    /// Extent of the map along the two spanned axes (length).
    pub span: [f64; 2],
    /// Which two coordinates of the grid body the map spans.
    pub plane: Plane,
    /// Parameters of the start along the columns and the rows of the map instead of the grid body's place: `NAME=LOW:HIGH` each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub map: Vec<String>,
    /// Parameters of the start that are drawn anew in each pixel: `NAME=uniform:LOW:HIGH` each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub draw: Vec<String>,
    /// Seed of what is drawn.
    #[serde(skip_serializing_if = "is_usual_seed")]
    pub seed: u64,
    /// Which body (1, 2, 3) the grid places and whose twin is shifted.
    pub body: u8,
    /// Masses of the bodies (mass). A body of mass 0 is attracted but does not attract.
    pub masses: [f64; 3],
    /// Start positions (length). Of the grid body only the coordinate outside the plane is used.
    pub positions: [DVec3; 3],
    /// Start velocities (length / time).
    pub velocities: [DVec3; 3],
    /// Gravitational constant (length³ / mass / time²); 0 switches gravity off, below 0 it repels.
    pub g: f64,
    /// Softening length (length): r² + softening² takes the place of r².
    pub softening: f64,
    /// Steps after which a pixel counts as never parted.
    pub steps: u64,
    /// Time step (time).
    pub dt: f64,
    /// Vector that is added to the grid body's start position in the twin system (length).
    pub shift: DVec3,
    /// Distance of the grid body from its twin up to which they count as together (length).
    pub critical_distance: f64,
    /// Quantity that is computed for each pixel.
    #[serde(skip_serializing_if = "Quantity::is_default")]
    pub quantity: Quantity,
    /// The arithmetic.
    pub precision: Precision,
    /// The integrator of the trajectories.
    pub integrator: Integrator,
    /// How multistep integrators start; others must have [`Start::Euler`].
    pub start: Start,
    /// Steps in a period of the tightest circular binary that the energy allows, for integrators with steps of their own; `None` for
    /// the integrator's [usual number](Integrator::steps_per_period) and for other integrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_per_period: Option<f64>,
}

impl Specification {
    /// The method in words, as pictures and summaries name it: integrator, step, number of steps, and the precision if it is not f64.
    pub fn method(&self) -> String {
        let precision = match self.precision {
            Precision::F64 => String::new(),
            other => format!(", {other}"),
        };
        let (integrator, dt, steps) = (self.integrator, self.dt, self.steps);
        let step = match self.own_steps_per_period() {
            Some(number) => format!("{number} steps per period, {steps} times {dt}"),
            None => format!("step {dt}, {steps} steps"),
        };
        format!("{integrator}, {step}{precision}")
    }
}

impl Default for Specification {
    fn default() -> Self {
        Self {
            size: [300, 300],
            center: Center::default(),
            span: [DEFAULT_SPAN, DEFAULT_SPAN],
            plane: Plane::Xy,
            map: Vec::new(),
            draw: Vec::new(),
            seed: USUAL_SEED,
            body: 1,
            masses: [10.0, 20.0, 30.0],
            positions: [
                DVec3::new(0.0, 0.0, -11.0),
                DVec3::ZERO,
                DVec3::new(10.0, 10.0, 12.0),
            ],
            velocities: [
                DVec3::new(-3.0, 0.0, 0.0),
                DVec3::ZERO,
                DVec3::new(3.0, 0.0, 0.0),
            ],
            g: 9.8,
            softening: 0.0,
            steps: 50_000,
            dt: 0.001,
            shift: DVec3::splat(0.001),
            critical_distance: 0.5,
            quantity: Quantity::Divergence,
            precision: Precision::F64,
            integrator: Integrator::ExplicitEuler,
            start: Start::Euler,
            steps_per_period: None,
        }
    }
}

/// The largest seed: TOML has no larger numbers.
pub(crate) const MAX_SEED: u64 = i64::MAX as u64;
const DEFAULT_SPAN: f64 = 40.0;
const USUAL_SEED: u64 = 1;

fn is_usual_seed(seed: &u64) -> bool {
    *seed == USUAL_SEED
}

parameters! {
    /// The values of a [`Specification`] that a user gives, in a configuration file or on the command line. Missing values have their
    /// defaults, and three values can be abbreviated.
    pub struct Overrides {
        "Specification" {
            /// Pixels: width and height, or one number for a square
            size: Option<OneOrTwo<u64>> = "W[xH]" => read::size, default "300x300";
            /// Centre of the map along the two spanned axes
            center: Option<Center> = "X,Y" => read::center, unit "length",
                then "; with up to 32 digits, which count in double-double", default "0,0",
                where { conflicts: &["map"] };
            /// Extent of the map along the two spanned axes
            span: Option<OneOrTwo<f64>> = "SX[,SY]" => read::one_or_two, unit "length",
                then "; one number makes pixels square", default "40", where { conflicts: &["map"] };
            /// Which two coordinates of the grid body the map spans: xy, xz or yz
            plane: Option<Plane> = "PLANE" => str::parse, default "xy",
                where { choices: Some(|| Plane::ALL.map(|plane| plane.name().to_owned()).into()), conflicts: &["map"] };
            /// Compute a map over two parameters of the start (columns, then rows) or one, in place of the grid body's place: x1 to z3,
            /// vx1 to vz3 or mass1 to mass3, each with its range, such as mass2=5:30,vx1=-5:0
            #[serde(deserialize_with = "one_or_more")]
            map: Vec<String> = "X=LOW:HIGH[,Y=LOW:HIGH]" => read::parsed,
                where { separator: Some(','), conflicts: &["center", "span", "plane"] };
            /// Draw these parameters anew in each pixel, such as mass3=uniform:20:40,vz1=uniform:-1:1
            #[serde(deserialize_with = "one_or_more")]
            draw: Vec<String> = "NAME=uniform:LOW:HIGH,..." => read::parsed, where { separator: Some(',') };
            /// Seed of what is drawn
            seed: Option<u64> = "SEED" => |text| read::whole(text, 0..=MAX_SEED), default "1";
            /// Which body is the grid body, whose start position depends on the pixel and whose twin is shifted: 1, 2 or 3
            body: Option<u8> = "N" => body, default "1", where { choices: Some(|| ["1", "2", "3"].map(str::to_owned).into()) };
            /// Masses of the bodies
            masses: Option<[f64; 3]> = "M1,M2,M3" => read::triple, unit "mass", then "; 0 for a test body", default "10,20,30";
            /// Start positions
            positions: Option<[DVec3; 3]> = "X,Y,Z:X,Y,Z:X,Y,Z" => read::three_vectors, unit "length",
                then ", bodies separated by colons; for the grid body only the coordinate outside the plane is used",
                default "0,0,-11:0,0,0:10,10,12";
            /// Start velocities
            velocities: Option<[DVec3; 3]> = "X,Y,Z:X,Y,Z:X,Y,Z" => read::three_vectors, unit "length / time",
                then ", bodies separated by colons", default "-3,0,0:0,0,0:3,0,0";
            /// Gravitational constant
            g: Option<f64> = "G" => read::number, unit "length^3 / mass / time^2", default "9.8";
            /// Softening length
            softening: Option<f64> = "LENGTH" => read::number, unit "length", default "0", where { aliases: &["eps"] };
            /// Steps after which a pixel counts as never parted, 1 to 4294967294
            steps: Option<u64> = "N" => steps, default "50000";
            /// Time step
            dt: Option<f64> = "TIME" => read::number, unit "time", default "0.001";
            /// Shift of the grid body's twin
            shift: Option<OneOrThree> = "D|DX,DY,DZ" => read::one_or_three, unit "length",
                then "; one number for all three axes", default "0.001";
            /// Distance up to which the grid body counts as together with its twin
            critical_distance: Option<f64> = "LENGTH" => read::number, unit "length", default "0.5";
            /// Quantity to compute for each pixel
            quantity: Option<Quantity> = "NAME" => read::parsed, default "divergence", where {
                lines: Some(quantities),
                choices: Some(|| Quantity::ALL.iter().map(ToString::to_string).collect()),
            };
            /// Arithmetic
            precision: Option<Precision> = "NAME" => read::parsed, default "f64", where {
                lines: Some(Precision::help_of_all),
                choices: Some(|| Precision::ALL.iter().map(ToString::to_string).collect()),
            };
            /// Integrator of the trajectories; all except the default need the precision f64, or double-double if they are regularised or their
            /// coefficients are exact
            integrator: Option<Integrator> = "NAME" => read::parsed, default "explicit-euler", where {
                lines: Some(|| Integrator::help_of(Integrator::ALL.iter().copied())),
                choices: Some(|| Integrator::ALL.iter().map(ToString::to_string).collect()),
            };
            /// First steps of the adams-bashforth integrators: euler (as in Badger's study; reduces the order to 2) or runge-kutta
            start: Option<Start> = "NAME" => read::parsed, default "euler",
                where { choices: Some(|| Start::ALL.map(|start| start.name().to_owned()).into()) };
            /// Steps of the regularised integrators in a period of the tightest circular binary that the energy allows, 5 to 1e6 (by default
            /// 400, 10, 8 at order 2, 6, 8); --dt is then only the unit in which --steps and the value are counted
            steps_per_period: Option<f64> = "N" => read::number;
        }
        "Accuracy" {
            /// Fail (exit code 1), after writing all files, if more than this share of sampled values changes with a quarter of the step,
            /// or of the pixels is unresolved: two bodies come so close that the step is too long for them (G·M/r³·dt² > 1) before the
            /// twins part. An unresolved share well above 0.1 is a warning in any case. Frames of a sequence: unresolved pixels only
            max_error: Option<f64> = "X" => read::number;
        }
    }
}

/// The quantities, a line for each, for the help.
fn quantities() -> String {
    let mut text = String::new();
    for quantity in Quantity::ALL {
        let (help, unit) = (quantity.help(), quantity.unit());
        text.push_str(&format!("{quantity} ({unit}): {help}\n"));
    }
    text.push_str(
        "Every quantity can be computed in f64 with every integrator, and divergence also in the other precisions.",
    );
    text
}

/// A number of steps; its range is checked with the other values.
///
/// # Errors
/// A description of the allowed values, if the text is not a whole number.
pub fn steps(text: &str) -> Result<u64, String> {
    read::unchecked(text, 1..=MAX_STEPS)
}

/// A body's number.
fn body(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "must be 1, 2 or 3".into())
}

impl Overrides {
    /// The largest allowed share of values that change with a quarter of the step, and of unresolved pixels, if one is given.
    ///
    /// # Errors
    /// [`SpecError`] if it is not an allowed share.
    pub fn checked_max_error(&self) -> Result<Option<f64>, SpecError> {
        match self.max_error.map(|most| (most, super::max_error(most))) {
            Some((most, Err(allowed))) => Err(SpecError::new("max-error", most, allowed)),
            _ => Ok(self.max_error),
        }
    }
}

/// Conversions between what a user gives and the whole specification. The fields that are listed have no abbreviations.
macro_rules! conversions {
    ($($field:ident)*) => {
        impl From<&Specification> for Overrides {
            /// Every value, without abbreviations. The limit of errors is not part of a specification.
            fn from(s: &Specification) -> Self {
                Self {
                    $($field: Some(s.$field),)*
                    map: s.map.clone(),
                    draw: s.draw.clone(),
                    size: Some(OneOrTwo::Two(s.size)),
                    span: Some(OneOrTwo::Two(s.span)),
                    shift: Some(OneOrThree::Three(s.shift)),
                    steps_per_period: s.steps_per_period,
                    max_error: None,
                }
            }
        }

        impl From<Overrides> for Specification {
            fn from(given: Overrides) -> Self {
                let default = Self::default();
                let size = match given.size {
                    None => default.size,
                    Some(OneOrTwo::One(n)) => [n, n],
                    Some(OneOrTwo::Two(size)) => size,
                };
                let span = match given.span.unwrap_or(OneOrTwo::One(DEFAULT_SPAN)) {
                    OneOrTwo::One(first) => [first, first * (size[1] as f64 / size[0] as f64)],
                    OneOrTwo::Two(span) => span,
                };
                let shift = match given.shift {
                    None => default.shift,
                    Some(OneOrThree::One(d)) => DVec3::splat(d),
                    Some(OneOrThree::Three(shift)) => shift,
                };
                Self {
                    $($field: given.$field.unwrap_or(default.$field),)*
                    map: given.map,
                    draw: given.draw,
                    size,
                    span,
                    shift,
                    steps_per_period: given.steps_per_period,
                }
            }
        }
    };
}
conversions! {
    center plane seed body masses positions velocities g softening steps dt critical_distance quantity precision integrator start
}

/// Two of the three coordinate axes: the map's columns run along the first, its rows along the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    /// x and y.
    Xy,
    /// x and z.
    Xz,
    /// y and z.
    Yz,
}

trisolar_io::names!(Plane {
    Xy = "xy",
    Xz = "xz",
    Yz = "yz",
});

impl Plane {
    /// Indices of the two spanned coordinates.
    pub fn axes(self) -> [usize; 2] {
        match self {
            Self::Xy => [0, 1],
            Self::Xz => [0, 2],
            Self::Yz => [1, 2],
        }
    }

    /// Index of the coordinate that is not spanned.
    pub fn normal(self) -> usize {
        match self {
            Self::Xy => 2,
            Self::Xz => 1,
            Self::Yz => 0,
        }
    }

    /// Names of the two spanned coordinates.
    pub fn labels(self) -> [&'static str; 2] {
        self.axes().map(|axis| ["x", "y", "z"][axis])
    }
}

/// Largest number of pixels of a map.
pub const MAX_PIXELS: u64 = trisolar_bodies::MAX_POINTS;
/// Largest number of steps of a pixel: step counts are u32, and the largest value is reserved.
pub const MAX_STEPS: u64 = u32::MAX as u64 - 1;

impl Specification {
    /// Positions and velocities of bodies 1, 2, 3 at a point.
    #[inline]
    fn state_of(&self, points: &Points, i: usize) -> [[DVec3; 3]; 2] {
        points.state([self.positions, self.velocities], self.body, i)
    }

    /// Checks every value, their combination, and what the engines derive from them (squares, products with the
    /// time step): no such value may overflow, or vanish where its factors do not.
    ///
    /// A single pixel may place the grid body exactly on another body. Without softening, the velocities are then NaN after the
    /// first step and the positions after the second, and the pixel counts as parted from then on (`steps_together` = 2) on every engine.
    ///
    /// # Errors
    /// The first value that is not allowed, with the name of its option and the allowed values.
    pub fn validate(mut self) -> Result<Validated, SpecError> {
        self.check_map()?;
        let starts = self.starts()?;
        self.validate_with(starts.map(Arc::new))
    }

    /// The same map in double-double, if this one is in `f64` and its method exists in double-double.
    pub fn in_double_double(&self) -> Option<Self> {
        let wide = Self {
            precision: Precision::DoubleDouble,
            ..self.clone()
        };
        (self.precision == Precision::F64 && wide.has_method()).then_some(wide)
    }

    /// As [`validate`](Self::validate), for a frame of a zoom: in double-double, if the method exists there and rounding to `f64` would
    /// change the shift or the distance of neighbouring pixels by more than 1 %.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_at_depth(self) -> Result<Validated, SpecError> {
        let wide = self.in_double_double();
        match (self.validate(), wide) {
            (Ok(valid), Some(_)) if valid.is_resolved() => Ok(valid),
            (_, Some(wide)) => wide.validate(),
            (found, None) => found,
        }
    }

    /// As [`validate`](Self::validate), for points with start states of their own instead of a grid. The rectangle of the map and
    /// positions, velocities and masses that the points contain are not used; the size becomes the number of points.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_points(mut self, points: Points) -> Result<Validated, SpecError> {
        let usual = Self::default();
        for (option, given) in [("map", &self.map), ("draw", &self.draw)] {
            if !given.is_empty() {
                let allowed = "cannot be used with points, which replace it";
                return Err(SpecError::new(option, given.join(","), allowed));
            }
        }
        self.seed = usual.seed;
        for key in points.replaces() {
            match *key {
                "center" => self.center = usual.center,
                "masses" => self.masses = usual.masses,
                "span" => self.span = usual.span,
                "plane" => self.plane = usual.plane,
                "positions" => self.positions = usual.positions,
                "velocities" => self.velocities = usual.velocities,
                _ => self.size = points.size(),
            }
        }
        self.validate_with(Some(Arc::new(points)))
    }

    fn validate_with(self, points: Option<Arc<Points>>) -> Result<Validated, SpecError> {
        self.check_map()?;
        self.check_bodies()?;
        self.check_stepping()?;
        self.check_method()?;
        let valid = Validated {
            specification: self,
            points,
        };
        valid.check_apart()?;
        valid.check_derived()?;
        valid.check_shift()?;
        valid.check_range()?;
        Ok(valid)
    }

    /// Whether its quantity is compiled for its precision and integrator.
    pub fn has_method(&self) -> bool {
        let (precision, integrator) = (self.precision.kind(), self.integrator.name());
        self.quantity.has_method(precision, integrator)
    }

    /// Steps per period, if the integrator has steps of its own.
    pub fn own_steps_per_period(&self) -> Option<f64> {
        let usual = self.integrator.steps_per_period()?;
        Some(self.steps_per_period.unwrap_or(usual))
    }

    /// The order of the bodies in kernels: the grid body first, then the others in their own order.
    pub(super) fn order(&self) -> [usize; 3] {
        match self.body {
            1 => [0, 1, 2],
            2 => [1, 0, 2],
            _ => [2, 0, 1],
        }
    }

    /// The rectangle of start positions.
    fn grid(&self) -> Grid {
        let order = self.order();
        Grid {
            corner: [0, 1].map(|k| {
                let [nearest, rest] = self.center.long()[k];
                let [corner, lost] = exact_sum(nearest, -self.span[k] / 2.0);
                [corner, lost + rest]
            }),
            span: self.span,
            width: self.size[0] as u32,
            height: self.size[1] as u32,
            axes: self.plane.axes().map(|axis| axis as u32),
            positions: order.map(|body| self.positions[body].to_array()),
            velocities: order.map(|body| self.velocities[body].to_array()),
        }
    }

    /// G·m·dt² of bodies of these masses in the kernels' [order](Self::order).
    fn gm_dt2(&self, masses: &[f64; 3]) -> [f64; 3] {
        let dt2 = self.dt * self.dt;
        self.order().map(|body| self.g * masses[body] * dt2)
    }

    /// [`gm_dt2`](Self::gm_dt2) with all digits.
    fn strengths(&self, masses: &[f64; 3]) -> [Long; 3] {
        let number = DoubleDouble::<f64>::from_long;
        let dt2 = number(exact_product(self.dt, self.dt));
        let (order, rounded) = (self.order(), self.gm_dt2(masses));
        [0, 1, 2].map(|k| {
            let exact = number(exact_product(self.g, masses[order[k]])) * dt2;
            let rest = exact - DoubleDouble::from_f64(rounded[k]);
            [rounded[k], rest.to_f64(0)]
        })
    }

    /// The mass terms that the kernels need, from these masses.
    fn weigh(&self, masses: &[f64; 3]) -> Masses {
        Masses {
            in_steps: MassTerms::new(self.strengths(masses), self.softening),
            criterion: DivergenceCriterion::new(
                self.order().map(|body| masses[body]),
                self.shift.to_array(),
                self.critical_distance,
            ),
            own_steps: OwnSteps {
                strengths: self.strengths(masses),
                step: self
                    .own_steps_per_period()
                    .map_or(0.0, |n| SQRT_2 * TAU / n),
            },
        }
    }
}

/// Describes the values in which two specifications differ.
pub fn differences(there: &Specification, here: &Specification) -> String {
    let object = |s: &Specification| {
        let mut object = serde_json::to_value(s).expect("plain data");
        // The default is not written.
        object["quantity"] = s.quantity.name().into();
        object
    };
    let (there, here) = (object(there), object(here));
    let keys = here.as_object().into_iter().flat_map(|map| map.keys());
    let found: Vec<String> = keys
        .filter(|key| there[*key] != here[*key])
        .map(|key| {
            let option = key.replace('_', "-");
            format!("--{option} ({} there, {} here)", there[key], here[key])
        })
        .collect();
    found.join(", ")
}
