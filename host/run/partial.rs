//! The items of a run in a file while they are being computed: for runs whose results are larger than memory, and for runs that are
//! interrupted.
//!
//! Beside the file `NAME` that is wanted there is `NAME.part`, in which every item has its place, and `NAME.part.json`, which says
//! what the items are and which of them are there for certain. The latter is replaced as a whole, after the former has been
//! synchronised with the disk: whatever ends the program, [`PartialFile::resume`] finds a state from which the same bytes come.

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
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::io::IoError;
use crate::io::atomic::{self, Staged};
use crate::io::read::{self, Limit};
use crate::{EngineError, Record, RecordError, lock};

/// What the items of a file are: the specification that they are computed by.
pub trait Contents: Clone + Serialize + DeserializeOwned + Send + Sync {
    /// The command whose runs keep such files.
    const COMMAND: &'static str;
    /// What the items are together, for messages: `map`.
    const NAME: &'static str;

    /// How the contents of a file that is `there` differ from these: names of values, with both values. `None` if they are the same.
    fn difference(&self, there: &Self) -> Option<String>;
}

/// How the items lie in the file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes before the first item.
    pub header: Vec<u8>,
    /// Bytes of an item.
    pub item: usize,
    /// Number of items.
    pub count: u64,
    /// Whether the complete file gets the name that is wanted; otherwise other files are made from it.
    pub is_output: bool,
}

/// What `NAME.part.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Description<C> {
    /// Of this file: [`FORMAT`].
    format: u32,
    /// What wrote it.
    program: String,
    /// What the items are.
    #[serde(flatten)]
    contents: C,
    /// Items that are there: first and end of each span, ascending.
    done: Vec<[u64; 2]>,
    /// What was asked for beside them, and what was written.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    run: Option<Record>,
}

fn none<T>() -> Option<T> {
    None
}

impl<C: Contents> Description<C> {
    /// Of a run of which nothing is there.
    fn of(contents: &C) -> Self {
        Self {
            format: FORMAT,
            program: concat!("trisolar ", env!("CARGO_PKG_VERSION")).into(),
            contents: contents.clone(),
            done: Vec::new(),
            run: None,
        }
    }

    /// The file at `path`; `None` if there is none.
    fn read(path: &Path) -> Result<Option<Self>, IoError> {
        let text = match read::text(path, Limit::RECORD) {
            Ok(text) => text,
            Err(IoError::NotFound { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        let read: Self = serde_json::from_str(&text).map_err(|e| malformed(path, e.to_string()))?;
        if read.format != FORMAT {
            let reason = format!("it was written by {}, in another format", read.program);
            return Err(malformed(path, reason));
        }
        Ok(Some(read))
    }

    fn write(&self, path: &Path) -> Result<(), IoError> {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        atomic::write_with(path, |file| {
            file.write_all(text.as_bytes()).map_err(|e| file.error(e))
        })
    }
}

fn malformed(path: &Path, reason: String) -> IoError {
    IoError::Malformed {
        path: path.to_owned(),
        reason,
    }
}

/// An unfinished run, as far as its record says.
#[derive(Clone, Debug)]
pub struct Begun<C> {
    /// What its items are.
    pub contents: C,
    /// What was asked for beside them, and what was written.
    pub run: Record,
}

impl<C: Contents> Begun<C> {
    /// What was begun for `path`; `None` if nothing was.
    ///
    /// # Errors
    /// [`PartialError`].
    pub fn read(path: &Path) -> Result<Option<Self>, PartialError> {
        let record = beside(path, RECORD);
        let Some(Description { contents, run, .. }) = Description::<C>::read(&record)? else {
            return Ok(None);
        };
        let run = run.ok_or(RecordError::None {
            path: record.clone(),
        })?;
        let run = run.placed(&record, C::COMMAND)?;
        Ok(Some(Self { contents, run }))
    }
}

const FORMAT: u32 = 1;
/// What the name of an unfinished file ends in, and that of its record.
const PART: &str = ".part";
const RECORD: &str = ".part.json";

/// Why an unfinished file cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// There is one already, which must not be lost.
    #[error(
        "{} holds an unfinished {what}; resume it with --resume, or remove it and {} to start again", .part.display(), .record.display()
    )]
    Unfinished {
        /// The file.
        part: PathBuf,
        /// What is said about it.
        record: PathBuf,
        /// What it holds, as [`Contents::NAME`].
        what: &'static str,
    },
    /// It is of something else.
    #[error(
        "{} belongs to another {what}: {difference} differs; give the options with which it was begun, or another --out", .part.display()
    )]
    Other {
        /// The file.
        part: PathBuf,
        /// What it holds, as [`Contents::NAME`].
        what: &'static str,
        /// What differs: names of values, with both values.
        difference: String,
    },
    /// Another run works on it.
    #[error("{} is being written by another run", .part.display())]
    Busy {
        /// The file.
        part: PathBuf,
    },
    /// It cannot be said how its run goes on.
    #[error(transparent)]
    Run(#[from] RecordError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
}

