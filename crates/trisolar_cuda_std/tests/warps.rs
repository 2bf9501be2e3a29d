//! Warp operations in the emulator: values, segments, masks, and misuse.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::manual_is_multiple_of, clippy::if_same_then_else)]

use std::sync::Mutex;

use cuda_std::emulator::{EmulatorError, Launch, launch};
use cuda_std::prelude::*;
use cuda_std::warp::{self, WarpReductionOp, WarpShuffleValue};
use cuda_std::{bf16, f16};

const ALL: u32 = u32::MAX;

/// Runs `f` in each thread of one block of `n` threads and returns its results.
fn in_block<T: Send + Copy + Default>(n: u32, f: impl Fn() -> T) -> Vec<T> {
    let results = Mutex::new(vec![T::default(); n as usize]);
    let body = || {
        let value = f();
        results.lock().unwrap()[thread::thread_idx_x() as usize] = value;
    };
    unsafe { Launch::new(1, n).seed(5).run(body) }.unwrap();
    results.into_inner().unwrap()
}

#[test]
fn shuffles_read_the_right_lane_and_stop_at_the_segment() {
    let lane = |t: u32| t % 32;
    for width in [1, 2, 4, 8, 16, 32] {
        for b in [0, 1, 3, 7, 16, 31] {
            let (first, last) = (
                |t: u32| lane(t) / width * width,
                |t: u32| lane(t) / width * width + width - 1,
            );
            let warp = |t: u32| t / 32 * 32;
            let own = || thread::thread_idx_x();
            let down = in_block(64, || unsafe {
                warp::warp_shuffle_down(ALL, own(), b, width)
            });
            let up = in_block(64, || unsafe {
                warp::warp_shuffle_up(ALL, own(), b, width)
            });
            let xor = in_block(64, || unsafe {
                warp::warp_shuffle_xor(ALL, own(), b, width)
            });
            let idx = in_block(64, || unsafe {
                warp::warp_shuffle_idx(ALL, own(), b, width)
            });
            for t in 0..64 {
                let expect = |inside: bool, source: u32| {
                    if inside {
                        (warp(t) + source, true)
                    } else {
                        (t, false)
                    }
                };
                let i = t as usize;
                assert_eq!(
                    down[i],
                    expect(lane(t) + b <= last(t), lane(t) + b),
                    "down {t} {b} {width}"
                );
                assert_eq!(
                    up[i],
                    expect(lane(t) >= first(t) + b, lane(t).wrapping_sub(b)),
                    "up {t} {b} {width}"
                );
                assert_eq!(
                    xor[i],
                    expect(lane(t) ^ b <= last(t), lane(t) ^ b),
                    "xor {t} {b} {width}"
                );
                assert_eq!(
                    idx[i],
                    (warp(t) + first(t) + b % width, true),
                    "idx {t} {b} {width}"
                );
            }
        }
    }
}

#[test]
fn values_of_every_width_are_shuffled_whole() {
    fn check<T: WarpShuffleValue + Copy + PartialEq + core::fmt::Debug + Default + Send>(
        of: impl Fn(u32) -> T,
    ) {
        let shuffled = in_block(32, || unsafe {
            warp::warp_shuffle_xor(ALL, of(warp::lane_id()), 1, 32).0
        });
        for lane in 0..32 {
            assert_eq!(shuffled[lane as usize], of(lane ^ 1));
        }
    }
    check(|lane| lane as u8);
    check(|lane| -(lane as i8));
    check(|lane| lane as u16 * 2000);
    check(|lane| lane as i16 * -1000);
    check(|lane| -(lane as i32));
    check(|lane| lane as f32 * 0.1);
    check(|lane| u64::from(lane) << 58 | u64::from(lane));
    check(|lane| -i64::from(lane));
    check(|lane| f64::from(lane) * 0.1);
    check(|lane| u128::from(lane) << 123 | u128::from(lane));
    check(|lane| -i128::from(lane));
    check(|lane| f16::from_f32(lane as f32));
    check(|lane| bf16::from_f32(lane as f32));
}

#[test]
fn a_warp_scans_with_shuffles() {
    let scanned = in_block(96, || {
        let mut value = i64::from(thread::thread_idx_x());
        let mut distance = 1;
        while distance < 32 {
            let (other, valid) = unsafe { warp::warp_shuffle_up(ALL, value, distance, 32) };
            value += if valid { other } else { 0 };
            distance *= 2;
        }
        value
    });
    assert!((0..96).all(|t: i64| scanned[t as usize] == (t / 32 * 32..=t).sum::<i64>()));
}

#[test]
fn votes_see_every_lane_of_the_mask() {
    let votes = in_block(40, || unsafe {
        let t = thread::thread_idx_x();
        (
            warp::warp_vote_ballot(ALL, t % 2 == 0),
            warp::warp_vote_all(ALL, t < 32),
            warp::warp_vote_any(ALL, t == 3),
        )
    });
    assert!(
        votes[..32]
            .iter()
            .all(|vote| *vote == (0x5555_5555, true, true))
    );
    // A block of 40 threads has a second warp of 8 lanes.
    assert!(votes[32..].iter().all(|vote| *vote == (0x55, false, false)));
}

