//! Files that appear under their name complete or not at all. Everything Trisolar writes goes through here.
//!
//! The bytes go to a temporary name in the same directory, are synchronised with the disk, and the file is renamed on
//! [`AtomicFile::commit`]. Dropped before that (an error, a panic), the temporary is removed and an older file of
//! that name stays as it was.
//!
//! A temporary is named after its file and locked as long as it is written, so that [`remove_abandoned`] can recognise
//! those that a killed process left. [`stage`] completes several files before the first of them appears.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub use super::error::directory_of;
pub use super::older::short_name;
use super::sum::Sum;
use super::system::{self, Kind, is_at};
use super::{IoError, older};

const BUFFER_BYTES: usize = 1 << 18;

/// A file that is being written; see the module. A symbolic link is followed, so that the file it points at is replaced. A file that is not
/// regular (a device, a named pipe) cannot be replaced and is written in place.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: PathBuf,
    sink: Output,
    /// The system's code of the first failed write, because encoders above may keep only its text.
    failed: Option<i32>,
}

#[derive(Debug)]
enum Output {
    Temporary(BufWriter<NamedTempFile>),
    InPlace(BufWriter<File>),
}

/// The destination of the bytes of a path.
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
                    Output::Temporary(BufWriter::with_capacity(BUFFER_BYTES, file)),
                )
            }
            Target::InPlace(target) => {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&target)
                    .map_err(|e| IoError::system(&path, "write", e))?;
                (
                    target,
                    Output::InPlace(BufWriter::with_capacity(BUFFER_BYTES, file)),
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

    /// Turns an error from writing into this file into one that names the file. A system error of an earlier
    /// write takes precedence over `source`, which may be a consequence of it.
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

    /// The temporary path until [`commit`](Self::commit), for another program that writes the bytes.
    pub fn temporary(&self) -> &Path {
        match &self.sink {
            Output::Temporary(buffer) => buffer.get_ref().path(),
            Output::InPlace(_) => &self.target,
        }
    }

    /// Puts the finished file in its place, or within [`stage`] keeps it ready for that.
    ///
    /// # Errors
    /// The last bytes could not be written (the disk is full), or the file could not be renamed. No part of it remains.
    pub fn commit(self) -> Result<(), IoError> {
        let Self {
            path, target, sink, ..
        } = self;
        let failed = |e| IoError::system(&path, "write", e);
        match sink {
            Output::Temporary(buffer) => {
                let file = buffer.into_inner().map_err(|e| failed(e.into_error()))?;
                file.as_file().sync_all().map_err(failed)?;
                let ready = Ready { path, target, file };
                let unstaged = STAGE.with_borrow_mut(|stage| match stage {
                    Some(files) => {
                        files.push(ready);
                        None
                    }
                    None => Some(ready),
                });
                unstaged.map_or(Ok(()), Ready::appear)?;
            }
            Output::InPlace(buffer) => {
                let file = buffer.into_inner().map_err(|e| failed(e.into_error()))?;
                // A device or a pipe may have nothing to synchronise; only errors of its writes matter.
                let _ = file.sync_all();
            }
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match &mut self.sink {
            Output::Temporary(w) => w.write(bytes),
            Output::InPlace(w) => w.write(bytes),
        };
        self.remember(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match &mut self.sink {
            Output::Temporary(w) => w.flush(),
            Output::InPlace(w) => w.flush(),
        };
        self.remember(result)
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let result = match &mut self.sink {
            Output::Temporary(w) => w.seek(to),
            Output::InPlace(w) => w.seek(to),
        };
        self.remember(result)
    }
}

/// A complete file under its temporary name.
#[derive(Debug)]
struct Ready {
    path: PathBuf,
    target: PathBuf,
    file: NamedTempFile,
}

impl Ready {
    fn appear(self) -> Result<(), IoError> {
        let Self { path, target, file } = self;
        older::make_room(&path, &target, file.path())?;
        file.persist(&target)
            .map_err(|e| IoError::system(&path, "write", e.error))?;
        system::sync_directory(&directory_of(&target));
        Ok(())
    }
}

thread_local! {
    /// Files that are complete within a [`stage`] of this thread.
    static STAGE: RefCell<Option<Vec<Ready>>> = const { RefCell::new(None) };
}

/// Files that are complete, but not under their names yet. Dropped, they are removed.
#[derive(Debug)]
#[must_use]
pub struct Staged {
    files: Vec<Ready>,
}

impl Staged {
    /// The files' paths, as they were given, and what they contain.
    ///
    /// # Errors
    /// [`IoError`] if a file cannot be read again.
    pub fn sums(&self) -> Result<Vec<(PathBuf, Sum)>, IoError> {
        let sum = |ready: &Ready| {
            let failed = |e| IoError::system(&ready.path, "read", e);
            let mut file = ready.file.as_file();
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            let sum = Sum::of_reader(file).map_err(failed)?;
            Ok((ready.path.clone(), sum))
        };
        self.files.iter().map(sum).collect()
    }

    /// Puts all files in their places, in the order in which they were written.
    ///
    /// # Errors
    /// [`IoError`] if one cannot be renamed; it and those after it are removed.
    pub fn commit(self) -> Result<(), IoError> {
        self.files.into_iter().try_for_each(Ready::appear)
    }
}

/// Runs `write`, and holds back the files that it commits on this thread until [`Staged::commit`]: their checksums can be
/// recorded before they appear. Other files (a device, a pipe) are not held back.
///
/// # Errors
/// Those of `write`; no file appears.
///
/// # Panics
/// Within another `stage` of the same thread.
pub fn stage<T, E>(write: impl FnOnce() -> Result<T, E>) -> Result<(T, Staged), E> {
    /// Ends the stage however `write` ends.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            STAGE.set(None);
        }
    }
    let before = STAGE.replace(Some(Vec::new()));
    assert!(before.is_none(), "files are staged already");
    let end = End;
    let result = write();
    let files = STAGE.take().unwrap_or_default();
    drop(end);
    Ok((result?, Staged { files }))
}