/// The items of a run in a file, some of which are there.
#[derive(Debug)]
pub struct PartialFile<C> {
    part: PathBuf,
    record: PathBuf,
    /// What is said about it while nothing is there.
    about: Description<C>,
    file: File,
    layout: Layout,
    state: Mutex<PartialMapState>,
    /// Wakes the thread that writes records.
    over: Condvar,
}

#[derive(Debug, Default)]
struct PartialMapState {
    /// Items that are in the file: first to end.
    done: BTreeMap<u64, u64>,
    /// See [`Description`].
    run: Option<Record>,
    /// Why nothing more can be taken.
    failed: Option<String>,
    over: bool,
}

impl PartialMapState {
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

/// The files that a run keeps beside `path` until all items are there.
pub fn working_files(path: &Path) -> [PathBuf; 2] {
    [PART, RECORD].map(|suffix| beside(path, suffix))
}

/// The name that is wanted of a run's file: of the complete file itself, or of one of its [`working_files`].
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

/// `path` with more at its end.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

impl<C: Contents> PartialFile<C> {
    /// Begins a file that is to be at `path`, and takes the disk space it needs. `run` makes a record of what else was asked for.
    ///
    /// # Errors
    /// [`PartialError::Unfinished`] if one was begun before; no space, or the file cannot be written.
    pub fn begin(
        path: &Path,
        contents: &C,
        layout: Layout,
        run: Option<Record>,
    ) -> Result<Self, PartialError> {
        let [part, record] = working_files(path);
        if part.exists() || record.exists() {
            let what = C::NAME;
            return Err(PartialError::Unfinished { part, record, what });
        }
        // First, so that a run killed from here on leaves a record that says that nothing is there.
        let about = Description {
            run,
            ..Description::of(contents)
        };
        about.write(&record)?;
        let begun = Self::begin_part(part, record.clone(), layout, about);
        if begun.is_err() {
            // Nothing was computed yet.
            let _ = fs::remove_file(&record);
        }
        begun
    }

