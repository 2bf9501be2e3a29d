//! Addresses in shared, global and a thread's own memory, which go through everything that can hold one.
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "what every kernel requires is that of the crate; indices are below BLOCK, the arrays' length, and a barrier is between writes \
              of elements and reads of others"
)]

use core::sync::atomic::{
    AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering,
};

use cuda_std::address_space;
use cuda_std::prelude::*;
use cuda_std::warp::{sync_warp, warp_shuffle_idx, warp_shuffle_xor};

use crate::{BLOCK, Out, Random};

const N: usize = BLOCK as usize;
const ALL: u32 = u32::MAX;

#[address_space(shared)]
static mut FIRST: [u64; N] = [0; N];
#[address_space(shared)]
static mut SECOND: [u64; N] = [0; N];

/// Fills two shared arrays with random words; returns their addresses and the number of the thread.
#[inline(always)]
unsafe fn filled(random: &mut Random) -> (*mut u64, *mut u64, usize) {
    let t = thread::thread_idx_x() as usize;
    let (first, second) = (
        (&raw mut FIRST).cast::<u64>(),
        (&raw mut SECOND).cast::<u64>(),
    );
    *first.add(t) = random.bits();
    *second.add(t) = random.bits();
    thread::sync_threads();
    (first, second, t)
}

/// One of four arrays by conditions, matches and an index, read and written.
#[kernel]
pub unsafe fn selected_places(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let mut random = Random::new(seed);
    let global = out.add(thread::index_1d() as usize * crate::WORDS + 60);
    let mut out = Out::new(out);
    let (first, second, t) = filled(&mut random);
    let mut own = [random.bits(), random.bits(), random.bits()];
    *global = random.bits();
    for _ in 0..8 {
        let which = random.below(5);
        let by_match = match which {
            0 => first.add(t),
            1 => second.add(t),
            2 => &raw mut own[1],
            3 => global,
            _ => &raw mut own[(random.bits() % 3) as usize],
        };
        let by_condition = if random.below(2) == 0 {
            by_match
        } else {
            second.add(t)
        };
        *by_condition = (*by_condition).rotate_left(9) ^ *by_match;
        let places = [first.add(t), global, second.add(t), own.as_mut_ptr()];
        let by_index = places[random.below(4) as usize];
        *by_index = (*by_index).wrapping_add(*by_condition);
        out.put(*by_match ^ *by_index);
    }
    out.put(own[0] ^ own[1] ^ own[2]);
    *global = 0;
}

struct Node {
    value: u64,
    next: *mut Node,
}

/// A list whose nodes lie in shared and in own memory, walked and turned around.
#[kernel]
pub unsafe fn linked_places(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let t = thread::thread_idx_x() as usize;
    let shared = shared_array![[u64; 2]; 64].cast::<Node>();
    let mut own = [const {
        Node {
            value: 0,
            next: core::ptr::null_mut(),
        }
    }; 3];
    let own = own.as_mut_ptr();
    for i in 0..3 {
        (*own.add(i)).value = random.bits();
    }
    shared.add(t).write(Node {
        value: random.bits(),
        next: own,
    });
    (*own).next = own.add(2);
    if random.below(2) == 0 {
        (*own.add(2)).next = own.add(1);
    }
    let mut head = shared.add(t);
    for _ in 0..3 {
        let (mut at, mut sum) = (head, 0u64);
        while !at.is_null() {
            sum = sum.rotate_left(7) ^ (*at).value;
            (*at).value = sum;
            at = (*at).next;
        }
        out.put(sum);
        let mut turned = core::ptr::null_mut();
        while !head.is_null() {
            let next = (*head).next;
            (*head).next = turned;
            turned = head;
            head = next;
        }
        head = turned;
    }
}

#[address_space(shared)]
static mut PLACES: [*const u64; N] = [core::ptr::null(); N];

/// Addresses of shared memory in shared memory and in an array of a thread, which others follow.
#[kernel]
pub unsafe fn stored_places(seed: u64, out: *mut u64, scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let (first, second, t) = filled(&mut random);
    let places = (&raw mut PLACES).cast::<*const u64>();
    *places.add(t) = if t.is_multiple_of(3) {
        first.add(t)
    } else {
        second.add(N - 1 - t)
    };
    thread::sync_threads();
    for step in 1..5 {
        out.put(**places.add((t + 5 * step) % N));
    }
    let mut kept = [core::ptr::null::<u64>(); 6];
    for (i, place) in kept.iter_mut().enumerate() {
        *place = match i % 3 {
            0 => *places.add((t + i) % N),
            1 => scratch.add(i),
            _ => first.add(i),
        };
    }
    let i = random.below(6) as usize;
    kept.swap(i, 5 - i);
    out.put(
        kept.iter()
            .fold(0, |sum: u64, place| sum.rotate_left(3) ^ **place),
    );
    let text = core::hint::black_box(&kept);
    out.put(*text[random.below(6) as usize]);
}

