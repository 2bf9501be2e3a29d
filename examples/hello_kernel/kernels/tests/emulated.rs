//! Runs the kernel on the CPU, under the emulator of the grid, without a GPU.

use cuda_std::emulator::Launch;
use hello_kernel_kernels::{BLOCK, BlockSums};

#[test]
fn block_sums_are_right_for_any_order_of_threads() {
    let x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.25).collect();
    let blocks = (x.len() as u32).div_ceil(BLOCK);
    for seed in 0..20 {
        let mut sums = vec![f32::NAN; blocks as usize];
        let launch = Launch::new(blocks, BLOCK).seed(seed);
        (launch.run_safe::<BlockSums>((&x, &mut sums)))
            .expect("every thread reaches every barrier");
        for (sum, part) in sums.iter().zip(x.chunks(BLOCK as usize)) {
            // Multiples of 1/4 with small magnitudes add up without rounding, in any order.
            assert_eq!(*sum, part.iter().sum::<f32>(), "seed {seed}");
        }
    }
}
