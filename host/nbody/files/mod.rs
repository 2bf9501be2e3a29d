//! Files of bodies and of runs.
//!
//! - start models: the textbook's text, CSV, npz, TIPSY ([`read`](fn@read)), with what they tell beside the bodies ([`Carried`])
//! - the textbook's output ([`Textbook`])
//! - bodies as CSV, npz or text ([`write_bodies`]), diagnostics over time as CSV or npz ([`write_series`]), positions over
//!   time ([`write_trajectory`])
//! - checkpoints ([`Checkpoint`])

mod carried;
mod checkpoint;
mod read;
mod textbook;
mod tipsy;
mod write;

pub use carried::{BodyFile, Carried};
pub use checkpoint::Checkpoint;
pub use read::{parse, read, read_bodies};
pub use textbook::Textbook;
pub use write::{
    BodyFormat, History, Moment, parts_at_start, write_bodies, write_series, write_trajectory,
};

use std::path::PathBuf;

use crate::io::IoError;

/// Why a file of bodies could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It could not be read at all.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A place in a text is not what it should be.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Which character of the line, from 1.
        column: usize,
        /// What was found and what was expected.
        reason: String,
    },
    /// The contents do not belong together.
    #[error("{}: {reason}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
