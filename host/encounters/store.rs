//! Keeps records in a file while they are being computed: for ensembles larger than memory, and for computations that may be interrupted.

use std::ops::Deref;
use std::path::Path;

use kernels_gpu::encounters::Record;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Overrides, Sink, Validated};
use trisolar_io::IoError;
use trisolar_run::partial::{self, Contents, Layout, PartialFile};
use trisolar_run::parts::{self, PartsError};
use trisolar_run::{self as run, EngineError, Part};

pub use trisolar_run::partial::{PartialError as StoreError, name_of, working_files};

/// The command that keeps records in files.
pub const COMMAND: &str = "encounters";

/// The specification of the records of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EncounterContents {
    /// The specification with every value.
    pub specification: Overrides,
    /// The checksum of the start states, if they are points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<u32>,
}

impl EncounterContents {
    fn of(valid: &Validated) -> Self {
        Self {
            specification: Overrides::of(valid.specification()),
            points: valid.points_checksum(),
        }
    }
}

impl Contents for EncounterContents {
    const COMMAND: &'static str = COMMAND;
    const NAME: &'static str = "ensemble of encounters";
    const ITEMS: &'static str = "runs";

    fn difference(&self, there: &Self) -> Option<String> {
        let mut differences = differences(&there.specification, &self.specification);
        if self.points != there.points {
            differences.push("what --points has".into());
        }
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

/// The options in which two specifications differ, with both values.
pub fn differences(there: &Overrides, here: &Overrides) -> Vec<String> {
    let [there, here] = [there, here].map(|given| match serde_json::to_value(given) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    });
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::Array(list)) if list.is_empty() => "none".to_owned(),
        Some(value) => value.to_string(),
    };
    let differing = here.keys().filter(|key| there.get(*key) != here.get(*key));
    let differing = differing.map(|key| {
        let [there, here] = [&there, &here].map(|values| text(values.get(key)));
        let option = key.replace('_', "-");
        format!("--{option} ({there} there, {here} here)")
    });
    differing.collect()
}

/// An unfinished ensemble, as its record describes it.
pub type Begun = partial::Begun<EncounterContents>;

/// All parts of an ensemble.
pub type Parts = parts::Parts<EncounterContents>;

/// The records of an ensemble in a file, some of which have been computed.
#[derive(Debug)]
pub struct Store(PartialFile<EncounterContents>);

impl Store {
    /// Begins the records of an ensemble beside the output `path` and reserves the disk space. `run` makes the record of the other options.
    ///
    /// # Errors
    /// [`StoreError::Unfinished`] if an unfinished ensemble exists, or an error if there is too little space or the file cannot be written.
    pub fn begin(
        path: &Path,
        valid: &Validated,
        run: Option<run::Record>,
    ) -> Result<Self, StoreError> {
        PartialFile::begin(path, &EncounterContents::of(valid), layout(valid), run).map(Self)
    }

    /// Continues the unfinished ensemble beside the output `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Other`], [`StoreError::Busy`], or an error if the files are damaged.
    pub fn resume(path: &Path, valid: &Validated) -> Result<Option<Self>, StoreError> {
        let file = PartialFile::resume(path, &EncounterContents::of(valid), layout(valid))?;
        Ok(file.map(Self))
    }

    /// Begins a part of an ensemble whose output will be `path`, or continues it. The file beside `path` has the records of the part only.
    ///
    /// # Errors
    /// As [`begin`](Self::begin) and [`resume`](Self::resume).
    pub fn part(
        path: &Path,
        valid: &Validated,
        part: Part,
        run: Option<run::Record>,
    ) -> Result<Self, StoreError> {
        let contents = EncounterContents::of(valid);
        let layout = layout(valid).of_part(part);
        PartialFile::begin_or_resume(&part.path(path), &contents, layout, run).map(Self)
    }

    /// The unfinished result for the output `path` that is made of all parts; see [`Parts::merged`](parts::Parts::merged).
    ///
    /// # Errors
    /// [`PartsError`].
    pub fn merged(
        path: &Path,
        valid: &Validated,
        parts: &Parts,
        run: Option<run::Record>,
    ) -> Result<Self, PartsError> {
        let (contents, layout) = (EncounterContents::of(valid), layout(valid));
        parts.merged(path, &contents, layout, run).map(Self)
    }

    /// Ends a part that is complete; see [`PartialFile::finish_part`].
    ///
    /// # Errors
    /// The file is damaged, or cannot be read or written.
    pub fn finish_part(self) -> Result<(), IoError> {
        self.0.finish_part()
    }

