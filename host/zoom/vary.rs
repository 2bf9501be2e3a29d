//! Parameters with the values that a sweep gives them, as the command line and Python write them.

use std::fmt;
use std::str::FromStr;

use super::kind::SequenceParameter;
use trisolar_map::Parameter;

/// A parameter and its values. Written `mass2=5:40:16` (evenly spaced), `shift=1e-6:1e-2:9:log` (of a constant ratio) or
/// `dt=0.001,0.002` (a list).
#[derive(Clone, Debug, PartialEq)]
pub struct Vary<P = Parameter> {
    /// The parameter that changes from map to map.
    pub parameter: P,
    /// Its values, at least one.
    pub values: Vec<f64>,
}

/// Largest number of maps of a sweep.
pub const MAX_MAPS: usize = 10_000;

impl<P> Vary<P> {
    /// Whether the values are spaced as those of `FROM:TO:COUNT:log`.
    pub(super) fn has_a_constant_ratio(&self) -> bool {
        let [first, second, _, ..] = self.values[..] else {
            return false;
        };
        let ratio = second / first;
        let same = |pair: &[f64]| (pair[1] / pair[0] / ratio - 1.0).abs() < 1e-9;
        first > 0.0 && ratio > 0.0 && ratio != 1.0 && self.values.windows(2).all(same)
    }
}

impl<P: SequenceParameter> Vary<P> {
    /// Checks that these parameters make a sweep: one, or two different ones, and not too many maps.
    ///
    /// # Errors
    /// The parameter that is refused, and the reason.
    pub fn check(all: &[Self]) -> Result<(), (P, String)> {
        for (n, vary) in all.iter().enumerate() {
            let parameter = vary.parameter;
            if all[..n].iter().any(|v| v.parameter == parameter) {
                let reason = format!("{parameter} is varied twice; give all its values at once");
                return Err((parameter, reason));
            }
            if n == 2 {
                let reason =
                    "a sweep varies one parameter, or two as the rows and columns of a matrix";
                return Err((parameter, reason.into()));
            }
        }
        let maps = all.iter().map(|v| v.values.len());
        let maps = maps.fold(1_usize, usize::saturating_mul);
        match all.last() {
            Some(last) if maps > MAX_MAPS => {
                let reason =
                    format!("there would be {maps} maps, and at most {MAX_MAPS} are possible");
                Err((last.parameter, reason))
            }
            _ => Ok(()),
        }
    }
}

impl<P: SequenceParameter> FromStr for Vary<P> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text
            .split_once('=')
            .ok_or("must be NAME=FROM:TO:COUNT, NAME=FROM:TO:COUNT:log or NAME=A,B,...")?;
        let values = if values.contains(':') {
            spaced(values)?
        } else {
            let numbers = values.split(',').map(number);
            numbers.collect::<Result<_, _>>()?
        };
        if values.len() > MAX_MAPS {
            return Err(format!("at most {MAX_MAPS} values are possible"));
        }
        Ok(Self {
            parameter: name.trim().parse()?,
            values,
        })
    }
}

impl<P: fmt::Display> fmt::Display for Vary<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(f64::to_string).collect();
        write!(f, "{}={}", self.parameter, values.join(","))
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => Err(format!("'{}' is not a number", text.trim())),
    }
}

/// `FROM:TO:COUNT` and `FROM:TO:COUNT:log`.
fn spaced(text: &str) -> Result<Vec<f64>, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (from, to, count, logarithmic) = match parts[..] {
        [from, to, count] => (from, to, count, false),
        [from, to, count, "log"] => (from, to, count, true),
        _ => return Err("must be FROM:TO:COUNT or FROM:TO:COUNT:log".into()),
    };
    let (from, to) = (number(from)?, number(to)?);
    let count: usize = match count.trim().parse() {
        Ok(n) if (2..=MAX_MAPS).contains(&n) => n,
        _ => {
            return Err(format!("COUNT must be a whole number from 2 to {MAX_MAPS}"));
        }
    };
    if logarithmic && !(from > 0.0 && to > 0.0) {
        return Err("with log both ends must be above 0".into());
    }
    let value = |i: usize| {
        let t = i as f64 / (count - 1) as f64;
        match i {
            0 => from,
            _ if i == count - 1 => to,
            // The power of the C library differs from one system to another.
            _ if logarithmic => from * libm::pow(to / from, t),
            _ => from + (to - from) * t,
        }
    };
    Ok((0..count).map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vary {
        text.parse().expect(text)
    }

    #[test]
    fn values_of_a_constant_ratio_are_known() {
        for (text, logarithmic) in [
            ("shift=1e-6:1e-2:9:log", true),
            ("mass2=40:5:4:log", true),
            ("dt=0.001,0.002,0.004", true),
            ("dt=0.001,0.002", false),
            ("mass2=5:40:16", false),
            ("x1=-1,-2,-4", false),
            ("x1=0,0,0", false),
            ("x1=1,1,1", false),
        ] {
            assert_eq!(parsed(text).has_a_constant_ratio(), logarithmic, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "mass2=5:40:16",
            "shift=1e-6:1e-2:9:log",
            "dt=0.1,0.30000000000000004",
        ] {
            let vary = parsed(text);
            assert_eq!(parsed(&vary.to_string()), vary);
        }
    }

    #[test]
    fn one_parameter_or_two_different_ones_make_a_sweep() {
        let check = |texts: &[&str]| {
            let all: Vec<Vary> = texts.iter().map(|text| parsed(text)).collect();
            Vary::check(&all).map_err(|(parameter, reason)| format!("{parameter}: {reason}"))
        };
        assert_eq!(check(&["dt=1,2"]), Ok(()));
        assert_eq!(check(&["dt=1,2", "g=1:2:3"]), Ok(()));
        for (texts, said) in [
            (&["dt=1,2", "dt=1,3"][..], "dt: dt is varied twice"),
            (&["dt=1", "g=1", "dt=2"], "dt: dt is varied twice"),
            (&["dt=1", "g=1", "span=2"], "span: a sweep varies one"),
            (&["dt=1:2:200", "g=1:2:51"], "g: there would be 10200 maps"),
        ] {
            let refused = check(texts).expect_err("refused");
            assert!(refused.starts_with(said), "{refused}");
        }
    }
}
