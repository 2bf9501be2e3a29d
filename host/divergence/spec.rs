//! The specification of a divergence map: plain data that is validated once and saved with every result.
//!
//! [`Overrides`] holds the values that a user gives, with abbreviations and omissions; [`Specification`] holds every value;
//! [`Validated`] holds values that an engine can compute with.

use std::sync::Arc;

use glam::DVec3;
use kernels_gpu::map::{self, DivergenceCriterion, Grid, Job, Masses, Point};
use kernels_gpu::physics::three_body::{MassTerms, Relative};
use serde::{Deserialize, Serialize};

use super::method::{Precision, Start};
use super::quantity::Quantity;
use super::value::ValueType;
use trisolar_bodies::Points;
use trisolar_spec::{Integrator, SpecError, parameters, read};
pub use trisolar_spec::{OneOrThree, OneOrTwo};

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
    pub center: [f64; 2],
    /// Extent of the map along the two spanned axes (length).
    pub span: [f64; 2],
    /// Which two coordinates of the grid body the map spans.
    pub plane: Plane,
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
}

impl Default for Specification {
    fn default() -> Self {
        Self {
            size: [300, 300],
            center: [0.0, 0.0],
            span: [DEFAULT_SPAN, DEFAULT_SPAN],
            plane: Plane::Xy,
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
        }
    }
}

const DEFAULT_SPAN: f64 = 40.0;

