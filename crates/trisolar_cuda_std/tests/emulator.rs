//! The emulator runs kernels as a GPU does (barriers, shared memory, dimensions, order) and detects their errors.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::manual_is_multiple_of, clippy::if_same_then_else)]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use cuda_std::emulator::{EmulatorError, Launch, Site, launch};
use cuda_std::prelude::*;
use cuda_std::shared::{SharedSlice, dynamic_shared_mem};
use cuda_std::{GridBarrier, address_space, mem, misc, shared_array, shared_slice};

#[kernel]
unsafe fn write_index(out: *mut u32, n: usize) {
    let i = thread::index() as usize;
    if i < n {
        unsafe { *out.add(i) = i as u32 + 1 };
    }
}

#[test]
fn every_thread_of_a_3d_launch_has_an_index_of_its_own() {
    let mut out = vec![0u32; 2 * 3 * 4 * 5 * 6 * 7];
    let (pointer, n) = (out.as_mut_ptr(), out.len());
    let stats = unsafe { launch((2, 3, 4), (5, 6, 7), 0, || write_index(pointer, n)) }.unwrap();
    assert!(out.iter().copied().eq(1..=n as u32));
    assert_eq!(
        (stats.blocks, stats.threads, stats.barriers),
        (24, n as u64, 0)
    );
}

#[kernel]
unsafe fn coordinates(sums: *const [AtomicU32; 8]) {
    let sums = unsafe { &*sums };
    let add = |i: usize, value: u32| sums[i].fetch_add(value, Ordering::Relaxed);
    let (at2, at3) = (thread::index_2d(), thread::index_3d());
    add(0, at2.x);
    add(1, at2.y);
    add(2, at3.z);
    add(3, thread::thread_idx().element_product());
    add(4, thread::block_idx().element_sum());
    add(
        5,
        thread::block_dim().element_product() * thread::grid_dim().element_product(),
    );
    add(6, thread::first().into());
    add(7, thread::warp_size());
}

#[test]
fn indices_in_two_and_three_dimensions_cover_the_grid() {
    let sums: [AtomicU32; 8] = Default::default();
    let pointer = &raw const sums;
    unsafe { launch((2, 3, 1), (4, 2, 2), 0, || coordinates(pointer)) }.unwrap();
    let threads = 2 * 3 * 16;
    let sum = |n: u32| n * (n - 1) / 2;
    let expected = [
        sum(8) * threads / 8,
        sum(6) * threads / 6,
        threads / 2,
        6 * sum(4),
        (0..2).flat_map(|x| (0..3).map(move |y| x + y)).sum::<u32>() * 16,
        threads * threads,
        1,
        32 * threads,
    ];
    assert_eq!(sums.map(AtomicU32::into_inner), expected);
}

const BLOCK: usize = 128;

/// Sums 128 numbers with a tree in shared memory.
#[kernel]
unsafe fn block_sum(input: &[f32], out: *mut f32, with_barrier: bool) {
    #[address_space(shared)]
    static mut TILE: [f32; BLOCK] = [0.0; BLOCK];
    let i = thread::thread_idx_x() as usize;
    unsafe { TILE[i] = input[thread::index_1d() as usize] };
    thread::sync_threads();
    let mut half = BLOCK / 2;
    while half > 0 {
        if i < half {
            unsafe { TILE[i] += TILE[i + half] };
        }
        if with_barrier {
            thread::sync_threads();
        }
        half /= 2;
    }
    thread::sync_threads();
    if i == 0 {
        unsafe { *out.add(thread::block_idx_x() as usize) = TILE[0] };
    }
}

fn sums(seed: u64, with_barrier: bool) -> Vec<f32> {
    let input: Vec<f32> = (0..4 * BLOCK).map(|i| i as f32).collect();
    let mut out = vec![0.0; 4];
    let pointer = out.as_mut_ptr();
    unsafe {
        Launch::new(4, BLOCK as u32)
            .seed(seed)
            .run(|| block_sum(&input, pointer, with_barrier))
    }
    .unwrap();
    out
}

