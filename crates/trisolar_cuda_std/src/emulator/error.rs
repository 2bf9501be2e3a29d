//! The errors of an emulated launch.

use std::fmt;
use std::panic::{Location, resume_unwind};

use crate::warp::WARP_SIZE;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Index of the block in the grid: x, y, z.
    pub block: [u32; 3],
    /// Index of the thread in the block: x, y, z.
    pub thread: [u32; 3],
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.thread;
        write!(f, "thread ({x}, {y}, {z}) of block {}", Triple(self.block))
    }
}

struct Triple([u32; 3]);

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

/// Threads of a block, by linear index, that wait at the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The call in which they wait, e.g. `sync_threads`.
    pub call: &'static str,
    /// Source position of the call: file:line:column.
    pub place: String,
    /// Linear indices of the threads in the block, ascending.
    pub threads: Vec<u32>,
}

impl Waiting {
    pub(crate) fn new(call: &'static str, at: &Location<'_>, threads: Vec<u32>) -> Self {
        Self {
            call,
            place: format!("{}:{}:{}", at.file(), at.line(), at.column()),
            threads,
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {} in {}",
            Threads(&self.threads),
            self.call,
            self.place
        )
    }
}

/// A list of thread indices, printed as ranges.
struct Threads<'a>(&'a [u32]);

impl fmt::Display for Threads<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_RANGES_SHOWN: usize = 8;
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for &thread in self.0 {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == thread => *last = thread,
                _ => ranges.push((thread, thread)),
            }
        }
        write!(
            f,
            "{} thread{} (",
            self.0.len(),
            if self.0.len() == 1 { "" } else { "s" }
        )?;
        for (i, (first, last)) in ranges.iter().take(MAX_RANGES_SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        f.write_str(if ranges.len() > MAX_RANGES_SHOWN {
            ", …)"
        } else {
            ")"
        })
    }
}

/// Several groups of waiting threads, as a message prints them.
struct Groups<'a>(&'a [Waiting]);

