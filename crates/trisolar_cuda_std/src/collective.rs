//! Operations in which all threads of a warp or of a block take part: reductions, running sums, sorting, selection, histograms.
//!
//! Each function states the order of its operations, which depends on the number of threads alone. So sums of floating-point numbers have
//! the same bits on every GPU and in the emulator.
//!
//! All threads of the block (of the warp, for those that begin with `warp_`) make the same call, outside of branches that only some of them
//! take. As with [`sync_threads`], the emulator reports an error otherwise, and a GPU hangs or gives wrong
//! values. Blocks may have any number of threads in any dimensions, which count in the order of [`thread::index`]. What a block wrote before a
//! call of a `block_` function is visible to all its threads afterwards.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::thread::{self, sync_threads};
use crate::warp::{self, WARP_SIZE};
use crate::{Plain, shared_array};

const ALL: u32 = u32::MAX;

/// Most warps of a block.
const MOST_WARPS: usize = 32;
/// Most threads of a block.
const MOST_THREADS: usize = 1024;

/// Where this thread is in its block.
#[derive(Clone, Copy)]
struct Place {
    thread: u32,
    threads: u32,
}

impl Place {
    #[inline(always)]
    fn here() -> Self {
        let (x, y) = (thread::block_dim_x(), thread::block_dim_y());
        Self {
            thread: thread::thread_idx_x()
                + x * (thread::thread_idx_y() + y * thread::thread_idx_z()),
            threads: x * y * thread::block_dim_z(),
        }
    }

    #[inline(always)]
    fn lane(self) -> u32 {
        self.thread % WARP_SIZE
    }

    #[inline(always)]
    fn warp(self) -> u32 {
        self.thread / WARP_SIZE
    }

    #[inline(always)]
    fn warps(self) -> u32 {
        self.threads.div_ceil(WARP_SIZE)
    }

    /// The threads of this warp, which are fewer than 32 in the last one of some blocks.
    #[inline(always)]
    fn lanes(self) -> u32 {
        (self.threads - self.warp() * WARP_SIZE).min(WARP_SIZE)
    }
}

