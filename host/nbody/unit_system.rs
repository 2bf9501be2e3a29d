//! Units by name, such as `au,yr,msun`, which determine the gravitational constant and are shown with lengths and times.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a unit is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Length,
    Time,
    Mass,
}

/// The G of masses in kilograms (m³ kg⁻¹ s⁻²; CODATA 2018). For other masses G M is known better than either.
const G: f64 = 6.674_30e-11;
const DAY: f64 = 86_400.0;
/// A Julian year (s).
const YEAR: f64 = 365.25 * DAY;
/// An astronomical unit (m; IAU resolution B2 of 2012).
const AU: f64 = 149_597_870_700.0;

/// The units: lengths in metres, times in seconds, and G M of masses (m³ s⁻²; those of sun, Jupiter and Earth are nominal, IAU resolution B3
/// of 2015).
const UNITS: [(&str, Kind, f64); 18] = [
    ("m", Kind::Length, 1.0),
    ("km", Kind::Length, 1e3),
    ("rearth", Kind::Length, 6.378_1e6),
    ("rsun", Kind::Length, 6.957e8),
    ("au", Kind::Length, AU),
    ("pc", Kind::Length, AU * 648_000.0 / std::f64::consts::PI),
    (
        "kpc",
        Kind::Length,
        AU * 648_000_000.0 / std::f64::consts::PI,
    ),
    ("s", Kind::Time, 1.0),
    ("hours", Kind::Time, 3600.0),
    ("days", Kind::Time, DAY),
    ("yr", Kind::Time, YEAR),
    ("kyr", Kind::Time, 1e3 * YEAR),
    ("myr", Kind::Time, 1e6 * YEAR),
    ("gyr", Kind::Time, 1e9 * YEAR),
    ("kg", Kind::Mass, G),
    ("mearth", Kind::Mass, 3.986_004e14),
    ("mjup", Kind::Mass, 1.266_865_3e17),
    ("msun", Kind::Mass, 1.327_124_4e20),
];

/// Other names of units.
const OTHERS: [(&str, &str); 8] = [
    ("day", "days"),
    ("d", "days"),
    ("hour", "hours"),
    ("h", "hours"),
    ("year", "yr"),
    ("years", "yr"),
    ("parsec", "pc"),
    ("solar", "msun"),
];

/// A unit of each kind, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct UnitSystem([usize; 3]);

impl UnitSystem {
    fn si(self) -> [f64; 3] {
        self.0.map(|place| UNITS[place].2)
    }

    /// The gravitational constant in these units.
    pub fn g(self) -> f64 {
        let [length, time, mass] = self.si();
        mass * (time / length) * (time / length) / length
    }

    /// The names of the units of length and time.
    pub fn names(self) -> [&'static str; 2] {
        let [length, time, _] = self.0.map(|place| UNITS[place].0);
        [length, time]
    }

    /// A length, a time and a mass of 1 of other units in these ones.
    pub fn per(self, other: Self) -> [f64; 3] {
        let (here, there) = (self.si(), other.si());
        [0, 1, 2].map(|kind| there[kind] / here[kind])
    }
}

impl fmt::Display for UnitSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [length, time, mass] = self.0.map(|place| UNITS[place].0);
        write!(f, "{length},{time},{mass}")
    }
}

impl FromStr for UnitSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut found = [None; 3];
        for word in text.split(',') {
            let word = word.trim().to_lowercase();
            let other = OTHERS.iter().find(|(other, _)| *other == word);
            let name = other.map_or(&*word, |(_, name)| name);
            let place = UNITS.iter().position(|(known, ..)| *known == name);
            let place = place.ok_or_else(|| {
                let names: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).collect();
                format!(
                    "there is no unit '{word}'; the units are {}",
                    names.join(", ")
                )
            })?;
            let (_, kind, _) = UNITS[place];
            if found[kind as usize].replace(place).is_some() {
                return Err(format!("'{word}' is a second unit of {}", kind.name()));
            }
        }
        match found {
            [Some(length), Some(time), Some(mass)] => Ok(Self([length, time, mass])),
            _ => Err(
                "must be a unit of length, one of time and one of mass, such as au,yr,msun".into(),
            ),
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Mass => "mass",
        }
    }
}

impl From<UnitSystem> for String {
    fn from(units: UnitSystem) -> Self {
        units.to_string()
    }
}

impl TryFrom<String> for UnitSystem {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_any_order_give_known_constants() {
        for (text, g) in [
            ("au,yr,msun", 39.476_926),
            ("Msun, AU, day", 2.959_122_08e-4),
            ("pc,myr,msun", 4.498_502e-3),
            ("m,s,kg", 6.674_3e-11),
        ] {
            let units: UnitSystem = text.parse().unwrap();
            assert!((units.g() / g - 1.0).abs() < 1e-6, "{text}: {}", units.g());
        }
        let units: UnitSystem = "msun,AU,year".parse().unwrap();
        assert_eq!(units.to_string(), "au,yr,msun");
        for (text, said) in [
            ("au", "one of mass, such as au,yr,msun"),
            ("au,yr,ly", "no unit 'ly'; the units are m, km"),
            ("au,pc,yr", "'pc' is a second unit of length"),
        ] {
            let error = text.parse::<UnitSystem>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
