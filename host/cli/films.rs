//! The values of options about films.

use std::path::Path;

use trisolar::io::film::{FilmError, RATES};
use trisolar::io::plot::View;

use super::Failure;

/// Number of frames per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if RATES.contains(&rate) => Ok(rate),
        _ => Err("must be a number from 0.1 to 60".into()),
    }
}

/// A number of frames.
pub(crate) fn frames(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=99_999) => Ok(n),
        _ => Err("must be a whole number from 1 to 99999".into()),
    }
}

/// A viewpoint.
pub(crate) fn view(text: &str) -> Result<View, String> {
    Ok(match text {
        "xy" => View::Xy,
        "xz" => View::Xz,
        "yz" => View::Yz,
        "space" => View::Space,
        _ => return Err("must be xy, xz, yz or space".into()),
    })
}

/// A refused name of a film.
pub(crate) fn refused(path: &Path, error: &FilmError) -> Failure {
    Failure::value(&path.display().to_string(), "--film", &error.to_string())
}

impl From<FilmError> for Failure {
    fn from(error: FilmError) -> Self {
        match error {
            FilmError::Io(error) => error.into(),
            FilmError::Cancelled => Self::Interrupted,
            error => Self::Failed(error.to_string()),
        }
    }
}
