//! Keeps a map in a file while it is being computed: for maps larger than memory, and for runs that may be interrupted. If the output is an
//! npy file, the unfinished file becomes the output when it is complete.

use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{EngineError, Sink, Specification, Validated, ValueSlice, ValueType, differences};
use trisolar_io::IoError;
use trisolar_run::partial::{self, Contents, Layout, PartialFile};
use trisolar_run::parts::{self, PartsError};
use trisolar_run::{Part, Record};

pub use trisolar_run::partial::{PartialError as StoreError, name_of, working_files};

/// The specification of the map in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapContents {
    /// The specification of the map.
    pub specification: Specification,
    /// The identity of its points, if it has no grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<Fingerprint>,
}

impl MapContents {
    fn of(valid: &Validated) -> Self {
        Self {
            specification: valid.specification().clone(),
            points: Fingerprint::of(valid),
        }
    }
}

impl Contents for MapContents {
    const COMMAND: &'static str = COMMAND;
    const NAME: &'static str = "map";
    const ITEMS: &'static str = "pixels";

    fn difference(&self, there: &Self) -> Option<String> {
        if self.points != there.points {
            return Some("what --points has".into());
        }
        (self.specification != there.specification)
            .then(|| differences(&there.specification, &self.specification))
    }
}

/// An unfinished map, as its record describes it.
pub type Begun = partial::Begun<MapContents>;

/// All parts of a map.
pub type Parts = parts::Parts<MapContents>;

/// The command that keeps maps in files.
pub const COMMAND: &str = "divergence";

/// Identifies the points of a map, which are themselves in a file of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fingerprint {
    /// The shape of the array, whose last axis has the numbers of a point.
    shape: Vec<usize>,
    /// See [`Points::checksum`](crate::Points).
    checksum: u32,
}

impl Fingerprint {
    fn of(valid: &Validated) -> Option<Self> {
        let points = valid.points()?;
        Some(Self {
            shape: points.array().0,
            checksum: points.checksum(),
        })
    }
}

/// A map in a file, some of whose pixels have been computed.
#[derive(Debug)]
pub struct Store {
    file: PartialFile<MapContents>,
    /// The type of a value.
    values: ValueType,
}

impl Store {
    /// Begins a map for the output `path` and reserves the disk space. `run` makes the record of the run's other options.
    ///
    /// # Errors
    /// [`StoreError::Unfinished`] if an unfinished map exists, or an error if there is too little space or the file cannot be written.
    pub fn begin(path: &Path, valid: &Validated, run: Option<Record>) -> Result<Self, StoreError> {
        let file = PartialFile::begin(path, &MapContents::of(valid), layout(path, valid), run)?;
        Ok(Self::of(file, valid))
    }

    /// Continues the unfinished map for the output `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Other`], [`StoreError::Busy`], or an error if the files are damaged.
    pub fn resume(path: &Path, valid: &Validated) -> Result<Option<Self>, StoreError> {
        let file = PartialFile::resume(path, &MapContents::of(valid), layout(path, valid))?;
        Ok(file.map(|file| Self::of(file, valid)))
    }

    /// Begins a part of a map whose output will be `path`, or continues it. The file beside `path` has the pixels of the part only.
    ///
    /// # Errors
    /// As [`begin`](Self::begin) and [`resume`](Self::resume).
    pub fn part(
        path: &Path,
        valid: &Validated,
        part: Part,
        run: Option<Record>,
    ) -> Result<Self, StoreError> {
        let contents = MapContents::of(valid);
        let layout = layout(path, valid).of_part(part);
        let file = PartialFile::begin_or_resume(&part.path(path), &contents, layout, run)?;
        Ok(Self::of(file, valid))
    }

    /// The unfinished result for the output `path` that is made of all parts; see [`Parts::merged`](parts::Parts::merged).
    ///
    /// # Errors
    /// [`PartsError`].
    pub fn merged(
        path: &Path,
        valid: &Validated,
        parts: &Parts,
        run: Option<Record>,
    ) -> Result<Self, PartsError> {
        let (contents, layout) = (MapContents::of(valid), layout(path, valid));
        let file = parts.merged(path, &contents, layout, run)?;
        Ok(Self::of(file, valid))
    }

    /// Ends a part that is complete; see [`PartialFile::finish_part`].
    ///
    /// # Errors
    /// The file is damaged, or cannot be read or written.
    pub fn finish_part(self) -> Result<(), IoError> {
        self.file.finish_part()
    }

