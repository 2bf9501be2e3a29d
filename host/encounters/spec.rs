//! The specification of encounters: starts, integration and ends, validated once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use kernels_gpu::encounters::run::NEVER;
use kernels_gpu::encounters::start::{BodiesStart, MAX_PARAMETERS, Plan, Start, is_ordinary};
use kernels_gpu::encounters::step::{
    FAST_KICK_OPERATIONS, KICK_OPERATIONS, MAX_STAGES, ORDER_2, ORDER_6, ORDER_8, Stage, stages,
};
use kernels_gpu::encounters::{Settings, Setup as KernelSetup};
use kernels_gpu::number::{Fast, Precision as Number};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parameter::{AT_REST, Setup};
use trisolar_bodies::Points;
use trisolar_spec::{Choice, Parameter, SpecError};

/// Order of the composition that integrates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum Order {
    /// The leapfrog.
    Two,
    /// 9 stages of Kahan & Li (1997).
    Six,
    /// 17 stages of Kahan & Li (1997).
    Eight,
}

impl From<Order> for u32 {
    fn from(order: Order) -> Self {
        match order {
            Order::Two => 2,
            Order::Six => 6,
            Order::Eight => 8,
        }
    }
}

impl TryFrom<u32> for Order {
    type Error = &'static str;

    fn try_from(order: u32) -> Result<Self, &'static str> {
        match order {
            2 => Ok(Self::Two),
            6 => Ok(Self::Six),
            8 => Ok(Self::Eight),
            _ => Err("must be 2, 6 or 8"),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A text that is not a number is refused with the same message.
        let order = text.trim().parse().unwrap_or(0);
        Self::try_from(order).map_err(Into::into)
    }
}

impl Order {
    /// Its coefficients.
    pub fn coefficients(self) -> &'static [f64] {
        match self {
            Self::Two => &ORDER_2,
            Self::Six => &ORDER_6,
            Self::Eight => &ORDER_8,
        }
    }

    /// Number of kicks per step.
    pub fn stages(self) -> usize {
        self.coefficients().len()
    }

    /// Default number of [steps in a period](Specification::steps_per_period).
    pub fn steps_per_period(self) -> f64 {
        match self {
            Self::Two => 1000.0,
            Self::Six => 50.0,
            Self::Eight => 35.0,
        }
    }
}

/// The arithmetic of the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Precision {
    /// IEEE operations in a fixed order, with the same bits on every machine.
    #[default]
    F64,
    /// The GPU's approximate reciprocals, refined to about 12 digits; on a CPU the same as `F64`.
    Fast,
}

impl From<Precision> for &'static str {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::F64 => f64::NAME,
            Precision::Fast => Fast::NAME,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str((*self).into())
    }
}

impl FromStr for Precision {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let named = |precision: &Self| <&str>::from(*precision) == text.trim();
        let found = [Self::F64, Self::Fast].into_iter().find(named);
        found.ok_or("must be f64 or fast")
    }
}

impl TryFrom<String> for Precision {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

impl Precision {
    /// Number of `f64` operations of a kick on a GPU.
    pub fn kick_operations(self) -> f64 {
        match self {
            Self::F64 => KICK_OPERATIONS,
            Self::Fast => FAST_KICK_OPERATIONS,
        }
    }

    /// Whether every device gives the same bits.
    pub fn is_portable(self) -> bool {
        match self {
            Self::F64 => f64::IS_PORTABLE,
            Self::Fast => Fast::IS_PORTABLE,
        }
    }
}

/// Whether excursions of the third body are jumped over.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "JumpText")]
pub enum Jump {
    /// No: every step is taken.
    Off,
    /// Yes, where the octupole of the tide, which a jump neglects, is below this fraction of the binary's own force.
    Tolerance(f64),
}

/// A [`Jump`] in files: a number, or `off`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be off, or a tolerance from 1e-12 to 1e-4")]
enum JumpText {
    Number(f64),
    Text(String),
}

impl TryFrom<JumpText> for Jump {
    type Error = String;

    fn try_from(text: JumpText) -> Result<Self, String> {
        match text {
            JumpText::Number(tolerance) => Ok(Self::Tolerance(tolerance)),
            JumpText::Text(text) => text.parse(),
        }
    }
}

impl FromStr for Jump {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => Ok(Self::Off),
            text => match text.parse() {
                Ok(tolerance) => Ok(Self::Tolerance(tolerance)),
                Err(_) => Err(JUMP_ALLOWED.into()),
            },
        }
    }
}

