//! Where a path leads: two paths are of the same file if the file system says so, whatever they look like.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::io::atomic::{directory_of, is_one_name};

/// Device and number of a file or directory.
type Id = (u64, u64);

fn id(metadata: &Metadata) -> Id {
    (metadata.dev(), metadata.ino())
}

/// Where a file is, or will be.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The directory that it is in, without symbolic links.
    pub directory: PathBuf,
    directory_id: Id,
    /// Its name there.
    pub name: OsString,
    /// What is there already.
    there: Option<Metadata>,
}

impl Place {
    /// Where `path` leads; `None` if there is no directory for it.
    pub fn of(path: &Path) -> Option<Self> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
        // A link that leads nowhere stays what it is: nothing can be written there.
        let target = is_link.then(|| fs::canonicalize(path).ok()).flatten();
        let target = target.as_deref().unwrap_or(path);
        let there = fs::metadata(target).ok();
        let (directory, name) = match target.file_name() {
            Some(name) => (
                fs::canonicalize(directory_of(target)).ok()?,
                name.to_owned(),
            ),
            // `.`, `..` or `/`.
            None => {
                let whole = fs::canonicalize(target).ok()?;
                let name = whole.file_name().unwrap_or_default().to_owned();
                (directory_of(&whole), name)
            }
        };
        let directory_id = id(&fs::metadata(&directory).ok()?);
        Some(Self {
            directory,
            directory_id,
            name,
            there,
        })
    }

    /// Of what an open file is, if that is a regular file.
    pub fn id_of(file: &fs::File) -> Option<Id> {
        let metadata = file.metadata().ok()?;
        metadata.is_file().then(|| id(&metadata))
    }

    /// Its path without symbolic links.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// What is there already, if anything.
    pub fn id(&self) -> Option<Id> {
        self.there.as_ref().map(id)
    }

    /// Whether both are the same file, or will be.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.there, &other.there) {
            // What goes to such a device (as /dev/null) is not kept: several may write there.
            (Some(a), Some(b)) => id(a) == id(b) && !a.file_type().is_char_device(),
            (None, None) => {
                self.directory_id == other.directory_id
                    && (self.name == other.name
                        || is_one_name(&self.directory, &self.name, &other.name))
            }
            _ => false,
        }
    }

    /// Whether it is in the directory `other`.
    pub fn is_in(&self, other: &Self) -> bool {
        other.id() == Some(self.directory_id)
    }

    /// Whether the file may have other names (hard links).
    pub fn has_other_names(&self) -> bool {
        self.there
            .as_ref()
            .is_some_and(|m| m.is_file() && m.nlink() > 1)
    }

    /// Names and numbers of what is in this directory.
    pub fn entries(&self) -> impl Iterator<Item = (OsString, Id)> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let metadata = fs::metadata(entry.path()).ok()?;
            Some((entry.file_name(), id(&metadata)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_file_is_known_by_all_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|name| Place::of(&at(name)).expect("a directory"));
            a.is(&b)
        };
        fs::create_dir(at("d")).unwrap();
        symlink(at("d"), at("to-d")).unwrap();
        // Of files that are not there yet.
        assert!(same("a", "a") && same("a", "./a") && same("d/a", "to-d/a") && same("d/../a", "a"));
        assert!(!same("a", "b") && !same("a", "d/a") && !same("á", "a"));
        let case_matters = !fs::exists(at("D")).unwrap();
        assert_eq!(same("a.npz", "A.npz"), !case_matters);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // And of those that are.
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        symlink(at("a"), at("to-a")).unwrap();
        fs::hard_link(at("a"), at("d/also-a")).unwrap();
        assert!(same("a", "to-a") && same("a", "d/also-a") && same("to-a", "to-d/also-a"));
        assert!(!same("a", "b") && !same("a", "d") && !same("a", "c"));
        assert!(same("d", "to-d") && same("d", "d/.") && same(".", "d/.."));
        assert!(Place::of(&at("nowhere/a")).is_none());
        for name in ["null", "also-null"] {
            symlink("/dev/null", at(name)).unwrap();
        }
        assert!(!same("null", "also-null"));
    }
}
