//! The kinds of start of encounters, and their parameters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trisolar_spec::{Parameter, UNBOUNDED};

/// The kind of start of three bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Setup {
    /// A binary and an incoming single body, which is at rest at first or has a velocity at infinity.
    BinarySingle,
    /// Three bodies at rest.
    FreeFall,
    /// Burrau's problem (Burrau 1913): masses 3, 4 and 5 at rest at the corners of a triangle, each opposite the side of that length.
    Burrau,
    /// Bodies from a file.
    Points,
}

impl Setup {
    /// The setups that have a name on the command line.
    pub const NAMED: [Self; 3] = [Self::BinarySingle, Self::FreeFall, Self::Burrau];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BinarySingle => "binary-single",
            Self::FreeFall => "free-fall",
            Self::Burrau => "burrau",
            Self::Points => "points",
        }
    }

    /// Its parameters, in the order in which they are drawn.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::BinarySingle => &BINARY_SINGLE,
            Self::FreeFall => &FREE_FALL,
            Self::Burrau | Self::Points => &[],
        }
    }

    /// The parameter with this name, and its place.
    pub fn parameter(self, name: &str) -> Option<(usize, &'static Parameter)> {
        let mut list = self.parameters().iter().enumerate();
        list.find(|(_, p)| p.name == name)
    }
}

impl FromStr for Setup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMED.into_iter().find(|setup| setup.name() == text);
        found.ok_or_else(|| "must be binary-single, free-fall or burrau".into())
    }
}

impl TryFrom<String> for Setup {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The largest eccentricity of a binary at the start. Beyond it, two bodies would nearly collide at once.
pub const MAX_ECCENTRICITY: f64 = 0.999_999;

const fn parameter(
    name: &'static str,
    unit: &'static str,
    default: f64,
    allowed: [f64; 2],
    range: Option<[f64; 2]>,
) -> Parameter {
    Parameter {
        default,
        range,
        ..Parameter::new(name, unit, allowed)
    }
}

/// A parameter that can also be drawn by these laws.
const fn drawn(laws: &'static [&'static str], parameter: Parameter) -> Parameter {
    Parameter { laws, ..parameter }
}

const fn above_zero(name: &'static str, unit: &'static str, default: f64) -> Parameter {
    Parameter {
        above: true,
        ..parameter(name, unit, default, [0.0, UNBOUNDED], None)
    }
}

const fn angle(name: &'static str) -> Parameter {
    parameter(name, "degrees", 0.0, [-360.0, 360.0], Some([0.0, 360.0]))
}

/// Parameters of [`Setup::BinarySingle`], with the values of Trani et al. (2024).
static BINARY_SINGLE: [Parameter; 12] = [
    above_zero("mass1", "mass", 15.0),
    above_zero("mass2", "mass", 17.5),
    above_zero("mass3", "mass", 12.5),
    above_zero("a", "length", 5.0),
    drawn(
        &["thermal"],
        parameter(
            "e",
            "",
            0.0,
            [0.0, MAX_ECCENTRICITY],
            Some([0.0, MAX_ECCENTRICITY]),
        ),
    ),
    drawn(
        &["isotropic"],
        parameter(
            "inclination",
            "degrees",
            90.0,
            [0.0, 180.0],
            Some([0.0, 180.0]),
        ),
    ),
    angle("node"),
    angle("argument"),
    angle("phase"),
    above_zero("distance", "length", 100.0),
    parameter("v-inf", "length / time", AT_REST, [0.0, UNBOUNDED], None),
    drawn(
        &["disc"],
        parameter("impact", "length", 0.0, [0.0, UNBOUNDED], None),
    ),
];

/// The value of the velocity at infinity that means that the body is at rest at its distance.
pub const AT_REST: f64 = -1.0;

/// Parameters of [`Setup::FreeFall`].
static FREE_FALL: [Parameter; 5] = [
    above_zero("mass1", "mass", 1.0),
    above_zero("mass2", "mass", 1.0),
    above_zero("mass3", "mass", 1.0),
    drawn(
        &["region"],
        parameter(
            "x",
            "length",
            0.2,
            [-UNBOUNDED, UNBOUNDED],
            Some([0.0, 0.5]),
        ),
    ),
    drawn(
        &["region"],
        parameter(
            "y",
            "length",
            0.5,
            [-UNBOUNDED, UNBOUNDED],
            Some([0.0, 1.0]),
        ),
    ),
];
