//! The numbers of stars and planets as text: fixed, drawn, or an axis of a map.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::encounters::Law;
pub use kernels_gpu::planets::ELEMENTS;
use kernels_gpu::planets::PlanetForm;
use trisolar_spec::read::fraction;

/// Units of time in a year: G = 1 with astronomical units and solar masses.
pub const YEAR: f64 = std::f64::consts::TAU;

/// An astronomical unit (m; IAU resolution B2 of 2012).
const AU: f64 = 149_597_870_700.0;
/// The nominal G M of the sun (m³ s⁻²; IAU resolution B3 of 2015).
const SUN: f64 = 1.327_124_4e20;
/// The square of the speed of light, in units in which G, an astronomical unit and the mass of the sun are 1.
pub(super) const LIGHT2: f64 = 299_792_458.0 * 299_792_458.0 * AU / SUN;

/// The unit of time (s).
pub(super) fn unit_of_time() -> f64 {
    (AU.powi(3) / SUN).sqrt()
}

/// How a number gets its value in each system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// The same in every system.
    Fixed(f64),
    /// `low + (high - low) i/n` along an axis of a map: the range and n.
    Axis([f64; 2], u64),
    /// Uniform in this range.
    Uniform([f64; 2]),
    /// Uniform in its square, as eccentricities of a thermal distribution.
    Thermal([f64; 2]),
}

impl Number {
    /// The least and the greatest value.
    pub fn range(&self) -> [f64; 2] {
        match *self {
            Self::Fixed(x) => [x, x],
            Self::Axis(range, _) | Self::Uniform(range) | Self::Thermal(range) => range,
        }
    }

    /// Whether it is drawn.
    pub fn is_drawn(&self) -> bool {
        matches!(self, Self::Uniform(_) | Self::Thermal(_))
    }

    /// In the form for kernels; `axis` is the place of an axis among those of the map.
    pub(super) fn law(&self, axis: usize) -> Law {
        let [low, high] = self.range();
        let kind = match self {
            Self::Fixed(_) => Law::FIXED,
            Self::Axis(..) if axis == 0 => Law::COLUMNS,
            Self::Axis(..) => Law::ROWS,
            Self::Uniform(_) => Law::UNIFORM,
            Self::Thermal(_) => Law::SQUARE,
        };
        Law {
            kind,
            unused: 0,
            low,
            high,
        }
    }

    /// The number with all values multiplied by `factor`.
    fn scaled(self, factor: f64) -> Self {
        let by = |range: [f64; 2]| range.map(|x| x * factor);
        match self {
            Self::Fixed(x) => Self::Fixed(x * factor),
            Self::Axis(range, n) => Self::Axis(by(range), n),
            Self::Uniform(range) => Self::Uniform(by(range)),
            Self::Thermal(range) => Self::Thermal(by(range)),
        }
    }
}

/// The units that may follow a number, with their values in those of the specification.
fn units() -> [(&'static str, f64); 12] {
    let second = 1.0 / (unit_of_time() * YEAR);
    [
        ("msun", 1.0),
        // The nominal values of the IAU (resolution B3 of 2015).
        ("mjup", 1.266_865_3e17 / SUN),
        ("mearth", 3.986_004e14 / SUN),
        ("rsun", 6.957e8 / AU),
        ("rjup", 7.149_2e7 / AU),
        ("rearth", 6.378_1e6 / AU),
        ("km/s", 1e3 / AU / second),
        ("km", 1e3 / AU),
        ("au", 1.0),
        ("deg", std::f64::consts::PI / 180.0),
        ("yr", 1.0),
        ("days", 86_400.0 * second),
    ]
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unit = units().into_iter().find(|(name, _)| text.ends_with(name));
        let (bare, factor) = unit.map_or((text, 1.0), |(name, factor)| {
            (text.trim_end_matches(name).trim_end(), factor)
        });
        let range = |low: &str, high: &str| {
            let range = [fraction(low)?, fraction(high)?];
            match range[0] < range[1] {
                true => Ok(range),
                false => Err("the range must ascend".to_owned()),
            }
        };
        let number = if let Some((law, rest)) = bare.split_once('(') {
            let inside = rest.strip_suffix(')').and_then(|r| r.split_once(','));
            let allowed = "a drawn number is uniform(LOW,HIGH) or thermal(LOW,HIGH)";
            let (low, high) = inside.ok_or(allowed)?;
            match law.trim() {
                "uniform" => Self::Uniform(range(low, high)?),
                "thermal" => Self::Thermal(range(low, high)?),
                _ => return Err(allowed.into()),
            }
        } else {
            match bare.split(':').collect::<Vec<_>>()[..] {
                [word] => Self::Fixed(fraction(word)?),
                [low, high, n] => {
                    let n = trisolar_spec::read::whole(n, 2..=1 << 32)
                        .map_err(|allowed| format!("the number of values of an axis {allowed}"))?;
                    Self::Axis(range(low, high)?, n)
                }
                _ => return Err("an axis is LOW:HIGH:N".into()),
            }
        };
        Ok(number.scaled(factor))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(x) => write!(f, "{x}"),
            Self::Axis([low, high], n) => write!(f, "{low}:{high}:{n}"),
            Self::Uniform([low, high]) => write!(f, "uniform({low},{high})"),
            Self::Thermal([low, high]) => write!(f, "thermal({low},{high})"),
        }
    }
}