    fn begin_part(
        part: PathBuf,
        record: PathBuf,
        layout: Layout,
        about: Description<C>,
    ) -> Result<Self, PartialError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&part)
            .map_err(|e| IoError::system(&part, "create", e))?;
        let store = Self::over(part, record, file, layout, about)?;
        if let Err(error) = store.reserve() {
            let _ = fs::remove_file(&store.part);
            return Err(error.into());
        }
        Ok(store)
    }

    /// Goes on with a file that was begun for `path`; `None` if there is none, or nothing of one.
    ///
    /// # Errors
    /// [`PartialError::Other`], [`PartialError::Busy`], or the files are not what they should be.
    pub fn resume(path: &Path, contents: &C, layout: Layout) -> Result<Option<Self>, PartialError> {
        let [part, record] = working_files(path);
        let Some(read) = Description::<C>::read(&record)? else {
            if part.exists() {
                let reason = "there is no record of its finished items".into();
                return Err(malformed(&part, reason).into());
            }
            return Ok(None);
        };
        if let Some(difference) = contents.difference(&read.contents) {
            let what = C::NAME;
            return Err(PartialError::Other {
                part,
                what,
                difference,
            });
        }
        let mut end = 0;
        for [first, its_end] in &read.done {
            if *first < end || its_end <= first || *its_end > layout.count {
                let reason = format!("items {first} to {its_end} are not in order");
                return Err(malformed(&record, reason).into());
            }
            end = *its_end;
        }
        let run = read.run.map(|run| run.placed(&record, C::COMMAND));
        let about = Description {
            run: run.transpose()?,
            done: read.done,
            ..Description::of(contents)
        };
        // The last thing that happens to a file is that it gets its name; its record goes after that.
        let nothing = about.done.is_empty();
        let done: u64 = about.done.iter().map(|[first, end]| end - first).sum();
        let complete = done == layout.count;
        let named = complete && !part.exists() && layout.is_output;
        if !part.exists() && !named && (nothing || complete) {
            // The run was killed before it had the file, or when it had removed it after writing all others.
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
        let store = Self::over(source, record, file, layout, about)?;
        if nothing {
            // It may have been killed before the file had its space and its header.
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

    /// Takes what is done, and the run, out of `about`.
    fn over(
        part: PathBuf,
        record: PathBuf,
        file: File,
        layout: Layout,
        mut about: Description<C>,
    ) -> Result<Self, PartialError> {
        if lock::hold(&file).is_err() {
            return Err(PartialError::Busy { part });
        }
        let mut state = PartialMapState {
            run: about.run.take(),
            ..PartialMapState::default()
        };
        for [first, end] in about.done.drain(..) {
            state.add(first..end);
        }
        Ok(Self {
            layout,
            about,
            part,
            record,
            file,
            state: Mutex::new(state),
            over: Condvar::new(),
        })
    }

    /// Bytes of the whole file.
    fn length(&self) -> u64 {
        self.layout.header.len() as u64 + self.layout.item as u64 * self.layout.count
    }

    /// Takes the space on the disk, so that it cannot be missing later, and writes the header.
    fn reserve(&self) -> Result<(), IoError> {
        let failed = |e| IoError::system(&self.part, "write", e);
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            use rustix::io::Errno;
            match fallocate(&self.file, FallocateFlags::empty(), 0, self.length()) {
                // Not every file system can.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                Err(e) => return Err(failed(e.into())),
            }
        }
        self.file.set_len(self.length()).map_err(failed)?;
        self.file
            .write_all_at(&self.layout.header, 0)
            .map_err(failed)
    }

    /// Items that are missing.
    pub fn missing(&self) -> Vec<Range<u64>> {
        let mut spans = Vec::new();
        let mut next = 0;
        for (&start, &end) in &self.lock().done {
            if next < start {
                spans.push(next..start);
            }
            next = end;
        }
        if next < self.layout.count {
            spans.push(next..self.layout.count);
        }
        spans
    }

    /// Whether the file has its name already: it is complete.
    pub fn is_named(&self, path: &Path) -> bool {
        self.part == path
    }

    /// What else was asked for, and what was written.
    pub fn run(&self) -> Option<Record> {
        self.lock().run.clone()
    }

    /// Lets the run overwrite what is at these paths now.
    ///
    /// # Errors
    /// A file cannot be read, or the record not be written.
    pub fn allow_what_is_there<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), PartialError> {
        if let Some(run) = &mut self.lock().run {
            run.allow_what_is_there(paths)?;
        }
        Ok(self.write_record()?)
    }

    /// Says in the record what files contain, and then lets them appear.
    ///
    /// # Errors
    /// A file cannot be read, or the record not be written.
    pub fn commit(&self, files: Staged) -> Result<(), PartialError> {
        if let Some(run) = &mut self.lock().run {
            run.expect(&files)?;
        }
        self.write_record()?;
        Ok(files.commit()?)
    }

    /// The file that holds the items.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Writes the record every `every` (more often at first) while `work` is under way, and once more after it.
    ///
    /// # Errors
    /// The last record could not be written. (If another could not, the run ends with that: nothing more is taken.)
    pub fn recording<T>(
        &self,
        every: Duration,
        work: impl FnOnce() -> T,
    ) -> (T, Result<(), IoError>) {
        let result = thread::scope(|scope| {
            scope.spawn(|| self.write_records(every));
            // Also if `work` panics, or the scope would wait for ever.
            struct Over<'a, C: Contents>(&'a PartialFile<C>);
            impl<C: Contents> Drop for Over<'_, C> {
                fn drop(&mut self) {
                    self.0.lock().over = true;
                    self.0.over.notify_all();
                }
            }
            let _over = Over(self);
            work()
        });
        (result, self.write_record())
    }

    fn write_records(&self, every: Duration) {
        let mut state = self.lock();
        // Often at first: short runs are not all lost either.
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

    /// Makes sure of the items that are in the file, and says so in the record.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_record(&self) -> Result<(), IoError> {
        let (done, run) = {
            let state = self.lock();
            let done = state.done.iter().map(|(&a, &b)| [a, b]).collect();
            (done, state.run.clone())
        };
        self.file
            .sync_data()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        let record = Description {
            done,
            run,
            ..self.about.clone()
        };
        record.write(&self.record)
    }

    /// Takes the items from number `first` on, as bytes.
    ///
    /// # Errors
    /// [`EngineError::Sink`]: a failed write, of the items or of the last record.
    pub fn put(&self, first: u64, bytes: &[u8]) -> Result<(), EngineError> {
        if let Some(failed) = &self.lock().failed {
            return Err(EngineError::Sink(failed.clone()));
        }
        let at = self.layout.header.len() as u64 + self.layout.item as u64 * first;
        (self.file.write_all_at(bytes, at))
            .map_err(|e| EngineError::Sink(IoError::system(&self.part, "write", e).to_string()))?;
        let count = (bytes.len() / self.layout.item) as u64;
        self.lock().add(first..first + count);
        Ok(())
    }

    /// All items, as memory that the system reads from the file when it is looked at.
    ///
    /// # Errors
    /// Items are missing, or the file cannot be mapped.
    pub fn mapped(&self) -> Result<Mapped, IoError> {
        let missing: u64 = self.missing().iter().map(|s| s.end - s.start).sum();
        if missing > 0 {
            return Err(malformed(
                &self.part,
                format!("{missing} items are missing"),
            ));
        }
        if cfg!(target_endian = "big") {
            let reason = "it holds little-endian numbers".into();
            return Err(malformed(&self.part, reason));
        }
        // SAFETY: the file is this program's own, under a lock that other runs respect; whoever shortens it meanwhile ends this
        // program, as with any mapped file.
        let map =
            unsafe { Mmap::map(&self.file) }.map_err(|e| IoError::system(&self.part, "read", e))?;
        Ok(Mapped {
            map,
            header: self.layout.header.len(),
        })
    }

    /// All items are there and all files made from them are written: the file gets its name, if it is an output itself, or is
    /// removed, and so is its record.
    ///
    /// # Errors
    /// The file cannot be renamed or removed.
    pub fn finish(self, path: &Path) -> Result<(), IoError> {
        self.file
            .sync_all()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        if self.part != path {
            let moved = if self.layout.is_output {
                fs::rename(&self.part, path)
            } else {
                fs::remove_file(&self.part)
            };
            moved.map_err(|e| IoError::system(path, "write", e))?;
        }
        fs::remove_file(&self.record).map_err(|e| IoError::system(&self.record, "remove", e))
    }

    fn lock(&self) -> MutexGuard<'_, PartialMapState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items of a file, as memory.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    header: usize,
}

impl Mapped {
    /// The bytes of the items. They begin on a page, behind the header.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.header..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one() {
        let mut state = PartialMapState::default();
        for span in [4..6, 10..12, 0..2, 6..10, 2..3, 3..4, 20..21] {
            state.add(span);
        }
        let done: Vec<_> = state.done.into_iter().collect();
        assert_eq!(done, [(0, 12), (20, 21)]);
    }
}
