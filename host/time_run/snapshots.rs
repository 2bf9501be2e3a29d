//! `--snapshots`: a folder of states, 00000.npz, 00001.npz and so on, which runs of bodies write.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use trisolar_run::{Names, Record, Refused};

use super::Error;

/// The names of the files.
pub const SNAPSHOTS: Names = Names {
    what: "snapshots",
    owns: |name| number(name).is_some(),
    parents: true,
    keeps_older: false,
};

/// A snapshot's number, from its file's name.
fn number(name: &OsStr) -> Option<usize> {
    let digits = name.to_str()?.strip_suffix(".npz")?;
    let all = digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

/// The file of a snapshot.
pub fn path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number:05}.npz"))
}

/// Snapshots that are in the folder, with their numbers.
fn there(folder: &Path) -> Vec<(usize, PathBuf)> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut there: Vec<_> = entries
        .filter_map(|entry| Some((number(&entry.file_name())?, entry.path())))
        .collect();
    there.sort();
    there
}

/// Refuses a folder that has snapshots of another run.
///
/// # Errors
/// [`Refused`].
pub fn refuse_others(folder: &Path) -> Result<(), Refused> {
    if let Some((_, path)) = there(folder).first() {
        let reason = format!(
            "the folder has snapshots of another run ({}); choose another folder, or remove them",
            path.file_name().unwrap_or_default().display()
        );
        return Err(Refused::new("--snapshots", folder, reason));
    }
    Ok(())
}

/// For a resumed run with this many snapshots: refuses files that it would overwrite and that are not its own, and returns notes about
/// changes of those that it has written. The last one may be missing if the run can write it again.
///
/// # Errors
/// Files that are not the run's own, or cannot be read.
pub fn check(
    folder: &Path,
    count: usize,
    last_again: bool,
    record: &Record,
) -> Result<Vec<String>, Error> {
    for (_, path) in there(folder).iter().filter(|(n, _)| *n >= count) {
        record.check("--snapshots", path)?;
    }
    let mut said = Vec::new();
    for (n, path) in (0..count).map(|n| (n, path(folder, n))) {
        if last_again && n + 1 == count && !path.exists() {
            continue;
        }
        let Some(sum) = record.sums(&path).last() else {
            continue;
        };
        if let Some(what) = sum.difference(&path)? {
            said.push(format!(
                "{}: {what}; the run is past this snapshot and does not write it again",
                path.display()
            ));
        }
    }
    Ok(said)
}
