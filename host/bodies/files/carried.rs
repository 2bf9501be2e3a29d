//! The values of a file of bodies besides their masses, positions and velocities, such as units, which give these numbers their
//! meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Bodies;

/// Values of a file besides the numbers of its bodies; `None` for values that the file does not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// Gravitational constant (length³ / mass / time²).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<f64>,
    /// Softening length (length).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softening: Option<f64>,
    /// The time of the positions and velocities (time).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The time step with which they were integrated (time).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dt: Option<f64>,
    /// Names of the bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// The least and the greatest softening length, if bodies have different ones.
    #[serde(skip)]
    pub softenings: Option<[f64; 2]>,
}

/// Bodies with the other values of their file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyFile {
    /// Masses, positions and velocities.
    pub bodies: Bodies,
    /// 2 or 3.
    pub dimensions: u8,
    /// The other values of the file.
    pub carried: Carried,
    /// The gravitational constant that is assumed for files of this kind if they do not contain one.
    pub usual_g: f64,
    /// What the user should know about how the file was read.
    pub notes: Vec<String>,
}

impl BodyFile {
    /// Bodies with the other values of their file, without notes.
    pub fn new(bodies: Bodies, dimensions: u8, carried: Carried, usual_g: f64) -> Self {
        Self {
            bodies,
            dimensions,
            carried,
            usual_g,
            notes: Vec::new(),
        }
    }
}

/// The start of a comment that holds [`Carried`] as JSON.
pub const MARK: &str = "# trisolar {";

impl Carried {
    /// Reads the values and the dimensions, if it has them, from the JSON of an N-body or cluster specification.
    pub fn from_specification(json: &Value) -> (Self, Option<u8>) {
        let number = |key: &str| json.get(key).and_then(Value::as_f64);
        let carried = Self {
            g: number("g"),
            softening: number("softening"),
            dt: number("dt"),
            names: names(json),
            ..Self::default()
        };
        let dimensions = json.get("dimensions").and_then(Value::as_u64);
        (carried, dimensions.and_then(|d| u8::try_from(d).ok()))
    }

    /// The comment line for text files.
    pub fn comment(&self) -> String {
        let json = serde_json::to_string(self).expect("plain numbers and names");
        format!("# trisolar {json}")
    }

    /// The values of a line, if it is such a comment.
    ///
    /// # Errors
    /// The error in the comment.
    pub fn from_comment(line: &str) -> Option<Result<Self, String>> {
        if !line.starts_with(MARK) {
            return None;
        }
        let json = line.trim_start_matches("# trisolar ");
        let read = serde_json::from_str(json);
        Some(read.map_err(|e| format!("the comment with values of the bodies: {e}")))
    }

    /// Checks that all bodies have the same softening length.
    ///
    /// # Errors
    /// A description of the lengths.
    pub fn check_softening(&self) -> Result<(), String> {
        match self.softenings {
            None => Ok(()),
            Some([least, greatest]) => Err(format!(
                "its bodies have different softening lengths, from {least} to {greatest}; set one for all by '--softening'"
            )),
        }
    }

    /// Checks that the numbers are finite, and that there is a name for each of `n` bodies.
    ///
    /// # Errors
    /// A description of the error.
    pub fn check(&self, n: usize) -> Result<(), String> {
        for (name, number) in [
            ("g", self.g),
            ("softening", self.softening),
            ("time", self.time),
            ("dt", self.dt),
        ] {
            if let Some(x) = number.filter(|x| !x.is_finite()) {
                return Err(format!("its {name} is {x}, and must be a finite number"));
            }
        }
        match &self.names {
            Some(names) if names.len() != n => {
                Err(format!("it has {} names for {n} bodies", names.len()))
            }
            _ => Ok(()),
        }
    }
}

/// The names in a specification.
fn names(json: &Value) -> Option<Vec<String>> {
    serde_json::from_value(json.get("names")?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_gives_back_the_same_bits() {
        let carried = Carried {
            g: Some(2.959_122_082_86e-4),
            softening: Some(0.1 + 0.2),
            time: Some(-1.0 / 3.0),
            dt: None,
            names: Some(vec!["sun".into(), "a \"b\", c".into()]),
            softenings: None,
        };
        let read = Carried::from_comment(&carried.comment()).expect("a comment");
        assert_eq!(read, Ok(carried));
        assert_eq!(Carried::from_comment("# trisolar cluster"), None);
        assert!(
            Carried::from_comment("# trisolar {\"g\": x}")
                .expect("marked")
                .is_err()
        );
    }

    #[test]
    fn numbers_that_are_none_and_names_that_are_missing_are_refused() {
        let none = Carried {
            g: Some(f64::NAN),
            ..Carried::default()
        };
        assert!(none.check(1).unwrap_err().contains("its g is NaN"));
        let names = Carried {
            names: Some(vec!["a".into()]),
            ..Carried::default()
        };
        assert_eq!(names.check(1), Ok(()));
        assert!(names.check(2).unwrap_err().contains("1 names for 2"));
    }
}
