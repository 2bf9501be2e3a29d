//! The finished pixels of an unfinished frame, in memory and in a file that grows during the computation and stays usable if the
//! run is killed at any moment.
//!
//! The file is a sequence of records: the number of the first pixel (u64), the number of values (u32), the CRC-32 of both
//! and of the values (u32), and the values (u32 or f64, depending on the quantity), all little-endian. The first incomplete or damaged record and everything after it are ignored.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trisolar_io::IoError;
use trisolar_map::{EngineError, Quantity, Sink, Validated, ValueSlice, ValueVec};

/// An unfinished frame. Results can be [put](Sink::put) in any order, from any thread.
#[derive(Debug)]
pub struct Partial {
    /// Empty if there is no file.
    path: PathBuf,
    interval: Duration,
    state: Mutex<PartialFrameState>,
}

#[derive(Debug)]
struct PartialFrameState {
    /// `None` if the pixels are in memory only.
    file: Option<File>,
    values: ValueVec,
    done: PixelSet,
    /// Pixels that the file does not have yet.
    unwritten: PixelSet,
    written: Instant,
    /// The steps of the pixels put since the frame was opened.
    taken: u64,
    quantity: Quantity,
    /// Number of steps of a pixel.
    steps: u64,
}

/// Length of a record's header in bytes.
const RECORD_HEADER_BYTES: usize = 16;
/// Largest number of values in a record.
const MAX_RECORD_VALUES: u64 = 1 << 24;

impl Partial {
    /// Opens this many pixels of a map. Continues the file if it exists. Pixels are written at intervals of about `interval`.
    ///
    /// # Errors
    /// The file cannot be created, read or truncated to its valid records, or is not a regular file.
    pub fn open(
        path: &Path,
        spec: &Validated,
        pixels: usize,
        interval: Duration,
    ) -> Result<Self, IoError> {
        let failed = |operation| move |e| IoError::system(path, operation, e);
        // Reading a device would not end.
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            let reason = std::io::Error::other("it is not a regular file");
            return Err(failed("write")(reason));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(failed("create"))?;
        // A run writes at most one record for each pixel.
        let most = pixels as u64 * (RECORD_HEADER_BYTES + spec.value_type().size()) as u64;
        let mut bytes = Vec::new();
        (&mut file)
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(failed("read"))?;
        let no_memory = || failed("read")(std::io::ErrorKind::OutOfMemory.into());
        let mut values = spec.value_type().zeroed(pixels).ok_or_else(no_memory)?;
        let (done, valid) = records(&bytes, &mut values);
        file.set_len(valid as u64).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        let state = PartialFrameState::new(Some(file), values, done, spec);
        Ok(Self {
            path: path.to_owned(),
            interval,
            state: Mutex::new(state),
        })
    }

    /// This many pixels of a map, none of them done, without a file.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub(crate) fn in_memory(spec: &Validated, pixels: usize) -> Result<Self, EngineError> {
        let values = spec.value_type().zeroed(pixels);
        let values = values.ok_or_else(|| EngineError::OutOfMemory {
            device: "host".into(),
            needed: (pixels * spec.value_type().size()) as u64,
            available: trisolar_io::system::available_memory(),
        })?;
        let state = PartialFrameState::new(None, values, PixelSet::new(pixels), spec);
        Ok(Self {
            path: PathBuf::new(),
            interval: Duration::MAX,
            state: Mutex::new(state),
        })
    }

    /// The pixels that are not done, in ascending order.
    pub fn missing(&self) -> Vec<Range<u64>> {
        self.lock().done.gaps()
    }

    /// Whether a pixel is done.
    pub(crate) fn has(&self, pixel: usize) -> bool {
        self.lock().done.next(pixel, true) == pixel
    }

    /// The value of a pixel that is done.
    pub fn get(&self, pixel: usize) -> f64 {
        self.lock().values.as_slice().get(pixel)
    }

    /// The steps of the pixels put since the frame was opened.
    pub fn steps_taken(&self) -> u64 {
        self.lock().taken
    }

    /// Writes everything to the disk.
    ///
    /// # Errors
    /// The file cannot be written. Its earlier records remain valid.
    pub fn flush(&self) -> Result<(), IoError> {
        self.lock()
            .write()
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// All values; unfinished pixels are 0. The file remains until it is removed.
    pub fn into_values(self) -> ValueVec {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner).values
    }

    fn lock(&self) -> MutexGuard<'_, PartialFrameState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partial {
    /// The values of these pixels.
    ///
    /// # Errors
    /// As [`put`](Sink::put).
    pub fn put_at(&self, pixels: &[usize], values: ValueSlice<'_>) -> Result<(), EngineError> {
        let mut state = self.lock();
        state.values.put_at(pixels, values);
        for pixel in pixels {
            state.done.set(*pixel);
            state.unwritten.set(*pixel);
        }
        self.after(state, values)
    }

    /// Counts the new pixels, and writes if the interval has passed.
    fn after(
        &self,
        mut state: MutexGuard<'_, PartialFrameState>,
        values: ValueSlice<'_>,
    ) -> Result<(), EngineError> {
        state.taken += state.quantity.steps_taken(values, state.steps);
        if state.written.elapsed() < self.interval {
            return Ok(());
        }
        let result = state.write();
        result.map_err(|e| EngineError::Sink(IoError::system(&self.path, "write", e).to_string()))
    }
}

