//! Named arrays and texts in one compressed `.npz` file, which `numpy.load` reads.
//!
//! The same contents give the same bytes: members keep their order and carry a fixed time stamp.
//! In numpy, `numpy.load("map.npz")["steps_together"]` is an array and `numpy.load("map.npz")["specification.json"]` the bytes of a text.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::write::{PreparedZipFile, SimpleFileOptions, ZipFileBuilder};
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

use super::IoError;
use super::atomic::AtomicFile;
use super::npy::{self, Array, Element, ReadError, check_count, data_error};
use super::read::{self, Limit};
use super::rows::Rows;

/// The name of the text that holds the specification of a run as JSON, in the files of every command.
pub const SPECIFICATION: &str = "specification.json";
/// The member with the names of the outcomes 1, 2 ... as a list, where an array `outcome` has such numbers.
pub const OUTCOMES: &str = "outcomes.json";

/// Values of a [`Member`] that are written at a time.
const PIECE: usize = 1 << 14;

/// Bytes of the first values of a [`Member`] from which on they show whether the array is worth compressing.
const LEAST_SAMPLE: usize = 1 << 16;

/// Bytes of the arrays that are compressed in memory at a time.
const MOST_PREPARED: usize = 1 << 30;

/// An npz file being written; it appears under its name on [`NpzWriter::finish`].
pub struct NpzWriter {
    path: PathBuf,
    zip: ZipWriter<ArchiveFile>,
}

