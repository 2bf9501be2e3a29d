//! The complete path of a GPU kernel in Rust: `kernels/` contains the kernel, `build.rs` compiles it to PTX, `kernels/tests/` tests it
//! under the emulator, and this program launches it, on a GPU or otherwise in the emulator, and checks the result against the CPU.
//!
//! cargo run --release -p hello_kernel

use std::error::Error;

use hello_kernel_kernels::{BLOCK, BlockSums};
use trisolar_device::{Buffer, Grid, gpu_or_emulator, include_kernels};

include_kernels!();

fn main() -> Result<(), Box<dyn Error>> {
    let device = gpu_or_emulator();

    let x: Vec<f32> = (0..1_000_019).map(|i| (i % 1009) as f32 / 7.0).collect();
    let on_device = Buffer::of(&device, &x)?;
    let grid = Grid::covering(x.len() as u32, BLOCK);
    let mut block_sums = Buffer::<f32>::filled(&device, grid.blocks as usize, 0)?;
    device.run::<BlockSums>(grid, (&on_device, &mut block_sums))?;
    let mut sums = vec![0.0; block_sums.len()];
    block_sums.download(&mut sums)?;

    let expected: Vec<f32> = x.chunks(BLOCK as usize).map(sum_of_neighbours).collect();
    let different = sums
        .iter()
        .zip(&expected)
        .filter(|(a, b)| a.to_bits() != b.to_bits())
        .count();
    println!(
        "{}: {} blocks, {different} sums differ from the CPU's",
        device.info().name,
        sums.len()
    );
    if different > 0 {
        return Err("device and CPU disagree".into());
    }
    Ok(())
}

/// The sum of up to [`BLOCK`] numbers, in the kernel's order.
fn sum_of_neighbours(x: &[f32]) -> f32 {
    let mut a = [0.0; BLOCK as usize];
    a[..x.len()].copy_from_slice(x);
    let mut distance = 1;
    while distance < a.len() {
        for i in (0..a.len()).step_by(2 * distance) {
            a[i] += a[i + distance];
        }
        distance *= 2;
    }
    a[0]
}
