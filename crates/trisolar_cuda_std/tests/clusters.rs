//! Thread block clusters in the emulator: indices, barriers, shared memory of other blocks, and the errors; registers of groups of warps.

use cuda_std::emulator::{EmulatorError, Launch};
use cuda_std::prelude::*;
use cuda_std::shared::{SharedSlice, U4};
use cuda_std::{cluster, registers, shared_array, shared_slice, warp};

const THREADS: u32 = 40;

/// Passes numbers around the cluster: each block ends with what the block before it began with, and with the sum of all.
///
/// # Safety
/// `data` and `sums` are valid for one value of each thread.
#[kernel(cluster = (2, 2), max_threads = 40)]
unsafe fn around(data: *mut u32, sums: *mut u32) {
    let own = shared_slice![u32; THREADS as usize];
    // SAFETY: the host has set this much dynamic shared memory.
    let dynamic = unsafe { SharedSlice::<U4>::dynamic(16, 2) };
    let i = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() + thread::grid_dim_x() * thread::block_idx_y();
    let place = block as usize * THREADS as usize + i;
    // SAFETY: threads have places of their own; barriers lie between writes and reads of others, and before the end.
    unsafe {
        own.set(i, *data.add(place));
        cluster::sync();
        let (rank, size) = (cluster::rank(), cluster::size());
        let mut sum = 0;
        for rank in 0..size {
            sum += cluster::map_shared_rank(own, rank).get(i);
        }
        *sums.add(place) = sum;
        let before = cluster::map_shared_rank(own, (rank + size - 1) % size).get(i);
        cluster::arrive();
        // Work that needs no other block comes between arrival and wait.
        let lanes = warp::activemask().count_ones();
        assert!(lanes == 32 || lanes == 8);
        cluster::wait();
        let next = (rank + 1) % size;
        if i == 0 {
            cluster::map_shared_rank(dynamic, next).set(1, U4::new(rank, 1, 2, 3));
        }
        cluster::sync();
        assert_eq!(dynamic.get(1).x, (rank + size - 1) % size);
        *data.add(place) = before;
    }
}

