//! The answer to a request with a value that is not allowed.

/// A value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Refusal {
    /// Name of the parameter.
    pub option: String,
    /// The value given.
    pub given: String,
    /// The allowed values.
    pub allowed: String,
}

impl Refusal {
    /// A refused value of this parameter.
    pub fn new(option: &str, given: impl ToString, allowed: impl Into<String>) -> Self {
        Self {
            option: option.to_owned(),
            given: given.to_string(),
            allowed: allowed.into(),
        }
    }
}
