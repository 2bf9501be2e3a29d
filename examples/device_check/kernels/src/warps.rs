//! Operations of a warp.

use cuda_std::prelude::*;
use cuda_std::warp;

use crate::{Out, Random};

const ALL: u32 = u32::MAX;

/// Shuffles of every kind, width and size of value.
#[kernel]
pub unsafe fn shuffles(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    for width in [1, 4, 8, 32] {
        for b in [0, 1, 3, 17] {
            // SAFETY: all lanes of the warp are here.
            let found = unsafe {
                [
                    warp::warp_shuffle_down(ALL, word as u32, b, width),
                    warp::warp_shuffle_up(ALL, word as u32, b, width),
                    warp::warp_shuffle_xor(ALL, word as u32, b, width),
                    warp::warp_shuffle_idx(ALL, word as u32, b, width),
                ]
            };
            for (value, valid) in found {
                // The value of a lane that reads from outside its segment is its own.
                out.put(u64::from(value) << 1 | u64::from(valid));
            }
        }
    }
    // SAFETY: as above.
    unsafe {
        out.put(warp::warp_shuffle_xor(ALL, word, 5, 32).0);
        out.put_f64(warp::warp_shuffle_down(ALL, word as f64, 2, 16).0);
        out.put_f32(warp::warp_shuffle_up(ALL, word as f32, 3, 32).0);
        let wide = warp::warp_shuffle_xor(ALL, u128::from(word) << 40, 9, 32).0;
        out.put(wide as u64 ^ (wide >> 64) as u64);
        out.put(warp::warp_shuffle_idx(ALL, word as i64, 31, 32).0 as u64);
        let half = f16::from_f32(word as f32 * 1e-17);
        out.put_f32(warp::warp_shuffle_xor(ALL, half, 1, 32).0.to_f32());
    }
}

/// Votes and matches, of all lanes and of some.
#[kernel]
pub unsafe fn votes(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    out.put(warp::lane_id().into());
    for modulus in [1, 2, 3, 50] {
        let value = random.below(modulus) as u32;
        // SAFETY: all lanes of the warp are here.
        unsafe {
            out.put(warp::warp_vote_all(ALL, value == 0).into());
            out.put(warp::warp_vote_any(ALL, value == 1).into());
            out.put(warp::warp_vote_ballot(ALL, value == 0).into());
            out.put(warp::warp_match_any(ALL, value).into());
            out.put(warp::warp_match_any(ALL, u64::from(value) << 35).into());
            out.put(warp::warp_match_all(ALL, value).unwrap_or(5).into());
            out.put(warp::warp_match_all(ALL, 3u64).unwrap_or(5).into());
        }
    }
    // Every third lane by itself.
    let lane = warp::lane_id();
    if lane.is_multiple_of(3) {
        const SOME: u32 = 0x4924_9249;
        // SAFETY: the lanes of the mask are here.
        unsafe {
            warp::sync_warp(SOME);
            out.put(warp::warp_vote_ballot(SOME, lane > 10).into());
            out.put(
                warp::warp_shuffle_idx(SOME, lane * 7, lane / 6 * 3, 32)
                    .0
                    .into(),
            );
            out.put(warp::warp_match_any(SOME, lane % 2).into());
        }
    }
}
