//! Keeps a map in a file while it is computed, for maps larger than memory and for runs that may be interrupted.
//!
//! Beside the requested file `NAME` there are `NAME.part`, an npy file in which every pixel has its place, and `NAME.part.json`, which
//! holds the specification of the map and the list of pixels that are on the disk. The latter is replaced as a whole after the
//! former has been synchronised with the disk, so that [`Store::resume`] finds a consistent state however the program ended, and
//! the resumed run writes the same bytes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use memmap2::Mmap;
use serde::{Deserialize, Serialize};

use crate::{EngineError, Sink, Specification, Validated, ValueSlice, ValueType, differences};
use trisolar_io::atomic::Staged;
use trisolar_io::read::{self, Limit};
use trisolar_io::{IoError, atomic};
use trisolar_run::{self as run, RecordError, lock};

/// The contents of `NAME.part.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    /// Version of this format: [`FORMAT`].
    format: u32,
    /// The program that wrote it.
    program: String,
    /// The map.
    specification: Specification,
    /// The fingerprint of its points, if it has no grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<Fingerprint>,
    /// Finished pixels: first and end of each span, ascending.
    done: Vec<[u64; 2]>,
    /// The options of the run, and the files that it has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<run::Record>,
}

impl Record {
    /// The record of a map without finished pixels.
    fn of(valid: &Validated) -> Self {
        Self {
            format: FORMAT,
            program: concat!("trisolar ", env!("CARGO_PKG_VERSION")).into(),
            specification: valid.specification().clone(),
            points: Fingerprint::of(valid),
            done: Vec::new(),
            run: None,
        }
    }

