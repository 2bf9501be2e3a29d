//! Folders that a run created, which are removed again where nothing was put into them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Folders that this process has created and may remove.
static CREATED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// New folders of a run. Dropping them removes those that are empty.
#[derive(Debug, Default)]
pub(super) struct NewFolders {
    /// Outer folders before inner ones.
    paths: Vec<PathBuf>,
}

impl NewFolders {
    /// Creates a folder and those above it, as far as they do not exist.
    pub fn create(&mut self, path: &Path) -> io::Result<()> {
        let missing = path.ancestors().filter(|above| {
            let named = !above.as_os_str().is_empty();
            named && fs::symlink_metadata(above).is_err()
        });
        let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        missing.reverse();
        // Recorded first, so that a folder is removed even if the one in it cannot be created.
        created().extend_from_slice(&missing);
        self.paths.extend(missing);
        fs::create_dir_all(path)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        remove_empty(&self.paths);
        created().retain(|path| !self.paths.contains(path));
    }
}

/// Removes the empty ones among all folders that this process, which is about to end, has created.
pub(super) fn remove_all_empty() {
    let paths = std::mem::take(&mut *created());
    remove_empty(&paths);
}

fn remove_empty(paths: &[PathBuf]) {
    for path in paths.iter().rev() {
        // The system refuses to remove a folder with files.
        let _ = fs::remove_dir(path);
    }
}

fn created() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_folders_remain_only_with_files_and_old_ones_always() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        fs::create_dir(at("old")).unwrap();
        let mut folders = NewFolders::default();
        for name in ["old/a/b", "old/c", "d", "old"] {
            folders.create(&at(name)).unwrap();
            assert!(at(name).is_dir());
        }
        fs::write(at("d/file"), "x").unwrap();
        fs::write(at("old/a/file"), "x").unwrap();
        drop(folders);
        for (name, remains) in [
            ("old", true),
            ("old/a", true),
            ("old/a/b", false),
            ("old/c", false),
            ("d", true),
        ] {
            assert_eq!(at(name).exists(), remains, "{name}");
        }
    }
}
