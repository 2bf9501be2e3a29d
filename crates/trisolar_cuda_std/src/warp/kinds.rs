//! The size of a warp and the kinds of operations among its lanes.

/// The number of lanes of a warp, which is the same on every GPU so far.
pub const WARP_SIZE: u32 = 32;

/// The operation of a [`warp_reduce`](super::warp_reduce).
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// Sum, modulo 2³².
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// How a shuffle finds the lane to read.
#[doc(hidden)]
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpShuffleMode {
    Up,
    Down,
    Idx,
    Xor,
}
