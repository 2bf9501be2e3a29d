//! The values that the lanes of a warp exchange when all lanes of a mask have called the same operation.

use std::panic::Location;

use crate::warp::{WARP_SIZE, WarpReductionOp, WarpShuffleMode};

/// One lane's call.
#[derive(Clone, Copy)]
pub(crate) struct WarpCall {
    pub operation: Operation,
    pub mask: u32,
    /// The bits of the value, or the predicate as 0 or 1.
    pub value: u128,
    pub at: &'static Location<'static>,
}

/// The warp operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Sync,
    Shuffle {
        mode: WarpShuffleMode,
        argument: u32,
        width: u32,
    },
    VoteAll,
    VoteAny,
    Ballot,
    MatchAny,
    MatchAll,
    Reduce(Reduction),
    Together(Together),
}

/// An operation that all 32 lanes do in one step, such as a matrix product. The value of each lane's call is the address of its
/// part, which `run` reads and changes while all lanes wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    pub name: &'static str,
    /// # Safety
    /// The pointers are what the lanes have passed, each of which nothing else uses.
    pub run: unsafe fn(&[*mut u8; WARP_SIZE as usize]),
}

/// A reduction of 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub op: WarpReductionOp,
    pub signed: bool,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_warp",
            Self::Shuffle {
                mode: WarpShuffleMode::Up,
                ..
            } => "warp_shuffle_up",
            Self::Shuffle {
                mode: WarpShuffleMode::Down,
                ..
            } => "warp_shuffle_down",
            Self::Shuffle {
                mode: WarpShuffleMode::Idx,
                ..
            } => "warp_shuffle_idx",
            Self::Shuffle {
                mode: WarpShuffleMode::Xor,
                ..
            } => "warp_shuffle_xor",
            Self::VoteAll => "warp_vote_all",
            Self::VoteAny => "warp_vote_any",
            Self::Ballot => "warp_vote_ballot",
            Self::MatchAny => "warp_match_any",
            Self::MatchAll => "warp_match_all",
            Self::Reduce(_) => "warp_reduce",
            Self::Together(together) => together.name,
        }
    }

    fn same_as(self, other: Self) -> bool {
        match (self, other) {
            (Self::Reduce(one), Self::Reduce(two)) => one == two,
            _ => self.name() == other.name(),
        }
    }
}

impl WarpCall {
    /// Whether two lanes make the same call from the same place.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.mask == other.mask
            && self.operation.same_as(other.operation)
            && (std::ptr::eq(self.at, other.at) || self.at == other.at)
    }
}

/// The value that a lane reads from a lane that takes no part. A GPU leaves it unspecified.
const UNSPECIFIED: u128 = 0x7e7e_7e7e_7e7e_7e7e_7e7e_7e7e_7e7e_7e7e;

/// The results of the lanes that take part. `calls[lane]` is present for each of them, and all calls are the same.
pub(crate) fn resolve(
    calls: &[Option<WarpCall>; WARP_SIZE as usize],
) -> [(u128, bool); WARP_SIZE as usize] {
    let mut answers = [(0, false); WARP_SIZE as usize];
    let present = || {
        calls
            .iter()
            .enumerate()
            .filter_map(|(lane, call)| call.map(|call| (lane, call)))
    };
    let lanes = |test: &dyn Fn(u128) -> bool| {
        present()
            .filter(|(_, call)| test(call.value))
            .fold(0u32, |bits, (lane, _)| bits | 1 << lane)
    };
    let everyone = lanes(&|_| true);
    if let Some((
        _,
        WarpCall {
            operation: Operation::Together(together),
            ..
        },
    )) = present().next()
    {
        // All 32 lanes exist, see `wait_for_whole_warp`.
        let parts = calls
            .map(|call| call.map_or(std::ptr::null_mut(), |call| call.value as usize as *mut u8));
        // SAFETY: the lanes are suspended, and each has passed the address of a part on its stack.
        unsafe { (together.run)(&parts) };
    }
    for (lane, call) in present() {
        answers[lane] = match call.operation {
            Operation::Sync | Operation::Together(_) => (0, true),
            Operation::Shuffle {
                mode,
                argument,
                width,
            } => {
                let (source, inside) = shuffle_source(mode, lane as u32, argument, width);
                (
                    calls[source as usize].map_or(UNSPECIFIED, |call| call.value),
                    inside,
                )
            }
            Operation::VoteAll => (0, lanes(&|value| value != 0) == everyone),
            Operation::VoteAny => (0, lanes(&|value| value != 0) != 0),
            Operation::Ballot => (lanes(&|value| value != 0).into(), true),
            Operation::MatchAny => (lanes(&|value| value == call.value).into(), true),
            Operation::MatchAll => (
                everyone.into(),
                lanes(&|value| value == call.value) == everyone,
            ),
            Operation::Reduce(reduction) => {
                let values = present().map(|(_, call)| call.value as u32);
                (reduce(reduction, values).into(), true)
            }
        };
    }
    answers
}

/// The lane that a shuffle reads, and whether the requested lane lies in the caller's segment of `width` lanes; if not, the
/// caller reads itself. This follows PTX's definition of `shfl.sync`.
fn shuffle_source(mode: WarpShuffleMode, lane: u32, argument: u32, width: u32) -> (u32, bool) {
    let argument = argument % WARP_SIZE;
    let first = lane & !(width - 1);
    let last = first + width - 1;
    let (source, inside) = match mode {
        WarpShuffleMode::Up => (lane.wrapping_sub(argument), lane >= first + argument),
        WarpShuffleMode::Down => (lane + argument, lane + argument <= last),
        WarpShuffleMode::Idx => (first | (argument & (width - 1)), true),
        WarpShuffleMode::Xor => (lane ^ argument, lane ^ argument <= last),
    };
    if inside {
        (source, true)
    } else {
        (lane, false)
    }
}

fn reduce(reduction: Reduction, values: impl Iterator<Item = u32>) -> u32 {
    let Reduction { op, signed } = reduction;
    values
        .reduce(|one, two| match op {
            WarpReductionOp::Add => one.wrapping_add(two),
            WarpReductionOp::Min if signed => (one as i32).min(two as i32) as u32,
            WarpReductionOp::Max if signed => (one as i32).max(two as i32) as u32,
            WarpReductionOp::Min => one.min(two),
            WarpReductionOp::Max => one.max(two),
            WarpReductionOp::And => one & two,
            WarpReductionOp::Or => one | two,
            WarpReductionOp::Xor => one ^ two,
        })
        .unwrap_or_default()
}
