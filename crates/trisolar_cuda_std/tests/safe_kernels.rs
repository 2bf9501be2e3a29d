//! Kernels that are safe functions: every thread has its own elements, for any grid, and wrong lengths are errors.

use cuda_std::emulator::Launch;
use cuda_std::prelude::*;
use cuda_std::{Kernel, Plain};

/// x[i] = by · x[i] + table[i mod its length]
#[kernel]
pub fn scale(by: f32, table: &[f32], odd: bool, x: Each<'_, f32>) {
    for (i, x) in x.indexed() {
        if odd || i % 2 == 0 {
            *x = by * *x + table[i % table.len()];
        }
    }
}

/// sum[i] = a[i] + b[i], of any numbers.
#[kernel(instances(u32: u32, f64: f64))]
pub fn add<T: Plain + core::ops::Add<Output = T>>(
    a: EachRef<'_, T>,
    b: EachRef<'_, T>,
    sum: cuda_std::Each<'_, T>,
) {
    for ((a, b), sum) in a.zip(b).zip(sum) {
        *sum = a + b;
    }
}

/// A kernel that is not safe has shares of arrays as well.
///
/// # Safety
/// `count` is valid, and the launch has one dimension.
#[kernel]
pub unsafe fn count(x: EachRef<'_, u32>, count: *const core::sync::atomic::AtomicU32) {
    for x in x {
        // SAFETY: the caller vouches for the pointer.
        unsafe { &*count }.fetch_add(x, core::sync::atomic::Ordering::Relaxed);
    }
}

/// The first thread's index of each block, and the length of an array in its elements.
#[kernel]
pub fn blocks(first: PerBlock<'_, u32>, length: Each<'_, u64>) {
    first.set(thread::index_1d());
    let all = length.length() as u64;
    length.for_each(|x| *x = all);
}

const GRIDS: [(u32, u32); 6] = [(1, 1), (1, 32), (3, 7), (2, 33), (10, 100), (40, 256)];

#[test]
fn every_element_is_one_threads_for_any_grid() {
    for (blocks, threads) in GRIDS {
        for n in [0, 1, 31, 1000] {
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let table = [0.5, 1.0, 2.0];
            for odd in [false, true] {
                let mut y = x.clone();
                let given = (2.0, &table[..], odd, &mut y[..]);
                Launch::new(blocks, threads)
                    .run_safe::<Scale>(given)
                    .unwrap();
                for (i, (x, y)) in x.iter().zip(&y).enumerate() {
                    let expected = match odd || i % 2 == 0 {
                        true => 2.0 * x + table[i % 3],
                        false => *x,
                    };
                    assert_eq!(*y, expected);
                }
            }
            let b: Vec<u32> = (0..n).map(|i| i * 1000).collect();
            let a: Vec<u32> = (0..n).collect();
            let mut sum = vec![0; n as usize];
            Launch::new(blocks, threads)
                .run_safe::<Add<u32>>((&a, &b, &mut sum))
                .unwrap();
            assert!(
                sum.iter()
                    .enumerate()
                    .all(|(i, sum)| *sum as usize == 1001 * i)
            );
        }
    }
    assert_eq!(Add::<f64>::name(), Some("add_f64"));
}

#[test]
fn a_block_has_an_element() {
    let (mut first, mut length) = ([7; 3], [0; 5]);
    Launch::new(3, 8)
        .run_safe::<Blocks>((&mut first, &mut length))
        .unwrap();
    assert_eq!((first, length), ([0, 8, 16], [5; 5]));
}

#[test]
fn wrong_lengths_and_dimensions_are_errors() {
    let said = |given| {
        Launch::new(2, 8)
            .run_safe::<Add<f64>>(given)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said((&[1.0; 4], &[1.0; 4], &mut [0.0; 3])),
        "`sum` has 3 elements, but `a` has 4: all Each and EachRef of a launch have the same length"
    );
    let said = |launch: Launch| {
        launch
            .run_safe::<Blocks>((&mut [0; 2], &mut [0]))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said(Launch::new(3, 8)),
        "`first` has 2 elements, but the grid has 3 blocks: a PerBlock has an element for each block"
    );
    assert!(said(Launch::new((2, 2), 8)).contains("1 for a safe kernel"));
    assert!(said(Launch::new(2, (8, 2))).contains("1 for a safe kernel"));
}

#[test]
fn an_unsafe_kernel_may_have_shares_of_arrays() {
    let (x, count) = ([1, 2, 3], core::sync::atomic::AtomicU32::new(0));
    let arguments = (cuda_std::RawSlice::new(x.as_ptr(), 3), &raw const count);
    // SAFETY: three numbers, and a count.
    unsafe { Launch::new(2, 2).run_kernel::<Count>(arguments) }.unwrap();
    assert_eq!(count.into_inner(), 6);
}
