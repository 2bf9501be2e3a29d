//! Measures the limit of the machine: the rate of `f64` instructions in the mix of a map's step (two thirds of them fused
//! multiply-adds and products, the rest sums) without waiting for dependencies.

use std::hint::black_box;
use std::time::{Duration, Instant};

use kernels_gpu::Real;
use kernels_gpu::number::Single;
use kernels_gpu::number::bits::Bits;

use crate::{OnLanes, Simd};

/// `f64` operations (a fused multiply-add is one) of one pixel-step: both systems' separations, squares, r^-3 and
/// sums, and the test.
pub const OPERATIONS: f64 = 124.0;

/// Operations per second of this many threads together, lanes counted one by one.
pub fn operations_per_second(simd: Simd, threads: usize, length: Duration) -> f64 {
    let rates: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(move || one_thread(simd, length)))
            .collect();
        workers
            .into_iter()
            .map(|w| w.join().expect("the loop does not panic"))
            .collect()
    });
    rates.iter().sum()
}

fn one_thread(simd: Simd, length: Duration) -> f64 {
    let start = Instant::now();
    let mut operations = 0.0;
    while start.elapsed() < length {
        operations += simd.run(Burst);
    }
    operations / start.elapsed().as_secs_f64()
}

struct Burst;

impl OnLanes for Burst {
    type Output = f64;

    #[inline(always)]
    fn on<D: Bits<Alone = f64>, S: Single>(self) -> f64 {
        burst::<D>()
    }
}

const ROUNDS: usize = 100_000;

/// Enough independent chains to hide the latency, and few enough for 16 registers.
#[inline(always)]
fn burst<R: Real>() -> f64 {
    let k = R::from_f64(black_box(0.5));
    let mut products = [k; 11];
    let mut sums = [k; 4];
    for _ in 0..ROUNDS {
        for x in &mut products {
            *x = x.mul_add(k, k);
        }
        for x in &mut sums {
            *x = *x + k;
        }
    }
    black_box((products, sums));
    (ROUNDS * (products.len() + sums.len()) * R::LANES) as f64
}
