//! Keeps the items of a run in a file while they are being computed: for runs whose results are larger than memory, and for runs that may
//! be interrupted.
//!
//! A run whose output is the file `NAME` keeps two files beside it: `NAME.part`, in which every item has its place, and the record
//! `NAME.part.json`, which says what the items are and which of them are safely on the disk. The record is replaced as a whole, after
//! `NAME.part` has been synchronised with the disk. However the program ends, [`PartialFile::resume`] therefore finds a state from which
//! the run continues to the same bytes. The record has a checksum of itself and of the items, and items that were changed since are
//! computed again.
//!
//! A part of a run ([`Part`]) keeps such files beside `NAME.i-of-n`, with its own items only, and keeps them when it is complete:
//! [`parts`](crate::parts) makes the whole of them.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crc32fast::Hasher;
use memmap2::Mmap;

use crate::io::IoError;
use crate::io::atomic::{self, Staged};
use crate::io::sum::Sum;
use crate::io::system;
use crate::part::Part;
use crate::{EngineError, Record, lock};

mod description;

pub(crate) use description::Description;
use description::malformed;
pub use description::{Begun, Contents, PartialError, name_of, working_files};

/// Largest number of bytes with a common checksum, so that a damaged place costs no more than this.
const BLOCK_BYTES: u64 = 1 << 26;

/// The layout of the file.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes before the first item.
    pub header: Vec<u8>,
    /// Bytes of an item.
    pub item: usize,
    /// Number of items of the whole run.
    pub count: u64,
    /// Whether the complete file is itself an output and gets the name `NAME`; otherwise other files are made from it.
    pub is_output: bool,
    /// The part of the run whose items the file has; `None` if it has all.
    pub part: Option<Part>,
}

impl Layout {
    /// The layout of the file of a part.
    #[must_use]
    pub fn of_part(self, part: Part) -> Self {
        Self {
            header: Vec::new(),
            is_output: false,
            part: Some(part),
            ..self
        }
    }

    /// The items of the file.
    pub fn items(&self) -> Range<u64> {
        self.part
            .map_or(0..self.count, |part| part.span(self.count))
    }
}

/// The items of a run in a file, some of which have been computed.
#[derive(Debug)]
pub struct PartialFile<C> {
    part: PathBuf,
    record: PathBuf,
    /// The record while no items have been computed.
    about: Description<C>,
    file: File,
    layout: Layout,
    state: Mutex<PartialMapState>,
    /// Wakes the thread that writes records.
    over: Condvar,
}

#[derive(Debug, Default)]
struct PartialMapState {
    /// The items that are in the file, by the first of each span.
    done: BTreeMap<u64, Span>,
    /// Items that were in the file, but changed since.
    damaged: u64,
    /// See [`Description`].
    run: Option<Record>,
    /// See [`Description`].
    sum: Option<Sum>,
    /// The error because of which no more items can be stored.
    failed: Option<String>,
    over: bool,
}

/// Items that are in the file.
#[derive(Clone, Debug)]
struct Span {
    /// The item after the last one.
    end: u64,
    /// The checksum of their bytes.
    sum: Hasher,
}

impl PartialMapState {
    /// Adds items that are not there yet. They become one span with those before and behind them, except at multiples of `block` items.
    fn add(&mut self, first: u64, mut span: Span, block: u64) {
        let mut start = first;
        if !start.is_multiple_of(block)
            && let Some((&before, its)) = self.done.range_mut(..start).next_back()
            && its.end == start
        {
            its.sum.combine(&span.sum);
            span.sum = its.sum.clone();
            start = before;
        }
        if !span.end.is_multiple_of(block)
            && let Some(next) = self.done.remove(&span.end)
        {
            span.sum.combine(&next.sum);
            span.end = next.end;
        }
        self.done.insert(start, span);
    }

    /// The items of a span that are not there.
    fn gaps(&self, span: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let before = self.done.range(..=span.start).next_back();
        let mut next = before.map_or(span.start, |(_, its)| its.end.max(span.start));
        for (&first, its) in self.done.range(span.start..span.end) {
            if next < first {
                gaps.push(next..first);
            }
            next = next.max(its.end);
        }
        if next < span.end {
            gaps.push(next..span.end);
        }
        gaps
    }
}