#[test]
fn halves_of_a_warp_vote_separately() {
    let votes = in_block(32, || unsafe {
        if warp::lane_id() < 16 {
            warp::warp_vote_ballot(0xffff, true)
        } else {
            warp::warp_vote_ballot(0xffff_0000, warp::lane_id() > 20)
        }
    });
    assert!(votes[..16].iter().all(|&vote| vote == 0xffff));
    assert!(votes[16..].iter().all(|&vote| vote == 0xffe0_0000));
}

#[test]
fn matches_find_equal_bits() {
    let found = in_block(32, || unsafe {
        let x = (warp::lane_id() / 8) as f32;
        (
            warp::warp_match_any(ALL, x),
            warp::warp_match_all(ALL, x),
            warp::warp_match_all(ALL, 7u64),
        )
    });
    assert!((0..32).all(|lane: usize| found[lane] == (0xff << (lane / 8 * 8), None, Some(ALL))));
}

#[test]
fn signed_and_unsigned_integers_are_reduced() {
    use WarpReductionOp::{Add, And, Max, Min, Or, Xor};
    let signed = in_block(32, || unsafe {
        let x = warp::lane_id() as i32 - 10;
        [Add, Min, Max].map(|op| warp::warp_reduce(ALL, x, op))
    });
    assert!(
        signed
            .iter()
            .all(|&x| x == [(0..32).sum::<i32>() - 320, -10, 21])
    );
    let unsigned = in_block(32, || unsafe {
        let x = (warp::lane_id() + 1) << 28 | 1;
        [Add, Min, Max, And, Or, Xor].map(|op| warp::warp_reduce(ALL, x, op))
    });
    let values = || (0..32u32).map(|lane| (lane + 1) << 28 | 1);
    let expected = [
        values().fold(0, u32::wrapping_add),
        values().min().unwrap(),
        values().max().unwrap(),
        1,
        values().fold(0, |a, b| a | b),
        values().fold(0, |a, b| a ^ b),
    ];
    assert!(unsigned.iter().all(|&x| x == expected));
}

#[test]
fn the_active_mask_is_that_of_the_branch() {
    let masks = in_block(32, || {
        if warp::lane_id() % 4 == 0 {
            warp::activemask()
        } else {
            0
        }
    });
    assert!((0..32).all(|lane: usize| masks[lane] == if lane % 4 == 0 { 0x1111_1111 } else { 0 }));
}

#[kernel]
unsafe fn in_a_branch(exits: bool) {
    if warp::lane_id() < 16 {
        unsafe { warp::sync_warp(u32::MAX) };
    } else if !exits {
        thread::sync_threads();
    }
}

#[kernel]
unsafe fn two_places() {
    if warp::lane_id() < 16 {
        unsafe { warp::warp_shuffle_xor(u32::MAX, 1u32, 1, 32) };
    } else {
        unsafe { warp::warp_shuffle_xor(u32::MAX, 1u32, 1, 32) };
    }
}

#[kernel]
unsafe fn not_in_mask() {
    unsafe { warp::warp_vote_all(0xff, true) };
}

#[kernel]
unsafe fn odd_width() {
    unsafe { warp::warp_shuffle_xor(u32::MAX, 1u32, 1, 12) };
}

#[test]
fn divergent_warp_operations_are_errors() {
    let reason = |error: EmulatorError| match error {
        EmulatorError::DivergentWarp {
            call,
            reason,
            place,
            ..
        } => {
            assert!(place.contains("tests/warps.rs:"), "{place}");
            (call, reason)
        }
        other => panic!("{other}"),
    };
    let exited = reason(unsafe { launch(1, 32, 0, || in_a_branch(true)) }.unwrap_err());
    assert_eq!(
        exited,
        ("sync_warp", "lane 16 of the mask has exited".into())
    );
    let elsewhere = reason(unsafe { launch(1, 32, 0, || in_a_branch(false)) }.unwrap_err());
    assert!(
        elsewhere.1.contains("16 threads (0-15) at sync_warp"),
        "{elsewhere:?}"
    );
    assert!(
        elsewhere.1.contains("16 threads (16-31) at sync_threads"),
        "{elsewhere:?}"
    );
    let apart = reason(unsafe { launch(1, 32, 0, || two_places()) }.unwrap_err());
    assert!(
        apart.0 == "warp_shuffle_xor" && apart.1.starts_with("its lanes never meet"),
        "{apart:?}"
    );
    let in_order = Launch::new(1, 32).natural_order();
    let outside = reason(unsafe { in_order.run(|| not_in_mask()) }.unwrap_err());
    assert_eq!(
        outside,
        (
            "warp_vote_all",
            "lane 8 called it, but is not in the mask".into()
        )
    );
    let width = unsafe { launch(1, 32, 0, || odd_width()) }.unwrap_err();
    assert!(
        width.to_string().contains("width of a shuffle must be"),
        "{width}"
    );
}
