//! An angle of longitudes of planets, such as that of a resonance.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::planets::MAX_PLANETS;

use super::number::as_text;

/// The longitudes: the mean one, and those of the pericentre and of the ascending node.
const LONGITUDES: [&str; 3] = ["lambda", "pomega", "Omega"];

/// The largest number of times that an angle contains a longitude.
const MOST: i32 = 1000;

/// A sum of integer multiples of longitudes that does not depend on the direction from which they count: its integers add up to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Angle([[i32; LONGITUDES.len()]; MAX_PLANETS]);

impl Angle {
    /// How often it contains each longitude of each planet.
    pub(super) fn numbers(&self) -> [[f64; LONGITUDES.len()]; MAX_PLANETS] {
        self.0.map(|planet| planet.map(f64::from))
    }

    /// The number of the last planet that it contains, counted from 1.
    pub(super) fn last(&self) -> usize {
        let last = self.0.iter().rposition(|planet| *planet != [0; 3]);
        last.map_or(0, |i| i + 1)
    }
}

impl FromStr for Angle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut angle = [[0_i32; LONGITUDES.len()]; MAX_PLANETS];
        let mut rest = &bare[..];
        while !rest.is_empty() {
            // A term begins with its sign.
            let mut signs = rest.match_indices(['+', '-']).map(|(i, _)| i);
            let end = signs.find(|i| *i > 0).unwrap_or(rest.len());
            let (term, later) = rest.split_at(end);
            rest = later;
            let refuse = || {
                format!(
                    "must be a sum of terms such as 3*lambda2 or -pomega1, of {}, each with the number of a planet from 1 to {MAX_PLANETS}; '{term}' is none",
                    LONGITUDES.join(", ")
                )
            };
            let (sign, term) = match term.strip_prefix('-') {
                Some(term) => (-1, term),
                None => (1, term.strip_prefix('+').unwrap_or(term)),
            };
            let (factor, longitude) = match term.split_once('*') {
                Some((factor, longitude)) => (factor.parse().ok(), longitude),
                None => (Some(1), term),
            };
            let name = longitude.trim_end_matches(|c: char| c.is_ascii_digit());
            let kind = LONGITUDES.iter().position(|known| *known == name);
            let planet = longitude[name.len()..].parse::<usize>().ok();
            let planet = planet.and_then(|number| angle.get_mut(number.checked_sub(1)?));
            match (factor, kind, planet) {
                (Some(factor), Some(kind), Some(planet)) if (1..=MOST).contains(&factor) => {
                    planet[kind] = (planet[kind] + sign * factor).clamp(-MOST, MOST);
                }
                _ => return Err(refuse()),
            }
        }
        let sum: i32 = angle.iter().flatten().sum();
        if sum != 0 {
            return Err(format!(
                "the factors must add up to 0, so that the angle does not depend on the direction from which longitudes count; here the sum is {sum}"
            ));
        }
        if angle.iter().flatten().all(|factor| *factor == 0) {
            return Err("must contain a longitude, such as in 3*lambda2-2*lambda1-pomega2".into());
        }
        Ok(Self(angle))
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for (kind, name) in LONGITUDES.iter().enumerate() {
            for (i, planet) in self.0.iter().enumerate().rev() {
                let factor = planet[kind];
                let sign = match factor {
                    0 => continue,
                    ..0 => "-",
                    _ if is_first => "",
                    _ => "+",
                };
                is_first = false;
                f.write_str(sign)?;
                if factor.abs() != 1 {
                    write!(f, "{}*", factor.abs())?;
                }
                write!(f, "{name}{}", i + 1)?;
            }
        }
        Ok(())
    }
}

as_text!(Angle);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_read_and_written() {
        for (text, written) in [
            ("3*lambda2-2*lambda1-pomega2", "3*lambda2-2*lambda1-pomega2"),
            (" - pomega1 + pomega2", "pomega2-pomega1"),
            ("pomega1-Omega1", "pomega1-Omega1"),
            (
                "lambda1-lambda2+lambda1-lambda3",
                "-lambda3-lambda2+2*lambda1",
            ),
        ] {
            let angle: Angle = text.parse().unwrap();
            assert_eq!(angle.to_string(), written);
            assert_eq!(written.parse::<Angle>(), Ok(angle));
        }
        for (text, said) in [
            ("", "must contain"),
            ("pomega1-pomega1", "must contain"),
            ("3*lambda2-2*lambda1", "the sum is 1"),
            ("lambda", "'lambda' is none"),
            ("lambda1-lambda16", "'-lambda16' is none"),
            ("0*lambda1", "'0*lambda1' is none"),
            ("1.5*lambda1", "'1.5*lambda1' is none"),
            ("é", "is none"),
            ("2lambda1", "is none"),
            ("--lambda1", "is none"),
        ] {
            let error = text.parse::<Angle>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
