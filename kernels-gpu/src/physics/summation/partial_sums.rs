//! The order of summation of star clusters.
//!
//! Body s belongs to the partial sum s mod G. A partial sum starts from 0 and adds its bodies in ascending order. The partial sums are
//! then folded: for h = G/2, G/4, … 1, the sum g + h is added to the sum g, for all g < h. Places beyond the last body hold bodies of
//! mass 0, which add 0.
//!
//! The fold from G sums down to H sums gives sum h the partial sums h, h + H, h + 2H, …, and nothing else. A thread can therefore
//! compute these one after another and add them up in the order of the fold with few intermediate results ([`nth_to_merge`]), and
//! different threads or blocks can compute different h.

/// Number of partial sums of the largest systems.
pub const MAX_PARTIAL_SUMS: usize = 2048;

/// Number of partial sums up to which each of them needs only `FEW_TERMS` bodies.
pub const SHORT_PARTIAL_SUMS: usize = 128;

/// Least number of bodies of a partial sum if there are up to [`SHORT_PARTIAL_SUMS`] (and more than 8) of them.
const FEW_TERMS: usize = 8;
/// Least number of bodies of a partial sum if there are more of them: adding up the sums then takes less than 1 % of the time.
const MANY_TERMS: usize = 32;

/// Largest number of merged sums that wait for others, if the partial sums are folded down to [`SHORT_PARTIAL_SUMS`].
pub const MAX_WAITING: usize = (MAX_PARTIAL_SUMS / SHORT_PARTIAL_SUMS).ilog2() as usize + 1;

/// The number G of partial sums for `n` bodies: the largest power of two from 8 to [`SHORT_PARTIAL_SUMS`] that leaves at least 8 bodies
/// to each, or the largest one up to [`MAX_PARTIAL_SUMS`] that leaves at least 32 bodies to each.
pub const fn partial_sums(n: usize) -> usize {
    let mut g = 8;
    while g < SHORT_PARTIAL_SUMS && 2 * g * FEW_TERMS <= n {
        g *= 2;
    }
    while g < MAX_PARTIAL_SUMS && 2 * g * MANY_TERMS <= n && g >= SHORT_PARTIAL_SUMS {
        g *= 2;
    }
    g
}

/// Which of `count` sums (a power of two) comes as number `step` if a fold adds them one by one: `step` with its bits reversed. After
/// it, as many of the sums that wait are added to it, the last one first, as `step` has ones at its end; the result waits.
#[inline(always)]
pub const fn nth_to_merge(step: u32, count: u32) -> u32 {
    if count <= 1 {
        return 0;
    }
    step.reverse_bits() >> (32 - count.trailing_zeros())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_systems_have_short_sums_and_large_ones_many_sums() {
        let counts = [
            1,
            127,
            128,
            1023,
            1024,
            8191,
            8192,
            16384,
            65535,
            65536,
            1 << 20,
        ];
        let expected = [8, 8, 16, 64, 128, 128, 256, 512, 1024, 2048, 2048];
        assert_eq!(counts.map(partial_sums), expected);
        assert_eq!(MAX_WAITING, 5);
    }

    #[test]
    fn merging_one_by_one_is_the_fold() {
        for count in [1, 2, 4, 8, 16, 32] {
            // Sums that depend on their order.
            let values: Vec<f64> = (0..count).map(|k| 1.0 / f64::from(3 * k + 1)).collect();
            let mut waiting = [0.0; 6];
            let mut sum = 0.0;
            for step in 0..count {
                sum = values[nth_to_merge(step, count) as usize];
                let merges = step.trailing_ones() as usize;
                for other in &waiting[..merges] {
                    sum += other;
                }
                waiting[merges] = sum;
            }
            assert_eq!(sum, fold(&mut values.clone()), "{count}");
        }
    }
}
