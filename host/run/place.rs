//! The file to which a path leads. The file system decides whether two paths lead to the same file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::io::atomic::{directory_of, is_one_name};
use crate::io::system::{self, FileId, Identity, Kind};

/// The place of an existing or future file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The directory that it is in, without symbolic links.
    pub directory: PathBuf,
    directory_id: FileId,
    /// Its name there.
    pub name: OsString,
    /// The existing file.
    there: Option<Identity>,
}

impl Place {
    /// The place to which `path` leads; `None` if its directory does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
        // A link to a missing file is not followed, because nothing can be written there.
        let target = is_link.then(|| fs::canonicalize(path).ok()).flatten();
        let target = target.as_deref().unwrap_or(path);
        let there = system::identity(target).ok();
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
        let directory_id = system::identity(&directory).ok()?.id;
        Some(Self {
            directory,
            directory_id,
            name,
            there,
        })
    }

    /// The id of an open file, if it is a regular file.
    pub fn id_of(file: &fs::File) -> Option<FileId> {
        let identity = system::identity_of(file).ok()?;
        (identity.kind == Kind::Regular).then_some(identity.id)
    }

    /// Its path without symbolic links.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// The id of the existing file, if there is one.
    pub fn id(&self) -> Option<FileId> {
        self.there.map(|there| there.id)
    }

    /// Whether both are or will be the same file.
    pub fn is(&self, other: &Self) -> bool {
        match (&self.there, &other.there) {
            // Several runs may write to a character device such as /dev/null, which keeps no data.
            (Some(a), Some(b)) => a.id == b.id && !matches!(a.kind, Kind::Null | Kind::Characters),
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
            .is_some_and(|there| there.kind == Kind::Regular && there.names > 1)
    }

    /// Names and ids of the entries of this directory.
    pub fn entries(&self) -> impl Iterator<Item = (OsString, FileId)> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let identity = system::identity(&entry.path()).ok()?;
            Some((entry.file_name(), identity.id))
        })
    }
}

#[cfg(all(test, unix))]
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
        // Files that do not exist yet.
        assert!(same("a", "a") && same("a", "./a") && same("d/a", "to-d/a") && same("d/../a", "a"));
        assert!(!same("a", "b") && !same("a", "d/a") && !same("á", "a"));
        let case_matters = !fs::exists(at("D")).unwrap();
        assert_eq!(same("a.npz", "A.npz"), !case_matters);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // Existing files.
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
