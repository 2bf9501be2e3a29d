//! Products of a warp, loads of matrices, and asynchronous copies in the emulator.

use cuda_std::emulator::{self, EmulatorError};
use cuda_std::matrix::{self, Shape};
use cuda_std::shared::U4;
use cuda_std::{async_copy, bf16, f16, mbarrier, shared_array, thread, warp};

/// Whole numbers whose products and sums are exact in all types.
fn a(row: u32, k: u32) -> i32 {
    (row * 7 + k * 3) as i32 % 11 - 5
}

fn b(k: u32, column: u32) -> i32 {
    (k * 5 + column * 2) as i32 % 13 - 6
}

fn c(row: u32, column: u32) -> i32 {
    100 * row as i32 + column as i32
}

/// Runs a product with the matrices above and compares D with the sums.
macro_rules! product {
    ($name:ident, $shape:ident, $na:literal, $nb:literal, $nc:literal, $sum:ty, |$x:ident| $element:expr) => {{
        const SHAPE: Shape = Shape::$shape;
        let mut found = vec![<$sum>::NAN; (SHAPE.m * 8) as usize];
        let place = found.as_mut_ptr();
        let kernel = || {
            let lane = warp::lane_id();
            let element = |$x: i32| $element;
            let part_a = std::array::from_fn::<_, $na, _>(|i| {
                let (row, k) = SHAPE.a(lane, i as u32);
                element(a(row, k))
            });
            let part_b = std::array::from_fn::<_, $nb, _>(|i| {
                let (k, column) = SHAPE.b(lane, i as u32);
                element(b(k, column))
            });
            let part_c = std::array::from_fn::<_, $nc, _>(|i| {
                let (row, column) = SHAPE.c(lane, i as u32);
                c(row, column) as $sum
            });
            // SAFETY: the warp is complete; each lane writes its own elements of D.
            unsafe {
                let d = matrix::$name(part_a, part_b, part_c);
                for (i, d) in (0..).zip(d) {
                    let (row, column) = SHAPE.c(lane, i);
                    *place.add((row * 8 + column) as usize) = d;
                }
            }
        };
        // SAFETY: one block of one warp.
        unsafe { emulator::launch(1, 32, 0, kernel) }.expect("the kernel runs");
        for (i, found) in (0..).zip(found) {
            let (row, column) = (i / 8, i % 8);
            let expected: i32 =
                c(row, column) + (0..SHAPE.k).map(|k| a(row, k) * b(k, column)).sum::<i32>();
            assert_eq!(
                found,
                expected as $sum,
                "{} {row} {column}",
                stringify!($name)
            );
        }
    }};
}

#[test]
fn products_of_all_shapes() {
    product!(m8n8k4_f64, M8N8K4_F64, 1, 1, 2, f64, |x| f64::from(x));
    product!(m16n8k4_f64, M16N8K4_F64, 2, 1, 4, f64, |x| f64::from(x));
    product!(m16n8k8_f64, M16N8K8_F64, 4, 2, 4, f64, |x| f64::from(x));
    product!(m16n8k16_f64, M16N8K16_F64, 8, 4, 4, f64, |x| f64::from(x));
    product!(m16n8k4_tf32, M16N8K4_TF32, 2, 1, 4, f32, |x| x as f32);
    product!(m16n8k8_tf32, M16N8K8_TF32, 4, 2, 4, f32, |x| x as f32);
    product!(m16n8k8_f16, M16N8K8_F16, 4, 2, 4, f32, |x| f16::from_f32(
        x as f32
    ));
    product!(m16n8k16_f16, M16N8K16_F16, 8, 4, 4, f32, |x| f16::from_f32(
        x as f32
    ));
    product!(m16n8k8_bf16, M16N8K8_F16, 4, 2, 4, f32, |x| bf16::from_f32(
        x as f32
    ));
    product!(m16n8k16_bf16, M16N8K16_F16, 8, 4, 4, f32, |x| {
        bf16::from_f32(x as f32)
    });
}

#[test]
fn products_of_f64_are_fused_in_the_order_of_k() {
    // 1 + 2⁻⁵³ + 2⁻⁵³ is 1 if the small terms are added one after the other, and 1 + 2⁻⁵² if they are added first.
    let mut found = [0.0; 32];
    let place = found.as_mut_ptr();
    let kernel = || {
        let lane = warp::lane_id();
        let (_, k) = Shape::M8N8K4_F64.a(lane, 0);
        let value = [1.0, f64::EPSILON / 2.0, f64::EPSILON / 2.0, 0.0][k as usize];
        // SAFETY: the warp is complete; each lane writes its own number.
        unsafe { *place.add(lane as usize) = matrix::m8n8k4_f64([value], [1.0], [0.0; 2])[0] };
    };
    // SAFETY: one block of one warp.
    unsafe { emulator::launch(1, 32, 0, kernel) }.expect("the kernel runs");
    assert_eq!(found, [1.0; 32]);
}

#[test]
fn a_product_needs_a_whole_warp() {
    let kernel = || {
        // SAFETY: the emulator reports that lanes are missing.
        let _ = unsafe { matrix::m8n8k4_f64([1.0], [1.0], [0.0; 2]) };
    };
    // SAFETY: the kernel writes nothing.
    let error = unsafe { emulator::launch(1, 40, 0, kernel) }.expect_err("8 lanes are no warp");
    let EmulatorError::Panic { message, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        message.contains("m8n8k4_f64 needs all 32 lanes") && message.contains("8 of them"),
        "{message}"
    );
}

