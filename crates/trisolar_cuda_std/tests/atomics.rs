//! Threads of several blocks use atomics of every scope and type at once.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64,
    intrinsics, mid,
};
use cuda_std::emulator::Launch;
use cuda_std::prelude::*;

const THREADS: u32 = 8 * 128;

fn run(kernel: impl Fn()) {
    unsafe { Launch::new(8, 128).workers(4).seed(11).run(kernel) }.unwrap();
}

#[test]
fn every_thread_adds_to_floats_of_every_scope() {
    let sums = (
        AtomicF32::new(0.0),
        AtomicF64::new(0.0),
        BlockAtomicF32::new(0.0),
        BlockAtomicF64::new(1.0),
        SystemAtomicF32::new(0.0),
        SystemAtomicF64::new(0.0),
    );
    run(|| {
        sums.0.fetch_add(1.0, Relaxed);
        sums.1.fetch_sub(0.5, AcqRel);
        unsafe {
            sums.2.fetch_add(2.0, SeqCst);
            sums.3.fetch_sub(1.0, Release);
        }
        sums.4.fetch_add(1.0, Acquire);
        sums.5.fetch_add(1.0, Relaxed);
    });
    let n = f64::from(THREADS);
    assert_eq!(f64::from(sums.0.load(SeqCst)), n);
    assert_eq!(sums.1.into_inner(), -0.5 * n);
    assert_eq!(f64::from(unsafe { sums.2.load(Acquire) }), 2.0 * n);
    assert_eq!(sums.3.into_inner(), 1.0 - n);
    assert_eq!(f64::from(sums.4.into_inner()), n);
    assert_eq!(sums.5.into_inner(), n);
}

#[test]
fn bits_of_floats() {
    let x = AtomicF32::new(f32::from_bits(0b1100));
    assert_eq!(
        x.fetch_and(f32::from_bits(0b0110), Relaxed).to_bits(),
        0b1100
    );
    assert_eq!(
        x.fetch_or(f32::from_bits(0b0001), Relaxed).to_bits(),
        0b0100
    );
    assert_eq!(
        x.fetch_xor(f32::from_bits(0b1111), Relaxed).to_bits(),
        0b0101
    );
    assert_eq!(x.swap(2.5, Relaxed).to_bits(), 0b1010);
    x.store(3.5, Release);
    assert_eq!(x.load(Relaxed), 3.5);
}

#[kernel]
unsafe fn integers(data: *mut u32) {
    let t = thread::index_1d();
    unsafe {
        mid::atomic_fetch_add_u32_device(data, Relaxed, 2);
        mid::atomic_fetch_sub_u32_system(data.add(1), SeqCst, 1);
        mid::atomic_fetch_max_i32_block(data.add(2).cast(), AcqRel, t as i32 - 500);
        mid::atomic_fetch_min_i32_device(data.add(3).cast(), Acquire, t as i32 - 500);
        mid::atomic_fetch_or_u32_device(data.add(4), Release, 1 << (t % 32));
        intrinsics::atomic_fetch_xor_relaxed_u32_device(data.add(5), 1 << (t % 31));
        intrinsics::atomic_fetch_and_volatile_u32_device(data.add(6), !(1 << (t % 16)));
        intrinsics::atomic_fetch_inc_relaxed_u32_device(data.add(7));
        intrinsics::atomic_fetch_dec_acqrel_u32_system(data.add(8));
        mid::atomic_inc_bounded_relaxed_u32_device(data.add(9), 16);
        mid::atomic_dec_bounded_relaxed_u32_device(data.add(10), 16);
        if intrinsics::atomic_fetch_cas_acquire_u32_device(data.add(11), 0, t + 1) == 0 {
            mid::atomic_fetch_add_u32_device(data.add(12), Relaxed, 1);
        }
        mid::atomic_fetch_add_u64_device(data.add(14).cast(), Relaxed, 1 << 30);
    }
}

#[test]
fn every_thread_changes_integers() {
    let mut words = [0u64; 8];
    let data: *mut u32 = words.as_mut_ptr().cast();
    unsafe { *data.add(6) = u32::MAX };
    run(|| unsafe { integers(data) });
    let word = |i: usize| unsafe { *data.add(i) };
    assert_eq!((word(0), word(1)), (2 * THREADS, THREADS.wrapping_neg()));
    assert_eq!((word(2) as i32, word(3) as i32), (523, -500));
    assert_eq!((word(4), word(6)), (u32::MAX, 0xffff_0000));
    // 1024 = 31 · 33 + 1, so bit 0 flips 34 times and each other bit 33 times.
    assert_eq!(word(5), (u32::MAX >> 1) ^ 1);
    assert_eq!((word(7), word(8)), (THREADS, THREADS.wrapping_neg()));
    assert_eq!((word(9), word(10)), (THREADS % 17, 17 - THREADS % 17));
    assert!((1..=THREADS).contains(&word(11)) && word(12) == 1);
    assert_eq!(words[7], u64::from(THREADS) << 30);
}

/// Sets the largest of the threads' numbers, and adds numbers, by comparing and swapping.
#[kernel]
unsafe fn swaps(largest: *mut f64, sum: *mut f32, counter: *mut i64) {
    let t = thread::index_1d();
    unsafe {
        let mine = f64::from(t * 7919 % THREADS) + 0.5;
        let mut old = *largest;
        while old < mine {
            let now = mid::atomic_compare_and_swap_f64_device(largest, old, mine, AcqRel);
            if now.to_bits() == old.to_bits() {
                break;
            }
            old = now;
        }
        let mut old = *sum;
        loop {
            let now = intrinsics::atomic_fetch_cas_relaxed_f32_system(sum, old, old + 1.0);
            if now == old {
                break;
            }
            old = now;
        }
        for ordering in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
            let mut old = *counter;
            loop {
                let now = mid::atomic_compare_and_swap_i64_device(counter, old, old - 1, ordering);
                if now == old {
                    break;
                }
                old = now;
            }
        }
    }
}

#[test]
fn comparing_and_swapping_loses_nothing() {
    let (mut largest, mut sum, mut counter) = (0.0, 0.0, 0);
    let (a, b, c) = (&raw mut largest, &raw mut sum, &raw mut counter);
    run(|| unsafe { swaps(a, b, c) });
    assert_eq!(largest, f64::from(THREADS - 1) + 0.5);
    assert_eq!(sum, THREADS as f32);
    assert_eq!(counter, -5 * i64::from(THREADS));
    // Zeros of different signs have different bits.
    let mut zero = 0.0_f64;
    let old = unsafe { mid::atomic_compare_and_swap_f64_device(&raw mut zero, -0.0, 1.0, SeqCst) };
    assert_eq!((old, zero), (0.0, 0.0));
}

#[test]
#[should_panic(expected = "a load cannot release")]
fn a_load_cannot_release() {
    let _ = AtomicF64::new(0.0).load(Release);
}

#[test]
#[should_panic(expected = "a store cannot acquire")]
fn a_store_cannot_acquire() {
    AtomicF64::new(0.0).store(0.0, Acquire);
}
