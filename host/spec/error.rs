//! Errors of specifications.

use std::fmt;

/// A value of a specification that cannot be computed with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("--{option} {given}: {allowed}")]
pub struct SpecError {
    /// Name of the option, as on the command line.
    pub option: &'static str,
    /// The value given.
    pub given: String,
    /// The allowed values.
    pub allowed: String,
}

impl SpecError {
    /// An error for the option with this name.
    pub fn new(option: &'static str, given: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self {
            option,
            given: given.to_string(),
            allowed: allowed.into(),
        }
    }
}