    /// The record beside a map; `None` if there is none.
    fn read(path: &Path) -> Result<Option<Self>, IoError> {
        let malformed = |reason: String| IoError::Malformed {
            path: path.to_owned(),
            reason,
        };
        let text = match read::text(path, Limit::RECORD) {
            Ok(text) => text,
            Err(IoError::NotFound { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        let record: Self = serde_json::from_str(&text).map_err(|e| malformed(e.to_string()))?;
        if record.format != FORMAT {
            let reason = format!("it was written by {}, in another format", record.program);
            return Err(malformed(reason));
        }
        Ok(Some(record))
    }
}

/// An unfinished map, as its record describes it.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The map.
    pub specification: Specification,
    /// The options of the run, and the files that it has written.
    pub run: run::Record,
}

impl Begun {
    /// The unfinished map for `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let record = beside(path, RECORD);
        let Some(Record {
            specification, run, ..
        }) = Record::read(&record)?
        else {
            return Ok(None);
        };
        let run = run.ok_or(RecordError::None {
            path: record.clone(),
        })?;
        let run = run.placed(&record, COMMAND)?;
        Ok(Some(Self { specification, run }))
    }
}

/// The command whose runs keep maps in files.
pub const COMMAND: &str = "divergence";

fn write_record(path: &Path, record: &Record) -> Result<(), IoError> {
    let text = serde_json::to_string_pretty(record).expect("plain data");
    atomic::write_with(path, |file| {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })
}

/// Identifies the points of a map; the points themselves are in a file of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fingerprint {
    /// Shape of the array, with the numbers of a point as the last axis.
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

const FORMAT: u32 = 1;
/// The suffixes of an unfinished map and of its record.
const PART: &str = ".part";
const RECORD: &str = ".part.json";

/// Why an unfinished map cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is already an unfinished map, which must not be lost.
    #[error("{} holds an unfinished map; resume it with --resume, or remove it and {} to start again", .part.display(), .record.display())]
    Unfinished {
        /// The map.
        part: PathBuf,
        /// Its record.
        record: PathBuf,
    },
    /// The file belongs to another map.
    #[error("{} belongs to another map: {what} differs; give the options with which it was begun, or another --out", .part.display())]
    Other {
        /// The map.
        part: PathBuf,
        /// The differences: names of values, with both values.
        what: String,
    },
    /// Another run is writing the map.
    #[error("{} is being written by another run", .part.display())]
    Busy {
        /// The map.
        part: PathBuf,
    },
    /// The record of its run cannot be used.
    #[error(transparent)]
    Run(#[from] RecordError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// A map in a file, some of whose pixels are finished.
#[derive(Debug)]
pub struct Store {
    part: PathBuf,
    record: PathBuf,
    /// The record without finished pixels.
    about: Record,
    file: File,
    /// Bytes before the first pixel.
    header: Vec<u8>,
    /// The type of a value.
    values: ValueType,
    pixels: u64,
    state: Mutex<State>,
    /// Wakes the thread that writes records.
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Pixels that are in the file: first and end.
    done: BTreeMap<u64, u64>,
    /// See [`Record`].
    run: Option<run::Record>,
    /// The failure after which no more pixels can be stored.
    failed: Option<String>,
    over: bool,
}

impl State {
    fn add(&mut self, span: Range<u64>) {
        let (mut start, mut end) = (span.start, span.end);
        if let Some((&before, &its_end)) = self.done.range(..=start).next_back()
            && its_end >= start
        {
            start = before;
            end = end.max(its_end);
        }
        while let Some((&next, &its_end)) = self.done.range(start..=end).next() {
            self.done.remove(&next);
            end = end.max(its_end);
        }
        self.done.insert(start, end);
    }
}

/// The files that a run keeps beside `path` until the map is complete.
pub fn working_files(path: &Path) -> [PathBuf; 2] {
    [PART, RECORD].map(|suffix| beside(path, suffix))
}

/// The name of the map to which a file belongs: the map itself, or one of its [`working_files`].
pub fn name_of(path: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = path.as_os_str().as_bytes();
    let name = [RECORD, PART]
        .into_iter()
        .find_map(|suffix| bytes.strip_suffix(suffix.as_bytes()));
    name.map_or_else(
        || path.to_owned(),
        |name| std::ffi::OsStr::from_bytes(name).into(),
    )
}

/// `path` with a suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl Store {
    /// Begins a map that is to be at `path`, and reserves its disk space. `run` makes the record of the other options.
    ///
    /// # Errors
    /// [`StoreError::Unfinished`] if one was begun before; no space, or the file cannot be written.
    pub fn begin(
        path: &Path,
        valid: &Validated,
        run: Option<run::Record>,
    ) -> Result<Self, StoreError> {
        let [part, record] = working_files(path);
        if part.exists() || record.exists() {
            return Err(StoreError::Unfinished { part, record });
        }
        // Written first, so that a run which is killed from here on leaves a record without finished pixels.
        let about = Record {
            run: run.clone(),
            ..Record::of(valid)
        };
        write_record(&record, &about)?;
        let begun = Self::begin_part(part, record.clone(), valid, run);
        if begun.is_err() {
            // Nothing was computed yet.
            let _ = fs::remove_file(&record);
        }
        begun
    }

    fn begin_part(
        part: PathBuf,
        record: PathBuf,
        valid: &Validated,
        run: Option<run::Record>,
    ) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&part)
            .map_err(|e| IoError::system(&part, "create", e))?;
        let state = State {
            run,
            ..State::default()
        };
        let store = Self::over(part, record, file, valid, state)?;
        if let Err(error) = store.reserve() {
            let _ = fs::remove_file(&store.part);
            return Err(error.into());
        }
        Ok(store)
    }

    /// Resumes the map that was begun for `path`; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Other`], [`StoreError::Busy`], or the files are damaged.
    pub fn resume(path: &Path, valid: &Validated) -> Result<Option<Self>, StoreError> {
        let [part, record] = working_files(path);
        let malformed = |path: &Path, reason: String| IoError::Malformed {
            path: path.to_owned(),
            reason,
        };
        let Some(read) = Record::read(&record)? else {
            if part.exists() {
                let reason = "there is no record of its finished pixels".into();
                return Err(malformed(&part, reason).into());
            }
            return Ok(None);
        };
        if read.points != Fingerprint::of(valid) {
            let what = "what --points has".to_owned();
            return Err(StoreError::Other { part, what });
        }
        if read.specification != *valid.specification() {
            let what = differences(&read.specification, valid.specification());
            return Err(StoreError::Other { part, what });
        }
        let run = read.run.map(|run| run.placed(&record, COMMAND));
        let mut state = State {
            run: run.transpose()?,
            ..State::default()
        };
        let mut end = 0;
        for [first, its_end] in read.done {
            if first < end || its_end <= first || its_end > valid.pixels() {
                let reason = format!("pixels {first} to {its_end} are not in order");
                return Err(malformed(&record, reason).into());
            }
            end = its_end;
            state.add(first..its_end);
        }
        // The last step of a map is that it gets its name; its record is removed after that.
        let complete = state.done.get(&0) == Some(&valid.pixels());
        let named = complete && !part.exists() && path.extension().is_some_and(|e| e == "npy");
        let nothing = state.done.is_empty();
        if !part.exists() && !named && (nothing || complete) {
            // The run was killed before it created the file, or after it had written all files and removed this one.
            fs::remove_file(&record).map_err(|e| IoError::system(&record, "remove", e))?;
            return Ok(None);
        }
        let source = if named { path.to_owned() } else { part };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&source)
            .map_err(|e| IoError::system(&source, "read", e))?;
        let length = file
            .metadata()
            .map_err(|e| IoError::system(&source, "read", e))?
            .len();
        let store = Self::over(source, record, file, valid, state)?;
        if nothing {
            // The run may have been killed before the file had its space and its header.
            for path in [&store.part, &store.record] {
                fs::remove_file(path).map_err(|e| IoError::system(path, "remove", e))?;
            }
            return Ok(None);
        }
        if length != store.length() {
            let reason = format!("it has {length} bytes instead of {}", store.length());
            return Err(malformed(&store.part, reason).into());
        }
        Ok(Some(store))
    }

    fn over(
        part: PathBuf,
        record: PathBuf,
        file: File,
        valid: &Validated,
        state: State,
    ) -> Result<Self, StoreError> {
        if lock::hold(&file).is_err() {
            return Err(StoreError::Busy { part });
        }
        Ok(Self {
            header: valid.value_type().npy_header(&shape(valid)),
            values: valid.value_type(),
            pixels: valid.pixels(),
            about: Record::of(valid),
            part,
            record,
            file,
            state: Mutex::new(state),
            over: Condvar::new(),
        })
    }

    /// Bytes of the whole file.
    fn length(&self) -> u64 {
        self.header.len() as u64 + self.values.size() as u64 * self.pixels
    }

    /// Reserves the space on the disk, so that the run cannot fail for lack of it later, and writes the header.
    fn reserve(&self) -> Result<(), IoError> {
        let failed = |e| IoError::system(&self.part, "write", e);
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            use rustix::io::Errno;
            match fallocate(&self.file, FallocateFlags::empty(), 0, self.length()) {
                // Not every file system supports this.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                Err(e) => return Err(failed(e.into())),
            }
        }
        self.file.set_len(self.length()).map_err(failed)?;
        self.file.write_all_at(&self.header, 0).map_err(failed)
    }

    /// Pixels that are missing.
    pub fn missing(&self) -> Vec<Range<u64>> {
        let mut spans = Vec::new();
        let mut next = 0;
        for (&start, &end) in &self.lock().done {
            if next < start {
                spans.push(next..start);
            }
            next = end;
        }
        if next < self.pixels {
            spans.push(next..self.pixels);
        }
        spans
    }

    /// Whether the map already has its name, and thus is complete.
    pub fn is_named(&self, path: &Path) -> bool {
        self.part == path
    }

    /// The options of the run, and the files that it has written.
    pub fn run(&self) -> Option<run::Record> {
        self.lock().run.clone()
    }

    /// Allows the run to overwrite the files that are at these paths now.
    ///
    /// # Errors
    /// A file cannot be read, or the record cannot be written.
    pub fn allow_what_is_there<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), StoreError> {
        if let Some(run) = &mut self.lock().run {
            run.allow_what_is_there(paths)?;
        }
        Ok(self.write_record()?)
    }

    /// Writes the checksums of the files to the record, and then gives the files their names.
    ///
    /// # Errors
    /// A file cannot be read, or the record cannot be written.
    pub fn commit(&self, files: Staged) -> Result<(), StoreError> {
        if let Some(run) = &mut self.lock().run {
            run.expect(&files)?;
        }
        self.write_record()?;
        Ok(files.commit()?)
    }

    /// The file that holds the map.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Writes the record at intervals of `every` (shorter ones at first) while `run` is running, and once more after it.
    ///
    /// # Errors
    /// The last record cannot be written. (If an earlier one cannot, the run ends with that error, and no more pixels are stored.)
    pub fn recording<T>(
        &self,
        every: Duration,
        run: impl FnOnce() -> T,
    ) -> (T, Result<(), IoError>) {
        let result = thread::scope(|scope| {
            scope.spawn(|| self.write_records(every));
            // Signals the end even if `run` panics, because the scope would otherwise wait for ever.
            struct Over<'a>(&'a Store);
            impl Drop for Over<'_> {
                fn drop(&mut self) {
                    self.0.lock().over = true;
                    self.0.over.notify_all();
                }
            }
            let _over = Over(self);
            run()
        });
        (result, self.write_record())
    }

    fn write_records(&self, every: Duration) {
        let mut state = self.lock();
        // Often at first, so that an interrupted short run is not lost entirely.
        let mut pause = every / 32;
        while !state.over {
            let waited = self.over.wait_timeout(state, pause);
            let (waiting, outcome) = waited.unwrap_or_else(PoisonError::into_inner);
            state = waiting;
            if !outcome.timed_out() || state.over {
                continue;
            }
            drop(state);
            let written = self.write_record();
            pause = (2 * pause).min(every);
            state = self.lock();
            if let Err(error) = written {
                state.failed.get_or_insert(error.to_string());
            }
        }
        state.over = false;
    }

    /// Synchronises the pixels in the file with the disk, and lists them in the record.
    fn write_record(&self) -> Result<(), IoError> {
        let (done, run) = {
            let state = self.lock();
            let done = state.done.iter().map(|(&a, &b)| [a, b]).collect();
            (done, state.run.clone())
        };
        self.file
            .sync_data()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        let record = Record {
            done,
            run,
            ..self.about.clone()
        };
        write_record(&self.record, &record)
    }

    /// The whole map, row-major, as a memory mapping of the file.
    ///
    /// # Errors
    /// Pixels are missing, or the file cannot be mapped.
    pub fn values(&self) -> Result<Mapped, IoError> {
        let missing: u64 = self.missing().iter().map(|s| s.end - s.start).sum();
        let wrong = |reason: String| IoError::Malformed {
            path: self.part.clone(),
            reason,
        };
        if missing > 0 {
            return Err(wrong(format!("{missing} pixels are missing")));
        }
        if cfg!(target_endian = "big") {
            return Err(wrong("it holds little-endian numbers".into()));
        }
        // SAFETY: the file belongs to this program, and other runs respect its lock. A process that shortens it meanwhile ends this
        // program, as with any mapped file.
        let map =
            unsafe { Mmap::map(&self.file) }.map_err(|e| IoError::system(&self.part, "read", e))?;
        Ok(Mapped {
            values: self.values,
            map,
            header: self.header.len(),
        })
    }

    /// Finishes a complete map after all files made from it are written: gives the file its name, if that is an npy file, and removes
    /// the others.
    ///
    /// # Errors
    /// The file cannot be renamed or removed.
    pub fn finish(self, path: &Path, as_npy: bool) -> Result<(), IoError> {
        self.file
            .sync_all()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        if self.part != path {
            let moved = if as_npy {
                fs::rename(&self.part, path)
            } else {
                fs::remove_file(&self.part)
            };
            moved.map_err(|e| IoError::system(path, "write", e))?;
        }
        fs::remove_file(&self.record).map_err(|e| IoError::system(&self.record, "remove", e))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Store {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        if let Some(failed) = &self.lock().failed {
            return Err(EngineError::Sink(failed.clone()));
        }
        let at = self.header.len() as u64 + self.values.size() as u64 * first;
        (self.file.write_all_at(&values.le_bytes(), at))
            .map_err(|e| EngineError::Sink(IoError::system(&self.part, "write", e).to_string()))?;
        self.lock().add(first..first + values.len() as u64);
        Ok(())
    }
}