impl Serialize for Jump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::Tolerance(tolerance) => serializer.serialize_f64(*tolerance),
        }
    }
}

const JUMP_ALLOWED: &str = "must be off, or a tolerance from 1e-12 to 1e-4";

impl Jump {
    /// The distance beyond which excursions are jumped over, in semi-major axes of the binary: the octupole is of the order (a/R)⁴. 0
    /// if there are no jumps.
    pub fn radius(self) -> f64 {
        match self {
            Self::Off => 0.0,
            // Only roots are used, because a general power may have other bits on another machine.
            Self::Tolerance(t) => (1.0 / t).sqrt().sqrt(),
        }
    }
}

/// The limits at which a run ends that neither escapes nor collides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest time.
    pub max_time: Option<f64>,
    /// Largest number of steps.
    pub max_steps: u32,
}

/// Encounters to compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Specification {
    /// The kind of start.
    pub setup: Setup,
    /// The setup's parameters by their names; those that are missing have their defaults.
    #[serde(serialize_with = "with_rest", deserialize_with = "named")]
    pub parameters: BTreeMap<&'static str, Choice>,
    /// Number of runs: the number of pixels of a map, or of points.
    pub n: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Width and height of a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[u64; 2]>,
    /// The arithmetic of the steps.
    pub precision: Precision,
    /// Order of the integrator.
    pub order: Order,
    /// Steps in a period of a circular binary of the lightest two bodies; there are more for heavier pairs, and for bodies that are
    /// much lighter than the others.
    pub steps_per_period: f64,
    /// Whether excursions are jumped over.
    pub jump: Jump,
    /// Distance at which an unbound third body has escaped (semi-major axes of the binary).
    pub escape_radius: f64,
    /// Radii of the bodies (length).
    pub radii: [f64; 3],
    /// Limits at which other runs end.
    #[serde(flatten)]
    pub limits: Limits,
}

