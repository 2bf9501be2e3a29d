//! Parameters of starts, and the ways in which they get a value in each item of an ensemble: fixed, drawn, or an axis of a map.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trisolar_equations::Law;

use crate::SpecError;
use crate::read::fraction;

/// A parameter of a start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Its default.
    pub default: f64,
    /// The least and the greatest allowed value.
    pub allowed: [f64; 2],
    /// Whether the least value itself is excluded.
    pub above: bool,
    /// Its usual range in draws and maps, if it has one.
    pub range: Option<[f64; 2]>,
    /// The laws besides `uniform` by which it can be drawn.
    pub laws: &'static [&'static str],
}

/// A bound that messages do not mention, because it is no practical limit.
pub const UNBOUNDED: f64 = 1e100;

impl Parameter {
    /// A parameter without a usual range.
    pub const fn new(name: &'static str, unit: &'static str, allowed: [f64; 2]) -> Self {
        Self {
            name,
            unit,
            default: 0.0,
            allowed,
            above: false,
            range: None,
            laws: &[],
        }
    }

    /// The allowed values in words.
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

    /// `LOW:HIGH` in words, or the parameter's own range.
    fn range_of(&self, words: &[&str]) -> Result<[f64; 2], String> {
        let name = self.name;
        match words {
            [] => self
                .range
                .ok_or_else(|| format!("{name} has no range of its own: LOW:HIGH is needed")),
            [low, high] => {
                let range = [fraction(low)?, fraction(high)?];
                match range[0] < range[1] {
                    true => Ok(range),
                    false => Err("the range must ascend: LOW:HIGH".into()),
                }
            }
            _ => Err("a range is LOW:HIGH".into()),
        }
    }
}

/// How a parameter gets its value in each item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The same in every item.
    Fixed(f64),
    /// Uniform in this range.
    Uniform([f64; 2]),
    /// An angle whose cosine is uniform.
    Isotropic([f64; 2]),
    /// Uniform in its square: eccentricities of a thermal distribution, impact parameters of a uniform beam.
    Square([f64; 2]),
    /// Uniform in the region of Agekyan & Anosova (1967), together with the other coordinate.
    Region,
    /// Varies along the columns of a map.
    Columns([f64; 2]),
    /// Varies along the rows of a map.
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

    /// Whether items differ in it.
    pub fn varies(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Its name in files.
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

    /// In the form for kernels.
    pub fn law(&self, parameter: &Parameter) -> Law {
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

    /// Parses a value of `--draw`: `NAME=LAW` or `NAME=LAW:LOW:HIGH`. `find` looks a parameter up by its name.
    ///
    /// # Errors
    /// A description of the allowed values.
    pub fn parse_draw<'a>(
        text: &str,
        find: impl Fn(&str) -> Result<&'a Parameter, String>,
    ) -> Result<(&'a Parameter, Self), String> {
        let (name, words) = text
            .split_once('=')
            .ok_or("must be NAME=LAW, such as inclination=isotropic or mass1=uniform:1:2")?;
        let parameter = find(name.trim())?;
        let mut words = words.split(':').map(str::trim);
        let law = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        if law != "uniform" && !parameter.laws.contains(&law) {
            let laws: Vec<&str> = [&["uniform"], parameter.laws].concat();
            return Err(format!("{name} can be drawn by: {}", laws.join(", ")));
        }
        let choice = match (law, &rest[..]) {
            ("region", []) => Self::Region,
            ("region", _) => return Err("region has no range".into()),
            ("isotropic", range) => Self::Isotropic(parameter.range_of(range)?),
            ("thermal" | "disc", range) => Self::Square(parameter.range_of(range)?),
            (_, range) => Self::Uniform(parameter.range_of(range)?),
        };
        Ok((parameter, choice))
    }

    /// Parses the axes of a map, columns first: `NAME` or `NAME=LOW:HIGH` each.
    ///
    /// # Errors
    /// The text that is not allowed, and a description of the allowed values.
    pub fn parse_axes<'a>(
        texts: &[String],
        find: impl Fn(&str) -> Result<&'a Parameter, String>,
    ) -> Result<Vec<(&'a Parameter, Self)>, (String, String)> {
        if texts.len() > 2 {
            return Err((texts.join(","), "must be one or two parameters".into()));
        }
        let axis = |(axis, text): (usize, &String)| {
            let (name, words) = match text.split_once('=') {
                Some((name, words)) => (name, words.split(':').collect()),
                None => (text.as_str(), Vec::new()),
            };
            let parameter = find(name.trim())?;
            let range = parameter.range_of(&words)?;
            Ok((parameter, [Self::Columns(range), Self::Rows(range)][axis]))
        };
        let axes = texts.iter().enumerate();
        axes.map(|(k, text)| axis((k, text)).map_err(|allowed| (text.clone(), allowed)))
            .collect()
    }
}

