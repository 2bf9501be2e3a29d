//! The density of bodies along the line of sight.

use glam::DVec3;
use rayon::prelude::*;

use super::Bodies;

/// Number of neighbours, the body included, over which the mass of a body is spread.
const NEIGHBOURS: usize = 16;
/// The share of the bodies that [`ColumnDensity::side_for`] shows.
const SHOWN: f64 = 0.95;
/// The least radius over which a mass is spread, in cells, so that no mass falls between the middles of cells.
const LEAST_CELLS: f64 = 1.5;

/// Mass per area, seen along z, on a square grid.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDensity {
    /// The middle of the square: x and y (length).
    pub centre: [f64; 2],
    /// The side of the square (length).
    pub side: f64,
    /// `cells` rows of `cells` values (mass / length²), the lowest y first.
    pub values: Vec<f64>,
    /// The number of cells along a side.
    pub cells: usize,
    /// How many bodies are inside of the square.
    pub inside: usize,
}

impl ColumnDensity {
    /// The side of a square around (x, y) that has 95 % of the bodies, rounded up to two digits of which the second is 0 or 5.
    pub fn side_for(bodies: &Bodies, [x, y]: [f64; 2]) -> f64 {
        let away = |p: &DVec3| (p.x - x).abs().max((p.y - y).abs());
        let mut away: Vec<f64> = bodies.position.iter().map(away).collect();
        away.sort_by(f64::total_cmp);
        let most = away.len().saturating_sub(1) as f64;
        let far = away.get((SHOWN * most).ceil() as usize).copied();
        let far = 2.0 * far.unwrap_or(0.0);
        if !(far.is_normal() && far > 0.0) {
            return 1.0;
        }
        let unit = 10.0_f64.powi(libm::log10(far).floor() as i32);
        (2.0 * far / unit).ceil() / 2.0 * unit
    }

    /// The density on a grid. The mass of each body is spread over a disc that reaches to its sixteenth neighbour in the plane (an adaptive
    /// kernel estimate with a biweight kernel, Silverman 1986), so that the sum over the plane is the mass.
    pub fn of(bodies: &Bodies, centre: [f64; 2], side: f64, cells: usize) -> Self {
        let plane: Vec<[f64; 2]> = bodies.position.iter().map(|p| [p.x, p.y]).collect();
        let radii = distances_to_neighbour(&plane);
        let cell = side / cells as f64;
        let corner = centre.map(|c| c - side / 2.0);
        let mut values = vec![0.0; cells * cells];
        let rows = values.par_chunks_mut(cells).enumerate();
        // Each row adds the bodies in their order, so that the sums do not depend on threads.
        rows.for_each(|(row, values)| {
            let y = corner[1] + (row as f64 + 0.5) * cell;
            for ((at, mass), radius) in plane.iter().zip(&bodies.mass).zip(&radii) {
                let radius = radius.max(LEAST_CELLS * cell);
                let dy = (y - at[1]) / radius;
                if at.iter().any(|x| !x.is_finite()) || dy.abs() >= 1.0 {
                    continue;
                }
                let reach = (1.0 - dy * dy).sqrt() * radius;
                let column = |x: f64| ((x - corner[0]) / cell - 0.5).clamp(-1.0, cells as f64);
                let from = column(at[0] - reach).ceil().max(0.0) as usize;
                let to = (column(at[0] + reach) + 1.0).floor().max(0.0) as usize;
                let height = 3.0 * mass / (std::f64::consts::PI * radius * radius);
                for (k, value) in values.iter_mut().enumerate().take(to).skip(from) {
                    let x = corner[0] + (k as f64 + 0.5) * cell;
                    let dx = (x - at[0]) / radius;
                    let left = (1.0 - dx * dx - dy * dy).max(0.0);
                    *value += height * left * left;
                }
            }
        });
        let within = |p: &&[f64; 2]| (0..2).all(|k| (p[k] - centre[k]).abs() <= side / 2.0);
        Self {
            centre,
            side,
            values,
            cells,
            inside: plane.iter().filter(within).count(),
        }
    }
}

