//! The parameters of a start: their names, units and ranges, and the ways in which they get values.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::encounters::Law;
use serde::{Deserialize, Serialize, Serializer};

/// What three bodies start as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Setup {
    /// A binary and a single body that comes in, at rest at first or with a velocity at infinity.
    BinarySingle,
    /// Three bodies at rest.
    FreeFall,
    /// Burrau's problem (Burrau 1913): masses 3, 4 and 5 at rest, each opposite to the side of this length of a triangle.
    Burrau,
    /// Bodies from a file.
    Points,
}

impl Setup {
    /// Those with a name on the command line.
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

    /// The parameter of this name and its place.
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

/// A parameter of a start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// Its value, if nothing is said of it.
    pub default: f64,
    /// The values that it can have.
    pub allowed: [f64; 2],
    /// Whether the lower end is not among them.
    pub above: bool,
    /// Its range in draws and maps, if it has a natural one.
    pub range: Option<[f64; 2]>,
}

/// The largest eccentricity of a binary at its start: beyond it two bodies nearly fall into each other.
pub const MAX_ECCENTRICITY: f64 = 0.999_999;

/// A bound that stands for none in messages.
const UNBOUNDED: f64 = 1e100;

const fn parameter(
    name: &'static str,
    unit: &'static str,
    default: f64,
    allowed: [f64; 2],
    range: Option<[f64; 2]>,
) -> Parameter {
    Parameter {
        name,
        unit,
        default,
        allowed,
        above: false,
        range,
    }
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
    parameter(
        "e",
        "",
        0.0,
        [0.0, MAX_ECCENTRICITY],
        Some([0.0, MAX_ECCENTRICITY]),
    ),
    parameter(
        "inclination",
        "degrees",
        90.0,
        [0.0, 180.0],
        Some([0.0, 180.0]),
    ),
    angle("node"),
    angle("argument"),
    angle("phase"),
    above_zero("distance", "length", 100.0),
    parameter("v-inf", "length / time", AT_REST, [0.0, UNBOUNDED], None),
    parameter("impact", "length", 0.0, [0.0, UNBOUNDED], None),
];

/// The velocity at infinity that stands for a body at rest at its distance.
pub const AT_REST: f64 = -1.0;

/// Parameters of [`Setup::FreeFall`].
static FREE_FALL: [Parameter; 5] = [
    above_zero("mass1", "mass", 1.0),
    above_zero("mass2", "mass", 1.0),
    above_zero("mass3", "mass", 1.0),
    parameter(
        "x",
        "length",
        0.2,
        [-UNBOUNDED, UNBOUNDED],
        Some([0.0, 0.5]),
    ),
    parameter(
        "y",
        "length",
        0.5,
        [-UNBOUNDED, UNBOUNDED],
        Some([0.0, 1.0]),
    ),
];

impl Parameter {
    /// What it may be, in words.
    pub fn allowed_in_words(&self) -> String {
        let [low, high] = self.allowed;
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        if self.above {
            format!("must be a finite number above {low}{unit}")
        } else if high >= UNBOUNDED && low < 0.0 {
            format!("must be a finite number{unit}")
        } else if high >= UNBOUNDED {
            format!("must be a finite number of at least {low}{unit}")
        } else {
            format!("must be from {low} to {high}{unit}")
        }
    }

    /// Whether it may have this value.
    pub fn allows(&self, x: f64) -> bool {
        let [low, high] = self.allowed;
        (low..=high).contains(&x) && !(self.above && x <= low)
    }
}

/// How a parameter gets its value in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The same in every run.
    Fixed(f64),
    /// Uniform in this range.
    Uniform([f64; 2]),
    /// An angle whose cosine is uniform.
    Isotropic([f64; 2]),
    /// Uniform in its square: eccentricities of a thermal distribution, impact parameters of a uniform beam.
    Square([f64; 2]),
    /// Uniform in the region of Agekyan & Anosova (1967), together with the other coordinate.
    Region,
    /// From column to column of a map.
    Columns([f64; 2]),
    /// From row to row of a map.
    Rows([f64; 2]),
}

