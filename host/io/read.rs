//! Opens every file that this crate reads.
//!
//! A file must be within the limit of its kind and within the free memory, and must be a regular file or a pipe. A device such as
//! `/dev/zero`, which never ends, and a pipe that no program opens for writing are refused.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use super::IoError;
use crate::system::{self, Kind};

/// The path that means the standard input.
pub const STANDARD_INPUT: &str = "-";

/// The largest size of a kind of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The kind of file, with its article.
    what: &'static str,
    /// Largest number of bytes of the file.
    bytes: u64,
    /// Bytes of memory per byte of the file, after it is read and processed.
    memory: u64,
}

impl Limit {
    /// Specifications in TOML.
    pub const CONFIGURATION: Self = Self::new("a configuration file", 1 << 20, 1);
    /// Records of runs in JSON.
    pub const RECORD: Self = Self::new("a record", 256 << 20, 4);
    /// Bodies and start states as text. A number takes about 20 characters, and 8 bytes of memory.
    pub const NUMBERS: Self = Self::new("a text of numbers", 1 << 40, 2);
    /// Binary snapshots, which are taken apart in memory.
    pub const SNAPSHOT: Self = Self::new("a snapshot", 1 << 40, 3);

    const fn new(what: &'static str, bytes: u64, memory: u64) -> Self {
        Self {
            what,
            bytes,
            memory,
        }
    }

    /// Checks that a file of at least this many bytes may be read; some of them are already in memory.
    fn check(self, path: &Path, bytes: u64, in_memory: u64) -> Result<(), IoError> {
        if bytes > self.bytes {
            let reason = format!(
                "{} has at most {}, and this one has more",
                self.what,
                in_words(self.bytes)
            );
            return Err(too_large(path, reason));
        }
        check_memory(path, bytes.saturating_mul(self.memory) - in_memory)
    }
}

/// Longest time to wait until a program opens a pipe for writing.
const PIPE_OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes after which the limit is checked again.
const BYTES_PER_CHECK: u64 = 1 << 20;

/// Checks that this much memory is free for the contents of a file.
///
/// # Errors
/// [`IoError::TooLarge`].
pub fn check_memory(path: &Path, bytes: u64) -> Result<(), IoError> {
    let available = system::available_memory();
    if available == 0 || bytes <= available {
        return Ok(());
    }
    let reason = format!(
        "it needs {} of memory, and {} are free",
        in_words(bytes),
        in_words(available)
    );
    Err(too_large(path, reason))
}

fn too_large(path: &Path, reason: String) -> IoError {
    let path = path.to_owned();
    IoError::TooLarge { path, reason }
}

/// A number of bytes in a suitable unit.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// Opens a regular file, for readers that seek.
///
/// # Errors
/// It is a directory, a device or a pipe, or the errors of the system.
pub fn open(path: &Path) -> Result<File, IoError> {
    let (file, kind) = opened(path)?;
    match kind {
        FileKind::Regular => Ok(file),
        FileKind::Pipe => Err(special(path, "a pipe", "a regular file")),
        FileKind::Nothing => Err(special(path, "a device", "a regular file")),
    }
}

/// Opens a regular file or a pipe, for readers that read it once and stop by themselves.
///
/// # Errors
/// It is a directory or a device, or a pipe into which no program writes; or the errors of the system.
pub fn stream(path: &Path) -> Result<impl Read + use<>, IoError> {
    let (mut file, kind) = opened(path)?;
    let mut begun = Vec::new();
    match kind {
        FileKind::Regular => {}
        FileKind::Pipe => begun = begin_pipe(path, &mut file)?,
        FileKind::Nothing => return Err(special(path, "a device", "a file or a pipe")),
    }
    Ok(io::Cursor::new(begun).chain(file))
}

/// Reads the whole file.
///
/// # Errors
/// [`IoError::TooLarge`], and those of [`stream`].
pub fn bytes(path: &Path, limit: Limit) -> Result<Vec<u8>, IoError> {
    let (mut file, kind) = opened(path)?;
    let failed = |e| IoError::system(path, "read", e);
    let mut bytes = Vec::new();
    match kind {
        FileKind::Nothing => return Ok(bytes),
        FileKind::Regular => {
            let length = file.metadata().map_err(failed)?.len();
            limit.check(path, length, 0)?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            reserve(path, &mut bytes, length)?;
        }
        FileKind::Pipe => {
            bytes = begin_pipe(path, &mut file)?;
        }
    }
    // A regular file may grow while it is read.
    go_on(file, path, limit, bytes)
}