#[test]
fn blocks_of_a_cluster_read_and_write_each_others_shared_memory() {
    // A grid of 4 x 4 blocks in clusters of 2 x 2.
    let first: Vec<u32> = (0..16 * THREADS).map(|i| i * 7 + 3).collect();
    let place = |block: u32, i: u32| (block * THREADS + i) as usize;
    for seed in [None, Some(1), Some(2)] {
        for workers in [1, 3] {
            let (mut data, mut sums) = (first.clone(), vec![0; first.len()]);
            let arguments = (data.as_mut_ptr(), sums.as_mut_ptr());
            let mut launch = Launch::new((4, 4), THREADS)
                .shared_bytes(48)
                .workers(workers);
            if let Some(seed) = seed {
                launch = launch.seed(seed);
            }
            // SAFETY: one value for each of 16 blocks of 40 threads.
            let stats = unsafe { launch.run_kernel::<Around>(arguments) }.unwrap();
            assert_eq!((stats.blocks, stats.threads), (16, 16 * 40));
            assert_eq!(stats.shared_bytes, 48 + 4 * 40);
            for (x, y) in [(0, 0), (2, 0), (0, 2), (2, 2)] {
                let blocks = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| x + a + 4 * (y + b));
                for i in 0..THREADS {
                    let sum: u32 = blocks.iter().map(|&block| first[place(block, i)]).sum();
                    for rank in 0..4 {
                        assert_eq!(sums[place(blocks[rank], i)], sum);
                        let before = first[place(blocks[(rank + 3) % 4], i)];
                        assert_eq!(data[place(blocks[rank], i)], before);
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_have_ranks_and_indices() {
    let mut found = vec![(0, [0; 3], [0; 3]); 24];
    let places = found.as_mut_ptr();
    let kernel = || {
        let at = thread::block_idx();
        let place = at.x + 4 * (at.y + 3 * at.z);
        // SAFETY: every block has a place of its own.
        unsafe {
            *places.add(place as usize) = (
                cluster::rank(),
                cluster::block_idx().to_array(),
                cluster::dim().to_array(),
            );
        }
    };
    // SAFETY: 24 blocks and places.
    unsafe { Launch::new((4, 3, 2), 1).cluster((2, 1, 2)).run(kernel) }.unwrap();
    for (place, (rank, index, dim)) in (0..).zip(found) {
        let (x, z) = (place % 4 % 2, place / 12);
        assert_eq!((rank, index, dim), (x + 2 * z, [x, 0, z], [2, 1, 2]));
    }
}

#[test]
fn a_kernel_without_clusters_runs_in_clusters_of_one_block() {
    let kernel = || {
        cluster::sync();
        let own = shared_slice![u32; 1];
        // SAFETY: one thread.
        unsafe {
            own.set(0, 5);
            assert_eq!(cluster::map_shared_rank(own, 0).get(0), 5);
        }
        assert_eq!((cluster::rank(), cluster::size()), (0, 1));
    };
    // SAFETY: the kernel accesses shared memory alone.
    unsafe { Launch::new(3, 1).run(kernel) }.unwrap();
}

/// The error of two blocks of two threads.
fn error_of(kernel: impl Fn()) -> EmulatorError {
    // SAFETY: the kernels below access shared memory alone.
    unsafe { Launch::new(2, 2).cluster(2).run(kernel) }.unwrap_err()
}

#[test]
fn an_index_out_of_bounds_of_another_blocks_array_is_reported() {
    let error = error_of(|| {
        let own = shared_slice![f32; 8];
        cluster::sync();
        // SAFETY: the emulator reports the index.
        unsafe { cluster::map_shared_rank(own, 1 - cluster::rank()).set(8, 1.0) };
    });
    let EmulatorError::SharedIndex {
        index,
        length,
        place,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((*index, *length), (8, 8));
    assert!(place.contains("clusters.rs"), "{place}");
}

#[test]
fn shared_memory_of_a_block_that_does_not_run_is_reported() {
    let before = error_of(|| {
        let own = shared_slice![u32; 1];
        // SAFETY: the emulator reports the missing barrier.
        let _ = unsafe { cluster::map_shared_rank(own, 1 - cluster::rank()).get(0) };
    });
    assert!(
        before.to_string().contains("before the block had begun"),
        "{before}"
    );
    let after = error_of(|| {
        let own = shared_slice![u32; 1];
        cluster::sync();
        if cluster::rank() == 0 {
            thread::nanosleep(1);
            // SAFETY: the emulator reports the missing barrier.
            let _ = unsafe { cluster::map_shared_rank(own, 1).get(0) };
        }
    });
    assert!(
        after.to_string().contains("after the block had ended"),
        "{after}"
    );
    let rank = error_of(|| {
        let own = shared_slice![u32; 1];
        // SAFETY: the emulator reports the rank.
        let _ = unsafe { cluster::map_shared_rank(own, 2) };
    });
    assert!(
        rank.to_string()
            .contains("no block of rank 2 in a cluster of 2 blocks"),
        "{rank}"
    );
}

#[test]
fn writes_beyond_another_blocks_array_are_reported() {
    let error = error_of(|| {
        let own = shared_array![u32; 4];
        cluster::sync();
        // SAFETY: the emulator finds the stray write.
        unsafe {
            let slice = SharedSlice::from_raw_parts(own, 4);
            if cluster::rank() == 0 {
                *cluster::map_shared_rank(slice, 1).as_mut_ptr().add(5) = 1;
            }
        }
        cluster::sync();
    });
    let error = error.to_string();
    let who = "thread (0, 0, 0) of block (0, 0, 0)";
    let what = "4 bytes after the end of [u32; 4] of 16 bytes in shared memory";
    assert!(error.starts_with(who) && error.contains(what), "{error}");
}

#[test]
fn threads_that_do_not_meet_at_the_barrier_of_the_cluster_are_reported() {
    // One thread of block 1 waits at the block's barrier; everybody else waits for it.
    let error = error_of(|| {
        if cluster::rank() == 1 && thread::thread_idx_x() == 1 {
            thread::sync_threads();
        }
        cluster::sync();
    });
    let EmulatorError::Hang { block, waiting, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*block, [1, 0, 0]);
    let calls: Vec<_> = waiting.iter().map(|group| group.call).collect();
    assert_eq!(calls, ["cluster::wait", "sync_threads"]);
    let twice = error_of(|| {
        cluster::arrive();
        cluster::arrive();
    });
    assert!(
        twice.to_string().contains("twice without cluster::wait"),
        "{twice}"
    );
    let without = error_of(cluster::wait);
    assert!(
        without.to_string().contains("without cluster::arrive"),
        "{without}"
    );
}

#[test]
fn threads_that_have_ended_are_not_waited_for() {
    // SAFETY: the kernel accesses no memory.
    unsafe {
        Launch::new(4, 33).cluster(4).run(|| {
            if thread::thread_idx_x() < 32 && cluster::rank() != 2 {
                cluster::sync();
            }
        })
    }
    .unwrap();
}

#[test]
fn registers_belong_to_groups_of_128_threads() {
    let kernel = || {
        // SAFETY: whole warps call it.
        unsafe {
            if thread::thread_idx_x() < 128 {
                registers::decrease::<24>();
            } else {
                registers::increase::<240>();
            }
        }
    };
    // SAFETY: the kernel accesses no memory.
    unsafe { Launch::new(2, 256).run(kernel) }.unwrap();
    // SAFETY: as above.
    let error = unsafe { Launch::new(2, 192).run(kernel) }.unwrap_err();
    let expected = "groups of 128 threads, but the block has 192";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn a_grid_of_broken_clusters_is_an_error() {
    let (mut data, mut sums) = ([0u32; 1], [0u32; 1]);
    let arguments = (data.as_mut_ptr(), sums.as_mut_ptr());
    // SAFETY: the launch fails before a thread runs.
    let error = unsafe { Launch::new((4, 3), 1).run_kernel::<Around>(arguments) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the grid of around has 4 x 3 x 1 blocks, which must be multiples of the cluster's 2 x 2 x 1"
    );
    for (grid, blocks, expected) in [(6, 4, "grid's x is 6"), (16, 16, "cluster is 16 x 1 x 1")] {
        // SAFETY: as above.
        let error = unsafe { Launch::new(grid, 1).cluster(blocks).run(|| ()) }.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