/// Addresses through shuffles, alone and with an offset in one word.
#[kernel]
pub unsafe fn shuffled_places(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let mut random = Random::new(seed);
    let mine = out.add(thread::index_1d() as usize * crate::WORDS + 70);
    let mut out = Out::new(out);
    let (first, second, t) = filled(&mut random);
    *mine = random.bits();
    sync_warp(ALL);
    let places = [first.add(t), second.add(t), mine];
    for place in places {
        out.put(*(warp_shuffle_xor(ALL, place as u64, 7, 32).0 as *const u64));
        let wide = (u128::from(place as u64) << 64) | u128::from(random.below(1));
        let wide = warp_shuffle_idx(ALL, wide, t as u32 ^ 9, 32).0;
        out.put(*((wide >> 64) as u64 as *const u64).byte_add(wide as usize));
    }
    let either = if random.below(2) == 0 {
        places[0]
    } else {
        places[2]
    };
    out.put(*(warp_shuffle_xor(ALL, either as u64, 16, 32).0 as *const u64));
    let signed = warp_shuffle_xor(ALL, places[1] as i64, 3, 32).0;
    out.put(*(signed as *const u64));
    sync_warp(ALL);
    *mine = 0;
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    left: &'a [u64],
    right: Option<&'a u64>,
}

#[inline(never)]
unsafe fn paired<'a>(at: *const u64, t: usize, some: bool) -> Pair<'a> {
    Pair {
        left: core::slice::from_raw_parts(at, N),
        right: some.then(|| &*at.add(t)),
    }
}

/// Addresses in tuples, structures, options and closures that functions take and return.
#[kernel]
pub unsafe fn places_in_structures(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let (first, second, t) = filled(&mut random);
    let pairs = [
        paired(first, t, true),
        paired(second, t, t.is_multiple_of(2)),
    ];
    for _ in 0..4 {
        let chosen = pairs[random.below(2) as usize];
        out.put(chosen.left[random.below(64) as usize]);
        out.put(chosen.right.copied().unwrap_or(5));
    }
    let add = random.bits();
    let reader = move |i: usize| (*first.add(i)).wrapping_add(add);
    let writer = |i: usize, value: u64| *second.add(i) = value;
    thread::sync_threads();
    let apply = |f: &dyn Fn(usize) -> u64| f((t * 3) % N) ^ f(t);
    out.put(apply(&reader));
    writer(t, apply(&|i| reader(i).rotate_left(1)));
    out.put(*second.add(t));
    let (a, (b, c)) = core::hint::black_box((first.add(t), (second.add(t), &raw const add)));
    out.put(*a ^ *b ^ *c);
}

/// Slices of shared arrays: parts, sorting, copies, iterators.
#[kernel]
pub unsafe fn slices_of_shared_arrays(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let (first, second, t) = filled(&mut random);
    let all = core::slice::from_raw_parts(first, N);
    out.put(
        all.iter()
            .rev()
            .step_by(3)
            .fold(0, |sum: u64, x| sum.wrapping_mul(31) ^ x),
    );
    out.put(all.windows(2).filter(|two| two[0] < two[1]).count() as u64);
    out.put(
        all.chunks(5)
            .map(|part| part.iter().max().copied().unwrap_or(0))
            .fold(0, u64::wrapping_add),
    );
    out.put(all.binary_search(&all[t]).unwrap_or_else(|i| i + 1000) as u64);
    // Each thread has eight elements of its own here.
    let mine = core::slice::from_raw_parts_mut(shared_array![u64; 512].add(8 * t), 8);
    mine.copy_from_slice(&all[8 * (t / 8)..8 * (t / 8) + 8]);
    mine.sort_unstable();
    let (low, high) = mine.split_at_mut(3);
    low.reverse();
    low[0] ^= high[4];
    high.rotate_left(2);
    high.swap(0, 4);
    mine.copy_within(2..6, 1);
    mine[7] = *second.add(N - 1 - t);
    mine.iter().for_each(|x| out.put(*x));
}