#[test]
fn some_seed_exposes_a_missing_barrier_and_a_correct_kernel_never_fails() {
    let expected: Vec<f32> = (0..4)
        .map(|b| (b * BLOCK..(b + 1) * BLOCK).map(|i| i as f32).sum())
        .collect();
    assert!((0..50).all(|seed| sums(seed, true) == expected));
    assert!((0..50).any(|seed| sums(seed, false) != expected));
}

#[test]
fn the_same_seed_gives_the_same_wrong_result() {
    assert!((0..20).all(|seed| sums(seed, false) == sums(seed, false)));
}

/// Transposes 32 × 32 in shared memory, static or dynamic.
#[kernel]
unsafe fn transpose(data: &mut [u64], which: u32) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let pointer = if which == 0 {
        shared_array![u64; 1024]
    } else {
        dynamic_shared_mem::<u64>()
    };
    for row in (y..32).step_by(8) {
        unsafe { *pointer.add(row * 32 + x) = data[row * 32 + x] };
    }
    thread::sync_threads();
    for row in (y..32).step_by(8) {
        data[row * 32 + x] = unsafe { *pointer.add(x * 32 + row) };
    }
}

#[test]
fn blocks_transpose_in_static_and_dynamic_shared_memory() {
    for which in [0, 1] {
        let mut data: Vec<u64> = (0..1024).collect();
        let all: *mut [u64] = data.as_mut_slice();
        let run = || unsafe { transpose(&mut *all, which) };
        let stats = unsafe { Launch::new(1, (32, 8)).shared_bytes(8192).seed(1).run(run) }.unwrap();
        assert!((0..1024).all(|i| data[i] == (i % 32 * 32 + i / 32) as u64));
        assert_eq!(
            (stats.barriers, stats.shared_bytes),
            (1, if which == 0 { 16384 } else { 8192 })
        );
    }
}

#[address_space(shared)]
static mut SCRATCH: [u32; 64] = [0; 64];

#[allow(static_mut_refs)]
fn exchange(i: usize, value: u32) -> u32 {
    unsafe { SCRATCH[i] = value };
    thread::sync_threads();
    unsafe { SCRATCH[63 - i] }
}

#[kernel]
unsafe fn reverse_in_a_function(data: *mut u32) {
    let slot = unsafe { &mut *data.add(thread::index_1d() as usize) };
    *slot = exchange(thread::thread_idx_x() as usize, *slot);
}

#[test]
fn a_shared_static_of_the_module_belongs_to_each_block() {
    let mut data: Vec<u32> = (0..256).collect();
    let pointer = data.as_mut_ptr();
    unsafe {
        Launch::new(4, 64)
            .seed(7)
            .run(|| reverse_in_a_function(pointer))
    }
    .unwrap();
    assert!((0..256).all(|i| data[i] == (i / 64 * 64 + 63 - i % 64) as u32));
}

#[kernel]
unsafe fn votes(out: *mut u32) {
    let t = thread::thread_idx_x();
    let count = thread::sync_threads_count((t % 3 == 0).into());
    let and = thread::sync_threads_and((t < 100).into());
    let or = thread::sync_threads_or((t == 99).into());
    if t == 0 {
        unsafe { out.cast::<[u32; 3]>().write([count, and, or]) };
    }
}

#[test]
fn barriers_vote() {
    let mut out = [0; 3];
    let pointer = out.as_mut_ptr();
    let stats = unsafe { launch(1, 100, 0, || votes(pointer)) }.unwrap();
    assert_eq!((out, stats.barriers), ([34, 1, 1], 3));
}