/// Numbers of a planet for other forces, which are fixed: the times in which its semi-major axis and its eccentricity shrink by e (years), the
/// star's radiation pressure divided by its gravity, and Love number, time lag (s) and radius (au) of the tide on the planet.
pub const PROPERTIES: [&str; 6] = ["tau_a", "tau_e", "beta", "k2", "lag", "radius"];

/// The names that a number of a planet may have, one of [`ELEMENTS`] first, each with its [`PlanetForm`].
const NAMES: [&[(&str, u64)]; ELEMENTS.len()] = [
    &[("m", 0)],
    &[
        ("a", 0),
        ("P", PlanetForm::PERIOD),
        ("x", PlanetForm::CARTESIAN),
    ],
    &[("e", 0), ("y", PlanetForm::CARTESIAN)],
    &[("inc", 0), ("z", PlanetForm::CARTESIAN)],
    &[("Omega", 0), ("vx", PlanetForm::CARTESIAN)],
    &[
        ("omega", 0),
        ("pomega", PlanetForm::PERICENTRE),
        ("vy", PlanetForm::CARTESIAN),
    ],
    &[
        ("M", 0),
        ("lambda", PlanetForm::LONGITUDE),
        ("f", PlanetForm::TRUE_ANOMALY),
        ("T", PlanetForm::PASSAGE),
        ("vz", PlanetForm::CARTESIAN),
    ],
];

/// The number of a planet with this name, and its form.
fn number_named(name: &str) -> Option<(usize, u64)> {
    let of = |(i, names): (usize, &&[(&str, u64)])| {
        let found = names.iter().find(|(known, _)| *known == name)?;
        Some((i, found.1))
    };
    NAMES.iter().enumerate().find_map(of)
}

/// The form of all numbers of a planet: a sum of constants of [`PlanetForm`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberForms(pub(super) u64);

impl NumberForms {
    /// The name of a number.
    fn name(self, number: usize) -> &'static str {
        let mut others = NAMES[number].iter().skip(1);
        let (name, _) = others
            .find(|(_, form)| self.0 & form != 0)
            .unwrap_or(&NAMES[number][0]);
        name
    }

    /// The names of all numbers.
    pub fn names(self) -> [&'static str; ELEMENTS.len()] {
        std::array::from_fn(|number| self.name(number))
    }

    /// Whether the planet has a place and a velocity.
    pub fn is_cartesian(self) -> bool {
        self.0 == PlanetForm::CARTESIAN
    }

    /// The forms with another one of a number.
    fn with(self, number: usize, form: u64) -> Self {
        let all = NAMES[number].iter().fold(0, |all, (_, form)| all | form);
        Self((self.0 & !all) | form)
    }
}

/// Names that other programs have for elements.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("period", "P"),
    ("varpi", "pomega"),
    ("l", "lambda"),
    ("nu", "f"),
    ("mass", "m"),
    ("i", "inc"),
    ("inclination", "inc"),
    ("ecc", "e"),
    ("node", "Omega"),
    ("W", "Omega"),
    ("w", "omega"),
    ("peri", "omega"),
];

/// The [`ELEMENTS`] of a planet or what is in their place, and its [`PROPERTIES`]; those that are not given are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanetText(
    pub [Number; ELEMENTS.len()],
    pub [f64; PROPERTIES.len()],
    pub NumberForms,
);

