//! Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror & Shaw (2011). It needs no state, so that a run's numbers can be
//! computed anywhere at the same cost.

/// Four random words for a key and a counter.
#[inline(always)]
pub fn philox(key: u64, counter: [u32; 4]) -> [u32; 4] {
    let (mut k0, mut k1) = (key as u32, (key >> 32) as u32);
    let [mut a, mut b, mut c, mut d] = counter;
    let mut round = 0;
    while round < 10 {
        let p = 0xD251_1F53_u64 * a as u64;
        let q = 0xCD9E_8D57_u64 * c as u64;
        (a, c) = ((q >> 32) as u32 ^ b ^ k0, (p >> 32) as u32 ^ d ^ k1);
        (b, d) = (q as u32, p as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
        round += 1;
    }
    [a, b, c, d]
}

/// A uniform number in [0, 1) with 53 random bits, for one dimension of a run.
#[cfg_attr(target_arch = "nvptx64", inline(never))]
pub fn uniform(seed: u64, run: u64, dimension: u32) -> f64 {
    let words = philox(seed, [run as u32, (run >> 32) as u32, dimension, 0]);
    let bits = (words[1] as u64) << 32 | words[0] as u64;
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_authors_test_vectors() {
        // The expected values are from the file kat_vectors of the authors' Random123.
        assert_eq!(
            philox(0, [0; 4]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox(u64::MAX, [u32::MAX; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }

    #[test]
    fn numbers_are_uniform_and_depend_on_every_argument() {
        let n = 40_000;
        let mean =
            |f: &dyn Fn(f64) -> f64| (0..n).map(|i| f(uniform(7, i, 3))).sum::<f64>() / n as f64;
        assert!((mean(&|u| u) - 0.5).abs() < 0.006);
        assert!((mean(&|u| u * u) - 1.0 / 3.0).abs() < 0.006);
        let u = uniform(1, 2, 3);
        assert!(
            [
                uniform(2, 2, 3),
                uniform(1, 3, 3),
                uniform(1, 2, 4),
                uniform(1, 2 + (1 << 32), 3)
            ]
            .iter()
            .all(|other| *other != u && (0.0..1.0).contains(other))
        );
    }
}
