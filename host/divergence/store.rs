//! Keeps a map in a file while it is being computed: for maps larger than memory, and for runs that may be interrupted. If the output is an
//! npy file, the unfinished file becomes the output when it is complete.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Specification, Validated, differences};
use trisolar_run::partial::{Contents, Layout};

pub use trisolar_ensemble::store::{begin, merged, part, resume};
pub use trisolar_run::partial::{PartialError as StoreError, name_of, working_files};

/// A map in a file, some of whose pixels have been computed.
pub type Store = trisolar_ensemble::store::Store<Validated>;

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
    /// Whether the map consists of points instead of a grid.
    pub(super) fn has_points(&self) -> bool {
        self.points.is_some()
    }

    pub(super) fn of(valid: &Validated) -> Self {
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
        let points = valid.points().filter(|points| !points.are_made())?;
        Some(Self {
            shape: points.array().0,
            checksum: points.checksum(),
        })
    }
}

/// An npy file.
pub(super) fn layout(path: &Path, valid: &Validated) -> Layout {
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
pub(crate) fn shape(valid: &Validated) -> Vec<usize> {
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
    use crate::{Sink, ValueSlice, ValueType};
    use std::fs::{self, File};
    use trisolar_io::npy;

    fn put(store: &Store, first: u64, values: &[u32]) {
        let put = Sink::<Validated>::put(store, first, ValueSlice::U32(values));
        put.expect("takes");
    }

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
        assert!(resume(&path, &valid).expect("nothing").is_none());
        let store = begin(&path, &valid, None).expect("begins");
        put(&store, 3, &[7, 8]);
        let busy = resume(&path, &valid).expect_err("it is in use");
        assert!(matches!(busy, StoreError::Busy { .. }), "{busy}");
        store.write_record().expect("writes");
        put(&store, 10, &[9; 10]);
        drop(store);

        let unfinished = begin(&path, &valid, None).expect_err("not to be lost");
        assert!(unfinished.to_string().contains("--resume"), "{unfinished}");
        let other = resume(&path, &map(5, 101)).expect_err("another map");
        assert!(
            other.to_string().contains("--steps (100 there, 101 here)"),
            "{other}"
        );

        let store = resume(&path, &valid).expect("ours").expect("there");
        assert_eq!(store.missing(), [0..3, 5..20]);
        assert!(store.mapped().is_err());
        put(&store, 0, &[1, 2, 3]);
        put(&store, 5, &[4; 15]);
        store.write_record().expect("writes");
        let values = store.mapped().expect("complete");
        let times = ValueType::U32.cast(values.bytes());
        let times = times.of::<u32>().expect("steps").to_vec();
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
        let store = begin(&path, &valid, None).expect("begins");
        put(&store, 0, &[5; 8]);
        store.write_record().expect("writes");
        fs::rename(store.part(), &path).expect("renames");
        drop(store);
        let store = resume(&path, &valid).expect("ours").expect("there");
        let mapped = store.mapped().expect("complete");
        assert_eq!(
            ValueType::U32.cast(mapped.bytes()),
            ValueSlice::U32(&[5; 8])
        );
        drop(mapped);
        store.finish(&path).expect("finishes");
        assert!(path.exists());
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn a_record_or_a_part_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(2, 100);
        let store = begin(&path, &valid, None).expect("begins");
        let [part, record] = working_files(&path);
        let text = fs::read_to_string(&record).expect("there");
        put(&store, 0, &[1]);
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
            let error = resume(&path, &valid).expect_err("not whole");
            assert!(error.to_string().contains("map.npy.part"), "{error}");
        }
        fs::write(&record, &one).expect("writes");
        File::options()
            .write(true)
            .open(&part)
            .expect("there")
            .set_len(90)
            .expect("cuts");
        let error = resume(&path, &valid).expect_err("too short");
        assert!(error.to_string().contains("90 bytes instead of"), "{error}");
        fs::remove_file(&record).expect("there");
        assert!(resume(&path, &valid).is_err());
    }

    #[test]
    fn pixels_and_records_that_changed_on_the_disk_are_not_trusted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(4, 100);
        let [part, record] = working_files(&path);
        let begin = || {
            let store = begin(&path, &valid, None).expect("begins");
            put(&store, 2, &[7, 8, 9]);
            put(&store, 10, &[1]);
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
            let store = resume(&path, &valid).expect("reads").expect("begun");
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
            assert!(resume(&path, &valid).is_err(), "{old}");
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
            drop(begin(&path, &valid, None).expect("begins"));
            match begun {
                None => fs::remove_file(&part).expect("there"),
                Some(bytes) => fs::write(&part, bytes).expect("writes"),
            }
            assert!(resume(&path, &valid).expect("nothing").is_none());
            assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
        }
        // The map had been complete, and the run was making pictures from it.
        let path = folder.path().join("map.png");
        let record = record.with_file_name("map.png.part.json");
        let store = begin(&path, &valid, None).expect("begins");
        put(&store, 0, &[5; 8]);
        store.write_record().expect("writes");
        drop(store);
        fs::remove_file(&working_files(&path)[0]).expect("there");
        assert!(resume(&path, &valid).expect("nothing").is_none());
        assert!(!record.exists());
    }
}