impl Sink<Validated> for Partial {
    fn put(&self, first: u64, values: ValueSlice<'_>) -> Result<(), EngineError> {
        let mut state = self.lock();
        let first = first as usize;
        state.values.put(first, values);
        for pixel in first..first + values.len() {
            state.done.set(pixel);
            state.unwritten.set(pixel);
        }
        self.after(state, values)
    }
}

impl PartialFrameState {
    fn new(file: Option<File>, values: ValueVec, done: PixelSet, spec: &Validated) -> Self {
        Self {
            file,
            unwritten: PixelSet::new(values.len()),
            values,
            done,
            written: Instant::now(),
            taken: 0,
            quantity: spec.specification().quantity,
            steps: spec.specification().steps,
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for span in self.unwritten.runs() {
            let starts = span.clone().step_by(MAX_RECORD_VALUES as usize);
            for start in starts {
                let end = span.end.min(start + MAX_RECORD_VALUES);
                let values = self.values.as_slice().range(start as usize..end as usize);
                bytes.extend(record(start, values));
            }
        }
        // A failure may leave an incomplete record, which ends the valid part, so nothing may follow it.
        let end = file.stream_position()?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        if let Err(error) = written {
            let _ = file.set_len(end);
            let _ = file.seek(SeekFrom::Start(end));
            return Err(error);
        }
        self.unwritten.clear();
        self.written = Instant::now();
        Ok(())
    }
}

fn record(first: u64, values: ValueSlice<'_>) -> Vec<u8> {
    let mut bytes = first.to_le_bytes().to_vec();
    bytes.extend((values.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&*values.le_bytes());
    let checksum = checksum(&bytes);
    bytes[12..RECORD_HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The checksum of a record without the checksum itself.
fn checksum(record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&record[..12]);
    hasher.update(&record[RECORD_HEADER_BYTES..]);
    hasher.finalize()
}

/// Copies the values of complete records to `values`; returns their pixels and the number of bytes.
fn records(bytes: &[u8], values: &mut ValueVec) -> (PixelSet, usize) {
    let of = values.as_slice().value_type();
    let (mut done, mut valid) = (PixelSet::new(values.len()), 0);
    while let Some(head) = bytes[valid..].first_chunk::<RECORD_HEADER_BYTES>() {
        let number =
            |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let first = u64::from(number(0)) | u64::from(number(4)) << 32;
        let count = number(8) as usize;
        let Some(record) = bytes[valid..].get(..RECORD_HEADER_BYTES + of.size() * count) else {
            break;
        };
        let fits = (first.checked_add(count as u64)).is_some_and(|end| end <= values.len() as u64);
        if !fits || count == 0 || checksum(record) != number(12) {
            break;
        }
        let Some(there) = of.from_le_bytes(&record[RECORD_HEADER_BYTES..]) else {
            break;
        };
        values.put(first as usize, there.as_slice());
        (first..first + count as u64).for_each(|pixel| done.set(pixel as usize));
        valid += record.len();
    }
    (done, valid)
}

/// A set of pixels.
#[derive(Clone, Debug, PartialEq)]
struct PixelSet {
    words: Vec<u64>,
    pixels: usize,
}

impl PixelSet {
    fn new(pixels: usize) -> Self {
        Self {
            words: vec![0; pixels.div_ceil(64)],
            pixels,
        }
    }

    fn set(&mut self, pixel: usize) {
        self.words[pixel / 64] |= 1 << (pixel % 64);
    }

    fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The first pixel from `from` on that is marked, or not.
    fn next(&self, from: usize, marked: bool) -> usize {
        let mut at = from;
        while at < self.pixels {
            let word = self.words[at / 64];
            let word = if marked { word } else { !word } >> (at % 64);
            if word != 0 {
                return self.pixels.min(at + word.trailing_zeros() as usize);
            }
            at = (at / 64 + 1) * 64;
        }
        self.pixels
    }

    /// Ranges of pixels that are marked, or of those that are not.
    fn ranges(&self, marked: bool) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut end = 0;
        std::iter::from_fn(move || {
            let start = self.next(end, marked);
            end = self.next(start, !marked);
            (start < end).then_some(start as u64..end as u64)
        })
    }

    fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges(true)
    }

    fn gaps(&self) -> Vec<Range<u64>> {
        self.ranges(false).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use trisolar_map::Specification;

    const AT_ONCE: Duration = Duration::ZERO;

    fn map_of(quantity: Quantity) -> Validated {
        let specification = Specification {
            quantity,
            ..Specification::default()
        };
        specification.validate().expect("valid")
    }

    fn steps() -> Validated {
        map_of(Quantity::Divergence)
    }

    #[test]
    fn values_of_64_bits_are_kept_bit_for_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let open = || Partial::open(&path, &map_of(Quantity::Ftle), 10, AT_ONCE).expect("opens");
        let partial = open();
        let values = [0.1 + 0.2, -0.0, f64::INFINITY];
        partial.put(4, ValueSlice::F64(&values)).expect("writes");
        drop(partial);
        let length = std::fs::metadata(&path).expect("there").len();
        assert_eq!(length, (RECORD_HEADER_BYTES + 24) as u64);
        let partial = open();
        assert_eq!(partial.missing(), [0..4, 7..10]);
        let all = partial.into_values();
        let kept = all.as_slice().range(4..7);
        assert_eq!(kept.bytes(), ValueSlice::F64(&values).bytes());
    }

    #[test]
    fn marks_are_runs_and_what_is_between_them_gaps() {
        for pixels in [0, 1, 63, 64, 65, 200] {
            let mut marks = PixelSet::new(pixels);
            let is_marked = |p: &usize| p % 7 < 3 || (60..70).contains(p) || *p > 150;
            (0..pixels).filter(is_marked).for_each(|p| marks.set(p));
            let flat = |ranges: Vec<Range<u64>>| ranges.into_iter().flatten().collect::<Vec<_>>();
            let expected = |marked: bool| -> Vec<u64> {
                let some = (0..pixels).filter(|p| is_marked(p) == marked);
                some.map(|p| p as u64).collect()
            };
            let runs: Vec<_> = marks.runs().collect();
            assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
            assert_eq!(flat(runs), expected(true), "{pixels}");
            assert_eq!(flat(marks.gaps()), expected(false), "{pixels}");
        }
    }

    #[test]
    fn whatever_byte_a_run_was_killed_at_the_records_before_it_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let open = || Partial::open(&path, &steps(), 10, AT_ONCE).expect("opens");
        let partial = open();
        partial.put(4, ValueSlice::U32(&[1, 2, 3])).expect("writes");
        partial.put(0, ValueSlice::U32(&[4, 5])).expect("writes");
        assert_eq!(partial.steps_taken(), 15);
        drop(partial);
        let whole = std::fs::read(&path).expect("reads");
        let first = RECORD_HEADER_BYTES + 12;
        assert_eq!(whole.len(), first + RECORD_HEADER_BYTES + 8);
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            let partial = open();
            let done: &[u64] = match cut {
                n if n < first => &[],
                n if n < whole.len() => &[4, 5, 6],
                _ => &[0, 1, 4, 5, 6],
            };
            let missing: Vec<u64> = partial.missing().into_iter().flatten().collect();
            assert!(missing.iter().all(|n| !done.contains(n)), "{cut}");
            assert_eq!(missing.len() + done.len(), 10, "{cut}");
            partial.put(9, ValueSlice::U32(&[9])).expect("writes");
            drop(partial);
            let times = open().into_values().into::<u32>().expect("steps");
            assert_eq!((times[5], times[9]), (if cut < first { 0 } else { 2 }, 9));
        }
    }

    #[test]
    fn results_wait_in_memory_until_the_interval_is_over_or_they_are_flushed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let partial = Partial::open(&path, &steps(), 10, Duration::from_secs(1000)).expect("opens");
        partial.put(3, ValueSlice::U32(&[1, 2])).expect("keeps");
        partial.put(5, ValueSlice::U32(&[3])).expect("keeps");
        assert_eq!(std::fs::metadata(&path).expect("there").len(), 0);
        partial.flush().expect("writes");
        let length = std::fs::metadata(&path).expect("there").len();
        assert_eq!(
            length,
            (RECORD_HEADER_BYTES + 12) as u64,
            "one record of both"
        );
        assert_eq!(
            (partial.get(4), partial.missing()),
            (2.0, vec![0..3, 6..10])
        );
    }

    #[test]
    fn damaged_values_and_values_of_another_map_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let write = || {
            let partial = Partial::open(&path, &steps(), 10, AT_ONCE).expect("opens");
            partial.put(5, ValueSlice::U32(&[1, 2, 3])).expect("writes");
        };
        write();
        let smaller = Partial::open(&path, &steps(), 7, AT_ONCE).expect("opens");
        assert_eq!(smaller.missing().into_iter().flatten().count(), 7);
        for damaged in [0, 8, 13, 17] {
            std::fs::remove_file(&path).expect("there");
            write();
            let mut bytes = std::fs::read(&path).expect("reads");
            bytes[damaged] ^= 1;
            std::fs::write(&path, bytes).expect("writes");
            let partial = Partial::open(&path, &steps(), 10, AT_ONCE).expect("opens");
            let missing = partial.missing().into_iter().flatten().count();
            assert_eq!(missing, 10, "{damaged}");
        }
    }
}