    /// The records of all runs (or of those of a part), as memory that the system reads from the file on access.
    ///
    /// # Errors
    /// Records are missing, or the file cannot be mapped.
    pub fn records(&self) -> Result<Mapped, IoError> {
        self.0.mapped().map(Mapped)
    }

    /// Removes the records, after all files have been made from them.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn finish(self, path: &Path) -> Result<(), IoError> {
        self.0.finish(path)
    }
}

impl Deref for Store {
    type Target = PartialFile<EncounterContents>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Sink for Store {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        self.0.put(first, bytes(records))
    }
}

/// The records of a file, as memory.
#[derive(Debug)]
pub struct Mapped(partial::Mapped);

impl Mapped {
    /// One for each run, in their order.
    pub fn records(&self) -> &[Record] {
        of_bytes(self.0.bytes()).expect("the file has no header, and the length of its records")
    }
}

// A record has no padding, neither between its fields nor after the last one.
const _: () = assert!(size_of::<Record>() == 8 * 8 + 3 * 4 + 4);

/// Records as bytes, in the order of their fields.
pub(super) fn bytes(records: &[Record]) -> &[u8] {
    // SAFETY: numbers without padding.
    unsafe { std::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records)) }
}

/// The records in these [`bytes`]; `None` if the last one is truncated, or if the bytes are not aligned.
fn of_bytes(bytes: &[u8]) -> Option<&[Record]> {
    let start = bytes.as_ptr().cast::<Record>();
    let whole = bytes.len().is_multiple_of(size_of::<Record>()) && start.is_aligned();
    // SAFETY: the slice has the length of the bytes and is aligned, and any bits are a record.
    whole.then(|| unsafe { std::slice::from_raw_parts(start, bytes.len() / size_of::<Record>()) })
}

/// The records in a copy of these [`bytes`], which need not be aligned; `None` if the last one is truncated.
pub(super) fn records_of(copied: &[u8]) -> Option<Vec<Record>> {
    if !copied.len().is_multiple_of(size_of::<Record>()) {
        return None;
    }
    let mut records = vec![Record::default(); copied.len() / size_of::<Record>()];
    // SAFETY: the vector has room for this number of bytes, and any bytes make a record.
    unsafe {
        std::ptr::copy_nonoverlapping(copied.as_ptr(), records.as_mut_ptr().cast(), copied.len());
    }
    Some(records)
}

fn layout(valid: &Validated) -> Layout {
    Layout {
        header: Vec::new(),
        item: size_of::<Record>(),
        count: valid.runs(),
        is_output: false,
        part: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Specification;
    use std::fs;

    fn valid(n: u64, seed: u64) -> Validated {
        let specification = Specification {
            n,
            seed,
            ..Specification::default()
        };
        specification.validate().unwrap()
    }

    fn record(run: u64) -> Record {
        Record {
            time: run as f64 + 0.1,
            e: f64::NAN,
            steps: run as u32,
            exchanges: 255,
            ..Record::default()
        }
    }

    #[test]
    fn what_was_recorded_is_there_after_resuming_and_the_rest_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.npz");
        let spec = valid(20, 1);
        assert!(Store::resume(&path, &spec).unwrap().is_none());
        let store = Store::begin(&path, &spec, None).unwrap();
        store.put(3, &[record(3), record(4)]).unwrap();
        store.write_record().unwrap();
        store.put(10, &[record(10)]).unwrap();
        drop(store);

        let unfinished = Store::begin(&path, &spec, None).unwrap_err();
        assert!(unfinished.to_string().contains("--resume"), "{unfinished}");
        for (other, words) in [
            (valid(20, 2), "--seed (1 there, 2 here)"),
            (valid(21, 1), "--n (20 there, 21 here)"),
        ] {
            let error = Store::resume(&path, &other).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }

        let store = Store::resume(&path, &spec).unwrap().unwrap();
        assert_eq!(store.missing(), [0..3, 5..20]);
        store.records().unwrap_err();
        for span in store.missing() {
            let records: Vec<Record> = span.clone().map(record).collect();
            store.put(span.start, &records).unwrap();
        }
        let mapped = store.records().unwrap();
        let expected: Vec<Record> = (0..20).map(record).collect();
        assert_eq!(bytes(mapped.records()), bytes(&expected));
        drop(mapped);
        store.finish(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
