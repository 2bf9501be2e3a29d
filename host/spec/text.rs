//! Specifications as TOML text.

use serde::de::DeserializeOwned;

/// A text that cannot be read as a specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .line.as_ref().map_or(String::new(), |(n, text)| format!("line {n}: {text}\n")))]
pub struct ParseError {
    /// The number (from 1) and the text of the line, if it is known.
    pub line: Option<(usize, String)>,
    /// The error.
    pub message: String,
}

/// Reads TOML text.
///
/// # Errors
/// [`ParseError`].
pub fn parse_as<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let number = before.matches('\n').count();
            let line = text.lines().nth(number).unwrap_or_default();
            (number + 1, line.trim().to_owned())
        });
        ParseError {
            line,
            message: e.message().to_owned(),
        }
    })
}