/// The values of options by which choices are made, in the order of the choices; others may come before.
pub type Options<'a> = [(&'static str, &'a [String])];

/// The error of the choice at this place, of `count`, which names the option by which it is made.
pub fn refused(
    place: usize,
    count: usize,
    options: &Options<'_>,
    allowed: impl Into<String>,
) -> SpecError {
    let mut after = count;
    let mut lists = options.iter().rev();
    let found = lists.find(|(_, given)| {
        after -= given.len();
        place >= after
    });
    let (option, given) = found.copied().unwrap_or_default();
    SpecError::new(option, given.join(","), allowed)
}

/// Refuses a parameter that is given twice, by the option that gives it again.
///
/// # Errors
/// The first such parameter.
pub fn each_once(choices: &[(&Parameter, Choice)], options: &Options<'_>) -> Result<(), SpecError> {
    let name = |k: usize| choices[k].0.name;
    let mut places = 0..choices.len();
    match places.find(|k| (0..*k).any(|before| name(before) == name(*k))) {
        None => Ok(()),
        Some(k) => {
            let allowed = format!(
                "{} is given twice: fixed, drawn or an axis of the map",
                name(k)
            );
            Err(refused(k, choices.len(), options, allowed))
        }
    }
}

/// Deserialises one text or several, which may also be separated by commas.
///
/// # Errors
/// Those of the deserialiser.
pub fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be a string or a sequence of strings")]
    enum Texts {
        One(String),
        More(Vec<String>),
    }
    let texts = match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::More(texts) => texts,
    };
    let parts = texts.iter().flat_map(|text| text.split(','));
    Ok(parts.map(|part| part.trim().to_owned()).collect())
}

/// Deserialises a whole number, which may be written as a float.
///
/// # Errors
/// Those of the deserialiser.
pub fn optional_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be a whole number of at least 0")]
    enum Number {
        Whole(u64),
        Real(f64),
    }
    match Option::<Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Number::Whole(n)) => Ok(Some(n)),
        Some(Number::Real(x)) => match crate::read::whole_number(x) {
            Some(n) => Ok(Some(n)),
            None => Err(serde::de::Error::custom(format!(
                "{x} must be a whole number of at least 0"
            ))),
        },
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "must be a number, or a law with its range")]
        enum Written {
            Fixed(f64),
            Law { law: String, range: [f64; 2] },
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Fixed(x) => Self::Fixed(x),
            Written::Law { law, range } => match law.as_str() {
                "uniform" => Self::Uniform(range),
                "isotropic" => Self::Isotropic(range),
                "square" => Self::Square(range),
                "region" => Self::Region,
                "columns" => Self::Columns(range),
                "rows" => Self::Rows(range),
                _ => return Err(serde::de::Error::custom(format!("there is no law {law}"))),
            },
        })
    }
}

impl Serialize for Choice {
    /// Serialised as a number, or as the name of the law with its range.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        match self {
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
