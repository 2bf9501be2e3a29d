//! Symbolic links, which differ between operating systems.

use std::io;
use std::path::Path;

/// Makes `from` a symbolic link to `to`.
#[cfg(unix)]
pub fn symlink(to: impl AsRef<Path>, from: impl AsRef<Path>) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

/// Makes `from` a symbolic link to `to`. Windows allows it in its developer mode, or to administrators.
#[cfg(windows)]
pub fn symlink(to: impl AsRef<Path>, from: impl AsRef<Path>) -> io::Result<()> {
    use std::os::windows::fs::{symlink_dir, symlink_file};
    let linked = if to.as_ref().is_dir() {
        symlink_dir(&to, from)
    } else {
        symlink_file(&to, from)
    };
    let hint = |e: io::Error| {
        let text = format!("{e} (symbolic links need the developer mode of Windows)");
        io::Error::new(e.kind(), text)
    };
    linked.map_err(hint)
}
