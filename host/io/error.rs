//! Errors of files. Every message names the path, the attempted operation and a remedy.

use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The directory of the file does not exist.
    #[error("cannot {operation} {}: the directory {} does not exist; create it first or choose another path", .path.display(), .directory.display())]
    NoDirectory {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The missing directory.
        directory: PathBuf,
    },
    /// A part of the path that should be a directory is a file.
    #[error("cannot {operation} {}: {} is not a directory; choose another path", .path.display(), .directory.display())]
    NotADirectory {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The part that is not a directory.
        directory: PathBuf,
    },
    /// The path names a directory.
    #[error("cannot {operation} {}: it is a directory; give the name of a file in it", .path.display())]
    IsDirectory {
        /// The requested path.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
    },
    /// The user lacks the permission.
    #[error("cannot {operation} {}: not permitted ({source}); change the permissions or choose another path", .path.display())]
    NotPermitted {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// No room: the disk, or the quota of the user, is used up.
    #[error("cannot {operation} {}: the disk is full ({source}); free some space or choose another path", .path.display())]
    DiskFull {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file to be read does not exist.
    #[error("cannot {operation} {}: no such file", .path.display())]
    NotFound {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
    },
    /// Any other failure of the system.
    #[error("cannot {operation} {}: {source}", .path.display())]
    System {
        /// The requested file.
        path: PathBuf,
        /// The attempted operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The extension of a file name is not that of a format that can be written.
    #[error("cannot tell the format of {}: {}; allowed are {allowed}", .path.display(), .extension.as_ref().map_or("it has no extension".to_owned(), |e| format!("unknown extension .{e}")))]
    UnknownFormat {
        /// The file name.
        path: PathBuf,
        /// Its extension, if any.
        extension: Option<String>,
        /// The extensions allowed.
        allowed: &'static str,
    },
    /// The contents of the file are not valid.
    #[error("cannot read {}: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// A description of the error.
        reason: String,
    },
    /// The file is larger than files of its kind may be, or than the free memory.
    #[error("cannot read {}: {reason}", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size and the limit.
        reason: String,
    },
    /// It is a device, or a pipe where a regular file is needed.
    #[error("cannot read {}: it is {kind}; give {wanted}", .path.display())]
    Special {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
        /// The files that can be read.
        wanted: &'static str,
    },
    /// The given data cannot be written in this form.
    #[error("cannot write {}: {reason}", .path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// A description of the error.
        reason: String,
    },
}

impl IoError {
    /// Classifies an error of the system: `operation` is a verb ("create", "write", "read") that fits "cannot … PATH".
    pub fn system(path: &Path, operation: &'static str, source: io::Error) -> Self {
        use io::ErrorKind as K;
        let path = path.to_owned();
        match source.kind() {
            K::NotFound | K::NotADirectory => Self::missing(path, operation, source),
            K::IsADirectory => Self::IsDirectory { path, operation },
            K::PermissionDenied | K::ReadOnlyFilesystem => Self::NotPermitted {
                path,
                operation,
                source,
            },
            K::StorageFull | K::QuotaExceeded => Self::DiskFull {
                path,
                operation,
                source,
            },
            _ => Self::System {
                path,
                operation,
                source,
            },
        }
    }

    /// Finds the part of the path that is missing or not a directory.
    fn missing(path: PathBuf, operation: &'static str, source: io::Error) -> Self {
        let directory = directory_of(&path);
        if directory.is_dir() {
            return if source.kind() == io::ErrorKind::NotFound {
                Self::NotFound { path, operation }
            } else {
                Self::System {
                    path,
                    operation,
                    source,
                }
            };
        }
        match directory.ancestors().find(|a| a.exists()) {
            Some(file) if !file.is_dir() => Self::NotADirectory {
                directory: file.to_owned(),
                path,
                operation,
            },
            _ => Self::NoDirectory {
                path,
                operation,
                directory,
            },
        }
    }
}

/// The directory a path lies in; `.` for a bare file name.
pub fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}