macro_rules! shuffle {
    ($(#[$doc:meta])* $name:ident, $shuffle:ident, $argument:ident) => {
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        fn $name<T: Plain>(value: T, $argument: u32) -> T {
            let mut value = value;
            let bytes = (&raw mut value).cast::<u8>();
            let mut at = 0;
            // SAFETY: the words and bytes lie within the value, of which any bits are valid; all lanes of the warp make this call, as the
            // module says.
            unsafe {
                while at + 4 <= size_of::<T>() {
                    let word = bytes.add(at).cast::<u32>();
                    let other = warp::$shuffle(ALL, word.read_unaligned(), $argument, WARP_SIZE).0;
                    word.write_unaligned(other);
                    at += 4;
                }
                while at < size_of::<T>() {
                    *bytes.add(at) = warp::$shuffle(ALL, *bytes.add(at), $argument, WARP_SIZE).0;
                    at += 1;
                }
            }
            value
        }
    };
}

shuffle!(
    /// The value of the lane `distance` after this one.
    after, warp_shuffle_down, distance
);
shuffle!(
    /// The value of the lane `distance` before this one.
    before, warp_shuffle_up, distance
);
shuffle!(
    /// The value of the lane whose number has these other bits.
    across, warp_shuffle_xor, bits
);
shuffle!(
    /// The value of a lane.
    of_lane, warp_shuffle_idx, lane
);

/// The first lane's result of the tree of [`warp_reduce`] over `count` lanes, which exist.
#[inline(always)]
#[track_caller]
fn tree<T: Plain>(mut value: T, lane: u32, count: u32, op: &impl Fn(T, T) -> T) -> T {
    let mut distance = 1;
    while distance < WARP_SIZE {
        let other = after(value, distance);
        if lane.is_multiple_of(2 * distance) && lane + distance < count {
            value = op(value, other);
        }
        distance *= 2;
    }
    value
}

/// Combines the values of a warp's threads, and returns the result to all of them.
///
/// The order is a tree of neighbours: values 2k and 2k + 1 are combined, the left one first, then the results in the same way, until one
/// is left; a value without a neighbour goes up as it is.
#[inline(always)]
#[track_caller]
pub fn warp_reduce<T: Plain>(value: T, op: impl Fn(T, T) -> T) -> T {
    let place = Place::here();
    of_lane(tree(value, place.lane(), place.lanes(), &op), 0)
}

/// Combines the value of each thread of a warp with those of all threads before it.
///
/// The order is that of Hillis and Steele (1986): at the distances 1, 2, 4, 8 and 16 in turn, lane i becomes the value of lane i - distance
/// combined with its own.
#[inline(always)]
#[track_caller]
pub fn warp_inclusive_scan<T: Plain>(mut value: T, op: impl Fn(T, T) -> T) -> T {
    let lane = Place::here().lane();
    let mut distance = 1;
    while distance < WARP_SIZE {
        let other = before(value, distance);
        if lane >= distance {
            value = op(other, value);
        }
        distance *= 2;
    }
    value
}

/// Combines the values of the threads before this one in its warp, in the order of [`warp_inclusive_scan`]; the first thread has `none`.
#[inline(always)]
#[track_caller]
pub fn warp_exclusive_scan<T: Plain>(value: T, none: T, op: impl Fn(T, T) -> T) -> T {
    let other = before(warp_inclusive_scan(value, op), 1);
    match Place::here().lane() {
        0 => none,
        _ => other,
    }
}

/// Combines the values of a block's threads, and returns the result to all of them. The order is the tree of [`warp_reduce`] over the
/// whole block.
///
/// ```
/// use cuda_std::emulator::Launch;
/// use cuda_std::prelude::*;
/// use cuda_std::collective::block_reduce;
///
/// #[kernel]
/// pub fn largest(x: EachRef<'_, i32>, largest: PerBlock<'_, i32>) {
///     let own = x.fold(i32::MIN, i32::max);
///     largest.set(block_reduce(own, i32::max));
/// }
///
/// let (x, mut found) = ([3, -4, 7, 5, 2], [0]);
/// Launch::new(1, 3).run_safe::<Largest>((&x, &mut found)).unwrap();
/// assert_eq!(found, [7]);
/// ```
#[inline(always)]
#[track_caller]
pub fn block_reduce<T: Plain>(value: T, op: impl Fn(T, T) -> T) -> T {
    let place = Place::here();
    let (lane, warp) = (place.lane() as usize, place.warp() as usize);
    let of_warp = tree(value, place.lane(), place.lanes(), &op);
    // The result has a place of its own. So the warps' values of the next call may be written while this result is read.
    let shared = shared_array![T; MOST_WARPS + 1];
    // SAFETY: the first lane of each warp has a place of its own, and a barrier lies between writes and reads.
    unsafe {
        if lane == 0 {
            shared.add(warp).write(of_warp);
        }
        sync_threads();
        if warp == 0 {
            // Where there are several warps, all lanes of the first one exist.
            let mut value = of_warp;
            if (lane as u32) < place.warps() {
                value = *shared.add(lane);
            }
            let of_block = tree(value, place.lane(), place.warps(), &op);
            if lane == 0 {
                shared.add(MOST_WARPS).write(of_block);
            }
        }
        sync_threads();
        *shared.add(MOST_WARPS)
    }
}

/// The values of the warps before this one, combined from the first on, and those of all warps. The last lane of each warp has its value.
#[inline(always)]
#[track_caller]
fn over_warps<T: Plain>(place: Place, value: T, op: &impl Fn(T, T) -> T) -> (Option<T>, T) {
    let shared = shared_array![T; MOST_WARPS];
    // SAFETY: the last lane of each warp has a place of its own, and a barrier lies between writes and reads, also those of the next call.
    unsafe {
        if place.lane() + 1 == place.lanes() {
            shared.add(place.warp() as usize).write(value);
        }
        sync_threads();
        let mut all = *shared;
        let mut before = None;
        for warp in 1..place.warps() {
            if warp == place.warp() {
                before = Some(all);
            }
            all = op(all, *shared.add(warp as usize));
        }
        sync_threads();
        (before, all)
    }
}

/// Combines the value of each thread of a block with those of all threads before it.
///
/// The order is that of [`warp_inclusive_scan`] in each warp. Then the results of whole warps are combined from the first warp on, and what
/// comes before a warp with each of its values.
#[inline(always)]
#[track_caller]
pub fn block_inclusive_scan<T: Plain>(value: T, op: impl Fn(T, T) -> T) -> T {
    let own = warp_inclusive_scan(value, &op);
    match over_warps(Place::here(), own, &op).0 {
        Some(before) => op(before, own),
        None => own,
    }
}

/// Combines the values of the threads before this one in its block; the first thread has `none`. Also returns the combination of all
/// values. The order is that of [`block_inclusive_scan`]: each thread has the bits that the thread before it has there.
#[inline(always)]
#[track_caller]
pub fn block_exclusive_scan<T: Plain>(value: T, none: T, op: impl Fn(T, T) -> T) -> (T, T) {
    let place = Place::here();
    let inclusive = warp_inclusive_scan(value, &op);
    let own = before(inclusive, 1);
    let (before_warp, all) = over_warps(place, inclusive, &op);
    let result = match (before_warp, place.lane()) {
        (None, 0) => none,
        (None, _) => own,
        (Some(before), 0) => before,
        (Some(before), _) => op(before, own),
    };
    (result, all)
}

/// The number of threads before this one in the block that are `chosen`, which is the place of this one among them, and the number of all
/// that are. With it a block moves what it has chosen together.
#[inline(always)]
#[track_caller]
pub fn block_select(chosen: bool) -> (u32, u32) {
    let place = Place::here();
    // SAFETY: all lanes of the warp make this call, as the module says.
    let votes = unsafe { warp::warp_vote_ballot(ALL, chosen) };
    let (before_warp, all) = over_warps(place, votes.count_ones(), &|a, b| a + b);
    let before_lane = (votes & ((1 << place.lane()) - 1)).count_ones();
    (before_warp.unwrap_or(0) + before_lane, all)
}

/// Sorts the values of a block's threads: thread i gets the one before which i others are. Equal values need not keep their order, but the
/// same input gives the same result everywhere.
///
/// It is the bitonic network of Batcher (1968), with as many comparisons for any input: 55 of each thread in a block of 1024 threads.
/// `is_less` is a strict order of all values.
#[inline(always)]
#[track_caller]
pub fn block_sort<T: Plain>(mut value: T, is_less: impl Fn(&T, &T) -> bool) -> T {
    let place = Place::here();
    let shared = shared_array![T; MOST_THREADS];
    // All comparisons put the smaller value first. So threads that do not exist stand for values larger than all others, and stay where they
    // are.
    let mut exchange = |bits: u32| {
        let partner = place.thread ^ bits;
        let other = if bits < WARP_SIZE {
            across(value, bits)
        } else {
            // SAFETY: every thread has a place of its own, and barriers lie between writes and reads.
            unsafe {
                sync_threads();
                shared.add(place.thread as usize).write(value);
                sync_threads();
                match partner < place.threads {
                    true => *shared.add(partner as usize),
                    false => value,
                }
            }
        };
        let comes_first = place.thread < partner;
        let moves = || match comes_first {
            true => is_less(&other, &value),
            false => is_less(&value, &other),
        };
        if partner < place.threads && moves() {
            value = other;
        }
    };
    let mut length = 2;
    while length < 2 * place.threads {
        // The two sorted halves, the second one from its end.
        exchange(length - 1);
        let mut distance = length / 4;
        while distance > 0 {
            exchange(distance);
            distance /= 2;
        }
        length *= 2;
    }
    sync_threads();
    value
}

/// Counts how often each number below `BINS` is among the numbers of all threads of a block, then calls `each` with every number and its
/// count, once in the whole block.
///
/// # Panics
/// If a number is not below `BINS`.
#[inline(always)]
#[track_caller]
pub fn block_histogram<const BINS: usize>(
    numbers: impl Iterator<Item = usize>,
    mut each: impl FnMut(usize, u32),
) {
    let place = Place::here();
    let own = || (place.thread as usize..BINS).step_by(place.threads as usize);
    let shared = shared_array![u32; BINS];
    for number in own() {
        // SAFETY: every place is one thread's until the barrier.
        unsafe { shared.add(number).write(0) };
    }
    sync_threads();
    for number in numbers {
        assert!(number < BINS, "a number of a histogram is too large");
        // SAFETY: the place has been written, and until the next barrier all accesses are atomic.
        let count = unsafe { AtomicU32::from_ptr(shared.add(number)) };
        count.fetch_add(1, Ordering::Relaxed);
    }
    sync_threads();
    for number in own() {
        // SAFETY: counting has ended.
        each(number, unsafe { *shared.add(number) });
    }
    sync_threads();
}
