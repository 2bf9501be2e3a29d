//! Square boxes of pixels that cover a map side by side, and areas of a map that are left out in turn to estimate errors (jackknife).

use rayon::prelude::*;

use super::OutcomeMap;

/// Areas along each side of a map.
pub(crate) const AREAS: usize = 8;

/// The number of boxes of a side along both axes. Pixels at the right and at the end that do not fill a box belong to none.
pub(crate) fn number(map: &OutcomeMap, side: usize) -> [usize; 2] {
    map.size().map(|n| n / side)
}

/// A box.
pub(crate) struct Tile<'a> {
    map: &'a OutcomeMap,
    at: [usize; 2],
    side: usize,
}

impl Tile<'_> {
    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let [x, y] = self.at;
        (y..y + self.side).map(move |y| &self.map.row(y)[x..x + self.side])
    }

    /// Whether it has more than one class.
    pub(crate) fn is_mixed(&self) -> bool {
        let first = self.map.row(self.at[1])[self.at[0]];
        self.rows()
            .any(|row| row.iter().any(|class| *class != first))
    }

    /// The Gibbs entropy of the shares of the classes.
    pub(crate) fn entropy(&self) -> f64 {
        if !self.is_mixed() {
            return 0.0;
        }
        let mut counts = [0_u32; 256];
        for class in self.rows().flatten() {
            counts[usize::from(*class)] += 1;
        }
        let all = (self.side * self.side) as f64;
        let counts = counts[..self.map.classes().len()].iter();
        let terms = counts.filter(|count| **count > 0).map(|count| {
            let share = f64::from(*count) / all;
            -share * share.ln()
        });
        terms.sum()
    }
}

/// The value of each box, row by row.
pub(crate) fn each<T: Send>(
    map: &OutcomeMap,
    side: usize,
    value: impl Fn(&Tile<'_>) -> T + Sync,
) -> Vec<T> {
    let [columns, rows] = number(map, side);
    (0..rows)
        .into_par_iter()
        .flat_map_iter(|row| {
            let value = &value;
            (0..columns).map(move |column| {
                let at = [column * side, row * side];
                value(&Tile { map, at, side })
            })
        })
        .collect()
}

/// The area of the box of this number, of so many columns and rows of boxes.
pub(crate) fn area(i: usize, [columns, rows]: [usize; 2]) -> usize {
    (i / columns * AREAS / rows) * AREAS + i % columns * AREAS / columns
}

/// The standard error of a statistic, of which these are the values without one area each (Tukey 1958); `None` for fewer than two.
pub(crate) fn jackknife(without: &[f64]) -> Option<f64> {
    let n = without.len() as f64;
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|x| (x - mean).powi(2)).sum();
    (without.len() > 1).then(|| ((n - 1.0) / n * squares).sqrt())
}
