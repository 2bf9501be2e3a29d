//! Shared memory and barriers.

use cuda_std::prelude::*;
use cuda_std::shared::SharedSlice;
use cuda_std::{shared_array, shared_slice};

use crate::{BLOCK, Out, Random};

/// Static arrays of several types and dynamic shared memory of [`BLOCK`] `u64`.
#[kernel]
pub unsafe fn shared_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller's promise.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    // SAFETY: all elements are below BLOCK, the arrays' length; between two barriers a thread writes its own alone, or reads.
    unsafe {
        let t = thread::thread_idx_x() as usize;
        let n = BLOCK as usize;
        let words = shared_array![u64; 64];
        let bytes = shared_array![u8; 64];
        let tile = shared_slice![f64; 64];
        let dynamic = SharedSlice::<u64>::dynamic(0, n);
        *words.add(t) = random.bits();
        *bytes.add(t) = random.bits() as u8;
        tile.set(t, random.moderate());
        dynamic.set(t, random.bits());
        thread::sync_threads();
        out.put(*words.add(n - 1 - t));
        out.put((*bytes.add((t + 5) % n)).into());
        out.put_f64(tile.get((7 * t) % n));
        out.put(dynamic.get((t + 31) % n));
        thread::sync_threads();
        // A sum in halves.
        let mut half = n / 2;
        while half > 0 {
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            thread::sync_threads();
            half /= 2;
        }
        out.put_f64(tile.get(0));
    }
}

/// Barriers that count and vote, in divergent code before and after.
#[kernel]
pub unsafe fn barriers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller's promise.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    // SAFETY: all elements are below BLOCK, the array's length; a thread writes its own alone, after a barrier.
    unsafe {
        let words = shared_slice![u64; 64];
        let t = thread::thread_idx_x() as usize;
        words.set(t, t as u64);
        thread::sync_threads();
        for round in 0..8 {
            let odd = random.below(5) == 0;
            let other = words.get((t * 13 + round) % BLOCK as usize);
            out.put(thread::sync_threads_count(odd.into()).into());
            if odd {
                words.set(t, other.wrapping_mul(31));
            } else {
                words.set(t, other + 1);
            }
            out.put(thread::sync_threads_or((other > 1000).into()).into());
            out.put(thread::sync_threads_and((other < 1 << 40).into()).into());
            out.put(words.get(t));
            thread::sync_threads();
        }
    }
}
