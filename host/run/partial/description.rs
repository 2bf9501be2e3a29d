//! The record `NAME.part.json` of an unfinished file: what its items are, and which of them are safely on the disk.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::io::IoError;
use crate::io::atomic;
use crate::io::read::{self, Limit};
use crate::io::sum::{Sum, sealed, unsealed};
use crate::io::system;
use crate::part::Part;
use crate::{Record, RecordError};

/// The specification of the items of a file.
pub trait Contents: Clone + Serialize + DeserializeOwned + Send + Sync {
    /// The command that keeps such files.
    const COMMAND: &'static str;
    /// The word for all items together in messages, such as `map`.
    const NAME: &'static str;
    /// The word for the items in messages, such as `pixels`.
    const ITEMS: &'static str;

    /// The difference between these contents and those of the file that is `there`: names of values, with both values. `None` if they are
    /// the same.
    fn difference(&self, there: &Self) -> Option<String>;
}

/// The contents of `NAME.part.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description<C> {
    /// The version of its format, [`FORMAT`].
    pub(super) format: u32,
    /// The program and version that wrote it.
    pub(super) program: String,
    /// The specification of the items.
    #[serde(flatten)]
    pub contents: C,
    /// The part of the run to which they belong.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The items that are safely in the file: first and end of each span, ascending, and the CRC-32 of their bytes.
    pub done: Vec<[u64; 3]>,
    /// The checksum of the file of a part that is complete.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub sum: Option<Sum>,
    /// The other options of the run, and the files that it has written.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub run: Option<Record>,
}

fn none<T>() -> Option<T> {
    None
}

impl<C: Contents> Description<C> {
    /// The record of a run without any computed items.
    pub(super) fn of(contents: &C) -> Self {
        Self {
            format: FORMAT,
            program: concat!("trisolar ", env!("CARGO_PKG_VERSION")).into(),
            contents: contents.clone(),
            part: None,
            done: Vec::new(),
            sum: None,
            run: None,
        }
    }

    /// Reads the file at `path`; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, IoError> {
        let text = match read::text(path, Limit::RECORD) {
            Ok(text) => text,
            Err(IoError::NotFound { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        let object = unsealed(&text).map_err(|e| malformed(path, e.to_owned()))?;
        let of = |key: &str| object[key].clone();
        if of("format") != FORMAT {
            let reason = format!("it was written by {}, in another format", of("program"));
            return Err(malformed(path, reason));
        }
        let read = serde_json::from_value(object).map_err(|e| malformed(path, e.to_string()))?;
        Ok(Some(read))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), IoError> {
        let object = serde_json::to_value(self).expect("plain data");
        let text = format!("{:#}", sealed(object));
        atomic::write_with(path, |file| {
            file.write_all(text.as_bytes()).map_err(|e| file.error(e))
        })
    }
}

pub(super) fn malformed(path: &Path, reason: String) -> IoError {
    IoError::Malformed {
        path: path.to_owned(),
        reason,
    }
}

/// An unfinished run, as its record describes it.
#[derive(Clone, Debug)]
pub struct Begun<C> {
    /// The specification of its items.
    pub contents: C,
    /// The part of it that was begun, if it is divided into parts.
    pub part: Option<Part>,
    /// The other options of the run, and the files that it has written.
    pub run: Record,
}

impl<C: Contents> Begun<C> {
    /// The unfinished run for `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`PartialError`].
    pub fn read(path: &Path) -> Result<Option<Self>, PartialError> {
        let record = beside(path, RECORD);
        let read = Description::<C>::read(&record)?;
        let Some(Description {
            contents,
            part,
            run,
            ..
        }) = read
        else {
            return Ok(None);
        };
        let run = run.ok_or(RecordError::None {
            path: record.clone(),
        })?;
        let run = run.placed(&record, C::COMMAND)?;
        Ok(Some(Self {
            contents,
            part,
            run,
        }))
    }
}

const FORMAT: u32 = 2;
/// The endings of the names of an unfinished file and of its record.
const PART: &str = ".part";
const RECORD: &str = ".part.json";

/// The reason why an unfinished file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// An unfinished run exists already, which must not be lost.
    #[error(
        "{} holds an unfinished {what}; resume it with --resume, or remove it and {} to start again", .part.display(), .record.display()
    )]
    Unfinished {
        /// The file.
        part: PathBuf,
        /// The note on how to continue it.
        record: PathBuf,
        /// The word for its contents, [`Contents::NAME`].
        what: &'static str,
    },
    /// It belongs to another specification.
    #[error(
        "{} belongs to another {what}: {difference} differs; give the options with which it was begun, or another --out", .part.display()
    )]
    Other {
        /// The file.
        part: PathBuf,
        /// The word for its contents, [`Contents::NAME`].
        what: &'static str,
        /// The differences: names of values, with both values.
        difference: String,
    },
    /// Another run uses it.
    #[error("{} is being written by another run", .part.display())]
    Busy {
        /// The file.
        part: PathBuf,
    },
    /// The record of its run cannot be used.
    #[error(transparent)]
    Run(#[from] RecordError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// The files that a run keeps beside `path` until all items are computed.
pub fn working_files(path: &Path) -> [PathBuf; 2] {
    [PART, RECORD].map(|suffix| beside(path, suffix))
}

/// The name of the output to which a path belongs, which may be the output itself or one of its [`working_files`].
pub fn name_of(path: &Path) -> PathBuf {
    let name = [RECORD, PART]
        .into_iter()
        .find_map(|suffix| system::strip_suffix(path.as_os_str(), suffix));
    name.map_or_else(|| path.to_owned(), PathBuf::from)
}

/// `path` with an ending added to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