parameters! {
    /// The values of a [`Specification`] that a user gives, in a configuration file or on the command line. Missing values have their
    /// defaults, and three values can be abbreviated.
    pub struct Overrides {
        "Specification" {
            /// Pixels: width and height, or one number for a square
            size: Option<OneOrTwo<u64>> = "W[xH]" => read::size, default "300x300";
            /// Centre of the map along the two spanned axes
            center: Option<[f64; 2]> = "X,Y" => read::pair, unit "length", default "0,0";
            /// Extent of the map along the two spanned axes
            span: Option<OneOrTwo<f64>> = "SX[,SY]" => read::one_or_two, unit "length",
                then "; one number makes pixels square", default "40";
            /// Which two coordinates of the grid body the map spans: xy, xz or yz
            plane: Option<Plane> = "PLANE" => |text| read::named(&Plane::ALL, Plane::name, text), default "xy",
                where { choices: Some(|| Plane::ALL.map(|plane| plane.name().to_owned()).into()) };
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
            /// Integrator of the trajectories; all except the default need the precision f64
            integrator: Option<Integrator> = "NAME" => read::parsed, default "explicit-euler", where {
                lines: Some(|| Integrator::help_of(Integrator::ALL.iter().copied())),
                choices: Some(|| Integrator::ALL.iter().map(ToString::to_string).collect()),
            };
            /// First steps of the adams-bashforth integrators: euler (as in Badger's study; reduces the order to 2) or runge-kutta
            start: Option<Start> = "NAME" => read::parsed, default "euler",
                where { choices: Some(|| Start::ALL.map(|start| start.name().to_owned()).into()) };
        }
        "Accuracy" {
            /// Fail (exit code 1), after writing all files, if more than this share of the pixels is unresolved: two bodies come so close
            /// that the step is too long for them (G·M/r³·dt² > 1) before the twins part. A share well above 0.1 is a warning in any case
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
    /// The largest allowed share of unresolved pixels, if one is given.
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

impl From<&Specification> for Overrides {
    /// Every value, without abbreviations. The limit of errors is not part of a specification.
    fn from(s: &Specification) -> Self {
        Self {
            size: Some(OneOrTwo::Two(s.size)),
            center: Some(s.center),
            span: Some(OneOrTwo::Two(s.span)),
            plane: Some(s.plane),
            body: Some(s.body),
            masses: Some(s.masses),
            positions: Some(s.positions),
            velocities: Some(s.velocities),
            g: Some(s.g),
            softening: Some(s.softening),
            steps: Some(s.steps),
            dt: Some(s.dt),
            shift: Some(OneOrThree::Three(s.shift)),
            critical_distance: Some(s.critical_distance),
            quantity: Some(s.quantity),
            precision: Some(s.precision),
            integrator: Some(s.integrator),
            start: Some(s.start),
            max_error: None,
        }
    }
}

impl From<Overrides> for Specification {
    fn from(overrides: Overrides) -> Self {
        let default = Self::default();
        let size = match overrides.size {
            None => default.size,
            Some(OneOrTwo::One(n)) => [n, n],
            Some(OneOrTwo::Two(size)) => size,
        };
        let span = match overrides.span.unwrap_or(OneOrTwo::One(DEFAULT_SPAN)) {
            OneOrTwo::One(first) => [first, first * (size[1] as f64 / size[0] as f64)],
            OneOrTwo::Two(span) => span,
        };
        let shift = match overrides.shift {
            None => default.shift,
            Some(OneOrThree::One(d)) => DVec3::splat(d),
            Some(OneOrThree::Three(shift)) => shift,
        };
        Self {
            size,
            center: overrides.center.unwrap_or(default.center),
            span,
            plane: overrides.plane.unwrap_or(default.plane),
            body: overrides.body.unwrap_or(default.body),
            masses: overrides.masses.unwrap_or(default.masses),
            positions: overrides.positions.unwrap_or(default.positions),
            velocities: overrides.velocities.unwrap_or(default.velocities),
            g: overrides.g.unwrap_or(default.g),
            softening: overrides.softening.unwrap_or(default.softening),
            steps: overrides.steps.unwrap_or(default.steps),
            dt: overrides.dt.unwrap_or(default.dt),
            shift,
            critical_distance: overrides
                .critical_distance
                .unwrap_or(default.critical_distance),
            quantity: overrides.quantity.unwrap_or(default.quantity),
            precision: overrides.precision.unwrap_or(default.precision),
            integrator: overrides.integrator.unwrap_or(default.integrator),
            start: overrides.start.unwrap_or(default.start),
        }
    }
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

impl Plane {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Xy, Self::Xz, Self::Yz];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xy => "xy",
            Self::Xz => "xz",
            Self::Yz => "yz",
        }
    }

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

/// A [`Specification`] that has passed [`Specification::validate`] or [`Specification::validate_points`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    specification: Specification,
    points: Option<Arc<Points>>,
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
    pub fn validate(self) -> Result<Validated, SpecError> {
        self.validate_with(None)
    }

    /// As [`validate`](Self::validate), for points with start states of their own instead of a grid. The rectangle of the map and
    /// positions, velocities and masses that the points contain are not used; the size becomes the number of points.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_points(mut self, points: Points) -> Result<Validated, SpecError> {
        let usual = Self::default();
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

    fn check_map(&self) -> Result<(), SpecError> {
        let [w, h] = self.size;
        let side = 1..=u64::from(u32::MAX);
        if !side.contains(&w) || !side.contains(&h) || w * h > MAX_PIXELS {
            let allowed = "width and height must be from 1 to 4294967295, and their product at most 4294967296 \
                           (2^32) pixels";
            return Err(SpecError::new("size", format!("{w}x{h}"), allowed));
        }
        if !self.center.iter().all(|x| x.is_finite()) {
            let allowed = "both must be finite numbers (length)";
            return Err(SpecError::new("center", list(&self.center), allowed));
        }
        if !self.span.iter().all(|x| x.is_finite() && *x > 0.0) {
            let allowed = "must be finite and above 0 along both axes (length)";
            return Err(SpecError::new("span", list(&self.span), allowed));
        }
        if !(1..=3).contains(&self.body) {
            return Err(SpecError::new("body", self.body, "must be 1, 2 or 3"));
        }
        Ok(())
    }

    fn check_bodies(&self) -> Result<(), SpecError> {
        if !self.masses.iter().all(|m| m.is_finite() && *m >= 0.0) {
            let allowed = "each must be a finite number of at least 0 (0 is a test body, which is attracted without \
                           pulling)";
            return Err(SpecError::new("masses", list(&self.masses), allowed));
        }
        if !self.positions.iter().all(|p| p.is_finite()) {
            let allowed = "each body needs three finite numbers (length)";
            return Err(SpecError::new(
                "positions",
                vectors(&self.positions),
                allowed,
            ));
        }
        if !self.velocities.iter().all(|v| v.is_finite()) {
            let allowed = "each body needs three finite numbers (length / time)";
            return Err(SpecError::new(
                "velocities",
                vectors(&self.velocities),
                allowed,
            ));
        }
        if self.softening != 0.0 && !(self.softening > 0.0 && square_is_normal(self.softening)) {
            let allowed =
                "must be 0 or from 1.5e-154 to 1.3e154, so that its square is a number (length)";
            return Err(SpecError::new("softening", self.softening, allowed));
        }
        Ok(())
    }

    fn check_stepping(&self) -> Result<(), SpecError> {
        if !self.g.is_finite() {
            let allowed = "must be a finite number (length^3 / mass / time^2)";
            return Err(SpecError::new("g", self.g, allowed));
        }
        if self.steps == 0 || self.steps > MAX_STEPS {
            return Err(SpecError::new(
                "steps",
                self.steps,
                "must be from 1 to 4294967294",
            ));
        }
        if !(self.dt.is_finite() && self.dt > 0.0) {
            return Err(SpecError::new(
                "dt",
                self.dt,
                "must be a finite number above 0 (time)",
            ));
        }
        if !self.shift.is_finite() || self.shift == DVec3::ZERO {
            let allowed = "must be finite numbers, at least one of them not 0 (length)";
            return Err(SpecError::new(
                "shift",
                list(&self.shift.to_array()),
                allowed,
            ));
        }
        if !(self.critical_distance > 0.0 && square_is_normal(self.critical_distance)) {
            let allowed =
                "must be from 1.5e-154 to 1.3e154, so that its square is a number (length)";
            return Err(SpecError::new(
                "critical-distance",
                self.critical_distance,
                allowed,
            ));
        }
        Ok(())
    }

    fn check_method(&self) -> Result<(), SpecError> {
        let quantity = self.quantity;
        let has = |p: Precision, i: Integrator| quantity.has_method(p.kind(), i.name());
        let any = |p: &Precision| Integrator::ALL.iter().any(|i| has(*p, *i));
        if !any(&self.precision) {
            let names = Precision::ALL.into_iter().filter(any).map(Precision::kind);
            let allowed = format!(
                "with --quantity {quantity} it must be {}",
                names.collect::<Vec<_>>().join(" or ")
            );
            return Err(SpecError::new("precision", self.precision, allowed));
        }
        let has = |i: &Integrator| has(self.precision, *i);
        if !has(&self.integrator) {
            let names = Integrator::ALL.iter().filter(|i| has(i)).map(|i| i.name());
            let allowed = format!(
                "with --precision {} it must be {}",
                self.precision,
                names.collect::<Vec<_>>().join(" or ")
            );
            return Err(SpecError::new("integrator", self.integrator, allowed));
        }
        if self.start != Start::Euler && !self.integrator.is_multistep() {
            let allowed = format!(
                "is for adams-bashforth-2 and adams-bashforth-4; --integrator {} needs none",
                self.integrator
            );
            return Err(SpecError::new("start", self.start.name(), allowed));
        }
        Ok(())
    }

    /// Whether its quantity is compiled for its precision and integrator.
    pub fn has_method(&self) -> bool {
        let (precision, integrator) = (self.precision.kind(), self.integrator.name());
        self.quantity.has_method(precision, integrator)
    }

    /// The numbers that the engines derive from masses must be finite and must not vanish.
    fn check_mass_terms(&self, masses: &[f64; 3]) -> Result<(), SpecError> {
        if !masses.iter().sum::<f64>().is_finite() {
            let allowed = "their sum must be a finite number";
            return Err(SpecError::new("masses", list(masses), allowed));
        }
        for (body, gm) in self.order().into_iter().zip(self.gm_dt2(masses)) {
            let vanishes = gm == 0.0 && self.g != 0.0 && masses[body] != 0.0;
            if !gm.is_finite() || vanishes || gm.is_subnormal() {
                let allowed = format!(
                    "--g times mass times --dt^2 must be from 2.3e-308 to 1.7e308, and is {gm:e} for body {}",
                    body + 1
                );
                return Err(SpecError::new("dt", self.dt, allowed));
            }
        }
        let terms = MassTerms::new(self.gm_dt2(masses), self.softening);
        if !terms.minus_sum.iter().all(|x| x.is_finite()) {
            let allowed = "--g times the sum of masses times --dt^2 must be at most 1.7e308";
            return Err(SpecError::new("dt", self.dt, allowed));
        }
        Ok(())
    }

    /// The order of the bodies in kernels: the grid body first, then the others in their own order.
    pub(super) fn order(&self) -> [usize; 3] {
        match self.body {
            1 => [0, 1, 2],
            2 => [1, 0, 2],
            _ => [2, 0, 1],
        }
    }

    /// G·m·dt² of bodies of these masses in the kernels' [order](Self::order).
    fn gm_dt2(&self, masses: &[f64; 3]) -> [f64; 3] {
        let dt2 = self.dt * self.dt;
        self.order().map(|body| self.g * masses[body] * dt2)
    }

    /// The mass terms that the kernels need, from these masses.
    fn weigh(&self, masses: &[f64; 3]) -> Masses {
        Masses {
            in_steps: MassTerms::new(self.gm_dt2(masses), self.softening),
            criterion: DivergenceCriterion::new(
                self.order().map(|body| masses[body]),
                self.shift.to_array(),
                self.critical_distance,
            ),
        }
    }
}

fn square_is_normal(x: f64) -> bool {
    (x * x).is_normal()
}

/// Formats numbers as on the command line.
fn list(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
    words.join(",")
}

/// Formats vectors as on the command line.
fn vectors(vectors: &[DVec3]) -> String {
    let words: Vec<String> = vectors.iter().map(|v| list(&v.to_array())).collect();
    words.join(":")
}

impl Validated {
    /// The values.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The start states, if there is no grid.
    pub fn points(&self) -> Option<&Arc<Points>> {
        self.points.as_ref()
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        self.specification.size.map(|n| n as u32)
    }

    /// The type of the map's values.
    pub fn value_type(&self) -> ValueType {
        self.specification.quantity.value_type()
    }

    /// Number of pixels (up to 2³²).
    pub fn pixels(&self) -> u64 {
        self.specification.size[0] * self.specification.size[1]
    }

    /// The job of the engines for `count` pixels from pixel `first` (row-major) on, in the unit of length of the precision.
    pub fn job(&self, first: u64, count: u32) -> Job {
        self.job_in_lengths(first, count).scaled(self.unit())
    }

    /// Start position of the grid body at a pixel of the map (length).
    pub fn start(&self, pixel: u64) -> [f64; 3] {
        self.job_in_lengths(0, 1).grid.start(pixel)
    }

    /// The engines' units of length per unit of the specification: a power of two.
    fn unit(&self) -> f64 {
        let bits = self.specification.precision.fraction_bits();
        bits.map_or(1.0, |bits| {
            f64::from(i32::from(bits) - kernels_gpu::number::FRACTION_BITS as i32).exp2()
        })
    }

    /// As [`job`](Self::job), in the specification's unit of length.
    pub(crate) fn job_in_lengths(&self, first: u64, count: u32) -> Job {
        let s = &self.specification;
        let order = s.order();
        Job {
            grid: Grid {
                corner: [s.center[0] - s.span[0] / 2.0, s.center[1] - s.span[1] / 2.0],
                span: s.span,
                width: s.size[0] as u32,
                height: s.size[1] as u32,
                axes: s.plane.axes().map(|axis| axis as u32),
                positions: order.map(|body| s.positions[body].to_array()),
                velocities: order.map(|body| s.velocities[body].to_array()),
            },
            masses: s.weigh(&s.masses),
            shift: s.shift.to_array(),
            // Scaled first, because the squares of very small or large components underflow or overflow.
            direction: (s.shift / s.shift.abs().max_element())
                .normalize()
                .to_array(),
            dt: s.dt,
            first,
            count,
            steps: s.steps as u32,
            first_steps: s.start.for_kernel(),
        }
    }

    /// The start state of a pixel in the form of the engines, if the map consists of points.
    #[inline]
    pub fn point(&self, pixel: u64) -> Option<Point> {
        let points = self.points.as_ref()?;
        Some(self.point_in_lengths(points, pixel).scaled(self.unit()))
    }

    /// The mass terms of a pixel for the engines, if it is a point with masses of its own.
    #[inline]
    pub fn masses(&self, pixel: u64) -> Option<Masses> {
        let masses = self.points.as_ref()?.masses(pixel as usize)?;
        Some(self.specification.weigh(&masses).scaled(self.unit()))
    }

    fn point_in_lengths(&self, points: &Points, pixel: u64) -> Point {
        let s = &self.specification;
        let [positions, velocities] = s.state_of(points, pixel as usize);
        Point {
            positions: s.order().map(|body| positions[body].to_array()),
            velocities: s.order().map(|body| velocities[body].to_array()),
        }
    }

    /// The start states of a pixel and of its twin in the specification's unit of length.
    fn twins(&self, job: &Job, pixel: u64) -> [map::Start<f64>; 2] {
        let point = match &self.points {
            Some(points) => self.point_in_lengths(points, pixel),
            None => job.grid.point(pixel),
        };
        [point, point.shifted(job.shift)].map(|p| p.start(job.dt))
    }

    /// Pixels that together contain the extreme start positions of the map; all pixels if they are points.
    fn telling_pixels(&self) -> Box<dyn Iterator<Item = u64>> {
        match self.points {
            Some(_) => Box::new(0..self.pixels()),
            None => Box::new([0, self.pixels() - 1].into_iter()),
        }
    }

    /// The error for positions at a pixel, or everywhere on the map.
    fn misplaced(&self, pixel: u64, allowed: impl Into<String>) -> SpecError {
        match &self.points {
            Some(_) => SpecError::new("points", format!("point {pixel}"), allowed),
            None => SpecError::new("positions", vectors(&self.specification.positions), allowed),
        }
    }

    /// Without softening the bodies besides the grid body must not coincide.
    fn check_apart(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        let [_, a, b] = s.order();
        for pixel in self.telling_pixels() {
            let positions = match &self.points {
                Some(points) => s.state_of(points, pixel as usize)[0],
                None => s.positions,
            };
            if s.softening == 0.0 && positions[a] == positions[b] {
                let allowed = format!(
                    "bodies {} and {} coincide; give them different positions or a --softening above 0",
                    a.min(b) + 1,
                    a.max(b) + 1
                );
                return Err(self.misplaced(pixel, allowed));
            }
        }
        Ok(())
    }

    /// Warnings before the map is computed: the map can be computed, but may not be what the user intended.
    pub fn warnings(&self) -> Vec<String> {
        let s = &self.specification;
        let mut found = Vec::new();
        let pixel = [0, 1].map(|k| s.span[k] / s.size[k] as f64);
        if self.points.is_none() && (pixel[0] / pixel[1] - 1.0).abs() > 1e-6 {
            found.push(format!(
                "pixels are not square: their lengths along the two axes have the ratio {:.4}; --span with one \
                 number makes them square",
                pixel[0] / pixel[1]
            ));
        }
        let twins = s.quantity.has_twins();
        if twins && s.shift.length() > s.critical_distance {
            found.push(format!(
                "the twins start {} apart, beyond the critical distance of {}: every pixel has parted before its \
                 first step",
                s.shift.length(),
                s.critical_distance
            ));
        }
        let worst = (0..3)
            .map(|axis| (axis, self.extremes(axis)[1]))
            .map(|(axis, p)| ((p + s.shift[axis]) - p - s.shift[axis]).abs() / s.shift[axis].abs())
            .filter(|loss| loss.is_finite())
            .fold(0.0, f64::max);
        if twins && worst > 0.01 {
            found.push(format!(
                "rounding changes the shift by up to {:.0} %, because the shift is close to the resolution of the positions",
                worst * 100.0
            ));
        }
        for (k, axis) in s.plane.axes().into_iter().enumerate() {
            if self.points.is_none() && s.size[k] > 1 && self.finest_step(k) == 0.0 {
                let name = ["x", "y", "z"][axis];
                found.push(format!(
                    "neighbouring pixels start at the same {name}: the span is at the limit of 64-bit numbers"
                ));
            }
        }
        found
    }

    /// The numbers that the engines derive from the values must be finite and must not vanish.
    fn check_derived(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        let job = self.job_in_lengths(0, 1);
        for k in 0..2 {
            let ends = [job.grid.corner[k], job.grid.corner[k] + s.span[k]];
            let shift = s.shift[s.plane.axes()[k]];
            if !ends
                .iter()
                .all(|x| x.is_finite() && (x + shift).is_finite())
            {
                let allowed = "the edges of the map, --center -/+ half of it, must be finite numbers (length)";
                return Err(SpecError::new("span", list(&s.span), allowed));
            }
        }
        let normal = s.plane.normal();
        if !(s.positions[s.order()[0]][normal] + s.shift[normal]).is_finite() {
            let allowed = "added to the grid body's position it must be a finite number (length)";
            return Err(SpecError::new("shift", list(&s.shift.to_array()), allowed));
        }
        for pixel in self.telling_pixels() {
            let [system, twin] = self.twins(&job, pixel);
            let finite = |r: Relative<f64>| {
                [r.a, r.b]
                    .iter()
                    .all(|v| [v.x, v.y, v.z].iter().all(|x| x.is_finite()))
            };
            if !finite(system.steps) {
                let allowed = "velocities relative to each other and times --dt must be finite numbers (length)";
                if self.points.is_some() {
                    return Err(self.misplaced(pixel, allowed));
                }
                return Err(SpecError::new(
                    "velocities",
                    vectors(&s.velocities),
                    allowed,
                ));
            }
            if !finite(system.positions) || !finite(twin.positions) {
                let allowed = "all distances must be finite numbers (length)";
                return Err(self.misplaced(pixel, allowed));
            }
        }
        let own = |pixel: u64| self.points.as_ref()?.masses(pixel as usize);
        if own(0).is_none() {
            return s.check_mass_terms(&s.masses);
        }
        for pixel in self.telling_pixels() {
            let checked = s.check_mass_terms(&own(pixel).unwrap_or(s.masses));
            checked.map_err(|e| {
                let given = format!("point {pixel}");
                SpecError::new("points", given, format!("its masses: {}", e.allowed))
            })?;
        }
        Ok(())
    }

    /// The shift must not vanish in rounding at every pixel, because the twins would then be equal.
    fn check_shift(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        if !s.quantity.has_twins() {
            return Ok(());
        }
        let moves = |axis: usize, p: f64| p + s.shift[axis] != p;
        let somewhere = (0..3).any(|axis| self.extremes(axis).into_iter().any(|p| moves(axis, p)));
        if somewhere {
            return Ok(());
        }
        let allowed = "is lost in rounding: added to the grid body's position it changes nothing, anywhere on the \
                       map; give a larger one";
        Err(SpecError::new("shift", list(&s.shift.to_array()), allowed))
    }

    /// Start positions, velocities and the critical distance must be within the range of the precision, and leave some room
    /// to move.
    fn check_range(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        let [largest, critical] = s.precision.largest().map(|length| length / self.unit());
        if largest == f64::INFINITY {
            return Ok(());
        }
        let fail = |option, given: String, what: &str, limit: f64| {
            let allowed = format!(
                "--precision {} can hold {what} up to {limit:e}",
                s.precision
            );
            Err(SpecError::new(option, given, allowed))
        };
        let job = self.job_in_lengths(0, 1);
        for pixel in self.telling_pixels() {
            let [system, twin] = self.twins(&job, pixel);
            let beyond = |r: Relative<f64>| {
                [r.a, r.b]
                    .iter()
                    .any(|v| [v.x, v.y, v.z].iter().any(|x| x.abs() > largest))
            };
            let [far, fast] = [
                beyond(system.positions) || beyond(twin.positions),
                beyond(system.steps),
            ];
            if (far || fast) && self.points.is_some() {
                let what = if far {
                    "distances"
                } else {
                    "velocities times --dt"
                };
                return fail("points", format!("point {pixel}"), what, largest);
            }
            if far {
                return fail("positions", vectors(&s.positions), "distances", largest);
            }
            if fast {
                return fail(
                    "velocities",
                    vectors(&s.velocities),
                    "velocities times --dt",
                    largest,
                );
            }
        }
        if s.critical_distance > critical {
            return fail(
                "critical-distance",
                s.critical_distance.to_string(),
                "it",
                critical,
            );
        }
        Ok(())
    }

    /// Start coordinate of column or row (`k` = 0 or 1) `index`.
    fn coordinate(&self, k: usize, index: u64) -> f64 {
        let s = &self.specification;
        let pixel = if k == 0 { index } else { index * s.size[0] };
        self.job_in_lengths(0, 1).grid.start(pixel)[s.plane.axes()[k]]
    }

    /// The grid body's start coordinates nearest to 0 and farthest from it along an axis.
    fn extremes(&self, axis: usize) -> [f64; 2] {
        let s = &self.specification;
        let grid_body = s.order()[0];
        if let Some(points) = &self.points {
            let all = (0..points.len()).map(|i| s.state_of(points, i)[0][grid_body][axis]);
            return nearest_and_farthest(all);
        }
        let Some(k) = s.plane.axes().into_iter().position(|a| a == axis) else {
            return [s.positions[grid_body][axis]; 2];
        };
        let last = s.size[k] - 1;
        let zero = ((0.5 - s.center[k] / s.span[k]) * s.size[k] as f64)
            .round()
            .clamp(0.0, last as f64) as u64;
        let near = [
            0,
            last,
            zero,
            zero.saturating_sub(1),
            last.min(zero.saturating_add(1)),
        ];
        nearest_and_farthest(near.into_iter().map(|index| self.coordinate(k, index)))
    }

    /// The smaller difference of two neighbours' coordinates at the two ends of axis `k` (length).
    fn finest_step(&self, k: usize) -> f64 {
        let last = self.specification.size[k] - 1;
        let step = |i: u64| (self.coordinate(k, i + 1) - self.coordinate(k, i)).abs();
        step(0).min(step(last - 1))
    }
}

/// The numbers nearest to 0 and farthest from it.
fn nearest_and_farthest(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    numbers.fold([f64::INFINITY, 0.0], |[near, far], x| {
        [
            if x.abs() < near.abs() { x } else { near },
            if x.abs() > far.abs() { x } else { far },
        ]
    })
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
