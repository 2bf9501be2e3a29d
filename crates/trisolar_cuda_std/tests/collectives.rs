//! Collectives in the emulator, against serial references in the order that they document, bit by bit.

use cuda_std::Plain;
use cuda_std::collective::*;
use cuda_std::emulator::Launch;
use cuda_std::prelude::*;

/// Threads of blocks: parts of warps, whole ones, and powers of two and others.
const SIZES: [u32; 13] = [1, 2, 5, 31, 32, 33, 63, 64, 100, 255, 256, 777, 1024];

/// Numbers of several magnitudes, so that the order of their sum shows in its bits.
fn numbers(count: u32, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let fraction = (state >> 12) as f64 / (1u64 << 52) as f64 - 0.5;
        fraction * f64::powi(10.0, (state % 7) as i32)
    };
    (0..count).map(next).collect()
}

/// What `f` makes of each number in one block.
fn block<T: Plain + Send>(values: &[f64], none: T, f: impl Fn(f64) -> T) -> Vec<T> {
    for seed in [1, 2] {
        let mut results = vec![none; values.len()];
        let to = results.as_mut_ptr() as usize;
        let body = || {
            let i = thread::thread_idx_x() as usize;
            let result = f(values[i]);
            // SAFETY: there is a result for each thread.
            unsafe { *(to as *mut T).add(i) = result };
        };
        // SAFETY: the closure writes its thread's result only.
        unsafe { Launch::new(1, values.len() as u32).seed(seed).run(body) }.unwrap();
        if seed == 2 {
            return results;
        }
    }
    unreachable!("the last seed returns")
}

/// The tree of neighbours.
fn tree(mut values: Vec<f64>) -> f64 {
    while values.len() > 1 {
        values = values
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap())
            .collect();
    }
    values[0]
}

/// The running sums of a warp.
fn hillis_steele(values: &[f64]) -> Vec<f64> {
    let mut sums = values.to_vec();
    for distance in [1, 2, 4, 8, 16] {
        let before = sums.clone();
        for i in distance..sums.len() {
            sums[i] = before[i - distance] + before[i];
        }
    }
    sums
}

