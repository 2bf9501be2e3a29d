//! Converts failures to Python's exceptions, with the messages of the command line.

use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError,
    PyNotADirectoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use trisolar::bodies;
use trisolar::divergence::{EngineError, SpecError};
use trisolar::io::IoError;
use trisolar::time_run;

/// A message of the command line with the names that options have in Python: `max_error` for `--max-error`.
pub(crate) fn in_python(message: &str) -> String {
    let (mut out, mut rest) = (String::new(), message);
    while let Some((before, found)) = rest.split_once("--") {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = found.find(|c| !is_part(c)).unwrap_or(found.len());
        let (name, after) = found.split_at(end);
        out += before;
        out += &match name.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => name.replace('-', "_"),
            false => format!("--{name}"),
        };
        rest = after;
    }
    out + rest
}

/// A value that is not allowed.
pub(crate) fn value(given: &str, option: &str, allowed: &str) -> PyErr {
    let message = format!("invalid value '{given}' for '{option}': {allowed}");
    PyValueError::new_err(in_python(&message))
}

/// A failure, as a text.
pub(crate) fn failed(message: &str) -> PyErr {
    PyRuntimeError::new_err(in_python(message))
}

/// A value of a specification; `file` where it comes from a file.
pub(crate) fn specification(error: &SpecError, file: Option<&str>) -> PyErr {
    let place = match file {
        Some(file) => format!("{} in {file}", error.option.replace('-', "_")),
        None => format!("--{}", error.option),
    };
    value(&error.given, &place, &error.allowed)
}

/// A computation that did not end with a map.
pub(crate) fn engine(error: EngineError) -> PyErr {
    match error {
        EngineError::Cancelled => PyKeyboardInterrupt::new_err(()),
        EngineError::Refused { .. } => bad_input(&error),
        EngineError::OutOfMemory { .. } => PyMemoryError::new_err(in_python(&error.to_string())),
        error => failed(&error.to_string()),
    }
}

/// Values that cannot be used, as a text.
pub(crate) fn bad_input(error: &impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(in_python(&error.to_string()))
}

/// A file of bodies.
pub(crate) fn bodies_file(error: &bodies::files::FileError) -> PyErr {
    match error {
        bodies::files::FileError::Io(error) => file(error),
        error => bad_input(error),
    }
}

/// A run in time that cannot begin, or ended early.
pub(crate) fn time_run(error: time_run::Error) -> PyErr {
    match error {
        time_run::Error::Engine(error) => engine(error),
        time_run::Error::Io(error) => file(&error),
        time_run::Error::Failed(message) => failed(&message),
        error => bad_input(&error),
    }
}

/// A file that could not be written or read.
pub(crate) fn file(error: &IoError) -> PyErr {
    let message = error.to_string();
    match error {
        IoError::NoDirectory { .. } | IoError::NotFound { .. } => {
            PyFileNotFoundError::new_err(message)
        }
        IoError::NotADirectory { .. } => PyNotADirectoryError::new_err(message),
        IoError::IsDirectory { .. } => PyIsADirectoryError::new_err(message),
        IoError::NotPermitted { .. } => PyPermissionError::new_err(message),
        IoError::UnknownFormat { .. }
        | IoError::Malformed { .. }
        | IoError::TooLarge { .. }
        | IoError::Data { .. } => PyValueError::new_err(message),
        _ => PyOSError::new_err(message),
    }
}
