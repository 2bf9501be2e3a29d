//! Locks on outputs, by which a second run detects the first one and names its process.
//!
//! A lock is a file beside the output that describes its holder, together with a system lock (`flock`) on that file, which is
//! released when the process ends. On a file system that has no locks, or that accepts no new file, runs continue without locks.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::new_folders;
use crate::io::{atomic, system};

/// Longest time for which a killed process may keep its locks, because GPU drivers take some time to clean up after it.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(4);
/// Time between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Lock files that this process has created.
static HELD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A lock on an output. Dropping it releases the lock and removes its file.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Holds the system lock.
    _file: File,
}

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub process: u32,
    /// The name of its machine.
    pub host: String,
    /// Start of the lock, in seconds since 1970 (UTC).
    pub since: u64,
}

impl Holder {
    /// This process, now.
    fn here() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            process: std::process::id(),
            host: system::host_name(),
            since: since.map_or(0, |since| since.as_secs()),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            process,
            host,
            since,
        } = self;
        let since = utc(*since);
        write!(f, "process {process} on {host}, since {since}")
    }
}

/// Another run holds the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Its holder, if that can be read.
    pub holder: Option<Holder>,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is being written by another run")?;
        match &self.holder {
            Some(holder) => write!(f, " ({holder})"),
            None => Ok(()),
        }
    }
}

impl Lock {
    /// Takes the lock `name` in a folder, for this process; waits a little for a process that is ending. `None` if locks are
    /// not possible there.
    ///
    /// # Errors
    /// [`Busy`] if another run has it.
    pub fn take(folder: &Path, name: &std::ffi::OsStr) -> Result<Option<Self>, Busy> {
        let mut file_name = OsString::from(".trisolar-");
        file_name.push(atomic::short_name(name));
        file_name.push(".lock");
        let path = folder.join(file_name);
        let end = Instant::now() + RELEASE_TIMEOUT;
        loop {
            let Some((mut file, writable)) = open(&path) else {
                return Ok(None);
            };
            match system::try_lock(&file) {
                // Its holder may have removed the file after it was opened here.
                Ok(()) if !system::is_at(&file, &path) => {}
                Ok(()) => {
                    if writable {
                        // The lock is valid even if its holder cannot be written.
                        let _ = sign(&mut file);
                    }
                    lock(&HELD).push(path.clone());
                    return Ok(Some(Self { path, _file: file }));
                }
                Err(TryLockError::Error(_)) => {
                    // There are no locks here, so the file would have no meaning.
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    thread::sleep(RETRY_INTERVAL)
                }
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&mut file);
                    return Err(Busy { holder });
                }
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is locked, so that no other process can acquire it in between.
        let _ = fs::remove_file(&self.path);
        lock(&HELD).retain(|path| *path != self.path);
    }
}

/// Removes the files of all locks of this process, which is about to end without dropping them, and the empty ones among the folders
/// that it created.
pub fn release_all() {
    for path in lock(&HELD).drain(..) {
        let _ = fs::remove_file(path);
    }
    new_folders::remove_all_empty();
}

/// Locks a file that only one run may write; waits a little for a process that is ending. Does nothing where locks are not possible.
///
/// # Errors
/// [`Busy`] if another run has it.
pub fn hold(file: &File) -> Result<(), Busy> {
    let end = Instant::now() + RELEASE_TIMEOUT;
    loop {
        match system::try_lock(file) {
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(RETRY_INTERVAL),
            Err(TryLockError::WouldBlock) => return Err(Busy { holder: None }),
            // Not every file system has locks.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}

/// The lock file, and whether it can be written.
fn open(path: &Path) -> Option<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    if let Ok(file) = options.open(path) {
        return Some((file, true));
    }
    // The file belongs to another user, whose run may be active.
    File::open(path).ok().map(|file| (file, false))
}

fn sign(file: &mut File) -> std::io::Result<()> {
    let text = serde_json::to_string(&Holder::here()).expect("plain data");
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

/// Largest number of bytes that are read of a lock file.
const MAX_LOCK_FILE_BYTES: u64 = 4096;

fn holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(MAX_LOCK_FILE_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    serde_json::from_str(&text).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since 1970 as a date and a time of day.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days (2013): years begin in March, eras have 400 of them.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn take(folder: &Path) -> Result<Option<Lock>, Busy> {
        Lock::take(folder, OsStr::new("end.npz"))
    }

    #[test]
    fn the_second_finds_who_has_it_and_nothing_is_left_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path()).unwrap().expect("there are locks here");
        let busy = take(folder.path()).unwrap_err();
        let said = busy.to_string();
        let pid = format!("(process {} on ", std::process::id());
        assert!(said.contains(&pid) && said.ends_with(" UTC)"), "{said}");
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(take(folder.path()).unwrap().expect("free again"));
        // The file that a killed process leaves behind is not a lock.
        fs::write(folder.path().join(".trisolar-end.npz.lock"), "{}").unwrap();
        drop(take(folder.path()).unwrap().expect("nobody has it"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn where_no_file_can_be_made_a_run_goes_on_without_a_lock() {
        #[cfg(target_os = "linux")]
        assert!(take(Path::new("/proc")).unwrap().is_none());
        assert!(take(Path::new("/nowhere/at/all")).unwrap().is_none());
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
