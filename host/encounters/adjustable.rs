//! Numbers of a specification by name, for sequences in which they change from ensemble to ensemble.

use std::fmt;
use std::str::FromStr;

use super::{Choice, Jump, Setup, Specification};

/// A number of a specification that a sequence can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjustable {
    /// The range of the columns of a map; that of its rows changes in proportion.
    Span,
    /// A parameter of the start, by its name.
    Start(&'static str),
    /// One of the numbers that say how runs are integrated and end, by its name.
    Integration(&'static str),
}

/// The numbers of [`Adjustable::Integration`].
const INTEGRATION: [&str; 4] = ["steps-per-period", "jump", "escape-radius", "max-time"];

impl Adjustable {
    /// All of them.
    fn all() -> impl Iterator<Item = Self> {
        let mut starts: Vec<&str> = Vec::new();
        for parameter in Setup::NAMED.into_iter().flat_map(Setup::parameters) {
            if !starts.contains(&parameter.name) {
                starts.push(parameter.name);
            }
        }
        let starts = starts.into_iter().map(Self::Start);
        let others = INTEGRATION.into_iter().map(Self::Integration);
        [Self::Span].into_iter().chain(starts).chain(others)
    }

    /// The accepted names, in words.
    pub fn names() -> String {
        let names: Vec<String> = Self::all().map(|number| number.to_string()).collect();
        let (last, others) = names.split_last().expect("there are some");
        format!("{} or {last}", others.join(", "))
    }

    /// Its unit; empty for a number.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Span | Self::Integration(_) => "",
            Self::Start(name) => {
                let mut setups = Setup::NAMED.into_iter();
                let found = setups.find_map(|setup| setup.parameter(name));
                found.map_or("", |(_, parameter)| parameter.unit)
            }
        }
    }

    /// Its value in a specification; NaN where it has none: the span of what is no map, a parameter that differs from run to run, or a
    /// limit that is not set.
    pub fn get(self, specification: &Specification) -> f64 {
        match self {
            Self::Span => match specification.axes() {
                [Some((_, [low, high])), _] => high - low,
                _ => f64::NAN,
            },
            Self::Start(name) => match specification.setup.parameter(name) {
                Some((_, parameter)) => match specification.choice(parameter) {
                    Choice::Fixed(value) => value,
                    _ => f64::NAN,
                },
                None => f64::NAN,
            },
            Self::Integration(name) => match name {
                "steps-per-period" => specification.steps_per_period,
                "escape-radius" => specification.escape_radius,
                "max-time" => specification.limits.max_time.unwrap_or(f64::NAN),
                _ => match specification.jump {
                    Jump::Tolerance(tolerance) => tolerance,
                    Jump::Off => f64::NAN,
                },
            },
        }
    }

    /// Sets the value; a parameter that was drawn is then the same in every run. The ranges of a map change about `point`, which keeps its
    /// place in the picture. [`Specification::validate`] checks whether the value is allowed.
    ///
    /// # Errors
    /// A span of what is no map, or one that f64 cannot resolve; a parameter that the setup does not have, or that is an axis of the map.
    pub fn set(
        self,
        specification: &mut Specification,
        value: f64,
        point: [f64; 2],
    ) -> Result<(), String> {
        let s = specification;
        match self {
            Self::Span => return zoomed(s, value, point),
            Self::Start(name) => {
                let Some((_, parameter)) = s.setup.parameter(name) else {
                    return Err(format!("the setup {} has no {name}", s.setup));
                };
                if matches!(s.choice(parameter), Choice::Columns(_) | Choice::Rows(_)) {
                    return Err(format!("{name} is an axis of the map"));
                }
                s.parameters.insert(parameter.name, Choice::Fixed(value));
            }
            Self::Integration(name) => match name {
                "steps-per-period" => s.steps_per_period = value,
                "escape-radius" => s.escape_radius = value,
                "max-time" => s.limits.max_time = Some(value),
                _ => s.jump = Jump::Tolerance(value),
            },
        }
        Ok(())
    }
}

