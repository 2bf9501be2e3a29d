//! The interface of specifications for sequences: numbers that frames set by name, and a check.

use std::fmt;
use std::str::FromStr;

use trisolar_map::{Parameter, Specification, Validated};
use trisolar_spec::SpecError;

/// A number of a specification that a sequence can set, by its name.
pub trait SequenceParameter:
    Copy + PartialEq + fmt::Debug + fmt::Display + FromStr<Err = String>
{
    /// The names that formulas can use besides `frame`, `frames` and `t`, in words.
    const VARIABLES_IN_WORDS: &'static str;

    /// The number that a name in a formula stands for.
    fn variable(name: &str) -> Option<Self>;
}

/// A specification on which the frames of a sequence are based.
pub trait Base: Clone {
    /// Its adjustable numbers.
    type Parameter: SequenceParameter;
    /// A specification that has passed its checks.
    type Validated: Clone + fmt::Debug;

    /// The value of a number; NaN if this specification has no value of that name.
    fn get(&self, parameter: Self::Parameter) -> f64;

    /// Sets a number. [`checked`](Self::checked) checks whether the value is allowed.
    ///
    /// # Errors
    /// The reason why no such value can be set.
    fn set(&mut self, parameter: Self::Parameter, value: f64) -> Result<(), String>;

    /// Checks the specification of a frame.
    ///
    /// # Errors
    /// The first value that is not allowed.
    fn checked(self) -> Result<Self::Validated, SpecError>;

    /// As [`checked`](Self::checked), for a frame of a zoom, whose numbers may get more digits than those of the first frame.
    ///
    /// # Errors
    /// The first value that is not allowed.
    fn checked_at_depth(self) -> Result<Self::Validated, SpecError> {
        self.checked()
    }
}

impl SequenceParameter for Parameter {
    const VARIABLES_IN_WORDS: &'static str = "span, shift, steps, dt";

    fn variable(name: &str) -> Option<Self> {
        let known = Self::VARIABLES_IN_WORDS.split(", ");
        known.into_iter().find(|known| *known == name)?.parse().ok()
    }
}

impl Base for Specification {
    type Parameter = Parameter;
    type Validated = Validated;

    fn get(&self, parameter: Parameter) -> f64 {
        parameter.get(self)
    }

    fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), String> {
        parameter.set(self, value)
    }

    fn checked(self) -> Result<Validated, SpecError> {
        self.validate()
    }

    fn checked_at_depth(self) -> Result<Validated, SpecError> {
        self.validate_at_depth()
    }
}
