//! Errors of runs in time.

use trisolar_bodies::files::FileError;
use trisolar_io::IoError;
use trisolar_run::{EngineError, RecordError, Refused};

/// The reason why a run cannot begin, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option has a value that is not allowed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A checkpoint cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Other input that is not allowed.
    #[error("{0}")]
    Input(String),
    /// A file cannot be written or read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The engine failed, or was stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The run failed.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// A value that is not allowed for an option.
    pub fn value(given: &impl ToString, option: &str, allowed: impl ToString) -> Self {
        Self::Refused(Refused {
            option: option.into(),
            given: given.to_string(),
            reason: allowed.to_string(),
        })
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => Self::Io(error),
            error => Self::Failed(error.to_string()),
        }
    }
}