/// The running sums of a block.
fn scan(values: &[f64]) -> Vec<f64> {
    let mut sums: Vec<f64> = Vec::new();
    let mut before = None;
    for warp in values.chunks(32) {
        let own = hillis_steele(warp);
        sums.extend(
            own.iter()
                .map(|x| before.map_or(*x, |before: f64| before + x)),
        );
        let all = *own.last().unwrap();
        before = Some(before.map_or(all, |before| before + all));
    }
    sums
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn reductions_are_trees_of_neighbours() {
    for threads in SIZES {
        let x = numbers(threads, 3);
        let found = block(&x, 0.0, |x| block_reduce(x, |a, b| a + b));
        assert_eq!(
            bits(&found),
            vec![tree(x.clone()).to_bits(); x.len()],
            "{threads}"
        );
        let found = block(&x, 0.0, |x| warp_reduce(x, |a, b| a + b));
        let expected: Vec<f64> = (x.chunks(32))
            .flat_map(|warp| vec![tree(warp.to_vec()); warp.len()])
            .collect();
        assert_eq!(bits(&found), bits(&expected), "{threads}");
    }
}

#[test]
fn a_reduction_keeps_the_order_of_its_values() {
    for threads in SIZES {
        let x = numbers(threads, 4);
        // The first and the last of a range, and whether neighbours meet.
        let join =
            |a: [u32; 3], b: [u32; 3]| [a[0], b[1], a[2] + b[2] + u32::from(a[1] + 1 != b[0])];
        let found = block(&x, [0; 3], |_| {
            let i = thread::thread_idx_x();
            block_reduce([i, i, 0], join)
        });
        assert_eq!(found, vec![[0, threads - 1, 0]; threads as usize]);
        let found = block(&x, [0; 3], |_| {
            let i = thread::thread_idx_x();
            block_inclusive_scan([i, i, 0], join)
        });
        let expected: Vec<_> = (0..threads).map(|i| [0, i, 0]).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn running_sums_have_the_documented_order() {
    for threads in SIZES {
        let x = numbers(threads, 5);
        let add = |a, b| a + b;
        let expected = scan(&x);
        let found = block(&x, 0.0, |x| block_inclusive_scan(x, add));
        assert_eq!(bits(&found), bits(&expected), "{threads}");
        let found = block(&x, [0.0; 2], |x| {
            let (before, all) = block_exclusive_scan(x, 0.0, add);
            [before, all]
        });
        let before = [&[0.0], &expected[..expected.len() - 1]].concat();
        for (found, before) in found.iter().zip(before) {
            let all = *expected.last().unwrap();
            assert_eq!(bits(found), bits(&[before, all]), "{threads}");
        }
        let found = block(&x, [0.0; 2], |x| {
            [
                warp_inclusive_scan(x, add),
                warp_exclusive_scan(x, -1.0, add),
            ]
        });
        for (found, x) in found.chunks(32).zip(x.chunks(32)) {
            let expected = hillis_steele(x);
            for (lane, found) in found.iter().enumerate() {
                let before = lane.checked_sub(1).map_or(-1.0, |lane| expected[lane]);
                assert_eq!(bits(found), bits(&[expected[lane], before]), "{threads}");
            }
        }
    }
}

#[test]
fn blocks_sort_and_select() {
    for threads in SIZES {
        let x = numbers(threads, 6);
        let found = block(&x, 0.0, |x| block_sort(x, |a, b| a < b));
        let mut expected = x.clone();
        expected.sort_by(f64::total_cmp);
        assert_eq!(bits(&found), bits(&expected), "{threads}");

        let found = block(&x, [0; 2], |x| {
            let (place, count) = block_select(x > 0.0);
            [place, count]
        });
        let count = x.iter().filter(|x| **x > 0.0).count() as u32;
        let mut place = 0;
        for (found, x) in found.iter().zip(&x) {
            assert_eq!(*found, [place, count], "{threads}");
            place += u32::from(*x > 0.0);
        }
    }
}

/// Uses the same collectives several times in a row, whose shared memory must not be overwritten too early.
#[test]
fn collectives_follow_each_other() {
    for threads in [33, 96, 500] {
        let x = numbers(threads, 7);
        let found = block(&x, 0.0, |x| {
            let add = |a, b| a + b;
            let mut sum = 0.0;
            for round in 0..5 {
                let own = x + f64::from(round);
                sum += block_reduce(own, add) - block_exclusive_scan(own, 0.0, add).1;
                sum += block_reduce(own, f64::max) + block_sort(own, |a, b| a > b);
            }
            sum
        });
        let mut sorted = x.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for (found, own) in found.iter().zip(&sorted) {
            let mut sum = 0.0;
            for round in 0..5 {
                let x: Vec<f64> = x.iter().map(|x| x + f64::from(round)).collect();
                sum += tree(x.clone()) - scan(&x).last().unwrap();
                sum += sorted[0] + f64::from(round) + (own + f64::from(round));
            }
            assert!((found - sum).abs() <= 1e-9 * sum.abs(), "{found} {sum}");
        }
    }
}

#[kernel]
fn histograms(x: &[u32], counts: PerBlock<'_, [u32; 70]>) {
    let mut found = [0; 70];
    // Every thread gets a part of the counts, of which a scan over the block makes all.
    let own = (thread::index_1d() as usize..x.len())
        .step_by((thread::grid_dim_x() * thread::block_dim_x()) as usize);
    block_histogram::<70>(own.map(|i| x[i] as usize), |number, count| {
        found[number] = count
    });
    let all = block_reduce(found, |a, b| core::array::from_fn(|i| a[i] + b[i]));
    counts.set(all);
}

#[test]
fn histograms_count_every_number() {
    let x: Vec<u32> = (0..1000).map(|i| i * i % 67).collect();
    for threads in [1, 32, 50, 200] {
        let mut counts = vec![[0; 70]; 3];
        Launch::new(3, threads)
            .run_safe::<Histograms>((&x, &mut counts))
            .unwrap();
        for number in 0..70 {
            let expected = x.iter().filter(|x| **x == number).count() as u32;
            let found: u32 = counts.iter().map(|counts| counts[number as usize]).sum();
            assert_eq!(found, expected, "{threads}");
        }
    }
    let said = Launch::new(1, 32)
        .run_safe::<Histograms>((&[70], &mut [[0; 70]]))
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("a number of a histogram is too large"),
        "{said}"
    );
}

#[test]
fn a_collective_that_a_thread_misses_is_an_error_with_the_line_of_the_call() {
    let body = || {
        if thread::thread_idx_x() < 40 {
            block_reduce(1_u32, |a, b| a + b);
        }
    };
    // SAFETY: the closure accesses nothing.
    let said = unsafe { Launch::new(1, 64).run(body) }
        .unwrap_err()
        .to_string();
    assert!(said.contains("tests/collectives.rs:"), "{said}");
}
