//! Older files under the names of a run's outputs. A run keeps a file that it did not write itself: before it appears, `map.png` is
//! renamed to `map.png.~1~`, the name that `cp --backup=numbered` would give it. Files that have the new bytes already are not kept twice.
//!
//! The rule holds for the files that [`keep`] and [`keep_in`] name; [`AtomicFile`](crate::atomic::AtomicFile) and
//! [`replace`](crate::atomic::replace) follow it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::{IoError, directory_of};
use super::sum::Sum;
use super::system;

/// A file that was replaced, and the name under which it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The output, as its path was given.
    pub path: PathBuf,
    /// The older file.
    pub kept: PathBuf,
}

/// Whether a file of this name is an output.
pub type IsOutput = fn(&OsStr) -> bool;

#[derive(Debug)]
struct Older {
    /// Outputs whose older files are kept.
    files: BTreeSet<PathBuf>,
    /// Folders, and which of the names in them are outputs.
    folders: Vec<(PathBuf, IsOutput)>,
    /// Outputs that this run has written.
    own: BTreeSet<PathBuf>,
    replaced: Vec<Replaced>,
}

static OLDER: Mutex<Older> = Mutex::new(Older {
    files: BTreeSet::new(),
    folders: Vec::new(),
    own: BTreeSet::new(),
    replaced: Vec::new(),
});

fn lock() -> MutexGuard<'static, Older> {
    OLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path without symbolic links: that of the file, or of its directory if there is no file yet.
fn place(path: &Path) -> PathBuf {
    if let Ok(file) = fs::canonicalize(path) {
        return file;
    }
    match (fs::canonicalize(directory_of(path)), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    }
}

/// Keeps the older file of an output.
pub fn keep(path: &Path) {
    lock().files.insert(place(path));
}

/// Keeps the older files of a folder whose names are those of outputs.
pub fn keep_in(folder: &Path, is_output: IsOutput) {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    lock().folders.push((folder, is_output));
}

/// Says that this run, or an earlier process of it, wrote the file at `path`, so that the run may replace it.
pub fn own(path: &Path) {
    lock().own.insert(place(path));
}

/// The files that were replaced so far and have other bytes than those in their place. Copies of the same bytes, which a run leaves that
/// writes a file several times, are removed.
pub fn replaced() -> Vec<Replaced> {
    let mut all = std::mem::take(&mut lock().replaced);
    all.retain(|Replaced { path, kept }| {
        let same = matches!(has_the_bytes_of(kept, path), Ok(true));
        !same || fs::remove_file(kept).is_err()
    });
    all
}

/// Whether two files have the same bytes; false if one of them is missing.
fn has_the_bytes_of(a: &Path, b: &Path) -> Result<bool, IoError> {
    let length = |path: &Path| fs::metadata(path).ok().map(|m| m.len());
    let (Some(one), Some(other)) = (length(a), length(b)) else {
        return Ok(false);
    };
    Ok(one == other && Sum::of_file(a)? == Sum::of_file(b)?)
}

/// Keeps the older file at `target`, if there is one that must be kept, before the file `new` takes its place. `given` is the output as its
/// user named it.
///
/// # Errors
/// A file cannot be read, or the older one cannot be renamed.
pub(super) fn make_room(given: &Path, target: &Path, new: &Path) -> Result<(), IoError> {
    let mut older = lock();
    let place = place(target);
    let is_output = older.files.contains(&place)
        || (older.folders.iter()).any(|(folder, is_output)| {
            place.parent() == Some(folder) && place.file_name().is_some_and(is_output)
        });
    if !is_output || !older.own.insert(place.clone()) {
        return Ok(());
    }
    if !place.is_file() || has_the_bytes_of(&place, new)? {
        return Ok(());
    }
    let kept = set_aside(&place).map_err(|e| IoError::system(given, "keep the older", e));
    if kept.is_err() {
        older.own.remove(&place);
    }
    let kept = kept?;
    // In the words of the user, unless the output is a link to a file elsewhere.
    let beside = given.with_file_name(kept.file_name().unwrap_or_default());
    older.replaced.push(Replaced {
        path: given.to_owned(),
        kept: if beside.exists() { beside } else { kept },
    });
    Ok(())
}