impl<C: Contents> PartialFile<C> {
    /// Begins the file for the output `path` and reserves the disk space. `run` makes the record of the run's other options.
    ///
    /// # Errors
    /// [`PartialError::Unfinished`] if an unfinished file exists, or an error if there is too little space or the file cannot be written.
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
        // The record comes first, so that a run that is killed from here on leaves a record without any items.
        let about = Description {
            run,
            part: layout.part,
            ..Description::of(contents)
        };
        about.write(&record)?;
        let begun = Self::begin_part(part, record.clone(), layout, about);
        if begun.is_err() {
            // No items have been computed yet.
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

    /// Continues the unfinished file for the output `path`; `None` if there is no such file.
    ///
    /// # Errors
    /// [`PartialError::Other`], [`PartialError::Busy`], or an error if the files are damaged.
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
        if read.part != layout.part {
            let words =
                |part: Option<Part>| part.map_or("the whole".into(), |p| format!("part {p}"));
            let [there, here] = [read.part, layout.part].map(words);
            let reason = format!("it belongs to {there} of a {} instead of {here}", C::NAME);
            return Err(malformed(&record, reason).into());
        }
        let items = layout.items();
        let mut end = items.start;
        for [first, its_end, _] in &read.done {
            if *first < end || its_end <= first || *its_end > items.end {
                let reason = format!("items {first} to {its_end} are not in order");
                return Err(malformed(&record, reason).into());
            }
            end = *its_end;
        }
        let run = read.run.map(|run| run.placed(&record, C::COMMAND));
        let about = Description {
            run: run.transpose()?,
            part: read.part,
            done: read.done,
            sum: read.sum,
            ..Description::of(contents)
        };
        // A run ends by renaming the file and then removing its record.
        let nothing = about.done.is_empty() && about.sum.is_none();
        let done: u64 = about.done.iter().map(|[first, end, _]| end - first).sum();
        let complete = done == items.end - items.start;
        let named = complete && !part.exists() && layout.is_output;
        if !part.exists() && !named && (nothing || complete) {
            // The run was killed before it made the file, or after it had written all outputs and removed the file.
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
            // The run may have been killed before it reserved the space and wrote the header.
            for path in [&store.part, &store.record] {
                fs::remove_file(path).map_err(|e| IoError::system(path, "remove", e))?;
            }
            return Ok(None);
        }
        if length != store.length() {
            let reason = format!("it has {length} bytes instead of {}", store.length());
            return Err(malformed(&store.part, reason).into());
        }
        store.forget_damaged()?;
        Ok(Some(store))
    }

    /// Continues the unfinished file for the output `path`, or begins it.
    ///
    /// # Errors
    /// As [`begin`](Self::begin) and [`resume`](Self::resume).
    pub fn begin_or_resume(
        path: &Path,
        contents: &C,
        layout: Layout,
        run: Option<Record>,
    ) -> Result<Self, PartialError> {
        match Self::resume(path, contents, layout.clone())? {
            Some(file) => Ok(file),
            None => Self::begin(path, contents, layout, run),
        }
    }

