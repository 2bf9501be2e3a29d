//! N-body runs in several processes: their communication, and the distribution of bodies over ranks.
//!
//! `basic` gives each rank a block of bodies and gathers all positions before accelerations are computed. `reduced` deals groups of
//! rows to the ranks in turn (Pacheco & Malensek 2021). Positions are passed around the ring of ranks until every rank has all of
//! them. The partial sums of the forces travel in the opposite direction: the rank of each group adds the forces of its rows on the
//! bodies behind them and passes the sums to the rank of the next group. They are thus added in the order of the rows for any
//! number of ranks.

use std::ops::Range;

use super::super::Solver;
use super::field::ROW;
use trisolar_run::Ranks;

/// Number of groups of rows per rank, if there are enough rows. Groups differ in work, and many small groups balance it.
const GROUPS_PER_RANK: usize = 8;
/// Number of bodies in the units that the basic solver distributes.
const BODIES_PER_UNIT: usize = 64;

/// The distribution of bodies over ranks.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// The bodies of each rank, ascending.
    pub of: Vec<Vec<Range<usize>>>,
    /// Rows of a group in the reduced solver.
    pub group: usize,
}

impl Shares {
    /// Gives all bodies to one process.
    pub(super) fn alone(n: usize) -> Self {
        let all = 0..n;
        Self {
            of: vec![vec![all]],
            group: n.div_ceil(ROW),
        }
    }

    /// `at_once` is the number of rows for which a rank has memory.
    pub(super) fn new(n: usize, size: usize, solver: Solver, at_once: usize) -> Self {
        let rows = n.div_ceil(ROW);
        let group = rows
            .div_ceil(GROUPS_PER_RANK * size)
            .clamp(1, at_once.max(1));
        let of = (0..size).map(|rank| match solver {
            Solver::Basic => {
                let units = n.div_ceil(BODIES_PER_UNIT);
                let [first, end] =
                    [rank, rank + 1].map(|r| (r * units / size * BODIES_PER_UNIT).min(n));
                let block = std::iter::once(first..end);
                block.filter(|b| !b.is_empty()).collect()
            }
            Solver::Reduced => (rank..rows.div_ceil(group))
                .step_by(size)
                .map(|g| g * group * ROW..((g + 1) * group * ROW).min(n))
                .collect(),
        });
        Self {
            of: of.collect(),
            group,
        }
    }

    /// Bodies of a rank.
    pub(super) fn count(&self, rank: usize) -> usize {
        self.of[rank].iter().map(Range::len).sum()
    }
}

/// The components of some bodies, one plane after the other.
pub(super) fn pack(planes: &[Vec<f64>], bodies: &[Range<usize>]) -> Vec<f64> {
    let parts = planes
        .iter()
        .flat_map(|plane| bodies.iter().flat_map(|range| &plane[range.clone()]));
    parts.copied().collect()
}

/// The opposite of [`pack`].
pub(super) fn unpack(mut from: &[f64], planes: &mut [Vec<f64>], bodies: &[Range<usize>]) {
    for plane in planes {
        for range in bodies {
            let (part, rest) = from.split_at(range.len());
            plane[range.clone()].copy_from_slice(part);
            from = rest;
        }
    }
}

/// All-gather of the planes' numbers of all bodies.
pub(super) fn gather(ranks: &dyn Ranks, shares: &Shares, planes: &mut [Vec<f64>]) {
    let counts: Vec<usize> = (0..ranks.size())
        .map(|r| shares.count(r) * planes.len())
        .collect();
    let mut all = vec![0.0; counts.iter().sum()];
    ranks.gather(&pack(planes, &shares.of[ranks.rank()]), &counts, &mut all);
    let mut rest = &all[..];
    for (bodies, count) in shares.of.iter().zip(counts) {
        let (part, after) = rest.split_at(count);
        unpack(part, planes, bodies);
        rest = after;
    }
}

/// As [`gather`], by passing parts around the ring.
pub(super) fn pass_around(ranks: &dyn Ranks, shares: &Shares, planes: &mut [Vec<f64>]) {
    let (rank, size) = (ranks.rank(), ranks.size());
    let mut held = pack(planes, &shares.of[rank]);
    for phase in 1..size {
        let owner = (rank + phase) % size;
        let mut taken = vec![0.0; shares.count(owner) * planes.len()];
        ranks.pass(&held, &mut taken);
        unpack(&taken, planes, &shares.of[owner]);
        held = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_has_one_rank() {
        for n in [1, 63, 64, 65, 128, 400, 5000] {
            for size in [1, 2, 3, 7, 64] {
                for solver in Solver::ALL {
                    let shares = Shares::new(n, size, *solver, 3);
                    let mut owners = vec![0; n];
                    for range in shares.of.iter().flatten() {
                        owners[range.clone()].iter_mut().for_each(|o| *o += 1);
                    }
                    assert_eq!(shares.of.len(), size);
                    assert!(owners.iter().all(|o| *o == 1), "{n} {size} {solver}");
                }
            }
        }
    }

    #[test]
    fn rows_are_dealt_evenly_and_in_turn() {
        let shares = Shares::new(100 * ROW, 4, Solver::Reduced, 1000);
        assert_eq!(shares.group, 4);
        assert_eq!(shares.of[1][0], 4 * ROW..8 * ROW);
        assert_eq!(shares.of[1][1], 20 * ROW..24 * ROW);
    }
}