/// Largest number of bytes of a file's name in the names of its temporary and its lock, which are then within the 255 bytes that
/// file systems allow.
pub(super) const MAX_NAME_BYTES: usize = 200;

/// The part of a file's name that the names of its temporary and its lock contain: all of it, unless it is very long.
pub fn short_name(name: &OsStr) -> OsString {
    match name.to_string_lossy() {
        text if text.len() > MAX_NAME_BYTES => {
            text[..text.floor_char_boundary(MAX_NAME_BYTES)].into()
        }
        _ => name.to_owned(),
    }
}

/// Gives a file a second name that no other file has, or has one already, and returns that name.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let name = short_name(path.file_name().unwrap_or_default());
    let mut number = 1_u32;
    loop {
        let mut numbered = name.clone();
        numbered.push(format!(".~{number}~"));
        let kept = path.with_file_name(numbered);
        match fs::hard_link(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let ids = [path, &kept].map(|path| system::identity(path).map(|there| there.id));
                // An earlier process was killed before the new file appeared.
                if let [Ok(a), Ok(b)] = ids
                    && a == b
                {
                    return Ok(kept);
                }
            }
            // Not every file system has hard links.
            Err(_) if !fs::exists(&kept)? => {
                fs::rename(path, &kept)?;
                return Ok(kept);
            }
            Err(_) => {}
        }
        number = number.checked_add(1).ok_or(io::ErrorKind::AlreadyExists)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::write_with;
    use std::io::Write as _;

    fn write(path: &Path, text: &str) {
        let written = write_with(path, |file| {
            file.write_all(text.as_bytes()).map_err(|e| file.error(e))
        });
        written.expect("written");
    }

    fn names(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut all: Vec<_> = entries
            .map(|entry| {
                let entry = entry.expect("an entry");
                let text = fs::read_to_string(entry.path()).expect("text");
                (entry.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn what_others_wrote_is_kept_under_a_number_and_what_the_run_wrote_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let is = |wanted: &[(&str, &str)]| {
            let wanted = wanted
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            assert_eq!(names(folder.path()), wanted.collect::<Vec<_>>());
        };
        let mine = || -> Vec<_> {
            let all = replaced();
            all.into_iter()
                .filter(|r| r.path.starts_with(folder.path()))
                .collect()
        };
        fs::write(at("map.png"), "first").expect("written");
        // A file that nobody declared is replaced.
        fs::write(at("other"), "old").expect("written");
        keep(&at("map.png"));
        write(&at("other"), "new");
        write(&at("map.png"), "first");
        is(&[("map.png", "first"), ("other", "new")]);
        lock().own.clear();
        write(&at("map.png"), "second");
        write(&at("map.png"), "third");
        let kept = at("map.png.~1~");
        is(&[
            ("map.png", "third"),
            ("map.png.~1~", "first"),
            ("other", "new"),
        ]);
        let path = at("map.png");
        assert_eq!(mine(), [Replaced { path, kept }]);
        // A later run that writes a file several times, and at last what was there.
        lock().own.remove(&place(&at("map.png")));
        write(&at("map.png"), "begun");
        write(&at("map.png"), "third");
        assert_eq!(mine(), []);
        is(&[
            ("map.png", "third"),
            ("map.png.~1~", "first"),
            ("other", "new"),
        ]);
        // Of a folder, the files with the names of outputs.
        keep_in(folder.path(), |name| name == "other");
        write(&at("other"), "newer");
        assert_eq!(mine().len(), 1);
        assert!(at("other.~1~").exists());
    }
}
