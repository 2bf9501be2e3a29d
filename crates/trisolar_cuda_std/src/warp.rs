//! Operations among the 32 lanes of a warp.
//!
//! All of them are collective: the lanes named in `mask` wait for each other and exchange values. Every lane of the mask must
//! make the same call with the same mask, none of them may have exited, and the calling lane must be in the mask. Otherwise a
//! GPU computes nonsense or hangs, and the emulator reports an error. Keep these calls out of branches that the lanes of the
//! mask do not take together. A mask may name lanes that a block of fewer than 32 threads does not have.

use half::{bf16, f16};

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::{self, Operation, Reduction, WarpCall};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use core::panic::Location;

mod kinds;

pub use kinds::{WARP_SIZE, WarpReductionOp, WarpShuffleMode};

/// Waits for the lanes of `mask`; whatever they wrote before the call is visible to all of them afterwards.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn sync_warp(mask: u32) {
    #[cfg(target_arch = "nvptx64")]
    device::sync(mask);
    #[cfg(not(target_arch = "nvptx64"))]
    host(Operation::Sync, mask, 0);
}

/// The thread's lane in its warp: 0 to 31.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::lane();
    #[cfg(not(target_arch = "nvptx64"))]
    {
        emulator::current().linear % WARP_SIZE
    }
}

/// The lanes that execute this call together. On GPUs since Volta, lanes that take the same branch need not execute together;
/// in the emulator all lanes that arrive here do, unless they have to wait for others first.
#[inline(always)]
#[must_use]
#[track_caller]
pub fn activemask() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mask: u32;
        // SAFETY: reading the mask has no preconditions. The assembly is not `pure`, because the mask differs from place to
        // place.
        unsafe {
            asm!("activemask.b32 {};", out(reg32) mask, options(nomem, nostack, preserves_flags))
        };
        mask
    }
    #[cfg(not(target_arch = "nvptx64"))]
    emulator::wait_for_active(Location::caller())
}

/// Reduces `value` over the lanes of `mask` and returns the result to each of them. Sums wrap. Needs sm_80.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller guarantees the same.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that [`warp_reduce`] takes.
pub trait WarpReduceValue: Sized {
    /// See [`warp_reduce`].
    ///
    /// # Safety
    /// See the [module](self).
    #[track_caller]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! redux {
    ($out:ident, $value:ident, $mask:ident, $($op:tt)*) => {
        // SAFETY: the caller keeps the module's rules.
        unsafe {
            asm!(
                concat!("redux.sync.", $($op)*, " {}, {}, {};"),
                out(reg32) $out, in(reg32) $value, in(reg32) $mask,
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}

macro_rules! reduce {
    ($($ty:ident, $ptx:literal, $signed:literal;)*) => {$(
        impl WarpReduceValue for $ty {
            #[inline(always)]
            #[track_caller]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let out: $ty;
                    match op {
                        WarpReductionOp::Add => redux!(out, value, mask, concat!("add.", $ptx)),
                        WarpReductionOp::Min => redux!(out, value, mask, concat!("min.", $ptx)),
                        WarpReductionOp::Max => redux!(out, value, mask, concat!("max.", $ptx)),
                        WarpReductionOp::And => redux!(out, value, mask, "and.b32"),
                        WarpReductionOp::Or => redux!(out, value, mask, "or.b32"),
                        WarpReductionOp::Xor => redux!(out, value, mask, "xor.b32"),
                    }
                    out
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let reduction = Reduction { op, signed: $signed };
                    host(Operation::Reduce(reduction), mask, u128::from(value as u32)).0 as u32 as $ty
                }
            }
        }
    )*};
}

reduce! {
    i32, "s32", true;
    u32, "u32", false;
}

/// The lanes of `mask` that hold the same bits as this one.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller guarantees the same.
    unsafe { T::match_any(mask, value) }
}

/// The lanes of `mask` if all of them hold the same bits, otherwise `None`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller guarantees the same.
    unsafe { T::match_all(mask, value) }
}

