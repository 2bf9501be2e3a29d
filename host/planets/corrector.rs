//! Symplectic correctors (Wisdom, Holman & Touma 1996, Wisdom 2006): a transformation before the first Wisdom-Holman step and its inverse after
//! the last one, which removes the errors of first order in the masses of the planets up to a power of the step.
//!
//! A step is exp(h H) with H = A + f(h D) B + O(B²), where A drifts, B kicks, D is the commutator with A, and f(x) = (x/2) coth(x/2) for kick,
//! drift, kick, or (x/2)/sinh(x/2) for drift, kick, drift. The transformation exp(g(h D) B) takes f(h D) B to B if g(x) = (f(x) - 1)/x. It is
//! a product of Z(a, b) = drift a, kick -b, drift -2 a, kick b, drift a, each of which is exp(-2 b sinh(a D) B) up to B².

use kernels_gpu::planets::physics::MAX_STAGES;

/// The orders, which are 2 k + 1 for k different drifts.
pub(super) const ORDERS: [u64; 5] = [3, 5, 7, 11, 17];
/// The largest number of drifts.
const MOST: usize = 8;
/// Bernoulli's numbers B₂, B₄, and so on.
const BERNOULLI: [f64; MOST] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];

/// The kicks that belong to drifts by i √(7/40), i = 1, 2, and so on: they solve 4 Σ bᵢ sinh(aᵢ x) = -g(x) up to the order.
fn kicks(count: usize, drift_first: bool) -> [f64; MOST] {
    // Row p is the equation for x^(2 p + 1), whose unknowns are bᵢ aᵢ.
    let mut rows = [[0.0; MOST + 1]; MOST];
    let square = 7.0 / 40.0;
    let mut power = 1.0;
    for (p, row) in rows.iter_mut().enumerate().take(count) {
        let n = 2.0 * p as f64;
        for (i, cell) in row.iter_mut().enumerate().take(count) {
            *cell = ((i + 1) as f64).powi(2 * p as i32);
        }
        // The term of g of this power, times (2 p + 1)!.
        let term = BERNOULLI[p] / (n + 2.0);
        let share = if drift_first {
            2.0_f64.powi(-(2 * p as i32 + 1)) - 1.0
        } else {
            1.0
        };
        row[MOST] = -0.25 * share * term / power;
        power *= square;
    }
    // Gauss elimination.
    for pivot in 0..count {
        for below in pivot + 1..count {
            let above = rows[pivot];
            let factor = rows[below][pivot] / above[pivot];
            for (cell, above) in rows[below].iter_mut().zip(above).skip(pivot) {
                *cell -= factor * above;
            }
        }
    }
    let mut found = [0.0; MOST];
    for i in (0..count).rev() {
        let known: f64 = (i + 1..count).map(|k| rows[i][k] * found[k]).sum();
        found[i] = (rows[i][MOST] - known) / rows[i][i];
    }
    for (i, x) in found.iter_mut().enumerate() {
        *x /= (i + 1) as f64 * square.sqrt();
    }
    found
}

/// The stages of a corrector, a drift and a kick each, and their number.
pub(super) fn stages(order: u64, drift_first: bool) -> ([[f64; 2]; MAX_STAGES], u64) {
    let count = (order as usize / 2).min(MOST);
    let kicks = kicks(count, drift_first);
    let mut all = [[0.0; 2]; MAX_STAGES];
    let (mut drift, mut used) = (0.0, 0);
    let parts = (0..count).map(|i| (i, -1.0));
    for (i, sign) in parts.chain((0..count).rev().map(|i| (i, 1.0))) {
        let (a, b) = (
            sign * (i + 1) as f64 * (7.0_f64 / 40.0).sqrt(),
            sign * kicks[i],
        );
        all[used] = [drift + a, -b];
        all[used + 1] = [-2.0 * a, b];
        drift = a;
        used += 2;
    }
    all[used] = [drift, 0.0];
    (all, used as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kick_is_that_of_the_third_order() {
        // Wisdom, Holman & Touma 1996, for drift, kick, drift.
        let a = (7.0_f64 / 40.0).sqrt();
        let [first, ..] = kicks(1, true);
        assert!((first.abs() - 1.0 / (96.0 * a)).abs() < 1e-16, "{first}");
    }

    #[test]
    fn stages_end_where_they_began() {
        for order in ORDERS {
            let (all, count) = stages(order, false);
            assert_eq!(count, 2 * (order - 1) + 1);
            for k in 0..2 {
                let sum: f64 = all.iter().map(|stage| stage[k]).sum();
                assert!(sum.abs() < 1e-14, "{order}: {sum}");
            }
        }
    }
}
