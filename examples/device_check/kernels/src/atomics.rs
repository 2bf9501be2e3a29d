//! Atomics: results that do not depend on the order in which threads come.

use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF64};
use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::{Out, Random};

/// Of 32 and 64 bits in the grid's scratch, and of a block in shared memory.
#[kernel]
pub unsafe fn atomics_of_integers(seed: u64, out: *mut u64, scratch: *mut u64) {
    // SAFETY: the caller's promise.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    // SAFETY: the caller vouches for SCRATCH words, which are atomics here and nothing else.
    let (long, short, signed) = unsafe {
        (
            core::slice::from_raw_parts(scratch.cast::<AtomicU64>(), 8),
            core::slice::from_raw_parts(scratch.add(8).cast::<AtomicU32>(), 8),
            core::slice::from_raw_parts(scratch.add(12).cast::<AtomicI32>(), 8),
        )
    };
    long[0].fetch_add(word, Ordering::Relaxed);
    long[1].fetch_max(word, Ordering::AcqRel);
    long[2].fetch_xor(word, Ordering::SeqCst);
    long[3].fetch_or(word & (word >> 7) & (word >> 13), Ordering::Release);
    long[4].fetch_sub(word, Ordering::Acquire);
    short[0].fetch_add(word as u32, Ordering::Relaxed);
    short[1].fetch_max(word as u32, Ordering::Relaxed);
    short[2].fetch_xor(word as u32, Ordering::Relaxed);
    signed[0].fetch_min(word as i32, Ordering::Relaxed);
    signed[1].fetch_max(word as i32, Ordering::Relaxed);
    signed[2].fetch_sub(word as i32, Ordering::Relaxed);
    // A sum by compare and exchange.
    let mut old = long[5].load(Ordering::Relaxed);
    while let Err(found) = long[5].compare_exchange_weak(
        old,
        old.wrapping_add(word >> 3),
        Ordering::AcqRel,
        Ordering::Relaxed,
    ) {
        old = found;
    }
    // Tickets: each exactly once, so that their sum is known.
    let ticket = short[3].fetch_add(1, Ordering::Relaxed);
    long[6].fetch_add(u64::from(ticket).pow(2), Ordering::Relaxed);

    let own = shared_array![AtomicU32; 4];
    let t = thread::thread_idx_x();
    if t < 4 {
        // SAFETY: below the array's length, a thread each, before the barrier.
        unsafe { own.add(t as usize).write(AtomicU32::new(0)) };
    }
    thread::sync_threads();
    // SAFETY: written before the barrier; atomics from here on.
    let own = unsafe { core::slice::from_raw_parts(own, 4) };
    own[t as usize % 3].fetch_add(word as u32 & 0xffff, Ordering::Relaxed);
    own[3].fetch_or(1 << (t % 32), Ordering::Relaxed);
    thread::sync_threads();
    for sum in own {
        out.put(sum.load(Ordering::Relaxed).into());
    }
}

/// Of 8 and 16 bits, neighbours in one word.
#[kernel]
pub unsafe fn small_atomics(seed: u64, out: *mut u64, scratch: *mut u64) {
    // SAFETY: the caller's promise.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    // SAFETY: the caller vouches for SCRATCH words, which are atomics here and nothing else.
    let (bytes, shorts, flags) = unsafe {
        (
            core::slice::from_raw_parts(scratch.cast::<AtomicU8>(), 8),
            core::slice::from_raw_parts(scratch.add(1).cast::<AtomicU16>(), 4),
            core::slice::from_raw_parts(scratch.add(2).cast::<AtomicBool>(), 8),
        )
    };
    for (i, byte) in bytes.iter().enumerate() {
        byte.fetch_add((word >> (8 * i)) as u8, Ordering::Relaxed);
    }
    shorts[0].fetch_add(word as u16, Ordering::AcqRel);
    shorts[1].fetch_max(word as u16, Ordering::Relaxed);
    shorts[2].fetch_xor(word as u16, Ordering::Relaxed);
    shorts[3].fetch_min(!(word as u16), Ordering::Relaxed);
    flags[(word % 7) as usize].fetch_or(true, Ordering::Release);
    let _ = flags[7].compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed);
    out.put(word);
}

/// Sums of whole numbers, which have no rounding: in any order the same.
#[kernel]
pub unsafe fn atomics_of_floats(seed: u64, out: *mut u64, scratch: *mut u64) {
    // SAFETY: the caller's promise.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let number = random.below(1000) as f64 - 300.0;
    // SAFETY: the caller vouches for SCRATCH words, which are atomics here and nothing else.
    let (double, single) = unsafe {
        (
            core::slice::from_raw_parts(scratch.cast::<AtomicF64>(), 4),
            core::slice::from_raw_parts(scratch.add(4).cast::<AtomicF32>(), 4),
        )
    };
    double[0].fetch_add(number, Ordering::Relaxed);
    double[1].fetch_sub(number * 0.5, Ordering::AcqRel);
    single[0].fetch_add(number as f32, Ordering::Relaxed);
    single[1].fetch_sub(number as f32 * 2.0, Ordering::Relaxed);

    let own = shared_array![BlockAtomicF64; 1];
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread, before the barrier.
        unsafe { own.write(BlockAtomicF64::new(0.25)) };
    }
    thread::sync_threads();
    // SAFETY: written before the barrier, atomic from here on, by the threads of one block.
    let own = unsafe { &*own };
    // SAFETY: as above.
    unsafe { own.fetch_add(number, Ordering::Relaxed) };
    thread::sync_threads();
    // SAFETY: as above.
    out.put_f64(unsafe { own.load(Ordering::Relaxed) });
}