/// A mapped map file.
#[derive(Debug)]
pub struct Mapped {
    values: ValueType,
    map: Mmap,
    header: usize,
}

impl Mapped {
    /// Its values.
    pub fn as_slice(&self) -> ValueSlice<'_> {
        // The header's length is a multiple of 64, and mappings begin on a page.
        self.values.cast(&self.map[self.header..])
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
    fn spans_that_touch_become_one() {
        let mut state = State::default();
        for span in [4..6, 10..12, 0..2, 6..10, 2..3, 3..4, 20..21] {
            state.add(span);
        }
        let done: Vec<_> = state.done.into_iter().collect();
        assert_eq!(done, [(0, 12), (20, 21)]);
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
        store.finish(&path, true).expect("finishes");
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
        store.finish(&path, true).expect("finishes");
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
            &text.replace("\"format\": 1", "\"format\": 99"),
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
    fn a_run_killed_while_it_began_or_ended_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let valid = map(2, 100);
        let [part, record] = working_files(&path);
        // With a file of these bytes beside the record, or without a file.
        for begun in [None, Some(vec![]), Some(vec![0; 160])] {
            drop(Store::begin(&path, &valid, None).expect("begins"));
            match begun {
                None => fs::remove_file(&part).expect("there"),
                Some(bytes) => fs::write(&part, bytes).expect("writes"),
            }
            assert!(Store::resume(&path, &valid).expect("nothing").is_none());
            assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
        }
        // All pixels were finished, and pictures had been made.
        let path = folder.path().join("map.png");
        let record = record.with_file_name("map.png.part.json");
        let store = Store::begin(&path, &valid, None).expect("begins");
        store.put(0, ValueSlice::U32(&[5; 8])).expect("takes");
        store.write_record().expect("writes");
        drop(store);
        fs::remove_file(beside(&path, PART)).expect("there");
        assert!(Store::resume(&path, &valid).expect("nothing").is_none());
        assert!(!record.exists());
    }
}
