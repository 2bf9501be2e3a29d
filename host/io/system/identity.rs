//! What a path leads to.

/// Tells a file from all others that exist at the same time, whatever their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    pub(super) volume: u64,
    pub(super) number: u64,
}

/// The kinds of what a path can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file that keeps its bytes.
    Regular,
    /// A directory.
    Directory,
    /// A pipe, named or not.
    Pipe,
    /// The device that is always empty.
    Null,
    /// Another device of characters, such as a terminal.
    Characters,
    /// Anything else.
    Other,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its identity; all devices of characters have one in common where the system numbers only files.
    pub id: FileId,
    /// Its kind.
    pub kind: Kind,
    /// The number of its names (hard links).
    pub names: u64,
}
