//! The order of summation of star clusters.
//!
//! Body s belongs to the partial sum s mod G. A partial sum starts from 0 and adds its bodies in ascending order. The partial sums are
//! then folded: for h = G/2, G/4, … 1, the sum g + h is added to the sum g, for all g < h. Places beyond the last body hold bodies of
//! mass 0, which add 0.

/// Number of partial sums of the largest systems.
pub const MAX_PARTIAL_SUMS: usize = 128;

/// The number G of partial sums for `n` bodies: the largest power of two from 8 to [`MAX_PARTIAL_SUMS`] that leaves at least 8 bodies
/// to each.
pub const fn partial_sums(n: usize) -> usize {
    let mut g = 8;
    while g < MAX_PARTIAL_SUMS && g * 16 <= n {
        g *= 2;
    }
    g
}

/// Number of terms of each partial sum, including those of mass 0.
pub const fn terms(n: usize) -> usize {
    n.div_ceil(partial_sums(n))
}

/// Folds partial sums into the first.
#[inline(always)]
pub fn fold(partial: &mut [f64]) -> f64 {
    let mut h = partial.len() / 2;
    while h > 0 {
        for g in 0..h {
            partial[g] += partial[g + h];
        }
        h /= 2;
    }
    partial[0]
}
