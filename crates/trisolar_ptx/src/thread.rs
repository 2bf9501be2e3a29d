//! Grids, blocks and threads.

use crate::memory::Shadow;
use crate::order::Order;

/// The grid of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks along x, y and z.
    pub blocks: [u32; 3],
    /// Threads of a block along x, y and z.
    pub threads: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Whether blocks may wait for each other.
    pub cooperative: bool,
}

impl Grid {
    /// A one-dimensional grid without dynamic shared memory.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Self {
            blocks: [blocks, 1, 1],
            threads: [threads, 1, 1],
            shared_bytes: 0,
            cooperative: false,
        }
    }
}

/// What a launch has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Instructions, of all threads.
    pub instructions: u64,
    /// Whether instructions were executed whose bits PTX does not define, such as `rsqrt.approx`.
    pub approximate: bool,
    /// Whether a clock was read, so that the results may depend on the time.
    pub timed: bool,
}

/// What a register does not know: the bits that come from memory that nothing has written, and where they were loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) mask: u64,
    /// Whether it has been computed with, rather than only moved.
    pub(crate) derived: bool,
    pub(crate) pc: u32,
}

/// A function that a thread is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    /// Where its registers, parameters and local memory begin.
    pub(crate) base: usize,
    pub(crate) parameters: usize,
    pub(crate) local: usize,
    /// The call, in the caller.
    pub(crate) call: u32,
    pub(crate) return_to: u32,
}

/// Bytes, with a second byte for each whose bits are set where nothing has been written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) data: Vec<u8>,
    pub(crate) undefined: Vec<u8>,
}

impl Bytes {
    pub(crate) fn resize(&mut self, length: usize) {
        self.data.resize(length, 0x7e);
        self.undefined.resize(length, 0xff);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    /// At the instruction, which needs others.
    Waits,
    Exited,
}

/// An asynchronous copy: where to in shared memory, and the bytes.
pub(crate) type Copy = (u64, Vec<u8>);

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) pc: u32,
    pub(crate) state: State,
    pub(crate) registers: Vec<u64>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) frame: Frame,
    pub(crate) callers: Vec<Frame>,
    pub(crate) parameters: Bytes,
    pub(crate) local: Bytes,
    pub(crate) carry: bool,
    pub(crate) copies: Vec<Vec<Copy>>,
}

/// A block that runs.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: [u32; 3],
    pub(crate) number: u32,
    pub(crate) threads: Vec<Thread>,
    pub(crate) shared: Vec<u128>,
    pub(crate) shadow: Shadow,
    pub(crate) order: Order,
    /// Threads that have arrived at each barrier without waiting.
    pub(crate) arrived: Vec<Vec<u32>>,
}

/// The index along x, y and z of a number.
pub(crate) fn place_in(number: u32, size: [u32; 3]) -> [u32; 3] {
    [
        number % size[0],
        number / size[0] % size[1],
        number / size[0] / size[1],
    ]
}