/// Serialises parameters; a single body without a velocity at infinity is "at rest".
fn with_rest<S: Serializer>(
    parameters: &BTreeMap<&'static str, Choice>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Entry<'a> {
        Words(&'static str),
        Choice(&'a Choice),
    }
    serializer.collect_map(parameters.iter().map(|(name, choice)| {
        let rests = *name == "v-inf" && *choice == Choice::Fixed(AT_REST);
        let entry = if rests {
            Entry::Words("at rest")
        } else {
            Entry::Choice(choice)
        };
        (name, entry)
    }))
}

/// Reads what [`with_rest`] has written.
fn named<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, Choice>, D::Error> {
    use serde::de::Error as _;
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Entry {
        Choice(Choice),
        Words(String),
    }
    let written = BTreeMap::<String, Entry>::deserialize(deserializer)?;
    let entry = |(name, entry): (String, Entry)| {
        let mut all = Setup::NAMED.into_iter().flat_map(Setup::parameters);
        let known = all.find(|parameter| parameter.name == name);
        let known = known.ok_or_else(|| D::Error::custom(format!("there is no {name}")))?;
        Ok(match entry {
            Entry::Choice(choice) => (known.name, choice),
            Entry::Words(words) if words == "at rest" => (known.name, Choice::Fixed(AT_REST)),
            Entry::Words(words) => return Err(D::Error::custom(format!("{name}: {words}"))),
        })
    };
    written.into_iter().map(entry).collect()
}

/// Largest number of runs.
pub const MAX_RUNS: u64 = 1 << 32;

/// The largest of [`Limits::max_steps`].
const MOST_STEPS: u32 = 4_000_000_000;
/// The allowed values of [`Limits::max_steps`].
pub(super) const STEPS_ALLOWED: &str = "must be a whole number from 1 to 4000000000";

impl Default for Specification {
    /// 10000 encounters of the binary and the single of Trani et al. (2024), at rest at first.
    fn default() -> Self {
        let order = Order::Six;
        Self {
            setup: Setup::BinarySingle,
            parameters: BTreeMap::from([
                ("phase", Choice::Uniform([0.0, 360.0])),
                ("inclination", Choice::Uniform([0.0, 180.0])),
            ]),
            n: 10_000,
            seed: 1,
            size: None,
            precision: Precision::default(),
            order,
            steps_per_period: order.steps_per_period(),
            jump: Jump::Tolerance(1e-6),
            escape_radius: 20.0,
            radii: [0.0; 3],
            limits: Limits {
                max_time: None,
                max_steps: 4_000_000,
            },
        }
    }
}

/// A [`Specification`] that has been validated.
#[derive(Clone, Debug)]
pub struct Validated {
    specification: Specification,
    plan: Plan,
    bodies: Option<Arc<[BodiesStart]>>,
    /// The checksum of the points that give the start states.
    checksum: Option<u32>,
    settings: Settings,
    stages: [Stage; MAX_STAGES],
}

/// The error for a value that is not allowed.
pub(super) fn wrong(
    option: &'static str,
    given: impl ToString,
    allowed: impl Into<String>,
) -> SpecError {
    SpecError {
        option,
        given: given.to_string(),
        allowed: allowed.into(),
    }
}

/// Checks that a number is finite and in a range.
fn check(
    option: &'static str,
    x: f64,
    [low, high]: [f64; 2],
    allowed: &str,
) -> Result<(), SpecError> {
    if (low..=high).contains(&x) {
        Ok(())
    } else {
        Err(wrong(option, x, allowed))
    }
}

impl Specification {
    /// The choice of a parameter.
    pub fn choice(&self, parameter: &Parameter) -> Choice {
        let given = self.parameters.get(parameter.name).copied();
        given.unwrap_or(Choice::Fixed(parameter.default))
    }

    /// The least and the greatest value of a parameter of the setup, by its name.
    fn range(&self, name: &str) -> [f64; 2] {
        let (_, parameter) = self.setup.parameter(name).expect("the setup has it");
        self.choice(parameter).range()
    }

    /// The parameters in which runs differ, with their places and choices.
    pub fn varied(&self) -> impl Iterator<Item = (usize, &'static Parameter, Choice)> + '_ {
        let all = self.setup.parameters().iter().enumerate();
        all.map(|(place, p)| (place, p, self.choice(p)))
            .filter(|(_, _, choice)| choice.varies())
    }

    /// The parameters along the columns and the rows of a map, with their ranges.
    pub fn axes(&self) -> [Option<(&'static Parameter, [f64; 2])>; 2] {
        let axis = |is: fn(&Choice) -> bool| {
            let found = self.varied().find(|(_, _, choice)| is(choice));
            found.map(|(_, parameter, choice)| (parameter, choice.range()))
        };
        [
            axis(|choice| matches!(choice, Choice::Columns(_))),
            axis(|choice| matches!(choice, Choice::Rows(_))),
        ]
    }

    /// As JSON text.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }

    /// Checks everything.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validate(mut self) -> Result<Validated, SpecError> {
        if self.setup == Setup::Points {
            return Err(wrong("points", "none", "the setup needs points"));
        }
        let mut plan = Plan {
            seed: self.seed,
            size: self.size.unwrap_or([1, 1]),
            ..Plan::default()
        };
        match self.setup {
            Setup::BinarySingle => plan.setup = KernelSetup::BINARY_SINGLE.0,
            Setup::FreeFall => plan.setup = KernelSetup::FREE_FALL.0,
            Setup::Burrau | Setup::Points => {
                plan.setup = KernelSetup::BODIES.0;
                plan.bodies = BURRAU;
            }
        }
        self.check_parameters()?;
        // Files contain every value, including the defaults.
        for parameter in self.setup.parameters() {
            let choice = self.choice(parameter);
            self.parameters.insert(parameter.name, choice);
        }
        debug_assert!(self.setup.parameters().len() <= MAX_PARAMETERS);
        for (place, parameter) in self.setup.parameters().iter().enumerate() {
            plan.laws[place] = self.choice(parameter).law(parameter);
        }
        let valid = self.validated(plan, None)?;
        // If there are many runs, only the first ones are tried: the ranges of varying parameters have been checked above.
        for run in 0..valid.runs().min(64) {
            if !is_ordinary(&valid.start(run)) {
                let allowed = "distances must be from 1e-8 to 1e8 of the system's size: bodies coincide, or are too far apart";
                return Err(wrong("setup", valid.specification.setup, allowed));
            }
        }
        Ok(valid)
    }

    /// The same for three bodies a run: positions, velocities and masses, 21 numbers each.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_points(mut self, points: &Points) -> Result<Validated, SpecError> {
        let (shape, values) = points.array();
        if shape.last() != Some(&21) {
            let columns = shape.last().copied().unwrap_or_default();
            let given = format!("{columns} numbers a point");
            let allowed =
                "an encounter needs 21: positions, velocities and masses of bodies 1, 2, 3";
            return Err(wrong("points", given, allowed));
        }
        let vectors = |row: &[f64]| -> [[f64; 3]; 3] {
            std::array::from_fn(|i| std::array::from_fn(|k| row[3 * i + k]))
        };
        let mut bodies = Vec::with_capacity(points.len());
        for (number, row) in values.chunks_exact(21).enumerate() {
            let start = BodiesStart {
                positions: vectors(&row[..9]),
                velocities: vectors(&row[9..18]),
                masses: [row[18], row[19], row[20]],
            };
            if let Some(reason) = light(start.masses, start.masses) {
                let given = format!("masses {:?} of point {number}", start.masses);
                return Err(wrong("points", given, reason));
            }
            if !is_ordinary(&Start::new(&start)) {
                let given = format!("positions {:?} of point {number}", start.positions);
                let allowed = "distances must be from 1e-8 to 1e8 of the system's size: no two bodies may coincide";
                return Err(wrong("points", given, allowed));
            }
            bodies.push(start);
        }
        self.setup = Setup::Points;
        self.parameters.clear();
        self.n = bodies.len() as u64;
        self.size = None;
        let plan = Plan {
            setup: KernelSetup::BODIES.0,
            seed: self.seed,
            size: [1, 1],
            bodies: bodies[0],
            ..Plan::default()
        };
        let valid = self.validated(plan, Some(bodies.into()))?;
        Ok(Validated {
            checksum: Some(points.checksum()),
            ..valid
        })
    }

    fn validated(
        self,
        plan: Plan,
        bodies: Option<Arc<[BodiesStart]>>,
    ) -> Result<Validated, SpecError> {
        if !(1..=MAX_RUNS).contains(&self.n) {
            let allowed = "must be from 1 to 4294967296 (2^32) runs";
            return Err(wrong(
                if self.size.is_some() { "size" } else { "n" },
                self.n,
                allowed,
            ));
        }
        let steps = "must be from 10 to 1e6 steps";
        check(
            "steps-per-period",
            self.steps_per_period,
            [10.0, 1e6],
            steps,
        )?;
        if let Jump::Tolerance(t) = self.jump {
            // With radii of 10 semi-major axes the statistics begin to differ.
            check("jump", t, [1e-12, 1e-4], JUMP_ALLOWED)?;
        }
        let radius = "must be from 5 to 1e6 (semi-major axes of the binary)";
        check("escape-radius", self.escape_radius, [5.0, 1e6], radius)?;
        for radius in self.radii {
            let allowed = "each must be a finite number of at least 0 (length)";
            check("radii", radius, [0.0, f64::MAX], allowed)?;
        }
        if let Some(time) = self.limits.max_time
            && !(time > 0.0 && time < NEVER)
        {
            return Err(wrong(
                "max-time",
                time,
                "must be a finite number above 0 (time)",
            ));
        }
        if !(1..=MOST_STEPS).contains(&self.limits.max_steps) {
            return Err(wrong("max-steps", self.limits.max_steps, STEPS_ALLOWED));
        }
        let settings = Settings {
            max_time: self.limits.max_time.unwrap_or(NEVER),
            radii: self.radii,
            escape_radius: self.escape_radius,
            jump_radius: self.jump.radius(),
            max_steps: self.limits.max_steps,
            ..Settings::new(self.steps_per_period)
        };
        let (stages, _) = stages(self.order.coefficients());
        Ok(Validated {
            specification: self,
            plan,
            bodies,
            checksum: None,
            settings,
            stages,
        })
    }

    fn check_parameters(&self) -> Result<(), SpecError> {
        for parameter in self.setup.parameters() {
            let choice = self.choice(parameter);
            if choice == Choice::Fixed(AT_REST) && parameter.name == "v-inf" {
                continue;
            }
            for x in choice.range() {
                if !parameter.allows(x) {
                    return Err(wrong(parameter.name, x, parameter.allowed_in_words()));
                }
            }
        }
        let region = |name| {
            let (_, parameter) = self.setup.parameter(name)?;
            Some(self.choice(parameter) == Choice::Region)
        };
        if region("x") != region("y") {
            let allowed = "region draws x and y together: both or none";
            return Err(wrong("draw", "region", allowed));
        }
        if self.setup.parameters().is_empty() {
            return Ok(());
        }
        let masses = ["mass1", "mass2", "mass3"].map(|name| self.range(name));
        if let Some(reason) = light(masses.map(|m| m[0]), masses.map(|m| m[1])) {
            let given = masses.map(|m| m[0].to_string()).join(",");
            return Err(wrong("masses", given, reason));
        }
        if self.setup == Setup::BinarySingle {
            self.check_approach()?;
        }
        Ok(())
    }

    /// Checks that the single body starts outside of the binary, on an orbit that leads to it.
    fn check_approach(&self) -> Result<(), SpecError> {
        let [least, _] = self.range("distance");
        let apocentre = self.range("a")[1] * (1.0 + self.range("e")[1]);
        if least <= apocentre {
            let allowed = format!(
                "must be beyond the apocentre of the binary, {apocentre} (length): the single body starts outside of it"
            );
            return Err(wrong("distance", least, allowed));
        }
        let (v, impact) = (self.range("v-inf"), self.range("impact"));
        if v[0] == AT_REST {
            if impact != [0.0, 0.0] {
                let allowed = "needs --v-inf: a body that starts at rest has no impact parameter";
                return Err(wrong("impact", impact[1], allowed));
            }
            return Ok(());
        }
        // At the start, v² = v∞² + 2 M / D must be large enough for the angular momentum b v∞.
        let mass = ["mass1", "mass2", "mass3"].map(|name| self.range(name)[0]);
        let total: f64 = mass.iter().sum();
        let across = impact[1] * v[1] / least;
        if across * across > v[1] * v[1] + 2.0 * total / least {
            let allowed = format!(
                "an orbit with this impact parameter does not come to the distance {least} at which the single body starts; \
                 --distance must be larger"
            );
            return Err(wrong("impact", impact[1], allowed));
        }
        Ok(())
    }
}

/// The least mass of a body, as a share of the greatest mass.
const MIN_MASS_SHARE: f64 = 1e-6;

/// Describes what is wrong with masses from `low` to `high`; `None` if they are allowed.
fn light(low: [f64; 3], high: [f64; 3]) -> Option<String> {
    let total: f64 = high.iter().sum();
    let greatest = high.into_iter().fold(0.0, f64::max);
    let heavy = |m: &f64| *m > 0.0 && *m >= MIN_MASS_SHARE * greatest;
    let fine = total.is_finite() && low.iter().all(heavy);
    (!fine).then(|| {
        "each must be above 0, and at least 1e-6 of the greatest: test bodies have no encounters".into()
    })
}

/// Burrau's problem.
const BURRAU: BodiesStart = BodiesStart {
    positions: [[1.0, 3.0, 0.0], [-2.0, -1.0, 0.0], [1.0, -1.0, 0.0]],
    velocities: [[0.0; 3]; 3],
    masses: [3.0, 4.0, 5.0],
};

impl Validated {
    /// The same runs with so many times the steps in a period, from 1 on; `None` if that is not allowed.
    pub(super) fn with_steps_times(&self, factor: f64) -> Option<Self> {
        let mut finer = self.specification.clone();
        finer.steps_per_period *= factor;
        let most = (factor.round() as u64).saturating_mul(finer.limits.max_steps.into());
        finer.limits.max_steps = most.min(MOST_STEPS.into()) as _;
        let finer = finer.validated(self.plan, self.bodies.clone()).ok()?;
        Some(Self {
            checksum: self.checksum,
            ..finer
        })
    }

    /// The specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// Number of runs.
    pub fn runs(&self) -> u64 {
        self.specification.n
    }

    /// The settings of the integrator.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The stages of a step.
    pub fn stages(&self) -> &[Stage] {
        &self.stages[..self.specification.order.stages()]
    }

    /// The plan from which starts are made.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The start states, if they are given as points.
    pub fn given_bodies(&self) -> Option<&[BodiesStart]> {
        self.bodies.as_deref()
    }

    /// The checksum of the points, if the start states are given as points.
    pub fn points_checksum(&self) -> Option<u32> {
        self.checksum
    }

    /// The bodies of a run.
    pub fn bodies(&self, run: u64) -> BodiesStart {
        match &self.bodies {
            Some(bodies) => bodies[run as usize],
            None => self.plan.bodies(run),
        }
    }

    /// The start of a run.
    pub fn start(&self, run: u64) -> Start {
        Start::new(&self.bodies(run))
    }

    /// A parameter's value in a run.
    pub fn value(&self, place: usize, run: u64) -> f64 {
        self.plan.value(place, run)
    }
}
