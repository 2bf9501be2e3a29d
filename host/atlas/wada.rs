//! Whether all basins have one boundary (Wada's property), by merging (Daza et al. 2018): all basins except one are merged, and the boundary
//! that remains is compared with those that remain for the other basins. The boundaries of a Wada map agree within the resolution.

use rayon::prelude::*;
use serde::Serialize;

use super::OutcomeMap;

/// The test passes if the boundaries agree within this share of the shorter side of the map.
const LARGEST_SHARE: f64 = 0.05;

/// Distances for which the agreement is reported, in pixels.
const DISTANCES: [u16; 8] = [1, 2, 3, 5, 10, 20, 50, 100];

/// The agreement of the boundaries of a map with three or more basins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wada {
    /// Number of basins.
    pub basins: usize,
    /// Number of pixels with a neighbour, in the row or in the column, of another class.
    pub boundary_pixels: u64,
    /// The distance in pixels by which all boundaries must be thickened so that each covers all others.
    pub distance: u16,
    /// For some distances in pixels, the share of the boundary's pixels that have the boundaries of all basins within this distance.
    pub within: Vec<(u16, f64)>,
    /// The largest distance with which the test passes: 5 % of the shorter side.
    pub limit: u16,
    /// Whether the test passes. A finer map may separate boundaries that agree at this resolution.
    pub passed: bool,
}

/// The agreement of the boundaries; `None` for fewer than three basins.
pub(crate) fn of(map: &OutcomeMap) -> Option<Wada> {
    let basins = map.classes().len();
    if basins < 3 {
        return None;
    }
    let boundary: Vec<usize> = (0..map.size()[1])
        .into_par_iter()
        .flat_map_iter(|y| (0..map.size()[0]).map(move |x| (x, y)))
        .filter(|(x, y)| neighbours(map, *x, *y).any(|other| other != map.row(*y)[*x]))
        .map(|(x, y)| y * map.size()[0] + x)
        .collect();
    // The distance from each pixel of the boundary to the boundary of the basin that is furthest away.
    let furthest = (0..basins)
        .into_par_iter()
        .map(|class| {
            let distances = distances(map, class as u8);
            boundary
                .iter()
                .map(|at| distances[*at])
                .collect::<Vec<u16>>()
        })
        .reduce_with(|mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(b));
            a
        })
        .unwrap_or_default();
    let distance = furthest.iter().copied().max().unwrap_or_default();
    let count = boundary.len().max(1) as f64;
    let share = |distance: u16| {
        let near = furthest.iter().filter(|d| **d <= distance).count();
        (distance, near as f64 / count)
    };
    let shortest = map.size()[0].min(map.size()[1]) as f64;
    let limit = (LARGEST_SHARE * shortest) as u16;
    Some(Wada {
        basins,
        boundary_pixels: boundary.len() as u64,
        distance,
        within: DISTANCES.into_iter().map(share).collect(),
        limit,
        passed: distance <= limit,
    })
}

/// The classes of the neighbours of a pixel in its row and its column.
fn neighbours(map: &OutcomeMap, x: usize, y: usize) -> impl Iterator<Item = u8> + '_ {
    let [width, height] = map.size();
    let row = map.row(y);
    let beside = [x.checked_sub(1), Some(x + 1).filter(|x| *x < width)];
    let above = [y.checked_sub(1), Some(y + 1).filter(|y| *y < height)];
    let beside = beside.into_iter().flatten().map(move |x| row[x]);
    beside.chain(above.into_iter().flatten().map(move |y| map.row(y)[x]))
}

/// The distance of each pixel from the boundary of a class, where a diagonal step counts as one, by a pass downwards and one upwards
/// (Rosenfeld & Pfaltz 1968).
fn distances(map: &OutcomeMap, class: u8) -> Vec<u16> {
    let [width, height] = map.size();
    let mut found = vec![u16::MAX; width * height];
    for y in 0..height {
        let row = map.row(y);
        for x in 0..width {
            let inside = row[x] == class;
            if x + 1 < width && (row[x + 1] == class) != inside {
                found[y * width + x..][..2].fill(0);
            }
            if y + 1 < height && (map.row(y + 1)[x] == class) != inside {
                found[y * width + x] = 0;
                found[(y + 1) * width + x] = 0;
            }
        }
    }
    let pass = |before: Option<&[u16]>, row: &mut [u16]| {
        if let Some(before) = before {
            for x in 0..width {
                let near = before[x.saturating_sub(1)..(x + 2).min(width)].iter();
                let least = near.copied().min().unwrap_or(u16::MAX);
                row[x] = row[x].min(least.saturating_add(1));
            }
        }
        for x in 1..width {
            row[x] = row[x].min(row[x - 1].saturating_add(1));
        }
        for x in (1..width).rev() {
            row[x - 1] = row[x - 1].min(row[x].saturating_add(1));
        }
    };
    for y in 0..height {
        let (above, row) = found.split_at_mut(y * width);
        pass(above.rchunks(width).next(), &mut row[..width]);
    }
    for y in (0..height).rev() {
        let (row, below) = found.split_at_mut((y + 1) * width);
        pass(below.chunks(width).next(), &mut row[y * width..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_search_of_all_pixels() {
        let (width, height) = (13, 9);
        let value = |i: usize| f64::from(u8::from(i % 31 == 3 || i % 47 == 20));
        let values: Vec<f64> = (0..width * height).map(value).collect();
        let map = OutcomeMap::of_whole_numbers([width, height], &values, |_| None).unwrap();
        let found = distances(&map, 1);
        let edge =
            |i: usize| neighbours(&map, i % width, i / width).any(|other| other != map.pixels()[i]);
        for (i, distance) in found.iter().enumerate() {
            let to = |j: usize| {
                let apart = |a: usize, b: usize| a.abs_diff(b);
                apart(i % width, j % width).max(apart(i / width, j / width))
            };
            let nearest = (0..width * height).filter(|j| edge(*j)).map(to).min();
            assert_eq!(nearest, Some(usize::from(*distance)), "pixel {i}");
        }
    }
}