/// A value that [`warp_match_any`] and [`warp_match_all`] compare, bit by bit.
pub trait WarpMatchValue: Sized {
    /// See [`warp_match_any`].
    ///
    /// # Safety
    /// See the [module](self).
    #[track_caller]
    unsafe fn match_any(mask: u32, value: Self) -> u32;
    /// See [`warp_match_all`].
    ///
    /// # Safety
    /// See the [module](self).
    #[track_caller]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

macro_rules! matches {
    ($($ty:ty, $bits:ident, $any:ident, $all:ident, |$value:ident| $to_bits:expr;)*) => {$(
        impl WarpMatchValue for $ty {
            #[inline(always)]
            #[track_caller]
            unsafe fn match_any(mask: u32, $value: Self) -> u32 {
                let bits: $bits = $to_bits;
                #[cfg(target_arch = "nvptx64")]
                return device::$any(mask, bits);
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    host(Operation::MatchAny, mask, u128::from(bits)).0 as u32
                }
            }
            #[inline(always)]
            #[track_caller]
            unsafe fn match_all(mask: u32, $value: Self) -> Option<u32> {
                let bits: $bits = $to_bits;
                #[cfg(target_arch = "nvptx64")]
                let (lanes, same) = device::$all(mask, bits);
                #[cfg(not(target_arch = "nvptx64"))]
                let (lanes, same) = host(Operation::MatchAll, mask, u128::from(bits));
                same.then_some(lanes as u32)
            }
        }
    )*};
}

matches! {
    i32, u32, match_any_32, match_all_32, |value| value as u32;
    u32, u32, match_any_32, match_all_32, |value| value;
    f32, u32, match_any_32, match_all_32, |value| value.to_bits();
    i64, u64, match_any_64, match_all_64, |value| value as u64;
    u64, u64, match_any_64, match_all_64, |value| value;
    f64, u64, match_any_64, match_all_64, |value| value.to_bits();
}

/// Whether `predicate` holds in all lanes of `mask`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    return device::vote_all(mask, predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        host(Operation::VoteAll, mask, predicate.into()).1
    }
}

/// Whether `predicate` holds in some lane of `mask`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    #[cfg(target_arch = "nvptx64")]
    return device::vote_any(mask, predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        host(Operation::VoteAny, mask, predicate.into()).1
    }
}

/// The lanes of `mask` in which `predicate` holds, one bit for each.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return device::vote_ballot(mask, predicate);
    #[cfg(not(target_arch = "nvptx64"))]
    {
        host(Operation::Ballot, mask, predicate.into()).0 as u32
    }
}

macro_rules! shuffle {
    ($($(#[$doc:meta])* $name:ident, $mode:ident, $argument:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// `width` (1, 2, 4, 8, 16 or 32) divides the warp into segments, and lanes exchange values only within their segment.
        /// Returns the value, and whether the requested lane lies in the segment; if it does not, the value is the caller's
        /// own. The value of a lane outside of `mask` is unspecified.
        ///
        /// Values of 8 to 32 bits take one instruction, larger values one for each 32 bits.
        ///
        /// # Panics
        /// If `width` is not one of these numbers.
        ///
        /// # Safety
        /// See the [module](self).
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name<T: WarpShuffleValue>(mask: u32, value: T, $argument: u32, width: u32) -> (T, bool) {
            // SAFETY: the caller guarantees the same.
            unsafe { T::shuffle(WarpShuffleMode::$mode, mask, value, $argument, width) }
        }
    )*};
}

shuffle! {
    /// The value of the lane `delta` after this one.
    warp_shuffle_down, Down, delta;
    /// The value of the lane `delta` before this one.
    warp_shuffle_up, Up, delta;
    /// The value of lane `idx` of the segment.
    warp_shuffle_idx, Idx, idx;
    /// The value of the lane whose index is the exclusive-or of this lane's index and `lane_mask`.
    warp_shuffle_xor, Xor, lane_mask;
}

/// A value that can be shuffled.
pub trait WarpShuffleValue: Sized {
    /// Shuffles `value`; `b` is the distance, lane or lane mask. `mode` must be a constant.
    ///
    /// # Safety
    /// See the [module](self).
    #[track_caller]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool);
}

macro_rules! shuffle_value {
    ($($ty:ty, $bits:ty, $words:literal, |$value:ident| $to:expr, |$back:ident| $from:expr;)*) => {$(
        impl WarpShuffleValue for $ty {
            #[inline(always)]
            #[track_caller]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                assert!(
                    width.is_power_of_two() && width <= WARP_SIZE,
                    "the width of a shuffle must be 1, 2, 4, 8, 16 or 32"
                );
                let $value = value;
                let bits: $bits = $to;
                #[cfg(target_arch = "nvptx64")]
                let ($back, inside) = {
                    let mut out: $bits = 0;
                    let mut inside = false;
                    let mut word = 0;
                    while word < $words {
                        let (part, valid) =
                            device::shuffle(mode, mask, (u128::from(bits) >> (32 * word)) as u32, b, width);
                        out |= (u128::from(part) << (32 * word)) as $bits;
                        inside = valid;
                        word += 1;
                    }
                    (out, inside)
                };
                #[cfg(not(target_arch = "nvptx64"))]
                let ($back, inside) = {
                    let operation = Operation::Shuffle { mode, argument: b, width };
                    let (bits, inside) = host(operation, mask, u128::from(bits));
                    (bits as $bits, inside)
                };
                ($from, inside)
            }
        }
    )*};
}