/// Gives the columns of a map a range of this width, and the rows one in proportion, about a point of the map.
fn zoomed(s: &mut Specification, width: f64, point: [f64; 2]) -> Result<(), String> {
    let (axes, size) = (s.axes(), s.size);
    let ([Some((_, [low, high])), _], Some(size)) = (axes, size) else {
        return Err("only a map (--map) has a span".into());
    };
    let ratio = width / (high - low);
    if !(ratio > 0.0 && ratio.is_finite()) {
        return Err(format!(
            "a span of {width} is not possible; it must be above 0"
        ));
    }
    for (axis, found) in axes.into_iter().enumerate() {
        let Some((parameter, [low, high])) = found else {
            continue;
        };
        let at = point[axis];
        let range = [at - (at - low) * ratio, at + (high - at) * ratio];
        let pixel = (range[1] - range[0]) / size[axis] as f64;
        let largest = range[0].abs().max(range[1].abs());
        if pixel < 4.0 * f64::EPSILON * largest {
            return Err(format!(
                "{}: f64 cannot tell pixels of {pixel:e} at {at} apart",
                parameter.name
            ));
        }
        let choice = [Choice::Columns(range), Choice::Rows(range)][axis];
        s.parameters.insert(parameter.name, choice);
    }
    Ok(())
}

impl FromStr for Adjustable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|number| number.to_string() == text);
        found.ok_or_else(|| format!("unknown parameter '{text}'; there are {}", Self::names()))
    }
}

impl fmt::Display for Adjustable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Span => "span",
            Self::Start(name) | Self::Integration(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_set_and_read_by_its_name() {
        let map = Specification {
            parameters: [
                ("phase", Choice::Columns([0.0, 360.0])),
                ("inclination", Choice::Rows([0.0, 180.0])),
            ]
            .into(),
            size: Some([8, 4]),
            n: 32,
            ..Specification::default()
        };
        let free_fall = Specification {
            setup: Setup::FreeFall,
            parameters: [("x", Choice::Region), ("y", Choice::Region)].into(),
            ..Specification::default()
        };
        for number in Adjustable::all() {
            let name = number.to_string();
            assert_eq!(name.parse(), Ok(number));
            let mut spec = match &*name {
                "x" | "y" => free_fall.clone(),
                _ => map.clone(),
            };
            let before = number.get(&spec);
            let result = number.set(&mut spec, 1e-5, [100.0, 45.0]);
            if matches!(&*name, "phase" | "inclination") {
                assert!(
                    before.is_nan() && result.unwrap_err().contains("axis"),
                    "{name}"
                );
            } else {
                result.unwrap();
                let got = number.get(&spec);
                assert!(
                    (got / 1e-5 - 1.0).abs() < 1e-6 && before != got,
                    "{name}: {got}"
                );
            }
        }
        assert!(
            "spin"
                .parse::<Adjustable>()
                .unwrap_err()
                .contains("span, mass1")
        );
    }

    #[test]
    fn a_point_keeps_its_place_when_the_span_changes() {
        let mut spec = Specification {
            parameters: [
                ("phase", Choice::Columns([0.0, 360.0])),
                ("inclination", Choice::Rows([0.0, 180.0])),
            ]
            .into(),
            size: Some([8, 4]),
            ..Specification::default()
        };
        let point = [230.0, 27.0];
        Adjustable::Span.set(&mut spec, 3.6, point).unwrap();
        for (axis, at, place) in [(0, 230.0, 230.0 / 360.0), (1, 27.0, 27.0 / 180.0)] {
            let [low, high] = spec.axes()[axis].unwrap().1;
            assert!(((at - low) / (high - low) - place).abs() < 1e-12);
        }
        for (width, words) in [(1e-13, "apart"), (0.0, "above 0"), (f64::NAN, "above 0")] {
            let refused = Adjustable::Span.set(&mut spec.clone(), width, point);
            assert!(refused.unwrap_err().contains(words), "{width}");
        }
    }
}
