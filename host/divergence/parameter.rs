//! Single numbers of a specification by name, for sequences of maps in which one of them changes.

use std::fmt;
use std::str::FromStr;

use glam::DVec3;

use trisolar_spec::Parameters as _;

use super::{Overrides, Specification};

/// A number that a sequence of maps can vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Mass of body 0, 1 or 2 here, 1, 2 or 3 by name (mass).
    Mass(usize),
    /// Coordinate of a body's start position (length).
    Position(usize, usize),
    /// Coordinate of a body's start velocity (length / time).
    Velocity(usize, usize),
    /// Centre of the map along its first or second axis (length).
    Center(usize),
    /// Extent along the first axis; along the second in proportion to the pixels (length).
    Span,
    /// Shift of the twin, the same along x, y and z (length).
    Shift,
    /// Number of steps; a fraction is cut off.
    Steps,
    /// A parameter of one number.
    Scalar(Scalar),
}

/// A parameter of one number, by its name in the table of declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar(&'static str);

impl Scalar {
    /// All of them.
    fn all() -> impl Iterator<Item = Self> {
        // The limit of errors is no part of a specification.
        let mut overrides = Overrides::from(&Specification::default());
        let names = Overrides::DECLARATIONS
            .iter()
            .map(|parameter| parameter.name);
        names
            .map(Self)
            .filter(move |scalar| scalar.field(&mut overrides).is_some_and(|x| x.is_some()))
    }

    fn field(self, overrides: &mut Overrides) -> Option<&mut Option<f64>> {
        overrides.field_mut(self.0)?.as_any().downcast_mut()
    }

    fn get(self, specification: &Specification) -> f64 {
        let value = self.field(&mut specification.into()).copied().flatten();
        value.expect("a parameter of one number")
    }

    fn set(self, specification: &mut Specification, value: f64) {
        let mut overrides = Overrides::from(&*specification);
        *self
            .field(&mut overrides)
            .expect("a parameter of one number") = Some(value);
        *specification = overrides.into();
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('_', "-"))
    }
}

impl Parameter {
    /// The accepted names, in words.
    pub fn names() -> String {
        let mut names = String::from(
            "mass1 to mass3, x1 to z3 (start positions), vx1 to vz3 (start velocities), center1, center2, span, shift, steps",
        );
        let scalars: Vec<String> = Scalar::all().map(|scalar| scalar.to_string()).collect();
        for (n, name) in (1..).zip(&scalars) {
            names += if n == scalars.len() { " or " } else { ", " };
            names += name;
        }
        names
    }

    /// Its unit; empty if it is a number.
    pub fn unit(self) -> &'static str {
        let declared = match self {
            Self::Mass(_) => "masses",
            Self::Position(..) => "positions",
            Self::Velocity(..) => "velocities",
            Self::Center(_) => "center",
            Self::Span => "span",
            Self::Shift => "shift",
            Self::Steps => "steps",
            Self::Scalar(Scalar(name)) => name,
        };
        let declaration = (Overrides::DECLARATIONS.iter()).find(|found| found.name == declared);
        declaration.expect("a declared parameter").unit
    }

    /// Sets the value in a specification. [`Specification::validate`] checks whether the value is allowed.
    ///
    /// # Errors
    /// For the number of steps: a value that is not finite, is negative, or exceeds 2⁶⁴. A parameter that an axis or a draw replaces.
    pub fn set(self, specification: &mut Specification, value: f64) -> Result<(), String> {
        let s = specification;
        let name = self.to_string();
        let replaced = match self {
            Self::Center(_) | Self::Span => !s.map.is_empty(),
            _ => (s.map.iter().chain(&s.draw)).any(|text| text.split('=').next() == Some(&name)),
        };
        if replaced {
            return Err(format!("--map or --draw replaces {name}"));
        }
        match self {
            Self::Mass(body) => s.masses[body] = value,
            Self::Position(body, axis) => s.positions[body][axis] = value,
            Self::Velocity(body, axis) => s.velocities[body][axis] = value,
            Self::Center(axis) => s.center.set(axis, value),
            Self::Span => s.span = [value, value * (s.size[1] as f64 / s.size[0] as f64)],
            Self::Shift => s.shift = DVec3::splat(value),
            Self::Steps if value >= 0.0 && value < 2f64.powi(64) => s.steps = value as u64,
            Self::Steps => return Err(format!("{value} is not a number of steps")),
            Self::Scalar(scalar) => scalar.set(s, value),
        }
        Ok(())
    }

    /// Its value in a specification; for a shift or span with different values along the axes, the value along the first axis.
    pub fn get(self, specification: &Specification) -> f64 {
        let s = specification;
        match self {
            Self::Mass(body) => s.masses[body],
            Self::Position(body, axis) => s.positions[body][axis],
            Self::Velocity(body, axis) => s.velocities[body][axis],
            Self::Center(axis) => s.center[axis],
            Self::Span => s.span[0],
            Self::Shift => s.shift.x,
            Self::Steps => s.steps as f64,
            Self::Scalar(scalar) => scalar.get(s),
        }
    }
}

