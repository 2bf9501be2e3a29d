//! Systems like Unix.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};

use super::identity::{FileId, Identity, Kind};

#[cfg(not(target_os = "macos"))]
#[path = "linux.rs"]
mod machine;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod machine;

pub use machine::{available_memory, browser, cpu_name};

fn of_metadata(metadata: &Metadata) -> Identity {
    let kind = metadata.file_type();
    let kind = if kind.is_file() {
        Kind::Regular
    } else if kind.is_dir() {
        Kind::Directory
    } else if kind.is_fifo() {
        Kind::Pipe
    } else if kind.is_char_device() {
        let null = fs::metadata("/dev/null").map(|null| null.rdev());
        match null {
            Ok(null) if null == metadata.rdev() => Kind::Null,
            _ => Kind::Characters,
        }
    } else {
        Kind::Other
    };
    let id = FileId {
        volume: metadata.dev(),
        number: metadata.ino(),
    };
    let names = metadata.nlink();
    Identity { id, kind, names }
}

/// What a path leads to.
///
/// # Errors
/// Those of the system, as for all functions of this module.
pub fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|metadata| of_metadata(&metadata))
}

/// What is at a path, which may be a symbolic link.
///
/// # Errors
/// Those of the system.
pub fn identity_of_link(path: &Path) -> io::Result<Identity> {
    fs::symlink_metadata(path).map(|metadata| of_metadata(&metadata))
}

/// What an open file is.
///
/// # Errors
/// Those of the system.
pub fn identity_of(file: &File) -> io::Result<Identity> {
    file.metadata().map(|metadata| of_metadata(&metadata))
}

/// Opens anything to read it, without waiting for a program that writes into a pipe.
///
/// # Errors
/// Those of the system.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = OFlags::NONBLOCK.bits() as i32;
    options.read(true).custom_flags(flags).open(path)
}

/// The standard input, as [`open_to_read`] opens it.
///
/// # Errors
/// Those of the system.
pub fn standard_input() -> io::Result<File> {
    open_to_read(Path::new("/dev/stdin"))
}

/// Lets reads from a file of [`open_to_read`] wait for bytes from now on.
///
/// # Errors
/// Those of the system.
pub fn wait_in_reads(file: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

/// Names of the standard output and the standard error, and where they go.
pub fn standard_outputs() -> [(&'static str, io::Result<File>); 2] {
    let file = |stream: BorrowedFd| stream.try_clone_to_owned().map(File::from);
    let (output, error) = (io::stdout(), io::stderr());
    [
        ("output", file(output.as_fd())),
        ("error", file(error.as_fd())),
    ]
}

/// Locks a file against other processes until it is closed. It can be read meanwhile.
///
/// # Errors
/// Another process has it locked, or there are no locks there.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Writes bytes to a place of a file.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

/// Gives a file its length and, where the file system supports it, reserves the space on the disk.
///
/// # Errors
/// There is too little space, or the file cannot be written.
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    if bytes > 0 {
        machine::allocate(file, bytes)?;
    }
    file.set_len(bytes)
}

/// Bytes that the user can still write to the disk of a folder.
pub fn free_space(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// The path under which a file can be written and renamed, however long it is.
///
/// # Errors
/// None here.
pub fn full_path(path: &Path) -> io::Result<PathBuf> {
    Ok(path.to_owned())
}

/// Checks that an existing file may be replaced by another one. Here that depends on its directory only.
///
/// # Errors
/// None here.
pub fn check_replaceable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Gives temporary files the permissions of any new file, to which the user's umask applies.
pub fn permit_all(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(fs::Permissions::from_mode(0o666));
}

/// Makes a rename in a directory survive a power cut. Not every file system can; the file is in place either way.
pub fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

/// The name of this machine.
pub fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Calls `handle` on a thread of its own for each signal that asks the program to end (Ctrl-C, termination), with the exit code
/// that stands for the signal. The signals do not end the program any more.
///
/// # Errors
/// Those of the system.
pub fn on_interrupt(mut handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    // A file that grows beyond the shell's limit (`ulimit -f`) must be reported as an error of that file instead of ending the program.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(move || signals.forever().for_each(|signal| handle(128 + signal)))?;
    Ok(())
}
