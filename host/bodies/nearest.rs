//! The nearest neighbours of points, by a k-d tree.

use std::cmp::Ordering;

use glam::DVec3;

/// Number of points up to which a part of the tree is searched one by one.
const LEAF: usize = 16;
/// Number of points from which the halves of a part are sorted in two threads.
const PARALLEL: usize = 1 << 13;

/// Points in an order in which each part has its median, along one axis after the other, in its middle: none of the coordinates before it is
/// greater, and none of those after it is less.
pub struct Nearest<'a> {
    points: &'a [DVec3],
    order: Vec<u32>,
}

/// The `K` nearest points so far: squared distances in ascending order, and indices. Of points at the same distance, the one with the lower
/// index comes first.
type Found<const K: usize> = [(f64, u32); K];

impl<'a> Nearest<'a> {
    /// The tree of at most 2³² points, in a time proportional to n log n.
    pub fn new(points: &'a [DVec3]) -> Self {
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        arrange(points, &mut order, 0);
        Self { points, order }
    }

    /// The `K` points nearest to point `i`, without itself: squared distance and index, the nearest first. If there are fewer, infinite
    /// distances follow.
    pub fn of<const K: usize>(&self, i: usize) -> [(f64, u32); K] {
        let mut found = [(f64::INFINITY, u32::MAX); K];
        self.search(&self.order, 0, i as u32, &mut found);
        found
    }

    fn search<const K: usize>(&self, part: &[u32], axis: usize, i: u32, found: &mut Found<K>) {
        if part.len() <= LEAF {
            for &j in part {
                self.consider(i, j, found);
            }
            return;
        }
        let middle = part.len() / 2;
        let (before, rest) = part.split_at(middle);
        let (median, after) = (rest[0], &rest[1..]);
        let next = (axis + 1) % 3;
        let way = self.points[i as usize][axis] - self.points[median as usize][axis];
        let (near, far) = if way <= 0.0 {
            (before, after)
        } else {
            (after, before)
        };
        self.search(near, next, i, found);
        self.consider(i, median, found);
        // Rounding keeps the order of numbers, so no squared distance to a point beyond the median is less than that along the axis.
        let out_of_reach = way * way > found[K - 1].0;
        if !out_of_reach {
            self.search(far, next, i, found);
        }
    }

    fn consider<const K: usize>(&self, i: u32, j: u32, found: &mut Found<K>) {
        let d2 = self.points[i as usize].distance_squared(self.points[j as usize]);
        let before = |other: &(f64, u32)| match d2.partial_cmp(&other.0) {
            Some(Ordering::Equal) => j < other.1,
            order => order == Some(Ordering::Less),
        };
        if i == j || !before(&found[K - 1]) {
            return;
        }
        let at = found.iter().position(before).unwrap_or(K - 1);
        found.copy_within(at..K - 1, at + 1);
        found[at] = (d2, j);
    }
}

/// Arranges a part of the points along this axis, and its halves along the next one.
fn arrange(points: &[DVec3], part: &mut [u32], axis: usize) {
    if part.len() <= LEAF {
        return;
    }
    let along = |i: &u32| points[*i as usize][axis];
    let middle = part.len() / 2;
    let (before, _, after) =
        part.select_nth_unstable_by(middle, |a, b| along(a).total_cmp(&along(b)));
    let next = (axis + 1) % 3;
    let parallel = before.len() >= PARALLEL;
    let mut first = || arrange(points, before, next);
    let mut second = || arrange(points, after, next);
    if parallel {
        rayon::join(first, second);
    } else {
        first();
        second();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    /// The same by comparing all pairs.
    fn by_all_pairs<const K: usize>(points: &[DVec3], i: usize) -> [(f64, u32); K] {
        let others = (0..points.len()).filter(|j| *j != i);
        let distance = |j| (points[i].distance_squared(points[j]), j as u32);
        let mut all: Vec<(f64, u32)> = others.map(distance).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.resize(all.len().max(K), (f64::INFINITY, u32::MAX));
        std::array::from_fn(|k| all[k])
    }

    #[test]
    fn the_neighbours_are_those_of_a_comparison_of_all_pairs() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        // Coarse coordinates, so that many distances are equal and points coincide, and fine ones; a dense core in a wide halo.
        for (n, values, scale) in [
            (3, 4, 1.0),
            (40, 3, 1.0),
            (900, 8, 0.1),
            (2500, 1 << 30, 3.0),
        ] {
            let mut coordinate = || f64::from(random.next_u32() % values) * scale;
            let mut points: Vec<DVec3> = (0..n)
                .map(|_| DVec3::from([coordinate(), coordinate(), coordinate()]))
                .collect();
            for point in points.iter_mut().step_by(3) {
                *point *= 1e-3;
            }
            let nearest = Nearest::new(&points);
            for i in 0..points.len() {
                assert_eq!(nearest.of::<6>(i), by_all_pairs(&points, i), "{n} {i}");
            }
        }
    }
}