impl PlanetText {
    /// The name of each number.
    pub fn names(&self) -> [&'static str; ELEMENTS.len()] {
        self.2.names()
    }
}

impl FromStr for PlanetText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = [None; ELEMENTS.len() + PROPERTIES.len()];
        let mut names = [None; ELEMENTS.len()];
        // A comma inside of parentheses separates the ends of a range.
        let mut depth = 0_i32;
        let words = text.split(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("'{}' must be NAME=VALUE", word.trim()))?;
            let name = OTHER_NAMES
                .iter()
                .find(|(other, _)| *other == name.trim())
                .map_or(name.trim(), |(_, name)| name);
            let property = PROPERTIES.iter().position(|known| *known == name);
            let property = property.map(|place| ELEMENTS.len() + place);
            let place = number_named(name).map(|(place, _)| place).or(property);
            let place = place.ok_or_else(|| {
                let [names, others] = [&ELEMENTS[..], &PROPERTIES].map(|names| names.join(", "));
                format!(
                    "there is no {name}; the elements are {names} (or P for a; pomega for omega; lambda, f or T for M; or x, y, z, vx, vy, vz for all), and other properties {others}"
                )
            })?;
            if let Some((name, before)) = names.get_mut(place).map(|n| (name, n.replace(name)))
                && let Some(before) = before
                && before != name
            {
                return Err(format!("only one of {before} and {name} can be given"));
            }
            let number = value.parse().map_err(|e| format!("{name}: {e}"))?;
            if numbers[place].replace(number).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        let given = names.iter().skip(1).flatten();
        let forms: Vec<u64> = given
            .filter_map(|name| Some(number_named(name)?.1))
            .collect();
        let is_cartesian = forms.contains(&PlanetForm::CARTESIAN);
        if is_cartesian && forms.iter().any(|form| *form != PlanetForm::CARTESIAN) {
            return Err(
                "a planet has elements, or x, y, z, vx, vy and vz, not some of both".into(),
            );
        }
        if numbers[1].is_none() && !is_cartesian {
            return Err(
                "a planet needs a, its semi-major axis (au), or P, its period (years)".into(),
            );
        }
        let form = forms.iter().fold(0, |all, form| all | form);
        let (elements, others) = numbers.split_at(ELEMENTS.len());
        let mut text = Self(
            [Number::Fixed(0.0); ELEMENTS.len()],
            [0.0; PROPERTIES.len()],
            NumberForms(form),
        );
        for (to, number) in text.0.iter_mut().zip(elements) {
            *to = number.unwrap_or(*to);
        }
        for ((to, number), name) in text.1.iter_mut().zip(others).zip(PROPERTIES) {
            match number {
                Some(Number::Fixed(x)) => *to = *x,
                Some(_) => return Err(format!("{name} must be one number")),
                None => {}
            }
        }
        Ok(text)
    }
}

impl fmt::Display for PlanetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.names().into_iter().zip(&self.0);
        let others = PROPERTIES.iter().zip(&self.1).filter(|(_, x)| **x != 0.0);
        let words = words.map(|(name, x)| format!("{name}={x}"));
        let others = others.map(|(name, x)| format!("{name}={x}"));
        let words: Vec<String> = words.chain(others).collect();
        f.write_str(&words.join(","))
    }
}

/// A number of the star or of a planet by its name, such as `a2`, in place of that of a preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    name: String,
    number: Number,
}

impl Setting {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces the number.
    ///
    /// # Errors
    /// The names that there are, if it has another one.
    pub(super) fn apply(
        &self,
        star: &mut Number,
        planets: &mut [PlanetText],
    ) -> Result<(), String> {
        // An element may take the place of another one.
        if let Some((number, form, planet)) = in_name(&self.name)
            && let Some(planet) = planet.checked_sub(1).and_then(|i| planets.get_mut(i))
            && !planet.2.is_cartesian()
            && form != PlanetForm::CARTESIAN
        {
            planet.2 = planet.2.with(number, form);
        }
        *named(&self.name, star, planets)? = self.number;
        Ok(())
    }
}

/// The number of a planet, its form, and the number of the planet, from 1, in a name such as `a2`.
fn in_name(name: &str) -> Option<(usize, u64, usize)> {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let (number, form) = number_named(letters)?;
    Some((number, form, name[letters.len()..].parse().ok()?))
}

/// The element and the number of the planet, from 1, in a name such as `a2`.
pub fn element_of_planet(name: &str) -> Option<(usize, usize)> {
    in_name(name).map(|(number, _, planet)| (number, planet))
}

