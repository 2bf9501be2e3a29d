//! Bodies from and to files ([`write()`](fn@write)): texts, among them the format of Pacheco & Malensek (2021) and CSV, npz and TIPSY
//! ([`read`](fn@read)), with their other values ([`Carried`]).

mod carried;
mod read;
mod tipsy;
mod write;

pub use carried::{BodyFile, Carried, MARK};
pub use read::{npz, read, read_bodies, time_of_step};
pub use write::{BodyFormat, text, write};

use std::path::PathBuf;

use crate::io::IoError;

/// Why a file of bodies could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A place in a text has unexpected contents.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The contents are inconsistent.
    #[error("{}: {reason}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// A description of the error.
        reason: String,
    },
}

impl FileError {
    /// Contents that are inconsistent.
    pub fn contents(path: impl Into<PathBuf>, reason: String) -> Self {
        let path = path.into();
        Self::Contents { path, reason }
    }
}