    fn of(file: PartialFile<MapContents>, valid: &Validated) -> Self {
        let values = valid.value_type();
        Self { file, values }
    }

    /// The whole map, row-major, or the pixels of a part, as memory that the system reads from the file on access.
    ///
    /// # Errors
    /// Pixels are missing, or the file cannot be mapped.
    pub fn values(&self) -> Result<Mapped, IoError> {
        Ok(Mapped {
            values: self.values,
            bytes: self.file.mapped()?,
        })
    }

    /// Ends the run, when the map is complete and all files made from it are written: gives the file its final name if that is an npy file,
    /// and removes everything else.
    ///
    /// # Errors
    /// The file cannot be renamed or removed.
    pub fn finish(self, path: &Path) -> Result<(), IoError> {
        self.file.finish(path)
    }
}

impl Deref for Store {
    type Target = PartialFile<MapContents>;

    fn deref(&self) -> &Self::Target {
        &self.file
    }
}

impl Sink for Store {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        self.file.put(first, &values.le_bytes())
    }
}

/// A map in a file, as memory.
#[derive(Debug)]
pub struct Mapped {
    values: ValueType,
    bytes: partial::Mapped,
}

impl Mapped {
    /// The values of the map.
    pub fn as_slice(&self) -> ValueSlice<'_> {
        // A header's length is a multiple of 64, and maps begin on a page.
        self.values.cast(self.bytes.bytes())
    }
}

/// An npy file.
fn layout(path: &Path, valid: &Validated) -> Layout {
    Layout {
        header: valid.value_type().npy_header(&shape(valid)),
        item: valid.value_type().size(),
        count: valid.pixels(),
        is_output: path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy")),
        part: None,
    }
}