shuffle_value! {
    u8, u8, 1, |value| value, |bits| bits;
    i8, u8, 1, |value| value as u8, |bits| bits as i8;
    u16, u16, 1, |value| value, |bits| bits;
    i16, u16, 1, |value| value as u16, |bits| bits as i16;
    f16, u16, 1, |value| value.to_bits(), |bits| f16::from_bits(bits);
    bf16, u16, 1, |value| value.to_bits(), |bits| bf16::from_bits(bits);
    u32, u32, 1, |value| value, |bits| bits;
    i32, u32, 1, |value| value as u32, |bits| bits as i32;
    f32, u32, 1, |value| value.to_bits(), |bits| f32::from_bits(bits);
    u64, u64, 2, |value| value, |bits| bits;
    i64, u64, 2, |value| value as u64, |bits| bits as i64;
    f64, u64, 2, |value| value.to_bits(), |bits| f64::from_bits(bits);
    u128, u128, 4, |value| value, |bits| bits;
    i128, u128, 4, |value| value as u128, |bits| bits as i128;
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
fn host(operation: Operation, mask: u32, value: u128) -> (u128, bool) {
    emulator::wait_for_warp(WarpCall {
        operation,
        mask,
        value,
        at: Location::caller(),
    })
}

/// LLVM's intrinsics. Unlike for inline assembly, LLVM knows that they must not be moved into or out of branches.
#[cfg(target_arch = "nvptx64")]
mod device {
    use super::WarpShuffleMode;

    unsafe extern "C" {
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        pub safe fn sync(mask: u32);
        #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
        pub safe fn lane() -> u32;
        #[link_name = "llvm.nvvm.vote.all.sync"]
        pub safe fn vote_all(mask: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.any.sync"]
        pub safe fn vote_any(mask: u32, predicate: bool) -> bool;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        pub safe fn vote_ballot(mask: u32, predicate: bool) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        pub safe fn match_any_32(mask: u32, value: u32) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i64"]
        pub safe fn match_any_64(mask: u32, value: u64) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        safe fn shuffle_down(mask: u32, value: u32, b: u32, c: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        safe fn shuffle_up(mask: u32, value: u32, b: u32, c: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        safe fn shuffle_idx(mask: u32, value: u32, b: u32, c: u32) -> u32;
        #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
        safe fn shuffle_xor(mask: u32, value: u32, b: u32, c: u32) -> u32;
    }

    /// The lanes of the mask and whether all of them hold `value`. It is composed of other operations, because the
    /// instruction's intrinsic returns a pair in a form that Rust cannot declare.
    #[inline(always)]
    pub fn match_all_32(mask: u32, value: u32) -> (u32, bool) {
        let same = match_any_32(mask, value);
        (mask, same == mask)
    }

    /// See [`match_all_32`].
    #[inline(always)]
    pub fn match_all_64(mask: u32, value: u64) -> (u32, bool) {
        let same = match_any_64(mask, value);
        (mask, same == mask)
    }

    /// The value, and whether the requested lane is in the segment; the latter follows from the lane indices by PTX's
    /// definition.
    #[inline(always)]
    pub fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: u32,
        b: u32,
        width: u32,
    ) -> (u32, bool) {
        let segment = (32 - width) << 8;
        let (lane, b) = (lane(), b % 32);
        let first = lane & !(width - 1);
        let last = first + width - 1;
        match mode {
            WarpShuffleMode::Up => (shuffle_up(mask, value, b, segment), lane >= first + b),
            WarpShuffleMode::Down => (shuffle_down(mask, value, b, segment | 31), lane + b <= last),
            WarpShuffleMode::Idx => (shuffle_idx(mask, value, b, segment | 31), true),
            WarpShuffleMode::Xor => (shuffle_xor(mask, value, b, segment | 31), lane ^ b <= last),
        }
    }
}