/// Gives a complete file the name of an output, whose older file is kept if a run must keep it ([`older`]).
///
/// # Errors
/// The older file cannot be kept, or the new one cannot be renamed.
pub fn replace(complete: &Path, path: &Path) -> Result<(), IoError> {
    older::make_room(path, path, complete)?;
    fs::rename(complete, path).map_err(|e| IoError::system(path, "write", e))
}

/// Writes a whole file through `fill`, in one call.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`], or the error of `fill`. No part of the file remains.
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
    // The name itself, then its target: a link to a missing file exists, but its target does not.
    let Ok(named) = fs::symlink_metadata(path) else {
        return Ok(match system::identity(path).map(|there| there.kind) {
            Ok(Kind::Null | Kind::Characters | Kind::Pipe) => Target::InPlace(path.to_owned()),
            // Without its directory, the error is that of the temporary.
            _ => Target::Replace(system::full_path(path).unwrap_or_else(|_| path.to_owned())),
        });
    };
    let target = if named.is_symlink() {
        fs::canonicalize(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => IoError::System {
                path: path.to_owned(),
                operation: "write",
                source: io::Error::new(
                    e.kind(),
                    "it is a symbolic link to a file that does not exist",
                ),
            },
            _ => IoError::system(path, "write", e),
        })?
    } else {
        system::full_path(path).map_err(|e| IoError::system(path, "write", e))?
    };
    let kind = fs::metadata(&target)
        .map_err(|e| IoError::system(path, "write", e))?
        .file_type();
    if kind.is_dir() {
        let (path, operation) = (path.to_owned(), "write");
        Err(IoError::IsDirectory { path, operation })
    } else if kind.is_file() {
        system::check_replaceable(&target).map_err(|e| IoError::system(path, "write", e))?;
        Ok(Target::Replace(target))
    } else {
        Ok(Target::InPlace(target))
    }
}

const PREFIX: &str = ".trisolar-";
const SUFFIX: &str = ".tmp";
/// Random characters of a temporary's name.
const RANDOM_CHARACTERS: usize = 6;
/// A temporary beside `target`, locked, with the permissions the final file shall have.
fn temporary(path: &Path, target: &Path) -> Result<NamedTempFile, IoError> {
    let mut prefix = OsString::from(PREFIX);
    prefix.push(short_name(target.file_name().unwrap_or_default()));
    prefix.push("-");
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(&prefix)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARACTERS);
    system::permit_all(&mut builder);
    let file = loop {
        let file = builder
            .tempfile_in(directory_of(target))
            .map_err(|e| IoError::system(path, "create", without_temporary_name(e)))?;
        match system::try_lock(file.as_file()) {
            Ok(()) if is_at(file.as_file(), file.path()) => break file,
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => break file,
            // `remove_abandoned` came between its creation and its lock.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
        }
    };
    if let Ok(old) = fs::metadata(target) {
        file.as_file()
            .set_permissions(old.permissions())
            .map_err(|e| IoError::system(path, "create", e))?;
    }
    Ok(file)
}