/// Rows and columns, or how the points are arranged.
fn shape(valid: &Validated) -> Vec<usize> {
    match valid.points() {
        Some(points) => points.shape().to_owned(),
        None => [1, 0]
            .map(|k| valid.specification().size[k] as usize)
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use trisolar_io::npy;

    fn map(width: u64, steps: u64) -> Validated {
        let specification = Specification {
            size: [width, 4],
            steps,
            ..Specification::default()
        };
        specification.validate().expect("valid")
    }

    #[test]
    fn what_was_recorded_is_there_after_resuming_and_the_rest_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(5, 100);
        assert!(Store::resume(&path, &valid).expect("nothing").is_none());
        let store = Store::begin(&path, &valid, None).expect("begins");
        store.put(3, ValueSlice::U32(&[7, 8])).expect("takes");
        let busy = Store::resume(&path, &valid).expect_err("it is in use");
        assert!(matches!(busy, StoreError::Busy { .. }), "{busy}");
        store.write_record().expect("writes");
        store.put(10, ValueSlice::U32(&[9; 10])).expect("takes");
        drop(store);

        let unfinished = Store::begin(&path, &valid, None).expect_err("not to be lost");
        assert!(unfinished.to_string().contains("--resume"), "{unfinished}");
        let other = Store::resume(&path, &map(5, 101)).expect_err("another map");
        assert!(
            other.to_string().contains("--steps (100 there, 101 here)"),
            "{other}"
        );

        let store = Store::resume(&path, &valid).expect("ours").expect("there");
        assert_eq!(store.missing(), [0..3, 5..20]);
        assert!(store.values().is_err());
        store.put(0, ValueSlice::U32(&[1, 2, 3])).expect("takes");
        store.put(5, ValueSlice::U32(&[4; 15])).expect("takes");
        store.write_record().expect("writes");
        let values = store.values().expect("complete");
        let times = values.as_slice().of::<u32>().expect("steps").to_vec();
        drop(values);
        assert_eq!(times[..6], [1, 2, 3, 7, 8, 4]);
        store.finish(&path).expect("finishes");
        let array = npy::read::<u32>(&path).expect("an npy file");
        assert_eq!((array.shape, array.values), (vec![4, 5], times));
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn a_map_that_has_its_name_but_still_its_record_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(2, 100);
        let store = Store::begin(&path, &valid, None).expect("begins");
        store.put(0, ValueSlice::U32(&[5; 8])).expect("takes");
        store.write_record().expect("writes");
        fs::rename(store.part(), &path).expect("renames");
        drop(store);
        let store = Store::resume(&path, &valid).expect("ours").expect("there");
        assert_eq!(
            store.values().expect("complete").as_slice(),
            ValueSlice::U32(&[5; 8])
        );
        store.finish(&path).expect("finishes");
        assert!(path.exists());
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn a_record_or_a_part_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(2, 100);
        let store = Store::begin(&path, &valid, None).expect("begins");
        let [part, record] = working_files(&path);
        let text = fs::read_to_string(&record).expect("there");
        store.put(0, ValueSlice::U32(&[1])).expect("takes");
        store.write_record().expect("writes");
        drop(store);
        let one = fs::read_to_string(&record).expect("there");
        for wrong in [
            "",
            "{}",
            &text.replace("\"done\": []", "\"done\": [[3, 2]]"),
            &text.replace("\"done\": []", "\"done\": [[0, 9]]"),
            &text.replace("\"done\": []", "\"done\": [[4, 6], [5, 7]]"),
            &text.replace("\"format\": ", "\"format\": 9"),
        ] {
            assert_ne!(wrong, text);
            fs::write(&record, wrong).expect("writes");
            let error = Store::resume(&path, &valid).expect_err("not whole");
            assert!(error.to_string().contains("map.npy.part"), "{error}");
        }
        fs::write(&record, &one).expect("writes");
        File::options()
            .write(true)
            .open(&part)
            .expect("there")
            .set_len(90)
            .expect("cuts");
        let error = Store::resume(&path, &valid).expect_err("too short");
        assert!(error.to_string().contains("90 bytes instead of"), "{error}");
        fs::remove_file(&record).expect("there");
        assert!(Store::resume(&path, &valid).is_err());
    }

    #[test]
    fn pixels_and_records_that_changed_on_the_disk_are_not_trusted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(4, 100);
        let [part, record] = working_files(&path);
        let begin = || {
            let store = Store::begin(&path, &valid, None).expect("begins");
            store.put(2, ValueSlice::U32(&[7, 8, 9])).expect("takes");
            store.put(10, ValueSlice::U32(&[1])).expect("takes");
            store.write_record().expect("writes");
        };
        let remove = || [&part, &record].map(|file| fs::remove_file(file).expect("there"));
        begin();
        let whole = fs::read(&part).expect("there");
        let header = whole.len() - 16 * 4;
        for (at, missing, damaged) in [
            (0, vec![0..2, 5..10, 11..16], None),
            (header + 4, vec![0..2, 5..10, 11..16], None),
            (header + 3 * 4 + 1, vec![0..10, 11..16], Some("3 pixels")),
            (header + 10 * 4, vec![0..2, 5..16], Some("1 pixels")),
        ] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&part, &bytes).expect("writes");
            let store = Store::resume(&path, &valid).expect("reads").expect("begun");
            assert_eq!(store.missing(), missing, "{at}");
            let said = store.damage();
            assert_eq!(said.is_some(), damaged.is_some(), "{said:?}");
            assert!(damaged.is_none_or(|words| said.is_some_and(|said| said.contains(words))));
            drop(store);
            // The header is written again.
            let there = fs::read(&part).expect("there");
            assert_eq!(there[..header], whole[..header]);
        }
        let text = fs::read_to_string(&record).expect("text");
        for (old, new) in [("\"done\"", "\"Done\""), ("3", "4"), ("}", "")] {
            fs::write(&record, text.replacen(old, new, 1)).expect("writes");
            assert!(Store::resume(&path, &valid).is_err(), "{old}");
        }
        remove();
    }

    #[test]
    fn a_run_killed_while_it_began_or_ended_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(2, 100);
        let [part, record] = working_files(&path);
        // Tries a file of these bytes beside the record, or none.
        for begun in [None, Some(vec![]), Some(vec![0; 160])] {
            drop(Store::begin(&path, &valid, None).expect("begins"));
            match begun {
                None => fs::remove_file(&part).expect("there"),
                Some(bytes) => fs::write(&part, bytes).expect("writes"),
            }
            assert!(Store::resume(&path, &valid).expect("nothing").is_none());
            assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
        }
        // The map had been complete, and the run was making pictures from it.
        let path = folder.path().join("map.png");
        let record = record.with_file_name("map.png.part.json");
        let store = Store::begin(&path, &valid, None).expect("begins");
        store.put(0, ValueSlice::U32(&[5; 8])).expect("takes");
        store.write_record().expect("writes");
        drop(store);
        fs::remove_file(&working_files(&path)[0]).expect("there");
        assert!(Store::resume(&path, &valid).expect("nothing").is_none());
        assert!(!record.exists());
    }
}
