//! The whole way of a GPU kernel in Rust: `kernels/` holds it, `build.rs` builds it to PTX, `kernels/tests/`
//! runs it under the emulator, and this program launches it and checks the result against the CPU.
//!
//! cargo run --release -p hello_kernel

use std::error::Error;

use cust::prelude::*;
use hello_kernel_kernels::BLOCK;

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/hello.ptx"));

fn main() -> Result<(), Box<dyn Error>> {
    if PTX.is_empty() {
        return Err("built without kernels, see the warnings of the build".into());
    }
    // Finds the driver at run time; a program that links to it would not even start without.
    if let Err(missing) = libcuda_lazy::load() {
        println!("no GPU here ({missing}); try `cargo test -p hello_kernel_kernels`");
        return Ok(());
    }
    let _context = cust::quick_init().map_err(code)?;
    let module = Module::from_ptx(PTX, &[]).map_err(code)?;
    let kernel = module.get_function("block_sums").map_err(code)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(code)?;

    let x: Vec<f32> = (0..10_000_019).map(|i| (i % 1009) as f32 / 7.0).collect();
    let blocks = (x.len() as u32).div_ceil(BLOCK);
    let x_device = DeviceBuffer::from_slice(&x).map_err(code)?;
    let sums_device = DeviceBuffer::<f32>::zeroed(blocks as usize).map_err(code)?;

    // SAFETY: a slice is passed as pointer and length; `sums` has a number for each block.
    unsafe {
        launch!(kernel<<<blocks, BLOCK, 0, stream>>>(
            x_device.as_device_ptr(),
            x_device.len(),
            sums_device.as_device_ptr()
        ))
        .map_err(code)?;
    }
    stream.synchronize().map_err(code)?;
    let sums = sums_device.as_host_vec().map_err(code)?;

    let expected: Vec<f32> = x.chunks(BLOCK as usize).map(sum_in_halves).collect();
    let different = sums
        .iter()
        .zip(&expected)
        .filter(|(a, b)| a.to_bits() != b.to_bits())
        .count();
    println!(
        "{} blocks, {different} sums differ from the CPU's",
        sums.len()
    );
    if different > 0 {
        return Err("GPU and CPU disagree".into());
    }
    Ok(())
}

/// The sum of up to [`BLOCK`] numbers in the kernel's order.
fn sum_in_halves(x: &[f32]) -> f32 {
    let mut a = [0.0; BLOCK as usize];
    a[..x.len()].copy_from_slice(x);
    let mut half = a.len() / 2;
    while half > 0 {
        for i in 0..half {
            a[i] += a[i + half];
        }
        half /= 2;
    }
    a[0]
}

/// cust's errors ask the driver for their text, which needs one; the name of the code does not.
fn code(error: cust::error::CudaError) -> String {
    format!("CUDA error: {error:?}")
}