impl Choice {
    /// The least and the greatest value.
    pub fn range(&self) -> [f64; 2] {
        match *self {
            Self::Fixed(x) => [x, x],
            Self::Region => [0.0, 1.0],
            Self::Uniform(range)
            | Self::Isotropic(range)
            | Self::Square(range)
            | Self::Columns(range)
            | Self::Rows(range) => range,
        }
    }

    /// Whether runs differ in it.
    pub fn varies(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Uniform(_) => "uniform",
            Self::Isotropic(_) => "isotropic",
            Self::Square(_) => "square",
            Self::Region => "region",
            Self::Columns(_) => "columns",
            Self::Rows(_) => "rows",
        }
    }

    /// As kernels take it.
    pub(super) fn law(&self, parameter: &Parameter) -> Law {
        let [low, high] = self.range();
        let kind = match self {
            Self::Fixed(_) => Law::FIXED,
            Self::Uniform(_) => Law::UNIFORM,
            Self::Isotropic(_) => Law::ISOTROPIC,
            Self::Square(_) => Law::SQUARE,
            Self::Region if parameter.name == "x" => Law::REGION_X,
            Self::Region => Law::REGION_Y,
            Self::Columns(_) => Law::COLUMNS,
            Self::Rows(_) => Law::ROWS,
        };
        Law {
            kind,
            unused: 0,
            low,
            high,
        }
    }

    /// What `--draw` takes: `LAW` or `LAW:LOW:HIGH`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse_draw(text: &str, parameter: &Parameter) -> Result<Self, String> {
        let mut words = text.split(':');
        let law = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        if law == "region" {
            let free = matches!(parameter.name, "x" | "y");
            return match rest[..] {
                [] if free => Ok(Self::Region),
                [] => Err("region is for x and y".into()),
                _ => Err("region has no range".into()),
            };
        }
        let range = range(&rest, parameter)?;
        match law {
            "uniform" => Ok(Self::Uniform(range)),
            "isotropic" if parameter.name == "inclination" => Ok(Self::Isotropic(range)),
            "isotropic" => Err("isotropic is for inclination".into()),
            "thermal" if parameter.name == "e" => Ok(Self::Square(range)),
            "thermal" => Err("thermal is for e".into()),
            "disc" if parameter.name == "impact" => Ok(Self::Square(range)),
            "disc" => Err("disc is for impact".into()),
            _ => Err(LAWS.into()),
        }
    }
}

/// The laws of `--draw`.
const LAWS: &str = "the law must be uniform, isotropic (of inclination), thermal (of e), disc (of impact: uniform in its square) or region \
                    (of x and y)";

/// `LOW:HIGH`, or the parameter's own range.
///
/// # Errors
/// What is allowed.
pub fn range(words: &[&str], parameter: &Parameter) -> Result<[f64; 2], String> {
    let name = parameter.name;
    match words {
        [] => parameter
            .range
            .ok_or_else(|| format!("{name} has no range of its own: LOW:HIGH is needed")),
        [low, high] => {
            let number = |text: &str| {
                let parsed = text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
                parsed.ok_or_else(|| format!("'{text}' is not a finite number"))
            };
            let range = [number(low)?, number(high)?];
            if range[0] < range[1] {
                Ok(range)
            } else {
                Err("the range must ascend: LOW:HIGH".into())
            }
        }
        _ => Err("a range is LOW:HIGH".into()),
    }
}

impl Serialize for Choice {
    /// A number, or the name of the law with its range.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        match self {
            Self::Fixed(x) if *x == AT_REST => serializer.serialize_str("at rest"),
            Self::Fixed(x) => serializer.serialize_f64(*x),
            choice => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("law", choice.name())?;
                map.serialize_entry("range", &choice.range())?;
                map.end()
            }
        }
    }
}