/// x, y or z.
fn axis(name: &str) -> Option<usize> {
    ["x", "y", "z"].iter().position(|a| *a == name)
}

/// 1, 2 or 3 as an index.
fn body(name: &str) -> Option<usize> {
    ["1", "2", "3"].iter().position(|b| *b == name)
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let with_body = |rest: &str| -> Option<Self> {
            let (name, number) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
            let body = body(number)?;
            match name {
                "mass" => Some(Self::Mass(body)),
                _ => match name.strip_prefix('v') {
                    Some(name) => Some(Self::Velocity(body, axis(name)?)),
                    None => Some(Self::Position(body, axis(name)?)),
                },
            }
        };
        let found = match text {
            "center1" => Some(Self::Center(0)),
            "center2" => Some(Self::Center(1)),
            "span" => Some(Self::Span),
            "shift" => Some(Self::Shift),
            "steps" => Some(Self::Steps),
            other => match Scalar::all().find(|scalar| scalar.to_string() == other) {
                Some(scalar) => Some(Self::Scalar(scalar)),
                None => with_body(other),
            },
        };
        found.ok_or_else(|| format!("unknown parameter '{text}'; it must be {}", Self::names()))
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AXES: [&str; 3] = ["x", "y", "z"];
        match self {
            Self::Mass(body) => write!(f, "mass{}", body + 1),
            Self::Position(body, axis) => write!(f, "{}{}", AXES[*axis], body + 1),
            Self::Velocity(body, axis) => write!(f, "v{}{}", AXES[*axis], body + 1),
            Self::Center(axis) => write!(f, "center{}", axis + 1),
            Self::Span => f.write_str("span"),
            Self::Shift => f.write_str("shift"),
            Self::Steps => f.write_str("steps"),
            Self::Scalar(scalar) => scalar.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_and_sets_what_it_names() {
        let names = [
            "mass1",
            "mass2",
            "mass3",
            "x1",
            "y2",
            "z3",
            "vx1",
            "vy2",
            "vz3",
            "center1",
            "center2",
            "span",
            "shift",
            "steps",
            "dt",
            "g",
            "softening",
            "critical-distance",
        ];
        for name in names {
            let parameter: Parameter = name.parse().expect(name);
            assert_eq!(parameter.to_string(), name);
            let mut s = Specification::default();
            parameter.set(&mut s, 7.0).expect(name);
            assert_eq!(parameter.get(&s), 7.0, "{name}");
        }
        for wrong in ["", "mass", "mass4", "x0", "w1", "vw1", "mass1 ", "é1", "1"] {
            assert!(wrong.parse::<Parameter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_span_keeps_pixels_square_and_steps_are_cut_to_whole_numbers() {
        let mut s = Specification {
            size: [200, 100],
            ..Specification::default()
        };
        Parameter::Span.set(&mut s, 3.0).unwrap();
        assert_eq!(s.span, [3.0, 1.5]);
        Parameter::Steps.set(&mut s, 50_874.99).unwrap();
        assert_eq!(s.steps, 50_874);
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert!(Parameter::Steps.set(&mut s, wrong).is_err(), "{wrong}");
        }
    }
}