/// The number with this name.
///
/// # Errors
/// The names that there are.
pub(super) fn named<'a>(
    name: &str,
    star: &'a mut Number,
    planets: &'a mut [PlanetText],
) -> Result<&'a mut Number, String> {
    let last = planets.len();
    let names = planets.first().map_or(ELEMENTS, PlanetText::names);
    let there = match in_name(name) {
        Some((number, _, planet)) => {
            let planet = planet.checked_sub(1).and_then(|i| planets.get_mut(i));
            let planet = planet.filter(|p| name.starts_with(p.names()[number]));
            planet.map(|planet| &mut planet.0[number])
        }
        None => (name == "star").then_some(star),
    };
    there.ok_or_else(|| {
        let names = names.map(|name| format!("{name}1 to {name}{last}"));
        format!("the numbers are star, {}", names.join(", "))
    })
}

impl From<(&str, Number)> for Setting {
    fn from((name, number): (&str, Number)) -> Self {
        Self {
            name: name.to_owned(),
            number,
        }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').ok_or("must be NAME=NUMBER")?;
        Ok(Self {
            name: name.trim().to_owned(),
            number: number.parse()?,
        })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.number)
    }
}

/// Serialises as text, and reads it.
macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|e| serde::de::Error::custom(format!("{text}: {e}")))
            }
        }
    )+};
}
pub(super) use as_text;

as_text!(Number, PlanetText, Setting);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written() {
        for text in ["0.5", "7:10:512", "uniform(0,6.28)", "thermal(0,0.9)"] {
            assert_eq!(text.parse::<Number>().unwrap().to_string(), text);
        }
        assert_eq!(
            "90deg".parse(),
            Ok(Number::Fixed(std::f64::consts::FRAC_PI_2))
        );
        let Ok(Number::Fixed(jupiter)) = "1 mjup".parse() else {
            panic!("it is a mass");
        };
        assert!((jupiter - 9.546e-4).abs() < 1e-7);
        for (text, said) in [
            ("x", "'x' is not a finite number"),
            ("inf", "'inf' is not a finite number"),
            ("1:2", "an axis is LOW:HIGH:N"),
            ("1:2:1", "must be a whole number from 2"),
            ("2:1:8", "must ascend"),
            ("normal(0,1)", "uniform(LOW,HIGH)"),
            ("uniform(0;1)", "uniform(LOW,HIGH)"),
        ] {
            let error = text.parse::<Number>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn planets_are_read_and_written() {
        let text = "m=0.001,a=7:10:8,e=0.1,inc=0,Omega=0,omega=0,M=uniform(0,6)";
        let planet: PlanetText = text.parse().unwrap();
        assert_eq!(planet.to_string(), text);
        let planet: PlanetText = "a=1,tau_e=100,beta=0.1".parse().unwrap();
        let text = "m=0,a=1,e=0,inc=0,Omega=0,omega=0,M=0,tau_e=100,beta=0.1";
        assert_eq!(planet.to_string(), text);
        for text in [
            "m=0,P=11.86,e=0,inc=0,Omega=0,pomega=1,lambda=2",
            "m=0,a=1,e=0,inc=0,Omega=0,omega=0,f=0:6:8",
            "m=0,a=1,e=0,inc=0,Omega=0,omega=0,T=-0.5",
            "m=0,x=1,y=0,z=0,vx=0,vy=6.28,vz=0",
        ] {
            assert_eq!(text.parse::<PlanetText>().unwrap().to_string(), text);
        }
        assert_eq!(
            "a=1".parse::<PlanetText>().unwrap().0[0],
            Number::Fixed(0.0)
        );
        for (text, said) in [
            ("m=1", "needs a"),
            ("a=1,a=2", "a is given twice"),
            ("a=1,w=1,omega=2", "omega is given twice"),
            ("P=1,a=1", "only one of P and a"),
            ("a=1,M=1,lambda=2", "only one of M and lambda"),
            ("x=1,e=0.1", "not some of both"),
            (
                "a=1,q=2",
                "there is no q; the elements are m, a, e, inc, Omega, omega, M",
            ),
            ("a=1,beta=0:1:4", "beta must be one number"),
            ("a", "must be NAME=VALUE"),
            ("a=b", "a: 'b' is not a finite number"),
        ] {
            let error = text.parse::<PlanetText>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