/// The distance of each point to its sixteenth neighbour, itself included; that to the farthest one if there are fewer.
fn distances_to_neighbour(points: &[[f64; 2]]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a][0].total_cmp(&points[*b][0]));
    let mut place = vec![0; points.len()];
    for (k, i) in order.iter().enumerate() {
        place[*i] = k;
    }
    (0..points.len())
        .into_par_iter()
        .map(|i| {
            let here = points[i];
            // The squares of the least distances so far, ascending. Both ways along x, up to where x alone is farther.
            let mut nearest = [f64::INFINITY; NEIGHBOURS];
            nearest[0] = 0.0;
            let left = order[..place[i]].iter().rev();
            let right = order[place[i] + 1..].iter();
            let (mut left, mut right) = (left, right);
            let (mut goes_left, mut goes_right) = (true, true);
            while goes_left || goes_right {
                for (way, goes) in [
                    (
                        &mut left as &mut dyn Iterator<Item = &usize>,
                        &mut goes_left,
                    ),
                    (&mut right, &mut goes_right),
                ] {
                    let Some(there) = way.next().filter(|_| *goes).map(|j| points[*j]) else {
                        *goes = false;
                        continue;
                    };
                    let (dx, dy) = (there[0] - here[0], there[1] - here[1]);
                    *goes = dx * dx < nearest[NEIGHBOURS - 1];
                    let d2 = dx * dx + dy * dy;
                    let at = nearest.partition_point(|n| *n <= d2);
                    if at < NEIGHBOURS {
                        nearest[at..].rotate_right(1);
                        nearest[at] = d2;
                    }
                }
            }
            let found = nearest.iter().rev().find(|d2| d2.is_finite());
            found.map_or(0.0, |d2| d2.sqrt())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn plummer(n: usize) -> Bodies {
        let bodies = Model::Plummer.build(Some(n), 7, 1.0, 3);
        bodies.expect("a model")
    }

    #[test]
    fn neighbours_are_those_that_all_distances_give() {
        let bodies = plummer(200);
        let points: Vec<[f64; 2]> = bodies.position.iter().map(|p| [p.x, p.y]).collect();
        let found = distances_to_neighbour(&points);
        for (a, found) in points.iter().zip(&found) {
            let mut all: Vec<f64> = points
                .iter()
                .map(|b| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt())
                .collect();
            all.sort_by(f64::total_cmp);
            assert_eq!(*found, all[NEIGHBOURS - 1]);
        }
        assert_eq!(distances_to_neighbour(&points[..1]), [0.0]);
    }

    #[test]
    fn the_density_is_that_of_plummers_model() {
        let n = 20_000;
        let bodies = plummer(n);
        let side = 24.0;
        let density = ColumnDensity::of(&bodies, [0.0; 2], side, 400);
        let cell = side / 400.0;
        let mass: f64 = density.values.iter().sum::<f64>() * cell * cell;
        let inside = density.inside as f64 / n as f64;
        assert!((mass - inside).abs() < 5e-3, "{mass} of {inside}");
        // Plummer (1911): Σ(R) = M a² / π (R² + a²)², in rings of cells.
        let a = 3.0 * std::f64::consts::PI / 16.0;
        for radius in [0.2, 0.6, 1.2, 2.4] {
            let ring = |k: usize| {
                let [x, y] = [k % 400, k / 400].map(|i| (i as f64 + 0.5) * cell - side / 2.0);
                (x.hypot(y) - radius).abs() < 0.1
            };
            let values: Vec<f64> = (0..160_000)
                .filter(|k| ring(*k))
                .map(|k| density.values[k])
                .collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square: f64 = radius * radius + a * a;
            let expected = a * a / (std::f64::consts::PI * square * square);
            assert!(
                (mean / expected - 1.0).abs() < 0.12,
                "{radius}: {mean} {expected}"
            );
        }
    }

    #[test]
    fn the_square_has_nearly_all_bodies_and_a_round_side() {
        let bodies = plummer(1000);
        let side = ColumnDensity::side_for(&bodies, [0.0; 2]);
        let density = ColumnDensity::of(&bodies, [0.0; 2], side, 64);
        assert!(
            (950..=995).contains(&density.inside),
            "{side}: {}",
            density.inside
        );
        assert_eq!((2.0 * side).fract(), 0.0, "{side}");
        assert_eq!(ColumnDensity::side_for(&Bodies::default(), [0.0; 2]), 1.0);
    }
}