#[kernel]
unsafe fn histogram(data: &[u8], counts: *const [AtomicU32; 256]) {
    let i = thread::index_1d() as usize;
    if i < data.len() {
        let counts = unsafe { &*counts };
        counts[data[i] as usize].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn atomics_count_across_blocks_and_cores() {
    let data: Vec<u8> = (0..50_000u32).map(|i| (i * i / 7) as u8).collect();
    let counts: [AtomicU32; 256] = std::array::from_fn(|_| AtomicU32::new(0));
    let pointer = &raw const counts;
    unsafe {
        Launch::new(196, 256)
            .workers(4)
            .run(|| histogram(&data, pointer))
    }
    .unwrap();
    let total = |byte: usize| data.iter().filter(|&&b| b as usize == byte).count() as u32;
    assert!(
        counts
            .iter()
            .enumerate()
            .all(|(byte, count)| count.load(Ordering::Relaxed) == total(byte))
    );
}

#[kernel]
unsafe fn half_of_a_barrier() {
    if thread::thread_idx_x() < 40 {
        return;
    }
    thread::sync_threads();
}

#[test]
fn a_barrier_that_some_threads_never_reach_is_an_error() {
    let error = unsafe { launch(1, 64, 0, || half_of_a_barrier()) }.unwrap_err();
    let EmulatorError::Hang {
        block,
        waiting,
        exited,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((*block, exited.len(), waiting.len()), ([0, 0, 0], 40, 1));
    assert_eq!(waiting[0].threads, (40..64).collect::<Vec<_>>());
    let text = error.to_string();
    assert!(
        text.contains(
            "24 threads (40-63) at sync_threads in crates/trisolar_cuda_std/tests/emulator.rs:"
        ),
        "{text}"
    );
    assert!(text.contains("40 threads (0-39) have exited"), "{text}");
}

#[kernel]
unsafe fn different_barriers() {
    if thread::thread_idx_x() == 0 {
        thread::sync_threads();
    } else {
        thread::sync_threads_count(1);
    }
}

#[test]
fn different_barrier_functions_do_not_meet() {
    let error = unsafe { launch(1, 2, 0, || different_barriers()) }.unwrap_err();
    assert!(
        matches!(error, EmulatorError::MixedBarriers { .. }),
        "{error}"
    );
}

#[kernel]
unsafe fn panics(data: &[u32]) {
    let i = thread::index_1d() as usize;
    thread::sync_threads();
    core::hint::black_box(data[i]);
}

#[test]
fn a_panic_names_block_and_thread() {
    let data = [0; 40];
    let launch = Launch::new(2, 32).workers(1).natural_order();
    let error = unsafe { launch.run(|| panics(&data)) }.unwrap_err();
    let EmulatorError::Panic { site, message } = error else {
        panic!("{error}")
    };
    assert_eq!(
        site,
        Site {
            block: [1, 0, 0],
            thread: [8, 0, 0]
        }
    );
    assert!(
        message.contains("index out of bounds: the len is 40 but the index is 40"),
        "{message}"
    );
}

#[kernel]
unsafe fn beyond_the_slice(index: usize) {
    let tile = shared_slice![f32; 16];
    unsafe { tile.set(index, 1.0) };
}

#[kernel]
unsafe fn beyond_the_array(index: isize) {
    let tile = shared_array![f32; 16];
    unsafe { *tile.offset(index) = 1.0 };
}

#[kernel]
unsafe fn beyond_the_dynamic_array() {
    let tile: *mut u8 = dynamic_shared_mem();
    unsafe { *tile.add(100) = 1 };
}

#[test]
fn accesses_outside_of_shared_arrays_are_errors() {
    unsafe { launch(1, 1, 0, || beyond_the_slice(15)) }.unwrap();
    let error = unsafe { launch(1, 1, 0, || beyond_the_slice(16)) }.unwrap_err();
    assert!(
        matches!(
            error,
            EmulatorError::SharedIndex {
                index: 16,
                length: 16,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("tests/emulator.rs:"), "{error}");

    unsafe { launch(1, 1, 0, || beyond_the_array(15)) }.unwrap();
    let after = unsafe { launch(1, 1, 0, || beyond_the_array(16)) }.unwrap_err();
    let what = "right after the end of [f32; 16] of 64 bytes in shared memory";
    assert!(after.to_string().contains(what), "{after}");
    let before = unsafe { launch(1, 1, 0, || beyond_the_array(-1)) }.unwrap_err();
    assert!(
        matches!(
            before,
            EmulatorError::SharedOverrun {
                side: "before",
                bytes: 64,
                ..
            }
        ),
        "{before}"
    );
    let error = unsafe { launch(1, 1, 100, || beyond_the_dynamic_array()) }.unwrap_err();
    assert!(
        matches!(
            error,
            EmulatorError::SharedOverrun {
                side: "after",
                bytes: 100,
                ..
            }
        ),
        "{error}"
    );
}

#[kernel]
unsafe fn much_shared() {
    let _ = shared_array![[f64; 1024]; 20];
    let _ = dynamic_shared_mem::<u8>();
}

#[test]
fn more_shared_memory_than_a_gpu_has_is_an_error() {
    unsafe { launch(1, 1, 60_000, || much_shared()) }.unwrap();
    let error = unsafe { launch(1, 1, 80_000, || much_shared()) }.unwrap_err();
    assert_eq!(
        error,
        EmulatorError::SharedMemory {
            block: [0; 3],
            bytes: 243_840,
            limit: 232_448
        }
    );
}

#[test]
fn impossible_launches_are_refused() {
    let run = |launch: Launch| unsafe { launch.run(|| ()) };
    for launch in [
        Launch::new(0, 1),
        Launch::new((1, 65_536), 1),
        Launch::new(1, 1025),
        Launch::new(1, (32, 33)),
        Launch::new(1, (1, 1, 65)),
        Launch::new(1, (1, 0)),
        Launch::new(1, 1).workers(0),
        Launch::new(1, 1).stack_bytes(100),
    ] {
        let error = run(launch.clone()).unwrap_err();
        assert!(
            matches!(error, EmulatorError::Dimensions { .. }),
            "{launch:?}: {error}"
        );
    }
    let error = run(Launch::new(1, 2000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the block's x is 2000, but must be 1 to 1024"
    );
    assert!(matches!(
        run(Launch::new(1, 1).shared_bytes(1 << 20)),
        Err(EmulatorError::SharedMemory { .. })
    ));
}

#[test]
#[should_panic(expected = "outside of a launch")]
fn indices_exist_only_in_a_launch() {
    let _ = thread::index_1d();
}

#[kernel]
unsafe fn says_hello(n: usize) {
    if (thread::index() as usize) < n {
        cuda_std::io::println!("thread {} of 100%", thread::index());
    }
}

#[test]
fn what_a_kernel_prints_can_be_captured() {
    let stats = unsafe {
        Launch::new(1, 32)
            .capture_output(true)
            .run(|| says_hello(2))
    }
    .unwrap();
    assert_eq!(stats.output, "thread 0 of 100%\nthread 1 of 100%\n");
}

#[kernel]
unsafe fn asserts(x: u32) {
    cuda_std::io::assert_eq!(x + thread::thread_idx_x(), 3, "for {x}");
}

#[test]
fn a_failed_assertion_names_the_values() {
    unsafe { launch(1, 1, 0, || asserts(3)) }.unwrap();
    let error = unsafe { launch(1, 2, 0, || asserts(3)) }
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("thread (1, 0, 0) of block (0, 0, 0) panicked: assertion failed"),
        "{error}"
    );
    assert!(error.contains("left: 4\n right: 3\nfor 3"), "{error}");
}

#[kernel]
unsafe fn spins(flag: *const AtomicU32) {
    let flag = unsafe { &*flag };
    if thread::thread_idx_x() == 0 {
        while flag.load(Ordering::Acquire) == 0 {
            thread::nanosleep(100);
        }
    } else {
        flag.store(1, Ordering::Release);
    }
    thread::device_fence();
    thread::sync_threads();
}

#[test]
fn a_sleeping_thread_lets_the_others_run() {
    let flag = AtomicU32::new(0);
    let pointer = &raw const flag;
    let stats = unsafe { launch(1, 2, 0, || spins(pointer)) }.unwrap();
    assert_eq!(stats.barriers, 1);
}

struct Guard<'a>(&'a AtomicU32);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[kernel]
unsafe fn owns_things(dropped: &AtomicU32) {
    let _guard = Guard(dropped);
    thread::sync_threads();
    if thread::thread_idx_x() == 5 {
        panic!("on purpose");
    }
    thread::sync_threads();
}

#[test]
fn threads_of_a_failed_block_drop_what_they_own() {
    let dropped = AtomicU32::new(0);
    let error = unsafe { Launch::new(1, 64).seed(3).run(|| owns_things(&dropped)) }.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("thread (5, 0, 0) of block (0, 0, 0) panicked: on purpose, in "),
        "{error}"
    );
    assert_eq!(dropped.into_inner(), 64);
}

#[kernel]
unsafe fn own_sizes(out: *mut u32) {
    let tile = shared_array![MaybeUninit<u16>; 8];
    let slice = unsafe { SharedSlice::<f32>::dynamic(16, 4) };
    unsafe { slice.set(3, 2.0) };
    let start = misc::clock();
    misc::profiler_counter(0);
    misc::breakpoint();
    unsafe {
        (*tile).write(7);
        *out = mem::dynamic_smem_size();
        *out.add(1) = mem::total_smem_size();
        *out.add(2) = slice.get(3) as u32 + u32::from((*tile).assume_init());
        *out.add(3) = (misc::clock() >= start).into();
    }
}

#[test]
fn a_block_knows_its_shared_memory() {
    let mut out = [0; 4];
    let pointer = out.as_mut_ptr();
    unsafe { launch(1, 1, 32, || own_sizes(pointer)) }.unwrap();
    assert_eq!(out, [32, 48, 9, 1]);
}

#[test]
fn a_thread_without_barriers_costs_less_than_a_microsecond() {
    let mut out = vec![0u32; 1 << 16];
    let (pointer, n) = (out.as_mut_ptr(), out.len());
    let run = || {
        unsafe {
            Launch::new(256, 256)
                .workers(1)
                .run(|| write_index(pointer, n))
        }
        .unwrap()
    };
    run();
    // The machine may be busy, so the best of several runs counts.
    let best = (0..20).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    let best = best.min().unwrap();
    assert!(best.as_nanos() < 1000 << 16, "65536 threads took {best:?}");
    eprintln!("65536 threads: {best:?}");
}

/// Does nothing, in blocks of at most 32 threads.
///
/// # Safety
/// None is needed.
#[kernel(max_threads = 32)]
unsafe fn small_blocks(n: u32) {
    let _ = n;
}

#[test]
fn launch_bounds_hold_for_all_dimensions_together() {
    // SAFETY: the kernel does nothing.
    let run = |block: (u32, u32)| unsafe { Launch::new(2, block).run_kernel::<SmallBlocks>((1,)) };
    assert_eq!(run((8, 4)).unwrap().threads, 64);
    let error = run((8, 5)).unwrap_err();
    assert!(matches!(error, EmulatorError::LaunchBounds(_)));
    assert_eq!(
        error.to_string(),
        "a block has 40 threads, but small_blocks is compiled with max_threads = 32"
    );
}

/// Number of rounds of [`sums_between`].
const ROUNDS: usize = 5;

#[kernel]
unsafe fn sums_between(
    arrived: *const AtomicU32,
    numbers: *mut u32,
    sums: *const [AtomicU32; ROUNDS],
    seen: *mut u32,
) {
    let mut barrier = GridBarrier::new(arrived);
    let (i, n) = (
        thread::index_1d() as usize,
        (thread::grid_dim_x() * thread::block_dim_x()) as usize,
    );
    for round in 0..ROUNDS {
        unsafe {
            *numbers.add(i) = (i + round) as u32;
            let sum = &(*sums)[round];
            // Each thread of the first block adds its share of the numbers of all blocks.
            barrier.wait_and(|| {
                let mut k = thread::thread_idx_x() as usize;
                while k < n {
                    sum.fetch_add(*numbers.add(k), Ordering::Relaxed);
                    k += thread::block_dim_x() as usize;
                }
            });
            *seen.add(round * n + i) = sum.load(Ordering::Relaxed);
            barrier.wait();
        }
    }
}

#[test]
fn the_first_block_works_between_the_arrivals_and_the_end_of_a_wait() {
    for (blocks, seed) in [(1, 1), (4, 2), (7, 3)] {
        let n = blocks as usize * 64;
        let (arrived, sums) = (AtomicU32::new(0), <[AtomicU32; ROUNDS]>::default());
        let (mut numbers, mut seen) = (vec![0; n], vec![0; ROUNDS * n]);
        let pointers = (numbers.as_mut_ptr(), seen.as_mut_ptr());
        unsafe {
            Launch::new(blocks, 64)
                .workers(blocks as usize)
                .seed(seed)
                .run(|| sums_between(&raw const arrived, pointers.0, &raw const sums, pointers.1))
        }
        .unwrap();
        let expected = (0..ROUNDS).flat_map(|round| {
            let sum = n * (n - 1) / 2 + round * n;
            std::iter::repeat_n(sum as u32, n)
        });
        assert!(seen.into_iter().eq(expected), "{blocks} blocks");
    }
}

#[kernel]
unsafe fn written_meanwhile(
    arrived: *const AtomicU32,
    before: *mut u32,
    meanwhile: *mut u32,
    seen: *mut [u32; 2],
) {
    let mut barrier = GridBarrier::new(arrived);
    let (i, n) = (
        thread::index_1d() as usize,
        (thread::grid_dim_x() * thread::block_dim_x()) as usize,
    );
    // A thread of the next block wrote what this one reads.
    let other = (i + thread::block_dim_x() as usize) % n;
    for round in 0..ROUNDS {
        let number = |i: usize| (n * round + i) as u32;
        unsafe {
            *before.add(i) = number(i);
            // Slower blocks may still read what was written in the last round.
            let half = round % 2 * n;
            barrier.wait_meanwhile(|| *meanwhile.add(half + i) = number(i));
            (*seen.add(round * n + i))[0] = *before.add(other);
            barrier.wait();
            (*seen.add(round * n + i))[1] = *meanwhile.add(half + other);
        }
    }
}

#[test]
fn what_a_block_does_before_it_waits_is_visible_after_the_next_wait() {
    for (blocks, seed) in [(1, 1), (4, 2), (7, 3)] {
        let n = blocks as usize * 64;
        let arrived = AtomicU32::new(0);
        let (mut before, mut meanwhile) = (vec![0; n], vec![0; 2 * n]);
        let mut seen = vec![[0; 2]; ROUNDS * n];
        let pointers = (
            before.as_mut_ptr(),
            meanwhile.as_mut_ptr(),
            seen.as_mut_ptr(),
        );
        unsafe {
            Launch::new(blocks, 64)
                .workers(blocks as usize)
                .seed(seed)
                .run(|| written_meanwhile(&raw const arrived, pointers.0, pointers.1, pointers.2))
        }
        .unwrap();
        let expected = (0..ROUNDS * n).map(|k| {
            let number = (k / n * n + (k % n + 64) % n) as u32;
            [number; 2]
        });
        assert!(seen.into_iter().eq(expected), "{blocks} blocks");
    }
}
