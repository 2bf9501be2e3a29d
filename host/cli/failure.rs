//! Failures of commands, with their exit codes.

use std::io::{self, Write as _};

use std::path::Path;

use trisolar::hermite::HermiteError;
use trisolar::io::IoError;
use trisolar::run::EngineError;
use trisolar::spec::SpecError;
use trisolar::time_run;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input of the user is not allowed.
    BadInput(String),
    /// The work failed.
    Failed(String),
    /// The result is a failure that has already been reported.
    Reported,
    /// Another process of the run reports the failure and ends with this exit code.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    Elsewhere(u8),
    /// The user interrupted the command.
    Interrupted,
    /// The user ended a command that goes on until Ctrl-C, so that nothing is missing.
    #[cfg_attr(not(feature = "explore"), allow(dead_code))]
    Ended,
}

impl Failure {
    /// A value that is not allowed, in the form of clap's messages about values that it cannot read.
    pub(crate) fn value(given: &str, option: &str, allowed: &str) -> Self {
        Self::BadInput(format!("invalid value '{given}' for '{option}': {allowed}"))
    }

    /// A value of a specification, which the command line or a configuration file gave.
    pub(crate) fn specification(
        error: &SpecError,
        on_command_line: bool,
        config: Option<&Path>,
    ) -> Self {
        match config {
            Some(path) if !on_command_line => {
                let key = error.option.replace('-', "_");
                let place = format!("{key} in {}", path.display());
                Self::value(&error.given, &place, &error.allowed)
            }
            _ => Self::value(&error.given, &format!("--{}", error.option), &error.allowed),
        }
    }

    /// The message after `error: `.
    fn message(&self) -> Option<&str> {
        match self {
            Self::BadInput(message) | Self::Failed(message) => Some(message),
            Self::Reported | Self::Elsewhere(_) | Self::Ended => None,
            Self::Interrupted => Some("interrupted"),
        }
    }

    /// Prints it.
    pub(crate) fn say(&self) {
        if let Some(message) = self.message() {
            to_stderr(&format!("error: {message}"));
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::BadInput(_) => 2,
            Self::Failed(_) | Self::Reported => 1,
            Self::Elsewhere(code) => *code,
            Self::Interrupted | Self::Ended => 130,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Cancelled => Self::Interrupted,
            EngineError::NoGpu(_) => Self::Failed(format!(
                "{error}\nhint: `trisolar devices` lists the devices; --backend cpu or auto works without a GPU"
            )),
            EngineError::Refused { .. } => Self::BadInput(error.to_string()),
            EngineError::OutOfMemory { .. } => Self::Failed(format!(
                "{error}\nhint: use a smaller --size, or --stream, which keeps the map on the disk instead of in memory"
            )),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<HermiteError> for Failure {
    fn from(error: HermiteError) -> Self {
        match error {
            HermiteError::Engine(error) => error.into(),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<Failure> for time_run::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::BadInput(message) => Self::Input(message),
            Failure::Interrupted => EngineError::Cancelled.into(),
            failure => Self::Failed(failure.message().unwrap_or_default().to_owned()),
        }
    }
}

impl From<time_run::Error> for Failure {
    fn from(error: time_run::Error) -> Self {
        match error {
            time_run::Error::Refused(error) => error.into(),
            time_run::Error::Record(error) => error.into(),
            time_run::Error::Input(message) => Self::BadInput(message),
            time_run::Error::Engine(error) => error.into(),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Writes a line to stderr, if there is one.
pub(crate) fn to_stderr(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
