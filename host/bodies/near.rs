//! Points that are close to each other.

use glam::DVec3;
use rayon::prelude::*;

use crate::nearest::Nearest;

/// The distance of two points, computed without squares, which could underflow.
fn distance(a: DVec3, b: DVec3) -> f64 {
    let d = b - a;
    d.x.hypot(d.y).hypot(d.z)
}

/// The two points that are closest to each other and their distance; `None` if there are fewer than two. At least one of them
/// `matters`. Takes a time proportional to the square of their number.
pub fn nearest_pair(
    points: &[DVec3],
    matters: impl Fn(usize) -> bool + Sync,
) -> Option<(usize, usize, f64)> {
    let nearest = |i: usize| {
        (i + 1..points.len())
            .filter(|j| matters(i) || matters(*j))
            .map(|j| (i, j, distance(points[i], points[j])))
            .min_by(|a, b| a.2.total_cmp(&b.2))
    };
    let pairs = (0..points.len()).into_par_iter().filter_map(nearest);
    pairs.min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)))
}

/// The distance to the nearest other point of a point that has as many points with shorter such distances as with longer ones.
pub fn median_separation(points: &[DVec3]) -> f64 {
    let nearest = Nearest::new(points);
    let all = (0..points.len()).into_par_iter();
    let mut distances: Vec<f64> = all.map(|i| nearest.of::<1>(i)[0].0.sqrt()).collect();
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Two points that are closer to each other than `limit` or coincide, with their distance, if there are any. At least one of them
/// `matters`. Takes about as long as sorting, unless many points are within `limit` of others along all three axes.
pub fn pair_within(
    points: &[DVec3],
    matters: impl Fn(usize) -> bool,
    limit: f64,
) -> Option<(usize, usize, f64)> {
    // Each group is stored with the axis that may divide it next, and the number of axes in turn that have not divided it: it is
    // divided wherever two points that follow each other along the axis are at least the limit apart.
    let mut groups = vec![((0..points.len()).collect::<Vec<usize>>(), 0, 0)];
    while let Some((mut group, axis, whole)) = groups.pop() {
        if whole == 3 {
            for &i in group.iter().filter(|i| matters(**i)) {
                for &j in group.iter().filter(|j| **j != i) {
                    let apart = distance(points[i], points[j]);
                    if apart < limit || apart == 0.0 {
                        return Some((i.min(j), i.max(j), apart));
                    }
                }
            }
            continue;
        }
        let at = |i: usize| points[i][axis];
        group.sort_by(|a, b| at(*a).total_cmp(&at(*b)));
        let parts: Vec<&[usize]> = group
            .chunk_by(|a, b| at(*b) - at(*a) < limit || at(*a) == at(*b))
            .collect();
        let whole = if parts.len() == 1 { whole + 1 } else { 1 };
        let parts = parts.into_iter().filter(|part| part.len() > 1);
        groups.extend(parts.map(|part| (part.to_vec(), (axis + 1) % 3, whole)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_pair_is_found_even_where_squares_vanish() {
        let points = [
            [0.0; 3],
            [3.0, 0.0, 0.0],
            [1e-200, 0.0, 0.0],
            [0.0, 2.0, 0.0],
        ]
        .map(DVec3::from);
        assert_eq!(nearest_pair(&points, |_| true), Some((0, 2, 1e-200)));
        assert_eq!(nearest_pair(&points, |i| i == 3), Some((0, 3, 2.0)));
        assert_eq!(nearest_pair(&points[..1], |_| true), None);
        assert_eq!(median_separation(&points), 2.0);
    }

    #[test]
    fn a_pair_within_a_limit_is_found_if_there_is_one() {
        // Many points share one coordinate or two with others.
        let grid: Vec<DVec3> = (0..8000)
            .map(|n| DVec3::from([n % 20, n / 20 % 20, n / 400].map(f64::from)))
            .collect();
        let within = |points: &[DVec3], limit| pair_within(points, |_| true, limit);
        assert_eq!(within(&grid, 0.5), None);
        assert_eq!(within(&grid, 1.0), None);
        assert!(within(&grid, 1.1).is_some_and(|(i, j, d)| i < j && d == 1.0));
        for (place, limit, expected) in [
            ([3.0, 4.0, 5.25], 0.5, Some((2083, 8000, 0.25))),
            ([3.0, 3.75, 5.0], 0.5, Some((2083, 8000, 0.25))),
            ([3.4, 4.4, 5.4], 0.5, None),
            ([19.0, 0.0, 5.0], 0.0, Some((2019, 8000, 0.0))),
            ([-0.0, -0.0, -0.0], 1e-300, Some((0, 8000, 0.0))),
            (
                [-1e-200, 1e-200, 0.0],
                1e-160,
                Some((0, 8000, 1e-200_f64.hypot(1e-200))),
            ),
        ] {
            let mut points = grid.clone();
            points.push(place.into());
            assert_eq!(within(&points, limit), expected, "{place:?} {limit}");
        }
    }

    #[test]
    fn points_that_do_not_matter_may_be_close_to_each_other() {
        let points = [1.0, 1.0, 5.0, 5.0].map(DVec3::splat);
        assert_eq!(pair_within(&points, |_| false, 0.1), None);
        assert_eq!(pair_within(&points, |i| i == 3, 0.1), Some((2, 3, 0.0)));
    }
}
