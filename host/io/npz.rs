//! Named arrays and texts in one compressed `.npz` file, which `numpy.load` reads.
//!
//! The same contents give the same bytes: members keep their order and carry a fixed time stamp.
//! In numpy, `numpy.load("map.npz")["steps_together"]` is an array and `numpy.load("map.npz")["spec.json"]` the bytes of a text.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::IoError;
use super::atomic::AtomicFile;
use super::npy::{self, Array, Element, ReadError, check_count, data_error};
use super::read::{self, Limit};

/// Values that [`NpzWriter::array_from`] writes at a time.
const PIECE: usize = 1 << 14;

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
        check_count(shape, values.len())
            .map_err(|reason| data_error(&self.path, format!("member {name}: {reason}")))?;
        self.member(name, format!("{name}.npy"), size_of_val(values))?;
        npy::write_to(&mut self.zip, shape, values)
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Adds an array, as [`array`](Self::array) does, whose values come one by one and need not be in memory.
    ///
    /// # Errors
    /// As there.
    pub fn array_from<T: Element>(
        &mut self,
        name: &str,
        shape: &[usize],
        mut values: impl ExactSizeIterator<Item = T>,
    ) -> Result<(), IoError> {
        let count = values.len();
        check_count(shape, count)
            .map_err(|reason| data_error(&self.path, format!("member {name}: {reason}")))?;
        let bytes = count.saturating_mul(size_of::<T>());
        self.member(name, format!("{name}.npy"), bytes)?;
        let failed = |e| IoError::system(&self.path, "write", e);
        npy::write_to::<T>(&mut self.zip, shape, &[]).map_err(failed)?;
        let mut piece = Vec::with_capacity(PIECE);
        while values.len() > 0 {
            piece.clear();
            piece.extend(values.by_ref().take(PIECE));
            npy::write_values(&mut self.zip, &piece).map_err(failed)?;
        }
        Ok(())
    }

    /// Adds a text, such as `spec.json`. A name that ends in `.npy` is refused: numpy would take it for an array.
    ///
    /// # Errors
    /// As [`NpzWriter::array`].
    pub fn text(&mut self, name: &str, text: &str) -> Result<(), IoError> {
        if name.ends_with(".npy") {
            let reason = format!("member {name}: a text cannot be named like an array");
            return Err(data_error(&self.path, reason));
        }
        self.member(name, name.to_owned(), text.len())?;
        self.zip
            .write_all(text.as_bytes())
            .map_err(|e| IoError::system(&self.path, "write", e))
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`]; nothing is left behind.
    pub fn finish(self) -> Result<(), IoError> {
        let Self { path, zip } = self;
        zip.finish()
            .map_err(|e| written(&path, e))
            .and_then(|sink| sink.file.commit())
    }

    fn member(&mut self, name: &str, file: String, bytes: usize) -> Result<(), IoError> {
        if name.is_empty() || name.contains(['/', '\\', '\0']) {
            let reason = format!("{name:?} cannot name a member of an npz file");
            return Err(data_error(&self.path, reason));
        }
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(4))
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(bytes > (u32::MAX / 2) as usize);
        self.zip
            .start_file(file, options)
            .map_err(|e| written(&self.path, e))
    }
}

/// An npz file that is read.
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
        npy::read_from(member, &self.path, most).map_err(|e| match e {
            ReadError::System(e) => IoError::system(&self.path, "read", e),
            ReadError::Malformed(reason) => IoError::Malformed {
                path: self.path.clone(),
                reason: format!("array {name}: {reason}"),
            },
            ReadError::Refused(error) => error,
        })
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

/// The file below the archive. A `ZipWriter` that is dropped after a failure completes its archive and complains on
/// standard error if that fails as well; so the first failure is reported and what comes after it goes nowhere.
struct ArchiveFile {
    file: AtomicFile,
    failed: bool,
    position: u64,
    length: u64,
}

impl ArchiveFile {
    fn new(file: AtomicFile) -> Self {
        Self {
            file,
            failed: false,
            position: 0,
            length: 0,
        }
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

fn written(path: &Path, e: ZipError) -> IoError {
    match e {
        ZipError::Io(e) => IoError::system(path, "write", e),
        e => data_error(path, e.to_string()),
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