impl NpzWriter {
    /// Begins the file.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref().to_owned();
        let zip = ZipWriter::new(ArchiveFile::new(AtomicFile::create(&path)?));
        Ok(Self { path, zip })
    }

    /// Adds an array, of any rank and in C order, as the member `name`.
    ///
    /// # Errors
    /// [`IoError::Data`] if the name is empty, taken or has a separator of paths in it, or if `values` has not as many
    /// values as `shape` asks for; a failed write.
    pub fn array<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[T],
    ) -> Result<(), IoError> {
        self.start::<T>(name, shape, values.len())?;
        npy::write_values(&mut self.zip, values)
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Begins an array of `count` values with its header.
    fn start<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        count: usize,
    ) -> Result<(), IoError> {
        check_count(shape, count)
            .map_err(|reason| data_error(&self.path, format!("member {name}: {reason}")))?;
        let options = self.options(name, count.saturating_mul(size_of::<T>()))?;
        self.zip
            .start_file(format!("{name}.npy"), options)
            .map_err(|e| written(&self.path, e))?;
        npy::write_to::<T>(&mut self.zip, shape, &[])
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Adds an array of what `values` appends for each of the rows, as [`array`](Self::array) adds the same values.
    ///
    /// # Errors
    /// As [`array`](Self::array), and those of [`Rows::each`].
    pub fn rows(
        &mut self,
        name: &str,
        shape: &[usize],
        rows: &Rows,
        values: impl Fn(&[f64], &mut Vec<f64>),
    ) -> Result<(), IoError> {
        let (mut piece, mut count) = (Vec::new(), 0);
        // All rows give as many values as the first one.
        if let Some(row) = rows.row(0)? {
            values(&row, &mut piece);
            count = rows.len() * piece.len();
            piece.clear();
        }
        self.start::<f64>(name, shape, count)?;
        let failed = |e| IoError::system(&self.path, "write", e);
        rows.each(|row| {
            values(row, &mut piece);
            if piece.len() >= PIECE {
                npy::write_values(&mut self.zip, &piece).map_err(failed)?;
                piece.clear();
            }
            Ok(())
        })?;
        npy::write_values(&mut self.zip, &piece).map_err(failed)
    }

    /// Adds arrays in their order. Several are compressed at a time, unless they are large; the bytes do not depend on how many.
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub fn arrays(&mut self, members: &[Member<'_>]) -> Result<(), IoError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        self.arrays_by(members, threads, MOST_PREPARED)
    }

    /// Adds arrays, `threads` at a time where they have at most `most` bytes together.
    fn arrays_by(
        &mut self,
        members: &[Member<'_>],
        threads: usize,
        most: usize,
    ) -> Result<(), IoError> {
        let mut rest = members;
        while let Some(first) = rest.first() {
            if first.bytes > most {
                self.streamed(first)?;
                rest = &rest[1..];
                continue;
            }
            let mut bytes = 0_usize;
            let fits = |member: &&Member<'_>| {
                bytes = bytes.saturating_add(member.bytes);
                bytes <= most
            };
            let count = rest.iter().take(threads).take_while(fits).count();
            let (group, others) = rest.split_at(count);
            rest = others;
            self.prepared(group)?;
        }
        Ok(())
    }

    /// Adds an array while it is compressed.
    fn streamed(&mut self, member: &Member<'_>) -> Result<(), IoError> {
        let options = self.options_of(member)?;
        self.zip
            .start_file(member.file(), options)
            .map_err(|e| written(&self.path, e))?;
        (member.write)(&mut self.zip).map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Adds arrays that threads compress, each in memory.
    fn prepared(&mut self, members: &[Member<'_>]) -> Result<(), IoError> {
        let options: Vec<SimpleFileOptions> = (members.iter())
            .map(|member| self.options_of(member))
            .collect::<Result<_, _>>()?;
        let prepared: Vec<Result<PreparedZipFile, ZipError>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (members.iter().zip(options))
                .map(|(member, options)| {
                    scope.spawn(move || {
                        let mut file = ZipFileBuilder::new(member.file(), options)?;
                        (member.write)(&mut file)?;
                        file.finish()
                    })
                })
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for file in prepared {
            file.and_then(|file| self.zip.add_prepared_file(file))
                .map_err(|e| written(&self.path, e))?;
        }
        Ok(())
    }

    /// Adds a text, such as [`SPECIFICATION`]. A name that ends in `.npy` is refused: numpy would take it for an array.
    ///
    /// # Errors
    /// As [`NpzWriter::array`].
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), IoError> {
        if name.ends_with(".npy") {
            let reason = format!("member {name}: a text cannot be named like an array");
            return Err(data_error(&self.path, reason));
        }
        let options = self.options(name, text.len())?;
        self.zip
            .start_file(name, options)
            .map_err(|e| written(&self.path, e))?;
        self.zip
            .write_all(text.as_bytes())
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`]. No part of the file remains.
    pub fn finish(self) -> Result<(), IoError> {
        let Self { path, zip } = self;
        zip.finish()
            .map_err(|e| written(&path, e))
            .and_then(ArchiveFile::commit)
    }

    /// How this array is written: uncompressed if its first values hardly shrink, because compressing the noise in the last digits of
    /// real numbers would take most of the time.
    fn options_of(&self, member: &Member<'_>) -> Result<SimpleFileOptions, IoError> {
        let options = self.options(&member.name, member.bytes)?;
        if member.sample.len() < LEAST_SAMPLE {
            return Ok(options);
        }
        let shrunk = compressed(&member.sample, options).map_err(|e| written(&self.path, e))?;
        if shrunk * 5 <= member.sample.len() * 4 {
            return Ok(options);
        }
        let stored = options.compression_method(CompressionMethod::Stored);
        Ok(stored.compression_level(None))
    }

    /// How a member of this name is written.
    fn options(&self, name: &str, bytes: usize) -> Result<SimpleFileOptions, IoError> {
        if name.is_empty() || name.contains(['/', '\\', '\0']) {
            let reason = format!("{name:?} cannot name a member of an npz file");
            return Err(data_error(&self.path, reason));
        }
        Ok(member_options(bytes)
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(4)))
    }
}

/// How a member of so many bytes is written to any archive: the same bytes at all times and on every system.
pub(super) fn member_options(bytes: usize) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix)
        .large_file(bytes > (u32::MAX / 2) as usize)
}

/// The size of a member with these contents.
fn compressed(contents: &[u8], options: SimpleFileOptions) -> Result<usize, ZipError> {
    let mut file = ZipFileBuilder::new("sample", options)?;
    file.write_all(contents)?;
    let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
    zip.add_prepared_file(file.finish()?)?;
    Ok(zip.finish()?.into_inner().len())
}

/// Writes an array.
type WriteArray<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + Send + Sync + 'a;

/// An array for [`NpzWriter::arrays`], of any rank and in C order, whose values come one by one and need not be in memory.
pub struct Member<'a> {
    name: String,
    bytes: usize,
    /// The bytes of the first values.
    sample: Vec<u8>,
    write: Box<WriteArray<'a>>,
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, .. } = self;
        write!(f, "{name}: {bytes} bytes")
    }
}

impl<'a> Member<'a> {
    /// The array `name` of this shape; `values` gives its values from the first one on.
    ///
    /// # Errors
    /// There are not as many values as `shape` asks for.
    pub fn new<T: Element, I: ExactSizeIterator<Item = T>>(
        name: &str,
        shape: &[usize],
        values: impl Fn() -> I + Send + Sync + 'a,
    ) -> Result<Self, String> {
        let count = values().len();
        check_count(shape, count).map_err(|reason| format!("member {name}: {reason}"))?;
        let shape = shape.to_vec();
        let first: Vec<T> = values().take(PIECE).collect();
        let sample = bytemuck::cast_slice(&first).to_vec();
        let write = move |mut out: &mut dyn Write| {
            let mut values = values();
            npy::write_to::<T>(&mut out, &shape, &[])?;
            let mut piece = Vec::with_capacity(PIECE);
            while values.len() > 0 {
                piece.clear();
                piece.extend(values.by_ref().take(PIECE));
                npy::write_values(&mut out, &piece)?;
            }
            Ok(())
        };
        Ok(Self {
            name: name.to_owned(),
            bytes: count.saturating_mul(size_of::<T>()),
            sample,
            write: Box::new(write),
        })
    }

    /// Its name in the archive.
    fn file(&self) -> String {
        format!("{}.npy", self.name)
    }
}

/// An npz file that is being read.
pub struct NpzReader {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl NpzReader {
    /// Opens the file and reads its table of contents.
    ///
    /// # Errors
    /// [`IoError::Malformed`] if it is no npz file; the errors of the system otherwise.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref().to_owned();
        let file = read::open(&path)?;
        let zip =
            ZipArchive::new(BufReader::new(file)).map_err(|e| unreadable(&path, "npz file", e))?;
        Ok(Self { path, zip })
    }

    /// Whether there is a member of this name: an array with its `.npy`, or a text.
    pub fn has(&self, member: &str) -> bool {
        self.zip.index_for_name(member).is_some()
    }

    /// The names of the members, arrays without their `.npy`.
    ///
    /// # Errors
    /// [`IoError::Malformed`] if a name is no text.
    pub fn names(&self) -> Result<Vec<String>, IoError> {
        self.zip
            .file_names()
            .map(|name| {
                let name = name.map_err(|e| unreadable(&self.path, "npz file", e))?;
                Ok(name.strip_suffix(".npy").unwrap_or(&name).to_owned())
            })
            .collect()
    }

    /// Reads the array `name`.
    ///
    /// # Errors
    /// [`IoError::Malformed`] if there is none, or as [`npy::read`].
    pub fn array<T: Element>(&mut self, name: &str) -> Result<Array<T>, IoError> {
        self.array_of(name, usize::MAX)
    }

    /// Reads the array `name`, unless it says that it has more values than `most`.
    ///
    /// # Errors
    /// As [`array`](Self::array), and [`IoError::TooLarge`].
    pub fn array_of<T: Element>(&mut self, name: &str, most: usize) -> Result<Array<T>, IoError> {
        let member = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|e| unreadable(&self.path, &format!("array {name}"), e))?;
        npy::read_from(member, &self.path, most).map_err(|e| array_error(&self.path, name, e))
    }

    /// Reads the array `name` of booleans, integers or real numbers of any size, as f64.
    ///
    /// # Errors
    /// As [`npy::read_numbers`].
    pub fn numbers(&mut self, name: &str) -> Result<Array<f64>, IoError> {
        let member = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|e| unreadable(&self.path, &format!("array {name}"), e))?;
        npy::read_numbers_from(member, &self.path).map_err(|e| array_error(&self.path, name, e))
    }

    /// Reads the array `name` into rows, one for each index of its first axis, and returns its shape.
    ///
    /// # Errors
    /// As [`array`](Self::array), and those of [`Rows::push`].
    pub fn rows(&mut self, name: &str, rows: &mut Rows) -> Result<Vec<usize>, IoError> {
        let member = self
            .zip
            .by_name(&format!("{name}.npy"))
            .map_err(|e| unreadable(&self.path, &format!("array {name}"), e))?;
        npy::read_rows(member, &self.path, rows).map_err(|e| array_error(&self.path, name, e))
    }

    /// Reads the text `name`.
    ///
    /// # Errors
    /// [`IoError::Malformed`] if there is none, or it is no UTF-8.
    pub fn text(&mut self, name: &str) -> Result<String, IoError> {
        let member = self
            .zip
            .by_name(name)
            .map_err(|e| unreadable(&self.path, &format!("text {name}"), e))?;
        let bytes = read::all(member, &self.path, Limit::RECORD)?;
        String::from_utf8(bytes).map_err(|e| IoError::Malformed {
            path: self.path.clone(),
            reason: format!("text {name}: {e}"),
        })
    }
}

/// The file below the archive. A `ZipWriter` that is dropped after a failure tries to complete its archive and prints an error if that
/// fails as well. This type therefore reports the first failure and discards all later writes.
pub(super) struct ArchiveFile {
    file: AtomicFile,
    failed: bool,
    position: u64,
    length: u64,
}

impl ArchiveFile {
    pub(super) fn new(file: AtomicFile) -> Self {
        Self {
            file,
            failed: false,
            position: 0,
            length: 0,
        }
    }

    /// Gives the complete file its name.
    pub(super) fn commit(self) -> Result<(), IoError> {
        self.file.commit()
    }
}

impl Write for ArchiveFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = if self.failed {
            bytes.len()
        } else {
            self.file.write(bytes).inspect_err(|_| self.failed = true)?
        };
        self.position += n as u64;
        self.length = self.length.max(self.position);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        self.file.flush().inspect_err(|_| self.failed = true)
    }
}

impl Seek for ArchiveFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(n) => Some(n),
            SeekFrom::Current(d) => self.position.checked_add_signed(d),
            SeekFrom::End(d) => self.length.checked_add_signed(d),
        };
        let position = position.ok_or(io::ErrorKind::InvalidInput)?;
        if !self.failed {
            self.file
                .seek(SeekFrom::Start(position))
                .inspect_err(|_| self.failed = true)?;
        }
        self.position = position;
        Ok(position)
    }
}

pub(super) fn written(path: &Path, e: ZipError) -> IoError {
    match e {
        ZipError::Io(e) => IoError::system(path, "write", e),
        e => data_error(path, e.to_string()),
    }
}

fn array_error(path: &Path, name: &str, error: ReadError) -> IoError {
    match error {
        ReadError::System(e) => IoError::system(path, "read", e),
        ReadError::Malformed(reason) => IoError::Malformed {
            path: path.to_owned(),
            reason: format!("array {name}: {reason}"),
        },
        ReadError::Refused(error) => error,
    }
}

fn unreadable(path: &Path, what: &str, e: ZipError) -> IoError {
    match e {
        ZipError::Io(e) if e.kind() != io::ErrorKind::UnexpectedEof => {
            IoError::system(path, "read", e)
        }
        ZipError::FileNotFound => IoError::Malformed {
            path: path.to_owned(),
            reason: format!("it has no {what}"),
        },
        e => IoError::Malformed {
            path: path.to_owned(),
            reason: format!("not a {what} ({e})"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_the_same_for_any_number_of_threads_and_in_memory_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let noise = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
        let real = |i| f64::from_bits(1.0_f64.to_bits() | noise(i));
        let reals: Vec<f64> = (0..40_000).map(real).collect();
        let members = || -> Vec<Member<'_>> {
            let mut all = Vec::new();
            for name in ["a", "b", "c", "d", "e"] {
                all.push(Member::new(name, &[200, 200], || reals.iter().copied()).unwrap());
                let small = || (0..40_000_u32).map(|i| i % 7);
                all.push(Member::new(&format!("small_{name}"), &[40_000], small).unwrap());
            }
            all
        };
        let written = |threads: usize, most: usize| {
            let path = folder.path().join(format!("{threads}-{most}.npz"));
            let mut file = NpzWriter::create(&path).unwrap();
            file.arrays_by(&members(), threads, most).unwrap();
            file.text("spec.json", "{}").unwrap();
            file.finish().unwrap();
            path
        };
        let bytes = |threads, most| std::fs::read(written(threads, most)).unwrap();
        // Two members of 320 000 bytes at most, all of them, or none in memory.
        let whole = bytes(1, MOST_PREPARED);
        for (threads, most) in [(3, MOST_PREPARED), (16, MOST_PREPARED), (4, 640_000)] {
            assert_eq!(bytes(threads, most), whole, "{threads}, {most}");
        }
        // The noise is stored, because it hardly shrinks; the small numbers are compressed.
        let (raw, all) = (5 * 320_000, 5 * (320_000 + 160_000));
        let size = whole.len();
        assert!(size > raw && size < raw + (all - raw) / 4, "{size}");
        for path in [written(1, MOST_PREPARED), written(2, 0)] {
            let mut file = NpzReader::open(&path).unwrap();
            for name in ["a", "b", "c", "d", "e"] {
                let array = file.array::<f64>(name).unwrap();
                assert_eq!((&array.shape[..], &array.values), (&[200, 200][..], &reals));
                let small = file.array::<u32>(&format!("small_{name}")).unwrap().values;
                assert!(small.iter().zip(0..).all(|(x, i)| *x == i % 7_u32));
            }
            assert_eq!(file.text("spec.json").unwrap(), "{}");
        }
        let refused = Member::new("a", &[3], || [1.0, 2.0].into_iter());
        assert!(refused.unwrap_err().contains("member a"));
    }
}
