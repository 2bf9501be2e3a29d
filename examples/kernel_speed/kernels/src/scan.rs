//! Running sums of many numbers in one pass: the decoupled look-back of Merrill and Garland (2016).
//!
//! A block has a tile; blocks start in the order of their indices, as CUB assumes, too. Each adds up its tile and makes the sum known, then adds up what the tiles before it have made known, from the nearest
//! back to the first that knows the sum of everything before its end.

use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::collective::warp_inclusive_scan;
use cuda_std::prelude::*;
use cuda_std::{mem, shared_array, unroll, warp};

use crate::Four;

/// Threads of a block.
pub const SCAN_THREADS: u32 = 256;
/// Groups of four numbers of a thread.
const GROUPS: u32 = 8;
/// Numbers of a tile.
pub const SCAN_TILE: u32 = SCAN_THREADS * GROUPS * 4;
const WARPS: u32 = SCAN_THREADS / 32;
const ALL: u32 = u32::MAX;

/// What a tile has made known: nothing yet (0), its own sum, or the sum of everything up to its end; the sum is in the lower half of the word.
const OWN: u64 = 1 << 32;
const UP_TO_END: u64 = 2 << 32;

/// Replaces x\[i\] by x\[0\] + … + x\[i\]; sums wrap.
///
/// # Parameters
/// - `x`, `sums`: 4 `fours` numbers
/// - `known`: one word for each tile of [`SCAN_TILE`] numbers, 0 before the launch
///
/// # Thread mapping
/// A one-dimensional grid of ceil(4 fours / [`SCAN_TILE`]) blocks of [`SCAN_THREADS`] threads.
///
/// # Safety
/// The pointers are valid, and nothing else uses `sums` and `known` during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn scan(x: *const Four, sums: *mut Four, fours: usize, known: *const AtomicU64) {
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let warp_index = thread / 32;
    let warp_sums = shared_array![u32; WARPS as usize];
    let before_tile = shared_array![u32; 1];
    // SAFETY: the caller vouches for the pointers; barriers lie between writes and reads of shared memory; whole warps shuffle.
    unsafe {
        let tile = thread::block_idx_x();

        // A warp has 4 · 32 · GROUPS numbers in sequence, a lane every 32nd group of four of them.
        let first =
            tile as usize * (SCAN_TILE / 4) as usize + (warp_index * 32 * GROUPS + lane) as usize;
        let place = |group: usize| first + group * 32;
        let mut items = [Four::default(); GROUPS as usize];
        if place(GROUPS as usize - 1) < fours {
            unroll!(for group in 0..8 {
                items[group] = *x.add(place(group));
            });
        } else {
            unroll!(for group in 0..8 {
                if place(group) < fours {
                    items[group] = *x.add(place(group));
                }
            });
        }
        let mut warp_sum = 0u32;
        unroll!(for group in 0..8 {
            let mut four = items[group];
            four.y = four.x.wrapping_add(four.y);
            four.z = four.y.wrapping_add(four.z);
            four.w = four.z.wrapping_add(four.w);
            let up_to_lane = warp_inclusive_scan(four.w, u32::wrapping_add);
            items[group] = plus(four, up_to_lane.wrapping_sub(four.w).wrapping_add(warp_sum));
            warp_sum = warp_sum.wrapping_add(warp::warp_shuffle_idx(ALL, up_to_lane, 31, 32).0);
        });
        if lane == 0 {
            *warp_sums.add(warp_index as usize) = warp_sum;
        }
        thread::sync_threads();
        let mut before_warp = 0u32;
        let mut of_tile = 0u32;
        for other in 0..WARPS {
            let sum = *warp_sums.add(other as usize);
            if other < warp_index {
                before_warp = before_warp.wrapping_add(sum);
            }
            of_tile = of_tile.wrapping_add(sum);
        }
        if warp_index == 0 {
            let before = look_back(known, tile, lane, of_tile);
            if lane == 0 {
                *before_tile = before;
            }
        }
        thread::sync_threads();
        let before = before_warp.wrapping_add(*before_tile);
        unroll!(for group in 0..8 {
            if place(group) < fours {
                // The sums would otherwise push what other blocks are about to load out of the cache.
                mem::store_streaming(sums.add(place(group)), plus(items[group], before));
            }
        });
    }
}

/// Nanoseconds until a block looks again whether the tiles before it have made their sums known.
const LOOK_AGAIN: u32 = 200;

/// The sum of all tiles before `tile`, whose own sum it makes known.
///
/// # Safety
/// A whole warp calls this; `known` is valid.
#[inline(always)]
unsafe fn look_back(known: *const AtomicU64, tile: u32, lane: u32, of_tile: u32) -> u32 {
    // SAFETY: the caller guarantees this, and tiles are below the number of words.
    unsafe {
        let mine = &*known.add(tile as usize);
        if tile == 0 {
            if lane == 0 {
                mine.store(UP_TO_END | u64::from(of_tile), Ordering::Relaxed);
            }
            return 0;
        }
        if lane == 0 {
            mine.store(OWN | u64::from(of_tile), Ordering::Relaxed);
        }
        let mut before = 0u32;
        let mut nearest = tile - 1;
        loop {
            // Lane 0 has the nearest tile. Beyond the first tile everything is known to be 0.
            let word = loop {
                let word = match nearest.checked_sub(lane) {
                    Some(other) => (*known.add(other as usize)).load(Ordering::Relaxed),
                    None => UP_TO_END,
                };
                if warp::warp_vote_all(ALL, word >= OWN) {
                    break word;
                }
                // Leaves the memory to the blocks that load. The blocks of the emulator may share a core.
                thread::nanosleep(LOOK_AGAIN);
            };
            let complete = warp::warp_vote_ballot(ALL, word >= UP_TO_END);
            let last = complete.trailing_zeros();
            let counts = if lane <= last { word as u32 } else { 0 };
            before = before.wrapping_add(sum_of_warp(counts));
            if complete != 0 {
                break;
            }
            nearest -= 32;
        }
        if lane == 0 {
            mine.store(
                UP_TO_END | u64::from(before.wrapping_add(of_tile)),
                Ordering::Relaxed,
            );
        }
        before
    }
}

#[inline(always)]
fn plus(four: Four, before: u32) -> Four {
    let [x, y, z, w] = [four.x, four.y, four.z, four.w].map(|item| item.wrapping_add(before));
    Four { x, y, z, w }
}

/// # Safety
/// Whole warps call this.
#[inline(always)]
unsafe fn sum_of_warp(sum: u32) -> u32 {
    // SAFETY: the caller guarantees this.
    unsafe { warp::warp_reduce(ALL, sum, warp::WarpReductionOp::Add) }
}
