//! Keeps the values of an ensemble in a file while they are being computed: for ensembles larger than memory, and for computations that may
//! be interrupted. See [`trisolar_run::partial`].

use std::path::Path;

use trisolar_run::partial::{PartialError, PartialFile};
use trisolar_run::parts::{Parts, PartsError};
use trisolar_run::{EngineError, Part, Record};

use super::contract::{Ensemble, Sink, Slice as _};

/// The file of an ensemble, some of whose items have been computed.
pub type Store<E> = PartialFile<<E as Ensemble>::Contents>;

impl<E: Ensemble> Sink<E> for PartialFile<E::Contents> {
    fn put(&self, first: u64, values: E::Slice<'_>) -> Result<(), EngineError> {
        self.put_bytes(first, &values.le_bytes())
    }
}

/// Begins the file of an ensemble for the output `path` and reserves the disk space. `run` makes the record of the run's other options.
///
/// # Errors
/// As [`PartialFile::begin`].
pub fn begin<E: Ensemble>(
    path: &Path,
    spec: &E,
    run: Option<Record>,
) -> Result<Store<E>, PartialError> {
    PartialFile::begin(path, &spec.contents(), spec.layout(path), run)
}

/// Continues the unfinished ensemble for the output `path`; `None` if there is none.
///
/// # Errors
/// As [`PartialFile::resume`].
pub fn resume<E: Ensemble>(path: &Path, spec: &E) -> Result<Option<Store<E>>, PartialError> {
    PartialFile::resume(path, &spec.contents(), spec.layout(path))
}

/// Begins a part of an ensemble whose output will be `path`, or continues it. The file beside `path` has the items of the part only.
///
/// # Errors
/// As [`begin`] and [`resume`].
pub fn part<E: Ensemble>(
    path: &Path,
    spec: &E,
    part: Part,
    run: Option<Record>,
) -> Result<Store<E>, PartialError> {
    let layout = spec.layout(path).of_part(part);
    PartialFile::begin_or_resume(&part.path(path), &spec.contents(), layout, run)
}

/// The unfinished result for the output `path` that is made of all parts; see [`Parts::merged`].
///
/// # Errors
/// [`PartsError`].
pub fn merged<E: Ensemble>(
    path: &Path,
    spec: &E,
    parts: &Parts<E::Contents>,
    run: Option<Record>,
) -> Result<Store<E>, PartsError> {
    parts.merged(path, &spec.contents(), spec.layout(path), run)
}