impl fmt::Display for Groups<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, group) in self.0.iter().enumerate() {
            write!(f, "{}{group}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// The reason why a launch failed. Blocks that had finished before the failure have written their results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The grid or block has dimensions that no GPU accepts.
    #[error("{what} is {given}, but must be {allowed}")]
    Dimensions {
        /// The dimension at fault.
        what: &'static str,
        /// The value that was asked for.
        given: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The kernel is not compiled for blocks of so many threads.
    #[error(transparent)]
    LaunchBounds(#[from] crate::kernel::TooManyThreads),
    /// The grid is not a multiple of the kernel's clusters.
    #[error(transparent)]
    Clusters(#[from] crate::kernel::UnevenClusters),
    /// An array of a launch of a safe kernel does not fit.
    #[error(transparent)]
    Argument(#[from] crate::ArgumentError),
    /// A block uses more shared memory than any GPU has.
    #[error("block {} uses {bytes} bytes of shared memory, but at most {limit} are possible", Triple(*.block))]
    SharedMemory {
        /// The block.
        block: [u32; 3],
        /// Bytes of all arrays so far, static and dynamic.
        bytes: usize,
        /// The largest size that is possible.
        limit: usize,
    },
    /// Some threads wait for others that will never arrive.
    #[error(
        "block {} hangs: {}; {} have exited",
        Triple(*.block), Groups(.waiting), Threads(.exited)
    )]
    Hang {
        /// The block.
        block: [u32; 3],
        /// The waiting threads, grouped by call and place.
        waiting: Vec<Waiting>,
        /// Threads that have finished.
        exited: Vec<u32>,
    },
    /// Threads of a block met at a barrier but called different barrier functions.
    #[error("block {}: threads called different barriers: {}", Triple(*.block), Groups(.waiting))]
    MixedBarriers {
        /// The block.
        block: [u32; 3],
        /// The threads, grouped by the barrier that they called.
        waiting: Vec<Waiting>,
    },
    /// The lanes of a mask do not all make the same warp operation.
    #[error(
        "block {}, warp {warp}: {call} with mask {mask:#010x} in {place}: {reason}",
        Triple(*.block)
    )]
    DivergentWarp {
        /// The block.
        block: [u32; 3],
        /// Linear index of the warp in the block.
        warp: u32,
        /// The operation.
        call: &'static str,
        /// Its mask.
        mask: u32,
        /// Source position of the call.
        place: String,
        /// The lane or lanes at fault.
        reason: String,
    },
    /// An access was outside of a [`SharedSlice`](crate::shared::SharedSlice).
    #[error("{site}: element {index} of a shared array of {length} elements, in {place}")]
    SharedIndex {
        /// The thread.
        site: Site,
        /// First element of the access that is out of bounds.
        index: usize,
        /// Number of elements.
        length: usize,
        /// Source position of the access.
        place: String,
    },
    /// Bytes next to a shared array were overwritten; detected at the end of the block.
    #[error("block {}: something wrote {side} {array} of {bytes} bytes in shared memory", Triple(*.block))]
    SharedOverrun {
        /// The block.
        block: [u32; 3],
        /// "before" or "after".
        side: &'static str,
        /// The array: its type, or "the dynamic array".
        array: String,
        /// Its size.
        bytes: usize,
    },
    /// The kernel panicked.
    #[error("{site} panicked: {message}")]
    Panic {
        /// The thread.
        site: Site,
        /// The panic's message.
        message: String,
    },
    /// A thread did what ends a kernel on a GPU, or has undefined results there: an access outside of buffers, a misaligned one, an abort.
    #[error("{site} {what}")]
    Fault {
        /// The thread.
        site: Site,
        /// What it did, such as "wrote right after the end of a buffer of 400 bytes".
        what: String,
    },
    /// Bytes next to a buffer were overwritten; detected at the end of the launch.
    #[error("a kernel wrote right {side} a buffer of {bytes} bytes")]
    Overrun {
        /// "before" or "after".
        side: &'static str,
        /// The size of the buffer.
        bytes: usize,
    },
    /// There is no memory for the stack of a thread.
    #[error("no memory for the stack ({bytes} bytes) of a thread: {reason}")]
    Stack {
        /// Bytes of a stack.
        bytes: usize,
        /// The operating system's message.
        reason: String,
    },
}

/// The payload that a thread throws to end the launch with a given error.
pub(crate) enum Fault {
    SharedIndex {
        index: usize,
        length: usize,
        at: &'static Location<'static>,
    },
    SharedMemory {
        bytes: usize,
        limit: usize,
    },
    NotInMask {
        call: &'static str,
        mask: u32,
        lane: u32,
        at: &'static Location<'static>,
    },
}

impl Fault {
    pub(crate) fn into_error(self, site: Site, linear: u32) -> EmulatorError {
        let place = |at: &Location<'_>| format!("{}:{}:{}", at.file(), at.line(), at.column());
        match self {
            Fault::SharedIndex { index, length, at } => EmulatorError::SharedIndex {
                site,
                index,
                length,
                place: place(at),
            },
            Fault::SharedMemory { bytes, limit } => EmulatorError::SharedMemory {
                block: site.block,
                bytes,
                limit,
            },
            Fault::NotInMask {
                call,
                mask,
                lane,
                at,
            } => EmulatorError::DivergentWarp {
                block: site.block,
                warp: linear / WARP_SIZE,
                call,
                mask,
                place: place(at),
                reason: format!("lane {lane} called it, but is not in the mask"),
            },
        }
    }
}

/// Ends the launch with an error.
pub(crate) fn fail(fault: Fault) -> ! {
    resume_unwind(Box::new(SendFault(fault)))
}

/// Wraps a [`Fault`], because the payload of a panic has to be `Send`.
pub(crate) struct SendFault(pub Fault);
