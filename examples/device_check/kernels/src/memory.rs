//! Shared memory and barriers.

use core::mem::MaybeUninit;
use core::ptr::addr_of_mut;
use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::prelude::*;
use cuda_std::shared::SharedSlice;
use cuda_std::{Constant, address_space, shared_array, shared_slice};
use device_check_columns as columns;
use device_check_rows as rows;
use device_check_tiles as tiles;

use crate::{BLOCK, Out, Random};

/// Numbers in constant memory, which the host sets.
#[address_space(constant)]
pub static NUMBERS: Constant<[u64; 16]> = Constant::new([0; 16]);

/// A number in constant memory with its first value.
#[address_space(constant)]
static FIRST: Constant<f64> = Constant::new(0.75);

/// Constant memory: the same element for all threads, an element for each, and an address that is in either of two memories.
#[kernel]
pub unsafe fn constant_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let own: [u64; 16] = core::array::from_fn(|_| random.bits());
    for i in 0..8 {
        out.put(NUMBERS[(seed % 16) as usize] ^ i);
        out.put(NUMBERS[random.below(16) as usize]);
        let from = if random.below(2) == 0 {
            &own
        } else {
            &*NUMBERS
        };
        out.put(from[random.below(16) as usize]);
    }
    out.put_f64(*FIRST);
}

/// Static arrays of several types and dynamic shared memory of [`BLOCK`] `u64`.
#[kernel]
pub unsafe fn shared_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    // SAFETY: all indices are below BLOCK, the arrays' length; between two barriers, a thread either writes only its own elements or
    // reads.
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
        // A sum by repeated halving.
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

/// Barriers that count and vote, with divergent code before and after them.
#[kernel]
pub unsafe fn barriers(seed: u64, out: *mut u64, _scratch: *mut u64) {
    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    // SAFETY: all indices are below BLOCK, the array's length; a thread writes only its own element, after a barrier.
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

#[address_space(shared)]
static mut LINE: [u64; 64] = [0; 64];

#[address_space(shared)]
static mut PAIR: (u32, f64) = (0, 0.0);

/// An address in shared memory, stored in shared memory.
#[address_space(shared)]
static mut PLACE: MaybeUninit<*mut u64> = MaybeUninit::uninit();

/// Exchanges a word through an address that may be in any memory.
#[inline(never)]
unsafe fn swapped(place: *mut u64, word: u64) -> u64 {
    // SAFETY: the caller guarantees this.
    unsafe { place.replace(word) }
}

/// A counter that all types share.
#[allow(
    clippy::extra_unused_type_parameters,
    reason = "a static of a generic function is shared by all types"
)]
fn count<T>() -> &'static AtomicU64 {
    #[address_space(shared)]
    static COUNT: AtomicU64 = AtomicU64::new(0);
    &COUNT
}

/// Statics in shared memory: of the kernel, of the module, of functions, and of another crate that two further crates use.
#[kernel]
#[allow(static_mut_refs)]
pub unsafe fn shared_statics(seed: u64, out: *mut u64, _scratch: *mut u64) {
    #[address_space(shared)]
    static mut OWN: [MaybeUninit<u32>; 64] = [MaybeUninit::uninit(); 64];

    // SAFETY: the caller guarantees this.
    let (mut out, mut random) = (unsafe { Out::new(out) }, Random::new(seed));
    let t = thread::thread_idx_x() as usize;
    let word = random.bits();
    if t == 0 {
        tiles::SUM.store(3, Ordering::Relaxed);
        count::<u8>().store(5, Ordering::Relaxed);
        // SAFETY: only one thread writes, before the barrier.
        unsafe {
            PAIR = (seed as u32, random.moderate());
            PLACE.write(addr_of_mut!(LINE).cast::<u64>().add(9));
        }
    }
    thread::sync_threads();
    // SAFETY: t is below BLOCK, the number of elements of each array; between two barriers, a thread either writes only its own
    // elements or reads.
    unsafe {
        rows::put(t, word);
        LINE[t] = word ^ 7;
        OWN[t].write(word as u32);
        count::<u16>().fetch_add(word >> 9, Ordering::Relaxed);
        thread::sync_threads();
        columns::get(t).into_iter().for_each(|found| out.put(found));
        out.put(LINE[63 - t]);
        out.put((*addr_of_mut!(OWN[(t + 3) % 64])).assume_init().into());
        out.put(count::<[u64; 3]>().load(Ordering::Relaxed));
        let (whole, real) = PAIR;
        out.put(whole.into());
        out.put_f64(real);
        out.put(**PLACE.assume_init_ref());
        thread::sync_threads();

        // Addresses whose memory is known only at run time.
        let mut own = word ^ 11;
        let mut places = [
            (&raw mut LINE).cast::<u64>().add(t),
            &raw mut own,
            tiles::tile().add(t),
        ];
        places.rotate_left(random.below(3) as usize);
        for place in places {
            out.put(swapped(place, random.bits()));
            *place ^= 1;
            out.put(*place);
        }
        // The index of the word in LINE that the address points to, and its distance from the first.
        let line = (&raw mut LINE).cast::<u64>();
        let found = places
            .iter()
            .position(|place| *place == line.wrapping_add(t));
        out.put(found.map_or(9, |i| i as u64));
        out.put(found.map_or(-1, |i| places[i].offset_from(line)) as u64);
        thread::sync_threads();
        out.put(LINE.iter().fold(0, |sum, x| sum ^ x));
        // Writes as many words as a test expects from a kernel.
        for i in 0..8 {
            out.put(*tiles::tile().add((t + 8 * i) % 64));
        }
    }
}
