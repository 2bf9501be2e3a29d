//! What is wrong with a launch, and where.

use std::fmt;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// An access outside of every buffer, variable and array.
    OutOfBounds,
    /// An access to memory that has been freed.
    Freed,
    /// An address that is no multiple of the size of the access.
    Misaligned,
    /// A use of memory that nothing has written.
    Uninitialised,
    /// Two accesses of a word by different threads, of which one writes, and that nothing orders.
    Race,
    /// A write to memory that kernels may only read.
    ReadOnly,
    /// A barrier or an operation of a warp that some threads do not reach.
    Hang,
    /// A barrier or an operation of a warp that is used wrongly.
    Misuse,
    /// The kernel executed `trap`, as after a panic.
    Trap,
    /// The launch does not fit the kernel.
    Launch,
    /// An instruction that this interpreter does not have.
    Unsupported,
}

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source file and line, where the PTX has line tables (`CudaBuilder::generate_line_info`).
    pub source: Option<(String, u32)>,
    /// The line of the PTX.
    pub line: u32,
    /// The function of the PTX.
    pub function: String,
    /// The instruction.
    pub instruction: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.source {
            write!(f, "{file}:{line}, ")?;
        }
        write!(f, "`{}` in line {} of the PTX", self.instruction, self.line)
    }
}

/// A fault of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// The kernel.
    pub kernel: String,
    /// The block and the thread, unless the launch itself is wrong.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// Where it is.
    pub place: Option<Place>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kernel)?;
        if let Some(([bx, by, bz], [x, y, z])) = self.thread {
            write!(f, ", thread ({x},{y},{z}) of block ({bx},{by},{bz})")?;
        }
        write!(f, ": {}", self.what)?;
        match &self.place {
            Some(place) => write!(f, " ({place})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