/// Removes the temporaries in `directory` that killed processes left, of files for whose names (shortened, if they are very
/// long) `own` holds. Those that are being written are left alone, and so are all where the file system has no locks.
pub fn remove_abandoned(directory: &Path, own: impl Fn(&OsStr) -> bool) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !file_of_temporary(&name).is_some_and(|name| own(&name)) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = File::open(&path)
            && system::try_lock(&file).is_ok()
            && is_at(&file, &path)
        {
            // A failure is ignored: another user owns the file.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether two names are one to the file system of a directory, which may not tell upper from lower case. It is asked about
/// the names of temporaries, which nobody else uses.
pub fn is_one_name(directory: &Path, a: &OsStr, b: &OsStr) -> bool {
    if a == b {
        return true;
    }
    let ascii = a.is_ascii() && b.is_ascii();
    if ascii && !a.eq_ignore_ascii_case(b) {
        return false;
    }
    let target = directory.join(a);
    let Ok(file) = temporary(&target, &target) else {
        return false;
    };
    let mut own = OsString::from(PREFIX);
    own.push(short_name(a));
    let name = file.path().file_name().unwrap_or_default();
    let name = name.as_encoded_bytes();
    // A hyphen, random characters, and the suffix.
    let Some(Ok(rest)) = name.get(own.len()..).map(str::from_utf8) else {
        return false;
    };
    let mut other = OsString::from(PREFIX);
    other.push(short_name(b));
    other.push(rest);
    fs::symlink_metadata(directory.join(other)).is_ok()
}

/// The name of the file that a temporary of this name is for.
fn file_of_temporary(name: &OsStr) -> Option<OsString> {
    let rest = system::strip_suffix(system::strip_prefix(name, PREFIX)?, SUFFIX)?;
    let bytes = rest.as_encoded_bytes();
    let random = &bytes[bytes.len().checked_sub(RANDOM_CHARACTERS + 1)?..];
    let random = str::from_utf8(random).ok()?;
    let file = random
        .starts_with('-')
        .then(|| system::strip_suffix(rest, random));
    file.flatten().map(OsStr::to_owned)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::older::MAX_NAME_BYTES;

    fn write(path: &Path, text: &str) {
        write_with(path, |file| {
            file.write_all(text.as_bytes()).map_err(|e| file.error(e))
        })
        .unwrap();
    }

    #[test]
    fn staged_files_appear_together_and_what_they_contain_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&a, "old").unwrap();
        let ((), staged) = stage(|| {
            write(&a, "new");
            write(&b, "more");
            Ok::<_, IoError>(())
        })
        .unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"old");
        assert!(!b.exists());
        let sums = staged.sums().unwrap();
        let expected = [(a.clone(), Sum::of(b"new")), (b.clone(), Sum::of(b"more"))];
        assert_eq!(sums, expected);
        staged.commit().unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"new");
        assert_eq!(fs::read(&b).unwrap(), b"more");
        // A stage that fails or is dropped changes nothing, and afterwards files appear at once.
        let failed = stage(|| {
            write(&a, "newer");
            Err::<(), _>("no")
        });
        assert_eq!(failed.unwrap_err(), "no");
        let newer = stage(|| {
            write(&b, "newer");
            Ok::<_, IoError>(())
        });
        drop(newer.unwrap());
        assert_eq!(fs::read(&a).unwrap(), b"new");
        assert_eq!(fs::read(&b).unwrap(), b"more");
        write(&a, "last");
        assert_eq!(fs::read(&a).unwrap(), b"last");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn only_temporaries_that_nobody_writes_any_more_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let long = "n".repeat(250);
        let [a, b, long] = ["a.npz", "b.npz", &long].map(|name| folder.path().join(name));
        let abandoned = |path: &Path| {
            let file = AtomicFile::create(path).unwrap();
            let Output::Temporary(buffer) = file.sink else {
                unreachable!()
            };
            // The lock is released, as after the end of a killed process; the file remains.
            buffer
                .into_inner()
                .unwrap()
                .into_temp_path()
                .keep()
                .unwrap()
        };
        let left = [&a, &b, &long].map(|path| abandoned(path));
        let written = AtomicFile::create(&a).unwrap();
        let own = |name: &OsStr| name == "a.npz" || name.len() == MAX_NAME_BYTES;
        remove_abandoned(folder.path(), own);
        assert_eq!(left.map(|path| path.exists()), [false, true, false]);
        written.commit().unwrap();
        assert!(a.exists());
        remove_abandoned(&folder.path().join("nowhere"), own);
    }
}
