//! What the instructions of these kernels compute, word by word, to compare a GPU with the emulator.

use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;
use cuda_std::shared::{F2, SharedSlice, U4};
use cuda_std::tensor::{self, TensorMap, Tile};
use cuda_std::{
    Constant, GridBarrier, address_space, async_copy, bf16, cluster, matrix, mbarrier,
    shared_array, shared_slice, unroll,
};

use crate::Four;

/// Words that each thread of [`instructions`] writes.
pub const CHECK_WORDS: usize = 40;
/// Sums in `f32` that each thread of [`instructions`] writes.
pub const CHECK_SUMS: usize = 24;

/// A number that looks random.
#[inline(always)]
fn hash(seed: u64, i: u64) -> u64 {
    let mut x = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number of either sign between 2⁻⁴ and 2⁴, all bits of whose fraction are used.
#[inline(always)]
fn number(bits: u64) -> f64 {
    let sign_and_fraction = bits & 0x800f_ffff_ffff_ffff;
    f64::from_bits(sign_and_fraction | (1019 + (bits >> 52) % 8) << 52)
}

/// Computes with every instruction of [`matrix`], [`async_copy`] and [`mbarrier`].
///
/// # Parameters
/// - `input`: 2 × 32 groups of four numbers for each block
/// - `words`: [`CHECK_WORDS`] for each thread, which are the same on every device
/// - `sums`: [`CHECK_SUMS`] for each thread, whose last bits differ between devices
///
/// # Thread mapping
/// Any one-dimensional grid of blocks of 32 threads.
///
/// # Safety
/// The pointers are valid, and nothing else uses `words` and `sums` during the launch.
#[kernel(max_threads = 32)]
pub unsafe fn instructions(seed: u64, input: *const Four, words: *mut u64, sums: *mut f32) {
    let thread = thread::index_1d() as usize;
    let lane = thread % 32;
    let mut next = 0;
    let mut random = || {
        next += 1;
        hash(seed ^ thread as u64, next)
    };
    let mut out = 0;
    // SAFETY: every thread writes its own words, at most CHECK_WORDS of them.
    let mut put = |word: u64| unsafe {
        *words.add(thread * CHECK_WORDS + out) = word;
        out += 1;
    };
    let mut place = 0;
    // SAFETY: likewise.
    let mut put_sums = |numbers: [f32; 4]| unsafe {
        unroll!(for i in 0..4 {
            *sums.add(thread * CHECK_SUMS + place + i) = numbers[i];
        });
        place += 4;
    };
    macro_rules! array {
        ($n:tt, $value:expr) => {{
            let mut array = [$value; $n];
            unroll!(for i in 0..$n {
                array[i] = $value;
            });
            array
        }};
    }
    macro_rules! doubles {
        ($name:ident, $a:tt, $b:tt, $c:tt) => {
            let d = matrix::$name(
                array!($a, number(random())),
                array!($b, number(random())),
                array!($c, number(random())),
            );
            unroll!(for i in 0..$c {
                put(d[i].to_bits());
            });
        };
    }
    macro_rules! narrow {
        ($name:ident, $a:tt, $b:tt, |$x:ident| $value:expr) => {
            let mut element = || {
                let $x = number(random());
                $value
            };
            let (a, b) = (array!($a, element()), array!($b, element()));
            put_sums(matrix::$name(a, b, array!(4, number(random()) as f32)));
        };
    }
    let rows = shared_array![Four; 32];
    let tile = shared_array![Four; 64];
    let barrier = shared_array![u64; 1];
    // SAFETY: the warp is complete and does all of this together. Each lane uses its own places of the shared arrays; the barriers lie between
    // writes and reads of others.
    unsafe {
        doubles!(m8n8k4_f64, 1, 1, 2);
        doubles!(m16n8k4_f64, 2, 1, 4);
        doubles!(m16n8k8_f64, 4, 2, 4);
        doubles!(m16n8k16_f64, 8, 4, 4);
        narrow!(m16n8k4_tf32, 2, 1, |x| x as f32);
        narrow!(m16n8k8_tf32, 4, 2, |x| x as f32);
        narrow!(m16n8k8_f16, 4, 2, |x| f16::from_f64(x));
        narrow!(m16n8k16_f16, 8, 4, |x| f16::from_f64(x));
        narrow!(m16n8k8_bf16, 4, 2, |x| bf16::from_f64(x));
        narrow!(m16n8k16_bf16, 8, 4, |x| bf16::from_f64(x));

        let block_input = input.add(64 * thread::block_idx_x() as usize);
        *rows.add(lane) = *block_input.add(lane);
        thread::sync_threads();
        let row = rows.add(lane).cast::<u16>();
        let packed = |pair: &[u16]| u64::from(pair[0]) | u64::from(pair[1]) << 16;
        macro_rules! loads {
            ($name:ident, $n:tt) => {
                let loaded = matrix::$name(row);
                unroll!(for i in 0..$n {
                    put(packed(&[loaded[2 * i], loaded[2 * i + 1]]));
                });
            };
        }
        loads!(load_1, 1);
        loads!(load_2, 2);
        loads!(load_4, 4);
        loads!(load_1_transposed, 1);
        loads!(load_2_transposed, 2);
        loads!(load_4_transposed, 4);

        // 16 bytes by one copy, 16 by two, 8 by two.
        let mine = tile.add(lane);
        async_copy::start(mine, block_input.add(lane));
        async_copy::commit();
        async_copy::wait::<0>();
        put(u64::from((*mine).x) << 32 | u64::from((*mine).w));
        async_copy::start(mine.cast::<u64>(), block_input.add(32 + lane).cast::<u64>());
        async_copy::start(
            mine.cast::<u64>().add(1),
            block_input.add(32 + lane).cast::<u64>().add(1),
        );
        async_copy::commit();
        async_copy::start(
            mine.add(32).cast::<u32>(),
            block_input.add(lane).cast::<u32>().add(3),
        );
        async_copy::start(
            mine.add(32).cast::<u32>().add(1),
            block_input.add(lane).cast::<u32>(),
        );
        async_copy::wait_all();
        put(u64::from((*mine).y) << 32 | u64::from((*mine).z));
        put(*mine.add(32).cast::<u64>());

        if lane == 0 {
            mbarrier::init(barrier, 32);
            mbarrier::fence_init();
        }
        thread::sync_threads();
        for phase in 0..2 {
            if lane == 0 {
                mbarrier::expect(barrier, 256);
                mbarrier::arrive_expect(barrier, 256);
                mbarrier::copy(tile, block_input.add(32 * phase), 256, barrier);
                mbarrier::copy(tile.add(16), block_input.add(32 * phase + 16), 256, barrier);
            } else {
                mbarrier::arrive(barrier);
            }
            mbarrier::wait(barrier, phase as u32);
            let other = *tile.add(31 - lane);
            put(u64::from(other.x ^ other.y) << 32 | u64::from(other.z ^ other.w));
            thread::sync_threads();
        }
    }
}

/// Passes numbers around the grid: after `rounds` steps, a block has what that many blocks before it began with, plus `rounds`.
///
/// # Parameters
/// - `arrived`: 0 before the launch
/// - `numbers`: two numbers for each block
///
/// # Thread mapping
/// A cooperative launch of a one-dimensional grid.
///
/// # Safety
/// The pointers are valid, and nothing else uses `numbers` and `arrived` during the launch.
#[kernel]
pub unsafe fn around(rounds: u32, arrived: *const AtomicU32, numbers: *mut u32) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let mut barrier = GridBarrier::new(arrived);
    for round in 0..rounds {
        // SAFETY: the blocks read what was written before the barrier, and write the other half.
        unsafe {
            let (from, to) = (
                (round % 2 * blocks) as usize,
                ((round + 1) % 2 * blocks) as usize,
            );
            if thread::thread_idx_x() == 0 {
                let before = (block + blocks - 1) % blocks;
                *numbers.add(to + block as usize) = *numbers.add(from + before as usize) + 1;
            }
            barrier.wait();
        }
    }
}