#[test]
fn lanes_that_do_not_join_a_product_are_reported() {
    let kernel = || {
        if warp::lane_id() != 3 {
            // SAFETY: the emulator reports that a lane is missing.
            let _ = unsafe { matrix::m16n8k4_f64([1.0; 2], [1.0], [0.0; 4]) };
        }
    };
    // SAFETY: the kernel writes nothing.
    let error = unsafe { emulator::launch(1, 32, 0, kernel) }.expect_err("a lane is missing");
    assert!(error.to_string().contains("lane 3"), "{error}");
}

#[test]
fn loads_of_matrices() {
    let mut found = vec![[0u16; 4]; 64];
    let place = found.as_mut_ptr();
    let kernel = || {
        let lane = warp::lane_id() as usize;
        let rows = shared_array![U4; 32];
        let numbers = rows.cast::<u16>();
        // SAFETY: each lane writes a row of 8 numbers of its own, and results of its own.
        unsafe {
            for i in 0..8 {
                *numbers.add(8 * lane + i) = (8 * lane + i) as u16;
            }
            thread::sync_threads();
            let row = numbers.add(8 * lane);
            let [a, b, _, _, _, _, c, d] = matrix::load_4(row);
            *place.add(lane) = [a, b, c, d];
            let [a, b, c, d] = matrix::load_2_transposed(row);
            *place.add(32 + lane) = [a, b, c, d];
        }
    };
    // SAFETY: one block of one warp.
    unsafe { emulator::launch(1, 32, 0, kernel) }.expect("the kernel runs");
    for lane in 0..32u16 {
        // Row lane / 4 of matrices 0 and 3, and column lane / 4 of matrices 0 and 1.
        let (line, place) = (lane / 4, 2 * (lane % 4));
        let row = 8 * line + place;
        assert_eq!(
            found[lane as usize],
            [row, row + 1, 192 + row, 192 + row + 1]
        );
        let column = 8 * place + line;
        assert_eq!(
            found[32 + lane as usize],
            [column, column + 8, 64 + column, 64 + column + 8]
        );
    }
}

#[test]
fn an_asynchronous_copy_has_come_after_the_wait() {
    let source: Vec<u32> = (0..96).collect();
    let mut found = [[0u32; 4]; 32];
    let (from, to) = (source.as_ptr(), found.as_mut_ptr());
    let kernel = || {
        let lane = thread::thread_idx_x() as usize;
        let tile = shared_array![u32; 96];
        // SAFETY: each thread uses its own places.
        unsafe {
            for part in 0..3 {
                async_copy::start(tile.add(32 * part + lane), from.add(32 * part + lane));
                if part < 2 {
                    async_copy::commit();
                }
            }
            let before = *tile.add(lane);
            async_copy::wait::<1>();
            let (first, second) = (*tile.add(lane), *tile.add(32 + lane));
            async_copy::wait_all();
            *to.add(lane) = [
                u32::from(before == first),
                first,
                u32::from(second == 32 + lane as u32),
                *tile.add(64 + lane),
            ];
        }
    };
    // SAFETY: the arrays have the numbers that 32 threads use.
    unsafe { emulator::launch(1, 32, 0, kernel) }.expect("the kernel runs");
    for (lane, found) in (0..).zip(found) {
        assert_eq!(found, [0, lane, 0, 64 + lane]);
    }
}

#[test]
fn a_phase_ends_with_the_last_thread_and_the_last_byte() {
    let source: Vec<U4> = (0..32)
        .map(|i| U4 {
            x: i,
            y: 0,
            z: 0,
            w: 0,
        })
        .collect();
    let mut found = [0u32; 64];
    let (from, to) = (source.as_ptr(), found.as_mut_ptr());
    let kernel = || {
        let i = thread::thread_idx_x() as usize;
        let tile = shared_array![U4; 32];
        let barrier = shared_array![u64; 1];
        // SAFETY: one thread makes the barrier and starts the copies; each thread writes its own results.
        unsafe {
            if i == 0 {
                mbarrier::init(barrier, 64);
                mbarrier::fence_init();
            }
            thread::sync_threads();
            for phase in 0..2usize {
                if i == 0 {
                    mbarrier::expect(barrier, 128);
                    mbarrier::copy(tile, from.add(16 * phase), 128, barrier);
                    mbarrier::copy(tile.add(8), from.add(16 * phase + 8), 128, barrier);
                    mbarrier::arrive_expect(barrier, 128);
                } else {
                    mbarrier::arrive(barrier);
                }
                mbarrier::wait(barrier, phase as u32);
                *to.add(i) += (*tile.add(i % 16)).x;
                thread::sync_threads();
            }
        }
    };
    // SAFETY: the arrays have the numbers that 64 threads use.
    unsafe { emulator::launch(1, 64, 0, kernel) }.expect("the kernel runs");
    for (i, found) in (0..).zip(found) {
        assert_eq!(found, i % 16 + i % 16 + 16);
    }
}

#[test]
fn a_thread_too_many_at_an_mbarrier_is_reported() {
    let kernel = || {
        let barrier = shared_array![u64; 1];
        // SAFETY: the emulator reports the mistake.
        unsafe {
            if thread::thread_idx_x() == 0 {
                mbarrier::init(barrier, 2);
                mbarrier::expect(barrier, 16);
            }
            thread::sync_threads();
            mbarrier::arrive(barrier);
        }
    };
    // SAFETY: the kernel writes to its own array alone.
    let error = unsafe { emulator::launch(1, 3, 0, kernel) }.expect_err("three threads arrive");
    assert!(
        error
            .to_string()
            .contains("more threads arrive at an mbarrier than its count of 2"),
        "{error}"
    );
}
