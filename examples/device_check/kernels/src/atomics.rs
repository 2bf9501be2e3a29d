//! Atomics: results that do not depend on the order in which threads come.

use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, intrinsics, mid};
use cuda_std::prelude::*;
use cuda_std::shared_array;

use crate::{Out, Random};

/// Of 32 and 64 bits in the grid's scratch, and of a block in shared memory.
#[kernel]
pub unsafe fn atomics_of_integers(seed: u64, out: *mut u64, scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    // SAFETY: the caller guarantees SCRATCH words, which are atomics here and nothing else.
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
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    // SAFETY: the caller guarantees SCRATCH words, which are atomics here and nothing else.
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
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let number = random.below(1000) as f64 - 300.0;
    // SAFETY: the caller guarantees SCRATCH words, which are atomics here and nothing else.
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

/// Every operation on an atomic that is a thread's own or one of many, as the caller has it.
macro_rules! every_operation {
    ($($function:ident $atomic:ty, $word:ty;)*) => {$(
        #[inline(never)]
        fn $function(out: &mut Out, atomic: &$atomic, word: u64) {
            let word = word as $word;
            out.put(atomic.fetch_add(word, Ordering::Relaxed) as u64);
            out.put(atomic.fetch_sub(word >> 3, Ordering::AcqRel) as u64);
            out.put(atomic.fetch_xor(word << 1, Ordering::SeqCst) as u64);
            out.put(atomic.fetch_and(!(word >> 2), Ordering::Acquire) as u64);
            out.put(atomic.fetch_or(word >> 5, Ordering::Release) as u64);
            out.put(atomic.fetch_max(word ^ 9, Ordering::Relaxed) as u64);
            out.put(atomic.fetch_min(word ^ 5, Ordering::Relaxed) as u64);
            let old = atomic.load(Ordering::Acquire);
            let (Ok(found) | Err(found)) =
                atomic.compare_exchange(old ^ (word & 1), word, Ordering::AcqRel, Ordering::Acquire);
            out.put(found as u64);
            out.put(atomic.swap(word >> 1, Ordering::AcqRel) as u64);
            atomic.store(atomic.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
            out.put(atomic.load(Ordering::SeqCst) as u64);
        }
    )*};
}

every_operation! {
    operations_of_u32 AtomicU32, u32;
    operations_of_i32 AtomicI32, i32;
    operations_of_u64 AtomicU64, u64;
    operations_of_i64 AtomicI64, i64;
    operations_of_u8 AtomicU8, u8;
    operations_of_u16 AtomicU16, u16;
}

/// Atomics in a thread's own memory, which no instruction of the GPU knows: directly, and through references that could be of any
/// memory.
#[kernel]
pub unsafe fn atomics_of_own_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let word = random.bits();
    operations_of_u32(&mut out, &AtomicU32::new(word as u32 >> 3), word);
    operations_of_i32(&mut out, &AtomicI32::new(word as i32 >> 3), word);
    operations_of_u64(&mut out, &AtomicU64::new(word >> 3), word);
    operations_of_i64(&mut out, &AtomicI64::new(word as i64 >> 3), word);
    operations_of_u8(&mut out, &AtomicU8::new(word as u8 >> 3), word);
    operations_of_u16(&mut out, &AtomicU16::new(word as u16 >> 3), word);

    let counts: [AtomicU32; 4] = core::array::from_fn(|i| AtomicU32::new(i as u32));
    for i in 0..8 {
        let place = &counts[random.below(4) as usize];
        let _ = place.compare_exchange(i, 40 + i, Ordering::AcqRel, Ordering::Relaxed);
        place.fetch_add(3, Ordering::Relaxed);
    }
    counts
        .iter()
        .for_each(|count| out.put(count.load(Ordering::Acquire).into()));

    let (x, y) = (random.moderate(), random.moderate());
    let (single, double) = (AtomicF32::new(x as f32), AtomicF64::new(x));
    single.fetch_add(y as f32, Ordering::Relaxed);
    double.fetch_sub(y, Ordering::AcqRel);
    out.put_f32(single.swap(1.5, Ordering::Relaxed) + single.load(Ordering::Acquire));
    out.put_f64(double.load(Ordering::SeqCst));
    let block = BlockAtomicF32::new(y as f32);
    // SAFETY: no other thread knows of it.
    out.put_f32(unsafe { block.fetch_add(x as f32, Ordering::SeqCst) });

    let (mut short, mut long) = (word as u32 % 50, word as i64);
    // SAFETY: the variables are this thread's.
    unsafe {
        out.put(mid::atomic_inc_bounded_relaxed_u32_device(&raw mut short, 30).into());
        out.put(mid::atomic_dec_bounded_relaxed_u32_block(&raw mut short, 20).into());
        out.put(intrinsics::atomic_fetch_min_acqrel_i64_system(&raw mut long, y as i64) as u64);
        out.put(intrinsics::atomic_fetch_exch_relaxed_i64_block(&raw mut long, 5) as u64);
        out.put(intrinsics::atomic_load_acquire_32_device(&raw const short).into());
        intrinsics::atomic_store_release_32_device(&raw mut short, 9);
    }
    out.put(u64::from(short) + long as u64);
}