/// Words that each thread of [`clusters`] writes.
pub const CLUSTER_WORDS: usize = 6;

/// Moves numbers between the blocks of clusters in every way that [`cluster`] has.
///
/// # Parameters
/// - `words`: [`CLUSTER_WORDS`] for each thread
///
/// # Thread mapping
/// A one-dimensional grid of a multiple of 4 blocks of 64 threads, with 2048 bytes of dynamic shared memory.
///
/// # Safety
/// The pointer is valid, and nothing else uses `words` during the launch.
#[kernel(cluster = 4, max_threads = 64)]
pub unsafe fn clusters(seed: u64, words: *mut u64) {
    let thread = thread::index_1d() as usize;
    let i = thread::thread_idx_x() as usize;
    let numbers = shared_slice![u64; 64];
    let pairs = shared_slice![F2; 64];
    let counter = shared_array![u32; 1];
    let (rank, size) = (cluster::rank(), cluster::size());
    let next = (rank + 1) % size;
    // SAFETY: every thread writes its own words and elements; barriers lie between writes and reads of others, and before the end of a block.
    unsafe {
        let counters = SharedSlice::from_raw_parts(counter, 1);
        let dynamic = SharedSlice::<U4>::dynamic(1024, 64);
        if i == 0 {
            counters.set(0, 0);
        }
        numbers.set(i, hash(seed, thread as u64));
        cluster::sync();
        let mut sum = 0u64;
        for rank in 0..size {
            sum = sum.wrapping_add(cluster::map_shared_rank(numbers, rank).get(63 - i));
        }
        let other = sum as f64;
        cluster::map_shared_rank(pairs, next).set(i, F2::new(other, other + 1.0));
        let four = U4::new(rank, i as u32, sum as u32, (sum >> 32) as u32);
        cluster::map_shared_rank(dynamic, next).set(i, four);
        let first = cluster::map_shared_rank(counters, 0).as_mut_ptr();
        (*first.cast::<AtomicU32>())
            .fetch_add(rank + 1 + i as u32, core::sync::atomic::Ordering::Relaxed);
        cluster::arrive();
        let own = hash(seed, sum);
        cluster::wait();
        let (pair, four) = (pairs.get(i), dynamic.get(i));
        let place = cluster::block_idx().x | cluster::dim().x << 8 | rank << 16 | size << 24;
        let count = cluster::map_shared_rank(counters, 0).get(0);
        let found = [
            sum,
            own,
            pair.x.to_bits() ^ pair.y.to_bits(),
            u64::from(four.x) | u64::from(four.y) << 32,
            u64::from(four.z) | u64::from(four.w) << 32,
            u64::from(place) | u64::from(count) << 32,
        ];
        unroll!(for word in 0..6 {
            *words.add(thread * CLUSTER_WORDS + word) = found[word];
        });
        cluster::sync();
    }
}

