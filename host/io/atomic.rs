//! Files that appear under their name complete or not at all. Everything Trisolar writes goes through here.
//!
//! The bytes go to a temporary name in the same directory, are synchronised with the disk, and the file is renamed on
//! [`AtomicFile::commit`]. Dropped before that (an error, a panic), the temporary is removed and an older file of
//! that name stays as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::IoError;

const BUFFER: usize = 1 << 18;

/// A file being written; see the module. A symbolic link is followed, so that the file it points at is replaced; what
/// is not a regular file (a device, a named pipe) cannot be replaced and is written in place.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: PathBuf,
    sink: Sink,
    /// The system's code of the first failed write: encoders on top may keep no more than its text.
    failed: Option<i32>,
}

#[derive(Debug)]
enum Sink {
    Temporary(BufWriter<NamedTempFile>),
    InPlace(BufWriter<File>),
}

/// Where the bytes of a path really go.
enum Target {
    Replace(PathBuf),
    InPlace(PathBuf),
}

impl AtomicFile {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// The directory does not exist or cannot be written, or `path` is a directory.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref().to_owned();
        let (target, sink) = match resolve(&path)? {
            Target::Replace(target) => {
                let file = temporary(&path, &target)?;
                (
                    target,
                    Sink::Temporary(BufWriter::with_capacity(BUFFER, file)),
                )
            }
            Target::InPlace(target) => {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&target)
                    .map_err(|e| IoError::system(&path, "write", e))?;
                (
                    target,
                    Sink::InPlace(BufWriter::with_capacity(BUFFER, file)),
                )
            }
        };
        Ok(Self {
            path,
            target,
            sink,
            failed: None,
        })
    }

    /// The name the file will have, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Turns an error from writing into this file into one that names the file. An error of the system goes before
    /// the one given, which may be a consequence of it.
    pub fn error(&self, source: io::Error) -> IoError {
        let source = self.failed.map_or(source, io::Error::from_raw_os_error);
        IoError::system(&self.path, "write", source)
    }

    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(e) = &result {
            self.failed = self.failed.or(e.raw_os_error());
        }
        result
    }

    /// Puts the finished file in its place.
    ///
    /// # Errors
    /// The last bytes could not be written (the disk is full) or the file not renamed; nothing is left behind.
    pub fn commit(self) -> Result<(), IoError> {
        let Self {
            path, target, sink, ..
        } = self;
        let failed = |e| IoError::system(&path, "write", e);
        match sink {
            Sink::Temporary(buffer) => {
                let file = buffer.into_inner().map_err(|e| failed(e.into_error()))?;
                file.as_file().sync_all().map_err(failed)?;
                file.persist(&target).map_err(|e| failed(e.error))?;
                sync_directory(&target);
            }
            Sink::InPlace(buffer) => {
                let file = buffer.into_inner().map_err(|e| failed(e.into_error()))?;
                // A device or a pipe may have nothing to synchronise: only what its write said counts.
                let _ = file.sync_all();
            }
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match &mut self.sink {
            Sink::Temporary(w) => w.write(bytes),
            Sink::InPlace(w) => w.write(bytes),
        };
        self.remember(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match &mut self.sink {
            Sink::Temporary(w) => w.flush(),
            Sink::InPlace(w) => w.flush(),
        };
        self.remember(result)
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let result = match &mut self.sink {
            Sink::Temporary(w) => w.seek(to),
            Sink::InPlace(w) => w.seek(to),
        };
        self.remember(result)
    }
}

/// Writes a whole file through `fill`, in one call.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`], or what `fill` returned; nothing is left behind.
pub fn write_with(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut AtomicFile) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let mut file = AtomicFile::create(path)?;
    fill(&mut file)?;
    file.commit()
}

/// Checks, before long work starts, that a file can be created at `path`: its directory exists, takes a new file, and
/// `path` is not itself a directory. Leaves nothing behind and does not touch an existing file.
///
/// # Errors
/// The same as [`AtomicFile::create`] would give.
pub fn check_writable(path: impl AsRef<Path>) -> Result<(), IoError> {
    AtomicFile::create(path).map(drop)
}

/// The directory a path lies in; `.` for a bare file name.
pub(super) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}

fn resolve(path: &Path) -> Result<Target, IoError> {
    let names_directory = path.file_name().is_none()
        || path
            .as_os_str()
            .as_encoded_bytes()
            .last()
            .is_some_and(|&b| std::path::is_separator(b.into()));
    if names_directory {
        let (path, operation) = (path.to_owned(), "write");
        return Err(IoError::IsDirectory { path, operation });
    }
    // The name itself, then what it points at: a link to nowhere is followed by the second only.
    let Ok(named) = fs::symlink_metadata(path) else {
        return Ok(Target::Replace(path.to_owned()));
    };
    let target = if named.is_symlink() {
        fs::canonicalize(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => IoError::System {
                path: path.to_owned(),
                operation: "write",
                source: io::Error::new(e.kind(), "it is a symbolic link that points nowhere"),
            },
            _ => IoError::system(path, "write", e),
        })?
    } else {
        path.to_owned()
    };
    let kind = fs::metadata(&target)
        .map_err(|e| IoError::system(path, "write", e))?
        .file_type();
    if kind.is_dir() {
        let (path, operation) = (path.to_owned(), "write");
        Err(IoError::IsDirectory { path, operation })
    } else if kind.is_file() {
        Ok(Target::Replace(target))
    } else {
        Ok(Target::InPlace(target))
    }
}

/// A temporary beside `target`, with the permissions the final file shall have.
fn temporary(path: &Path, target: &Path) -> Result<NamedTempFile, IoError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".trisolar-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask of the user is taken off, as for any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder
        .tempfile_in(directory_of(target))
        .map_err(|e| IoError::system(path, "create", without_temporary_name(e)))?;
    if let Ok(old) = fs::metadata(target) {
        file.as_file()
            .set_permissions(old.permissions())
            .map_err(|e| IoError::system(path, "create", e))?;
    }
    Ok(file)
}

/// tempfile adds the temporary's path to its errors; the user knows the file by another name.
fn without_temporary_name(e: io::Error) -> io::Error {
    let inner = e
        .get_ref()
        .and_then(|inner| inner.source())
        .and_then(|s| s.downcast_ref::<io::Error>())
        .and_then(io::Error::raw_os_error);
    inner.map_or(e, io::Error::from_raw_os_error)
}

/// Makes the rename itself survive a power cut. Not every file system can; the file is in place either way.
fn sync_directory(target: &Path) {
    #[cfg(unix)]
    if let Ok(directory) = File::open(directory_of(target)) {
        let _ = directory.sync_all();
    }
    #[cfg(not(unix))]
    let _ = target;
}
