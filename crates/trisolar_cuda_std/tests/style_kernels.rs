//! Kernels written for rust-cuda run unchanged in the emulator. cuda_builder's tests compile the same files to PTX.
#![allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    unused_unsafe
)]
#![allow(unsafe_op_in_unsafe_fn, improper_ctypes_definitions, static_mut_refs)]

use cuda_std::atomic::{AtomicF32, BlockAtomicF64};
use cuda_std::emulator::{Launch, launch};

#[path = "kernels/style_new/src/matrix.rs"]
mod matrix;
#[path = "kernels/style_new/src/saxpy.rs"]
mod saxpy;
#[path = "kernels/style_no_std/src/lib.rs"]
mod style_no_std;

#[test]
fn saxpy_and_a_two_dimensional_launch() {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut y = vec![1.0f32; 1000];
    let pointer = y.as_mut_ptr();
    unsafe { launch(4, 256, 0, || saxpy::saxpy(2.0, &x, pointer)) }.unwrap();
    assert!((0..1000).all(|i| y[i] == 2.0 * i as f32 + 1.0));

    let window = saxpy::Window {
        width: 50,
        height: 30,
        scale: 0.5,
    };
    let mut image = vec![0.0; 1500];
    let pointer = image.as_mut_ptr();
    unsafe { launch((4, 2), (16, 16), 0, || saxpy::gradient(pointer, window)) }.unwrap();
    assert!((0..1500).all(|i| image[i] == 0.5 * (i % 50 + i / 50) as f64));

    let mut numbers = vec![0; 32];
    let all: *mut [u32] = numbers.as_mut_slice();
    unsafe { launch(1, 32, 0, || saxpy::on_the_heap(&mut *all)) }.unwrap();
    assert!((0..32).all(|i| numbers[i] == (i * i) as u32));
}

#[test]
fn a_tiled_matrix_product_is_right_for_every_seed() {
    let n = 40;
    let a: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..n * n).map(|i| (i % 5) as f32 - 2.0).collect();
    for seed in 0..10 {
        let mut c = vec![0.0f32; n * n];
        let pointer = c.as_mut_ptr();
        unsafe {
            Launch::new((3, 3), (16, 16))
                .seed(seed)
                .run(|| matrix::multiply(&a, &b, pointer, n))
        }
        .unwrap();
        for (row, column) in [(0, 0), (5, 39), (39, 17), (16, 16)] {
            let expected: f32 = (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum();
            assert_eq!(c[row * n + column], expected);
        }
    }
}

#[test]
fn shared_statics_of_kernel_and_module() {
    let mut data: Vec<u32> = (0..64).collect();
    let pointer = data.as_mut_ptr();
    unsafe { launch(1, 32, 0, || matrix::reverse(pointer)) }.unwrap();
    assert!((0..32).all(|i| data[i] == 31 - i as u32));
    let mut data: Vec<u32> = (0..64).collect();
    let pointer = data.as_mut_ptr();
    unsafe { launch(1, 64, 0, || matrix::reverse_in_a_function(pointer)) }.unwrap();
    assert!((0..64).all(|i| data[i] == 63 - i as u32));
}

#[test]
fn sums_histograms_and_scans() {
    let input: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let total = AtomicF32::new(0.0);
    let (data, n, sum) = (input.as_ptr(), input.len(), (&raw const total).cast_mut());
    unsafe {
        Launch::new(4, 256)
            .seed(2)
            .run(|| style_no_std::sum(data, n, sum))
    }
    .unwrap();
    assert_eq!(total.into_inner(), 499_500.0);

    let bytes: Vec<u8> = (0..5000u32).map(|i| (i * i) as u8).collect();
    let mut counts = vec![0u32; 256];
    let pointer = counts.as_mut_ptr();
    let run = || unsafe { style_no_std::histogram(&bytes, pointer) };
    unsafe { Launch::new(20, 256).shared_bytes(1024).seed(3).run(run) }.unwrap();
    assert!(
        (0..256).all(|b| counts[b] == bytes.iter().filter(|&&x| x as usize == b).count() as u32)
    );

    let mut data: Vec<i64> = (1..=64).collect();
    let pointer = data.as_mut_ptr();
    unsafe { launch(2, 32, 0, || style_no_std::scan(pointer)) }.unwrap();
    assert_eq!((data[31], data[63]), (528, (33..=64).sum::<i64>()));

    let mut data = vec![2.0f32; 64];
    let sums = BlockAtomicF64::new(0.0);
    let (pointer, sums_at) = (data.as_mut_ptr(), &raw const sums);
    unsafe { launch(1, 64, 0, || style_no_std::misc(pointer, sums_at)) }.unwrap();
    let expected = 2.0f32.sqrt().sin().powf(2.0) + 6.0f32.exp();
    assert!(data.iter().all(|y| (y / expected - 1.0).abs() < 1e-6));
    assert_eq!(unsafe { style_no_std::triple(5) }, 15);
}