trait Counter {
    fn next(&mut self, by: u64) -> u64;
}
struct InShared(*mut u64);
struct Inline([u64; 2]);
impl Counter for InShared {
    #[inline(never)]
    fn next(&mut self, by: u64) -> u64 {
        // SAFETY: the element belongs to this thread.
        unsafe {
            *self.0 = (*self.0).rotate_left(5) ^ by;
            *self.0
        }
    }
}
impl Counter for Inline {
    #[inline(never)]
    fn next(&mut self, by: u64) -> u64 {
        self.0[(by % 2) as usize] = self.0[0].wrapping_add(self.0[1]) ^ by;
        self.0[0]
    }
}

/// Trait objects whose data is in shared memory, in own memory, or names shared memory.
#[kernel]
pub unsafe fn objects_in_shared_memory(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let (first, _, t) = filled(&mut random);
    let in_shared = &mut *shared_array![[u64; 2]; 64].add(t).cast::<Inline>();
    in_shared.0 = [random.bits(), random.bits()];
    let mut own = Inline([random.bits(), 1]);
    let mut by_address = InShared(first.add(t));
    let mut all: [&mut dyn Counter; 3] = [in_shared, &mut own, &mut by_address];
    for _ in 0..9 {
        let i = random.below(3) as usize;
        out.put(all[i].next(random.bits()));
    }
    all.swap(0, 2);
    out.put(all[0].next(1) ^ all[2].next(2));
}

mod left {
    pub mod inner {
        #[cuda_std::address_space(shared)]
        pub static mut TILE: [u32; 64] = [0; 64];
    }
}
mod right {
    pub mod inner {
        #[cuda_std::address_space(shared)]
        pub static mut TILE: [u32; 64] = [0; 64];
    }
}

#[inline(never)]
unsafe fn array_of<T: Copy, const K: usize>() -> *mut [T; K] {
    shared_array![[T; K]; 64]
}

/// Statics of the same name in several modules and functions, and arrays of generic functions.
#[kernel]
pub unsafe fn names_of_shared_arrays(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let t = thread::thread_idx_x() as usize;
    unsafe fn own(t: usize) -> *mut u32 {
        #[address_space(shared)]
        static mut TILE: [u32; 64] = [0; 64];
        (&raw mut TILE).cast::<u32>().add(t)
    }
    let places = |t: usize| {
        [
            (&raw mut left::inner::TILE).cast::<u32>().add(t),
            (&raw mut right::inner::TILE).cast::<u32>().add(t),
            own(t),
            array_of::<u32, 2>().add(t).cast(),
            array_of::<f32, 2>().add(t).cast(),
            array_of::<u32, 3>().add(t).cast(),
            array_of::<u32, 1>().add(t).cast(),
        ]
    };
    for place in places(t) {
        *place = random.bits() as u32;
    }
    thread::sync_threads();
    for place in places((t * 5 + 1) % N) {
        out.put((*place).into());
    }
}

#[inline(never)]
unsafe fn all_atomics(at: *mut u64, x: u64) -> u64 {
    let word = AtomicU64::from_ptr(at);
    let mut found = word.fetch_add(x, Ordering::Relaxed);
    found ^= word.fetch_xor(x >> 7, Ordering::AcqRel).rotate_left(1);
    found ^= word.swap(found, Ordering::SeqCst).rotate_left(2);
    found ^= AtomicI64::from_ptr(at.cast()).fetch_min(x as i64, Ordering::Relaxed) as u64;
    found ^= word
        .compare_exchange(found, x, Ordering::AcqRel, Ordering::Relaxed)
        .unwrap_or_else(|old| old + 1);
    let half = AtomicU32::from_ptr(at.cast::<u32>().add(1));
    found ^= u64::from(half.fetch_max(x as u32, Ordering::Relaxed)) << 9;
    found ^= u64::from(half.fetch_nand(x as u32, Ordering::Relaxed)) << 11;
    found ^= AtomicI32::from_ptr(at.cast()).fetch_sub(x as i32, Ordering::Release) as u64;
    let short = AtomicU16::from_ptr(at.cast::<u16>().add(1));
    found ^= u64::from(short.fetch_add(x as u16, Ordering::Relaxed)) << 20;
    found ^= u64::from(short.fetch_most(x as u16)) << 30;
    let byte = AtomicU8::from_ptr(at.cast::<u8>().add(3));
    found ^= u64::from(byte.fetch_or(x as u8 & 0x11, Ordering::Relaxed)) << 40;
    found ^= u64::from(byte.swap(x as u8, Ordering::Relaxed)) << 50;
    found ^ word.load(Ordering::Acquire)
}