/// The tiles of [`tiles`].
pub const TILE_1: [u32; 1] = [64];
/// The tiles of [`tiles`].
pub const TILE_2: [u32; 2] = [32, 4];
/// The tiles of [`tiles`].
pub const TILE_3: [u32; 3] = [8, 2, 2];

/// Adds 1 to each element of an array and of what is beyond it, a tile for each block, and moves the tiles by some elements.
///
/// # Parameters
/// - the arrays to read and those to write in one, two and three dimensions, with the tiles [`TILE_1`], [`TILE_2`] and [`TILE_3`]
/// - `columns`, `rows`: number of tiles along the first two dimensions
///
/// # Thread mapping
/// Any one-dimensional grid of blocks of 32 threads.
///
/// # Safety
/// The maps are valid, and nothing else uses the arrays during the launch.
#[kernel(max_threads = 32)]
pub unsafe fn tiles(
    from_1: *const TensorMap<f64, 1>,
    to_1: *const TensorMap<f64, 1>,
    from_2: *const TensorMap<f32, 2>,
    to_2: *const TensorMap<f32, 2>,
    from_3: *const TensorMap<u16, 3>,
    to_3: *const TensorMap<u16, 3>,
    columns: u32,
    rows: u32,
) {
    let one = shared_array![Tile<f64, 64>; 1].cast::<f64>();
    let two = shared_array![Tile<f32, 128>; 1].cast::<f32>();
    let three = shared_array![Tile<u16, 32>; 1].cast::<u16>();
    let barrier = shared_array![u64; 1];
    let lane = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x();
    let (x, y, z) = (
        (block % columns) as i32,
        (block / columns % rows) as i32,
        (block / columns / rows) as i32,
    );
    // SAFETY: one thread starts the copies, and all wait for them; each thread has elements of its own in between.
    unsafe {
        if lane == 0 {
            mbarrier::init(barrier, 1);
            mbarrier::fence_init();
            tensor::acquire(from_1);
            tensor::acquire(from_2);
            tensor::acquire(from_3);
            tensor::acquire(to_1);
            tensor::acquire(to_2);
            tensor::acquire(to_3);
            mbarrier::arrive_expect(barrier, 64 * 8 + 128 * 4 + 32 * 2);
            tensor::load(one, from_1, [block as i32 * 64 - 20], barrier);
            tensor::load(
                two,
                from_2,
                [x * 32 - 8, block as i32 / columns as i32 * 4 - 3],
                barrier,
            );
            tensor::load(three, from_3, [x * 8 - 8, y * 2 + 1, z * 2 - 1], barrier);
        }
        thread::sync_threads();
        mbarrier::wait(barrier, 0);
        *one.add(lane) += 1.0;
        *one.add(lane + 32) += 1.0;
        unroll!(for k in 0..4 {
            *two.add(lane + 32 * k) += 1.0;
        });
        *three.add(lane) += 1;
        tensor::fence_shared();
        thread::sync_threads();
        if lane == 0 {
            tensor::store(to_1, [block as i32 * 64], one);
            tensor::commit();
            tensor::store(to_2, [x * 32, block as i32 / columns as i32 * 4], two);
            tensor::store(to_3, [x * 8, y * 2, z * 2], three);
            tensor::commit();
            tensor::wait::<1>();
            tensor::wait::<0>();
        }
    }
}

/// The factors of [`weighted`], which the host sets.
#[address_space(constant)]
pub static WEIGHTS: Constant<[f64; 4]> = Constant::new([1.0, 2.0, 3.0, 4.0]);

/// Multiplies the numbers by [`WEIGHTS`] in turn.
///
/// # Thread mapping
/// A thread for each number, in a one-dimensional grid; surplus threads return at once.
///
/// # Safety
/// `numbers` is valid for `n` numbers, and nothing else uses them during the launch.
#[kernel]
pub unsafe fn weighted(numbers: *mut f64, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and no other thread has the same i.
        unsafe { *numbers.add(i as usize) *= WEIGHTS[i as usize % 4] };
    }
}