/// Reads all bytes of a reader, such as a member of the archive at `path`.
///
/// # Errors
/// [`IoError::TooLarge`], and those of the reader.
pub(super) fn all(from: impl Read, path: &Path, limit: Limit) -> Result<Vec<u8>, IoError> {
    go_on(from, path, limit, Vec::new())
}

/// Reads the rest after the bytes in `begun`.
fn go_on(
    mut from: impl Read,
    path: &Path,
    limit: Limit,
    mut begun: Vec<u8>,
) -> Result<Vec<u8>, IoError> {
    let failed = |e: io::Error| match e.kind() {
        // The error of a reader that decodes a format.
        io::ErrorKind::InvalidData => IoError::Malformed {
            path: path.to_owned(),
            reason: e.to_string(),
        },
        _ => IoError::system(path, "read", e),
    };
    loop {
        limit.check(path, begun.len() as u64, begun.len() as u64)?;
        let count = from.by_ref().take(BYTES_PER_CHECK).read_to_end(&mut begun);
        if count.map_err(failed)? == 0 {
            return Ok(begun);
        }
    }
}

/// Reads the whole file as text, in UTF-8 or, after a byte-order mark, in UTF-16, which some programs of Windows write. The mark is not
/// part of the text.
///
/// # Errors
/// As [`bytes`], and [`IoError::Malformed`] if it is no text.
pub fn text(path: &Path, limit: Limit) -> Result<String, IoError> {
    let bytes = bytes(path, limit)?;
    let malformed = |reason: String| IoError::Malformed {
        path: path.to_owned(),
        reason,
    };
    let units: Option<fn([u8; 2]) -> u16> = match bytes[..] {
        [0xff, 0xfe, _, _, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, _, _, ..] => Some(u16::from_be_bytes),
        _ => None,
    };
    if let Some(unit) = units {
        let (units, _) = bytes[2..].as_chunks::<2>();
        let units = units.iter().copied().map(unit);
        let text: Result<String, _> = char::decode_utf16(units).collect();
        return text.map_err(|_| malformed("it is not a text file".into()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        malformed(format!("it is not a text file: line {line} is not UTF-8"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Reserves memory for the bytes to be read.
fn reserve(path: &Path, bytes: &mut Vec<u8>, length: usize) -> Result<(), IoError> {
    let refused = |_| too_large(path, "the system does not have enough memory for it".into());
    bytes.try_reserve_exact(length).map_err(refused)
}

/// The files that can be read.
enum FileKind {
    Regular,
    Pipe,
    /// `/dev/null`.
    Nothing,
}

/// Opens without waiting for a writer, and determines the kind.
fn opened(path: &Path) -> Result<(File, FileKind), IoError> {
    let failed = |e| IoError::system(path, "read", e);
    let file = if path == Path::new(STANDARD_INPUT) {
        system::standard_input()
    } else {
        system::open_to_read(path)
    };
    let file = file.map_err(failed)?;
    match system::identity_of(&file).map_err(failed)?.kind {
        Kind::Regular => Ok((file, FileKind::Regular)),
        Kind::Pipe => Ok((file, FileKind::Pipe)),
        Kind::Null => Ok((file, FileKind::Nothing)),
        Kind::Directory => {
            let path = path.to_owned();
            let operation = "read";
            Err(IoError::IsDirectory { path, operation })
        }
        Kind::Characters | Kind::Other => Err(special(path, "a device", "a file or a pipe")),
    }
}

fn special(path: &Path, kind: &'static str, wanted: &'static str) -> IoError {
    IoError::Special {
        path: path.to_owned(),
        kind,
        wanted,
    }
}

/// Waits until a program writes into the pipe; returns the bytes that have arrived by then.
fn begin_pipe(path: &Path, file: &mut File) -> Result<Vec<u8>, IoError> {
    let failed = |e| IoError::system(path, "read", e);
    let began = Instant::now();
    let mut first = vec![0; 4096];
    let count = loop {
        match file.read(&mut first) {
            // No program has it open for writing.
            Ok(0) if began.elapsed() < PIPE_OPEN_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(0) => return Err(special(path, "a pipe into which nobody writes", "a file")),
            Ok(count) => break count,
            // A program has it open, but has not written yet.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break 0,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(e)),
        }
    };
    first.truncate(count);
    // From now on a read waits for the writer.
    system::wait_in_reads(file).map_err(failed)?;
    Ok(first)
}

// Pipes and devices are made with calls of Unix.
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const SMALL: Limit = Limit::new("a small file", 10, 1);

    fn refused(path: &Path) -> String {
        bytes(path, SMALL).unwrap_err().to_string()
    }

    #[test]
    fn files_up_to_the_limit_are_read_and_larger_ones_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "0123456789").expect("writes");
        assert_eq!(text(&path, SMALL).expect("fits"), "0123456789");
        std::fs::write(&path, "0123456789x").expect("writes");
        let said = refused(&path);
        assert!(said.contains("a small file has at most 10 bytes"), "{said}");
        std::fs::write(&path, [0xff, 0xfe]).expect("writes");
        let said = text(&path, SMALL).unwrap_err().to_string();
        assert!(said.contains("not a text file"), "{said}");
    }

    #[test]
    fn more_than_the_free_memory_is_refused() {
        let said = check_memory(Path::new("a"), 1 << 60).unwrap_err();
        assert!(said.to_string().contains("are free"), "{said}");
        check_memory(Path::new("a"), 1 << 20).expect("a MiB is free");
    }

    #[test]
    fn what_does_not_end_is_refused_and_what_is_empty_is_not() {
        assert!(refused(Path::new("/dev/zero")).contains("it is a device"));
        assert!(refused(Path::new("/")).contains("it is a directory"));
        assert!(refused(Path::new("/none")).contains("no such file"));
        assert!(
            bytes(Path::new("/dev/null"), SMALL)
                .expect("empty")
                .is_empty()
        );
        assert!(open(Path::new("/dev/null")).is_err());
    }

    fn pipe(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a pipe");
        path
    }

    #[test]
    fn a_pipe_is_read_to_its_end_or_its_limit_and_not_waited_for_without_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = pipe(folder.path());
        assert!(open(&path).unwrap_err().to_string().contains("a pipe"));
        for (pieces, expected) in [(2, Some("abcabc")), (5, None)] {
            let read = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut file = std::fs::OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .expect("a reader");
                    for _ in 0..pieces {
                        std::thread::sleep(Duration::from_millis(30));
                        // The reader may have closed the pipe already.
                        let _ = io::Write::write_all(&mut file, b"abc");
                    }
                });
                text(&path, SMALL)
            });
            assert_eq!(read.ok().as_deref(), expected);
        }
        let began = Instant::now();
        let said = refused(&path);
        assert!(said.contains("nobody writes"), "{said}");
        assert!(began.elapsed() >= PIPE_OPEN_TIMEOUT);
    }

    /// Text of the program, without its tests.
    fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                let program = text.split("\nmod tests {").next().unwrap_or_default();
                let name = path.to_string_lossy().into_owned();
                if !name.ends_with("tests.rs") && !name.contains("/tests/") {
                    found.push((name, program.to_owned()));
                }
            }
        }
    }

    #[test]
    fn nothing_else_opens_files_for_reading() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["host", "python/src", "crates/trisolar_c/src"] {
            sources(&root.join(folder), &mut found);
        }
        assert!(found.len() > 100);
        // Files of the system, files that a run itself is making, a folder to be synchronised, and files of which a small part is read.
        let others = [
            "host/io/system/linux.rs",
            "host/io/system/unix.rs",
            "host/systems/mpi.rs",
            "host/io/read.rs",
            "host/io/atomic.rs",
            "host/run/lock.rs",
            "host/explore/cache.rs",
        ];
        for (name, text) in found {
            if others.iter().any(|other| name.ends_with(other)) {
                continue;
            }
            for call in ["fs::read(", "fs::read_to_string(", "File::open("] {
                assert!(!text.contains(call), "{name} calls {call}");
            }
        }
    }
}