    /// Makes the file from the computed items and the run of `about`.
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
            sum: about.sum.take(),
            ..PartialMapState::default()
        };
        for [first, end, sum] in about.done.drain(..) {
            let bytes = layout.item as u64 * (end - first);
            let sum = Hasher::new_with_initial_len(sum as u32, bytes);
            state.done.insert(first, Span { end, sum });
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

    /// Writes the header again, and forgets items that do not have their checksum any more.
    fn forget_damaged(&self) -> Result<(), IoError> {
        let failed = |e| IoError::system(&self.part, "read", e);
        system::write_all_at(&self.file, &self.layout.header, 0).map_err(failed)?;
        let mut state = self.lock();
        let mut damaged = Vec::new();
        for (&first, span) in &state.done {
            let mut file = &self.file;
            file.seek(SeekFrom::Start(self.place(first)))
                .map_err(failed)?;
            let bytes = self.layout.item as u64 * (span.end - first);
            let there = Sum::of_reader(file.take(bytes)).map_err(failed)?;
            if there.crc32 != span.sum.clone().finalize() {
                damaged.push(first);
            }
        }
        for first in damaged {
            if let Some(span) = state.done.remove(&first) {
                state.damaged += span.end - first;
            }
        }
        Ok(())
    }

    /// A note about items that were changed in the file since they were written, and are computed again; `None` if there are none.
    pub fn damage(&self) -> Option<String> {
        let damaged = self.lock().damaged;
        let (part, items) = (self.part.display(), C::ITEMS);
        (damaged > 0).then(|| {
            format!("{part}: the bytes of {damaged} {items} have changed; they are computed again")
        })
    }

    /// The place of an item in the file.
    fn place(&self, item: u64) -> u64 {
        let before = item - self.layout.items().start;
        self.layout.header.len() as u64 + self.layout.item as u64 * before
    }

    /// The largest number of items with a common checksum.
    fn block(&self) -> u64 {
        (BLOCK_BYTES / self.layout.item as u64).max(1)
    }

    /// Bytes of the whole file.
    fn length(&self) -> u64 {
        let items = self.layout.items();
        self.layout.header.len() as u64 + self.layout.item as u64 * (items.end - items.start)
    }

    /// Reserves the space on the disk, so that the run cannot fail later for lack of space, and writes the header.
    fn reserve(&self) -> Result<(), IoError> {
        let failed = |e| IoError::system(&self.part, "write", e);
        system::reserve(&self.file, self.length()).map_err(failed)?;
        system::write_all_at(&self.file, &self.layout.header, 0).map_err(failed)
    }

    /// The items that have not been computed.
    pub fn missing(&self) -> Vec<Range<u64>> {
        self.lock().gaps(self.layout.items())
    }

    /// Whether the file has its final name already, because it is complete.
    pub fn is_named(&self, path: &Path) -> bool {
        self.part == path
    }

    /// The other options of the run, and the files that it has written.
    pub fn run(&self) -> Option<Record> {
        self.lock().run.clone()
    }

    /// Allows the run to overwrite the files that are at these paths now.
    ///
    /// # Errors
    /// A file cannot be read, or the record cannot be written.
    pub fn allow_what_is_there<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), PartialError> {
        if let Some(run) = &mut self.lock().run {
            run.allow_what_is_there(paths)?;
        }
        Ok(self.write_record()?)
    }

    /// Writes the checksums of new files to the record, and then gives the files their names.
    ///
    /// # Errors
    /// A file cannot be read, or the record cannot be written.
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

    /// Runs `work`. Meanwhile the record is written every `every` (more often at first), and once more at the end.
    ///
    /// # Errors
    /// The last record could not be written. (If an earlier one could not, the run ends with that error, because no more items can be
    /// stored.)
    pub fn recording<T>(
        &self,
        every: Duration,
        work: impl FnOnce() -> T,
    ) -> (T, Result<(), IoError>) {
        let result = thread::scope(|scope| {
            scope.spawn(|| self.write_records(every));
            // This must happen even if `work` panics; otherwise the scope would wait for ever.
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
        // The first records follow quickly, so that a short run that is killed does not lose everything.
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

    /// Synchronises the items in the file with the disk, and then writes the record.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_record(&self) -> Result<(), IoError> {
        let (done, run, sum) = {
            let state = self.lock();
            let row = |(&first, span): (&u64, &Span)| {
                [first, span.end, span.sum.clone().finalize().into()]
            };
            let done = state.done.iter().map(row).collect();
            (done, state.run.clone(), state.sum)
        };
        self.file
            .sync_data()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        let record = Description {
            done,
            run,
            sum,
            ..self.about.clone()
        };
        record.write(&self.record)
    }

    /// The items of the file.
    pub fn items(&self) -> Range<u64> {
        self.layout.items()
    }

    /// Stores items from number `first` on, given as bytes.
    ///
    /// # Errors
    /// [`EngineError::Sink`] if the items, or the last record, could not be written.
    pub fn put_bytes(&self, first: u64, bytes: &[u8]) -> Result<(), EngineError> {
        if let Some(failed) = &self.lock().failed {
            return Err(EngineError::Sink(failed.clone()));
        }
        system::write_all_at(&self.file, bytes, self.place(first))
            .map_err(|e| EngineError::Sink(IoError::system(&self.part, "write", e).to_string()))?;
        let (item, block) = (self.layout.item, self.block());
        let end = first + (bytes.len() / item) as u64;
        let mut state = self.lock();
        // Items that were there already, because two devices computed them, have the same bytes.
        for gap in state.gaps(first..end) {
            let mut next = gap.start;
            while next < gap.end {
                let end = gap.end.min((next / block + 1) * block);
                let [a, b] = [next, end].map(|n| (n - first) as usize * item);
                let mut sum = Hasher::new();
                sum.update(&bytes[a..b]);
                state.add(next, Span { end, sum }, block);
                next = end;
            }
        }
        Ok(())
    }

    /// All items, as memory that the system reads from the file on access.
    ///
    /// # Errors
    /// Items are missing, or the file cannot be mapped.
    pub fn mapped(&self) -> Result<Mapped, IoError> {
        let missing: u64 = self.missing().iter().map(|s| s.end - s.start).sum();
        if missing > 0 {
            return Err(malformed(
                &self.part,
                format!("{missing} {} are missing", C::ITEMS),
            ));
        }
        if cfg!(target_endian = "big") {
            let reason = "it holds little-endian numbers".into();
            return Err(malformed(&self.part, reason));
        }
        // SAFETY: the file belongs to this program and is locked against other runs. If another program shortens it meanwhile, the system
        // ends this program, as for any mapped file.
        let map =
            unsafe { Mmap::map(&self.file) }.map_err(|e| IoError::system(&self.part, "read", e))?;
        Ok(Mapped {
            map,
            header: self.layout.header.len(),
        })
    }

    /// Ends a part of a run when all of its items are computed: writes the file's checksum to the record. Both files remain. Of a part that
    /// had ended before, the checksum is compared instead.
    ///
    /// # Errors
    /// Items are missing, the file is damaged, or a file cannot be read or written.
    pub fn finish_part(self) -> Result<(), IoError> {
        let missing: u64 = self.missing().iter().map(|s| s.end - s.start).sum();
        if missing > 0 {
            let reason = format!("{missing} {} are missing", C::ITEMS);
            return Err(malformed(&self.part, reason));
        }
        self.file
            .sync_all()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        let before = self.lock().sum;
        if let Some(sum) = before {
            return match sum.difference(&self.part)? {
                None => Ok(()),
                Some(what) => {
                    let record = self.record.display();
                    let reason =
                        format!("{what}; remove it and {record} to compute the part again");
                    Err(malformed(&self.part, reason))
                }
            };
        }
        let sum = Sum::of_file(&self.part)?;
        self.lock().sum = sum;
        self.write_record()
    }

    /// Ends the run, when all items are computed and all files made from them are written: gives the file its final name if it is itself an
    /// output, removes it otherwise, and removes the record.
    ///
    /// # Errors
    /// The file cannot be renamed or removed.
    pub fn finish(self, path: &Path) -> Result<(), IoError> {
        self.file
            .sync_all()
            .map_err(|e| IoError::system(&self.part, "write", e))?;
        if self.part != path {
            if self.layout.is_output {
                atomic::replace(&self.part, path)?;
            } else {
                fs::remove_file(&self.part).map_err(|e| IoError::system(path, "remove", e))?;
            }
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
    /// The bytes of the items, which follow the header.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.header..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one_with_the_checksum_of_both() {
        let bytes: Vec<u8> = (0..=255).collect();
        let of = |span: Range<u64>| {
            let mut sum = Hasher::new();
            sum.update(&bytes[span.start as usize..span.end as usize]);
            sum
        };
        for (block, expected) in [(100, vec![0..12, 20..21]), (8, vec![0..8, 8..12, 20..21])] {
            let mut state = PartialMapState::default();
            for span in [4..6, 10..12, 0..2, 6..8, 8..10, 2..3, 3..4, 20..21] {
                let (end, sum) = (span.end, of(span.clone()));
                state.add(span.start, Span { end, sum }, block);
            }
            assert_eq!(state.gaps(0..30), [12..20, 21..30]);
            assert_eq!(state.gaps(3..20), [12..20]);
            assert_eq!(state.gaps(12..12), []);
            let done: Vec<_> = (state.done.iter())
                .map(|(&first, span)| first..span.end)
                .collect();
            assert_eq!(done, expected);
            for (span, (_, found)) in expected.into_iter().zip(state.done) {
                assert_eq!(found.sum.finalize(), of(span).finalize());
            }
        }
    }
}
