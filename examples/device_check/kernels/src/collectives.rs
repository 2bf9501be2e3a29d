//! Reductions, running sums, sorting, selection and histograms, in a kernel that is a safe function.

use cuda_std::collective::*;
use cuda_std::prelude::*;

use crate::{Random, WORDS};

/// Every collective with several types, in blocks of any size. Each thread has the words of one element.
// Without the limit, a block of 1024 threads has too few registers.
#[kernel(max_threads = 1024)]
pub fn collectives(seed: u64, words: Each<'_, [u64; WORDS]>) {
    let mut random = Random::new(seed);
    let word = random.bits();
    // Of several magnitudes, so that the order of sums shows in their bits.
    let x = random.moderate() * [1.0, 1e3, 1e6, 1e-3][random.below(4) as usize];
    let y = x as f32;
    let vector = [x, 1.0 / x, x * x];
    let (add, add_f32) = (|a: f64, b: f64| a + b, |a: f32, b: f32| a + b);
    let add_all = |a: [f64; 3], b: [f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let (before, all) = block_exclusive_scan(y, 0.0, add_f32);
    let vectors = [
        block_reduce(vector, add_all),
        block_inclusive_scan(vector, add_all),
    ];
    let (place, count) = block_select(x > 0.0);
    let mut counts = 0;
    let numbers = [word % 37, word >> 8 & 3].map(|x| x as usize);
    block_histogram::<37>(numbers.into_iter(), |number, count| {
        counts += (number as u64 + 1) << 32 | u64::from(count);
    });
    let found = [
        warp_reduce(x, add).to_bits(),
        warp_reduce(y, add_f32).to_bits().into(),
        warp_inclusive_scan(x, add).to_bits(),
        warp_exclusive_scan(y, -1.0, add_f32).to_bits().into(),
        warp_reduce(word as u8, u8::max).into(),
        warp_inclusive_scan(word as u16, u16::wrapping_add).into(),
        block_reduce(x, add).to_bits(),
        block_reduce(y, f32::min).to_bits().into(),
        block_reduce(word, |a, b| a ^ b.rotate_left(1)),
        block_reduce(u128::from(word) << 50, u128::wrapping_add) as u64,
        block_inclusive_scan(x, add).to_bits(),
        before.to_bits().into(),
        all.to_bits().into(),
        block_inclusive_scan(word as u8, u8::wrapping_mul).into(),
        vectors[0][0].to_bits() ^ vectors[0][1].to_bits() ^ vectors[0][2].to_bits(),
        vectors[1][0].to_bits() ^ vectors[1][1].to_bits() ^ vectors[1][2].to_bits(),
        block_sort(x, |a, b| a < b).to_bits(),
        block_sort(word as u8, |a, b| a > b).into(),
        block_sort([word % 16, word], |a, b| a[0] < b[0])[1],
        u64::from(place) << 32 | u64::from(count),
        counts,
    ];
    for words in words {
        words[..found.len()].copy_from_slice(&found);
    }
}