trait Most {
    fn fetch_most(&self, x: u16) -> u16;
}
impl Most for AtomicU16 {
    fn fetch_most(&self, x: u16) -> u16 {
        self.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(old.max(x)))
            .unwrap_or(0)
    }
}

/// Atomics of every width through one function, on shared, global and own memory.
#[kernel]
pub unsafe fn atomics_of_all_widths(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let mut random = Random::new(seed);
    let global = out.add(thread::index_1d() as usize * crate::WORDS + 80);
    let mut out = Out::new(out);
    let (first, _, t) = filled(&mut random);
    let mut own = [random.bits(), random.bits()];
    *global = random.bits();
    for _ in 0..6 {
        let x = random.bits();
        out.put(all_atomics(first.add(t), x));
        out.put(all_atomics(global, x));
        out.put(all_atomics(&raw mut own[(x % 2) as usize], x));
        let either = if x & 4 == 0 {
            own.as_mut_ptr()
        } else {
            first.add(t)
        };
        out.put(AtomicU64::from_ptr(either).fetch_add(x, Ordering::Relaxed));
    }
    out.put(own[0] ^ own[1] ^ *first.add(t) ^ *global);
    *global = 0;
}

/// Addresses that integers are made of, and from which addresses are made again.
#[kernel]
pub unsafe fn places_as_integers(seed: u64, out: *mut u64, scratch: *mut u64) {
    let (mut out, mut random) = (Out::new(out), Random::new(seed));
    let (first, second, t) = filled(&mut random);
    let key = random.bits();
    let hidden = first.add(t) as u64 ^ key;
    out.put(*((core::hint::black_box(hidden) ^ key) as *const u64));
    let halves = [
        second.add(t) as u64 as u32,
        (second.add(t) as u64 >> 32) as u32,
    ];
    let halves = core::hint::black_box(halves);
    out.put(*((u64::from(halves[1]) << 32 | u64::from(halves[0])) as *const u64));
    let mut bytes = (first.add(N - 1 - t) as u64).to_le_bytes();
    bytes.reverse();
    let bytes = core::hint::black_box(bytes);
    out.put(*(u64::from_be_bytes(bytes) as *const u64));
    // The lowest bits are free for a mark.
    let marked = second.add(t) as u64 | (key & 7);
    out.put((marked & 7) ^ *((marked & !7) as *const u64));
    let between = (second as u64).wrapping_sub(first as u64);
    out.put(*((first.add(t) as u64).wrapping_add(core::hint::black_box(between)) as *const u64));
    let choice = if key & 1 == 0 {
        first.add(t) as u64
    } else {
        scratch as u64
    };
    out.put(*(choice as *const u64));
    out.put(
        u64::from(first.add(t) as u64 == scratch as u64) + 2 * u64::from(first.add(t).is_aligned()),
    );
}

/// The functions of `core` that move memory, between all kinds of it.
#[kernel]
pub unsafe fn moves_between_memories(seed: u64, out: *mut u64, _scratch: *mut u64) {
    let mut random = Random::new(seed);
    let global = out.add(thread::index_1d() as usize * crate::WORDS + 64);
    let mut out = Out::new(out);
    let t = thread::thread_idx_x() as usize;
    let shared = shared_array![u64; 512].add(8 * t);
    let mut own: [u64; 8] = core::array::from_fn(|_| random.bits());
    let count = 1 + random.below(8) as usize;
    core::ptr::copy_nonoverlapping(own.as_ptr(), shared, 8);
    let bytes = shared.cast::<u8>();
    core::ptr::copy(bytes.add(3), bytes.add(5), count * 7);
    core::ptr::write_bytes(own.as_mut_ptr().cast::<u8>().add(count), 0xa5, 9);
    core::ptr::copy_nonoverlapping(shared.add(1), global, 7);
    *global.add(7) = own[1];
    core::ptr::swap(&raw mut own[2], shared.add(3));
    core::ptr::swap_nonoverlapping(own.as_mut_ptr(), global, count.min(8));
    out.put(core::ptr::replace(shared.add(2), own[4]));
    out.put(shared.byte_add(1).cast::<u64>().read_unaligned());
    shared.byte_add(11).cast::<u64>().write_unaligned(own[5]);
    own.copy_from_slice(core::slice::from_raw_parts(shared, 8));
    let same = core::slice::from_raw_parts(global, 4) == core::slice::from_raw_parts(shared, 4);
    out.put(same.into());
    for (i, word) in own.into_iter().enumerate() {
        out.put(word);
        out.put(*global.add(i));
    }
    core::ptr::write_bytes(global, 0, 8);
}
