//! Keeps records in a file while they are being computed: for ensembles larger than memory, and for computations that may be interrupted.

use kernels_gpu::encounters::Record;
use serde::{Deserialize, Serialize};

use super::{Overrides, Validated};
use trisolar_run::partial::Contents;

pub use trisolar_ensemble::differences;
pub use trisolar_ensemble::store::{begin, merged, part, resume};
pub use trisolar_run::partial::{PartialError as StoreError, name_of, working_files};

/// The records of encounters in a file, some of which have been computed.
pub type Store = trisolar_ensemble::store::Store<Validated>;

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
    /// Whether the start states are points.
    pub(super) fn has_points(&self) -> bool {
        self.points.is_some()
    }

    pub(super) fn of(valid: &Validated) -> Self {
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

// A record has no padding, neither between its fields nor after the last one.
const _: () = assert!(size_of::<Record>() == 8 * 8 + 3 * 4 + 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sink, Specification};
    use std::fs;
    use trisolar_ensemble::Slice;

    fn valid(n: u64, seed: u64) -> Validated {
        let specification = Specification {
            n,
            seed,
            ..Specification::default()
        };
        specification.validate().unwrap()
    }

    fn put(store: &Store, first: u64, records: &[Record]) {
        Sink::<Validated>::put(store, first, records).unwrap();
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
        assert!(resume(&path, &spec).unwrap().is_none());
        let store = begin(&path, &spec, None).unwrap();
        put(&store, 3, &[record(3), record(4)][..]);
        store.write_record().unwrap();
        put(&store, 10, &[record(10)][..]);
        drop(store);

        let unfinished = begin(&path, &spec, None).unwrap_err();
        assert!(unfinished.to_string().contains("--resume"), "{unfinished}");
        for (other, words) in [
            (valid(20, 2), "--seed (1 there, 2 here)"),
            (valid(21, 1), "--n (20 there, 21 here)"),
        ] {
            let error = resume(&path, &other).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }

        let store = resume(&path, &spec).unwrap().unwrap();
        assert_eq!(store.missing(), [0..3, 5..20]);
        store.mapped().unwrap_err();
        for span in store.missing() {
            let records: Vec<Record> = span.clone().map(record).collect();
            put(&store, span.start, &records[..]);
        }
        let mapped = store.mapped().unwrap();
        let expected: Vec<Record> = (0..20).map(record).collect();
        assert_eq!(mapped.bytes(), &*Slice::le_bytes(&expected[..]));
        drop(mapped);
        store.finish(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
