//! How the share of what meets the boundary grows with a scale: pairs of starts with their distance (Grebogi et al. 1983), and boxes with
//! their extent. Where it is a power of the scale, the box dimension of the boundary in the plane is 2 minus the exponent.

use rayon::prelude::*;
use serde::Serialize;
use trisolar_ensemble::statistics::wilson;

use super::OutcomeMap;
use super::tiles::{self, AREAS};

/// The least number of scales of a fit.
const LEAST_SCALES: usize = 7;

/// Shares above this part of the largest possible one do not grow like a power.
const SATURATED: f64 = 0.9;

/// The difference of the exponents of the lower and the upper half of the scales above which there is a warning.
const BENT: f64 = 0.1;

/// How many of all met the boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of pairs or boxes.
    pub all: u64,
    /// Number of those with more than one class.
    pub mixed: u64,
}

/// The share at a scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalePoint {
    /// The distance of pairs, or of the outermost pixels of boxes; in pixels for maps.
    pub scale: f64,
    /// Number of pairs or boxes.
    pub all: u64,
    /// The share of those with more than one class.
    pub share: f64,
    /// Its binomial 95 % interval (Wilson 1927).
    pub interval: [f64; 2],
    /// Whether the fit uses it.
    pub used: bool,
}

/// A power law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerLaw {
    /// The share grows as the scale to this power: the uncertainty exponent where scales are distances of pairs.
    pub exponent: f64,
    /// Its standard error if all pairs or boxes were independent.
    pub binomial_error: f64,
    /// Its standard error by the jackknife over areas of the map, or groups of pairs; `None` for a single one.
    pub jackknife_error: Option<f64>,
    /// The box dimension of the boundary that follows, 2 minus the exponent.
    pub dimension: f64,
    /// The logarithm of the share at the scale 1.
    #[serde(skip)]
    pub level: f64,
    /// The exponents of the lower and the upper half of the scales.
    pub halves: [f64; 2],
}

/// Shares at several scales, and the power law through them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The shares, in ascending order of the scales.
    pub points: Vec<ScalePoint>,
    /// The share that unrelated pixels have.
    pub saturation: f64,
    /// The power law, if there is one.
    pub fit: Option<PowerLaw>,
    /// Why there is none.
    pub refused: Option<String>,
}

impl Scaling {
    /// The power law through counts at ascending scales, of which each has the counts of the same groups. `saturation` is the share that
    /// unrelated starts would have. Scales without a mixed pair, and those whose share is above 0.9 of the saturation, are not fitted.
    pub fn new(scales: &[f64], counts: &[Vec<Count>], saturation: f64) -> Self {
        let totals: Vec<Count> = counts.iter().map(|groups| sum(groups)).collect();
        let usable = |count: &Count| {
            let share = count.mixed as f64 / count.all.max(1) as f64;
            share > 0.0 && share <= SATURATED * saturation
        };
        let used: Vec<usize> = (0..totals.len()).filter(|i| usable(&totals[*i])).collect();
        let points = scales.iter().zip(&totals).map(|(scale, total)| {
            let [all, mixed] = [total.all, total.mixed].map(|n| n as f64);
            ScalePoint {
                scale: *scale,
                all: total.all,
                share: mixed / all,
                interval: wilson(mixed, all),
                used: usable(total),
            }
        });
        let points = points.collect();
        if used.len() < LEAST_SCALES {
            let refused = format!(
                "{} of {} scales have a share above 0 and at most {SATURATED} of that of unrelated pixels ({saturation:.4}); a fit needs at least {LEAST_SCALES}: a map with more pixels, or of a smaller part, has more",
                used.len(),
                totals.len()
            );
            return Self {
                points,
                saturation,
                fit: None,
                refused: Some(refused),
            };
        }
        let line = |used: &[usize], count: &dyn Fn(usize) -> Count| {
            fit(used.iter().map(|i| (scales[*i], count(*i))))
        };
        let all = |i: usize| totals[i];
        let (exponent, level, binomial_error) = line(&used, &all);
        let groups = counts[used[0]].len();
        let filled = (0..groups).filter(|g| used.iter().any(|i| counts[*i][*g].all > 0));
        let without = filled.map(|g| {
            line(&used, &|i| Count {
                all: totals[i].all - counts[i][g].all,
                mixed: totals[i].mixed - counts[i][g].mixed,
            })
            .0
        });
        let without: Vec<f64> = without.filter(|slope| slope.is_finite()).collect();
        let (low, high) = used.split_at(used.len() / 2);
        let fit = PowerLaw {
            exponent,
            binomial_error,
            jackknife_error: tiles::jackknife(&without),
            dimension: 2.0 - exponent,
            level,
            halves: [low, high].map(|half| line(half, &all).0),
        };
        Self {
            points,
            saturation,
            fit: Some(fit),
            refused: None,
        }
    }

    /// A warning if the exponent depends on the scale.
    pub fn warning(&self, name: &str) -> Option<String> {
        let [low, high] = self.fit.as_ref()?.halves;
        ((low - high).abs() > BENT).then(|| {
            format!(
                "{name}: no single power law: the exponent is {low:.3} at the smaller scales and {high:.3} at the larger ones"
            )
        })
    }
}

fn sum(counts: &[Count]) -> Count {
    counts.iter().fold(Count::default(), |total, count| Count {
        all: total.all + count.all,
        mixed: total.mixed + count.mixed,
    })
}

/// The weighted least-squares line through the logarithms: slope, level at 1, and standard error of the slope. The weights are the
/// inverse binomial variances of the logarithms of the shares.
fn fit(points: impl Iterator<Item = (f64, Count)>) -> (f64, f64, f64) {
    let points: Vec<[f64; 3]> = points
        .filter(|(_, count)| count.mixed > 0 && count.mixed < count.all)
        .map(|(scale, count)| {
            let [all, mixed] = [count.all, count.mixed].map(|n| n as f64);
            [scale.ln(), (mixed / all).ln(), mixed / (1.0 - mixed / all)]
        })
        .collect();
    let weight: f64 = points.iter().map(|[_, _, w]| w).sum();
    let mean = |k: usize| points.iter().map(|p| p[2] * p[k]).sum::<f64>() / weight;
    let (x, y) = (mean(0), mean(1));
    let squares: f64 = points.iter().map(|[u, _, w]| w * (u - x).powi(2)).sum();
    let products: f64 = points.iter().map(|[u, v, w]| w * (u - x) * (v - y)).sum();
    let slope = products / squares;
    (slope, y - slope * x, squares.sqrt().recip())
}

/// About two scales in every factor of two, from `first` to `last`.
fn scales(first: usize, last: usize) -> Vec<usize> {
    let all = (0..64).map(|k| 2.0_f64.powf(f64::from(k) / 2.0).round() as usize);
    let mut all: Vec<usize> = all.filter(|n| (first..=last).contains(n)).collect();
    all.dedup();
    all
}

/// The share of pairs of pixels, side by side or one above the other, that differ, for distances up to a quarter of the shorter side.
pub(crate) fn uncertainty(map: &OutcomeMap) -> Scaling {
    let [width, height] = map.size();
    let distances = scales(1, width.min(height) / 4);
    let edge = |length: usize, k: usize| k * length / AREAS;
    let tasks = distances.len() * AREAS;
    let counts = (0..tasks).into_par_iter().map(|task| {
        let (distance, area) = (distances[task / AREAS], task % AREAS);
        let mut counts = [Count::default(); AREAS];
        for y in edge(height, area)..edge(height, area + 1) {
            let row = map.row(y);
            let further = (y + distance < height).then(|| map.row(y + distance));
            for (k, count) in counts.iter_mut().enumerate() {
                let (from, to) = (edge(width, k), edge(width, k + 1));
                let end = to.min(width - distance);
                if from < end {
                    count.add(&row[from..end], &row[from + distance..end + distance]);
                }
                if let Some(further) = further {
                    count.add(&row[from..to], &further[from..to]);
                }
            }
        }
        counts
    });
    let counts: Vec<[Count; AREAS]> = counts.collect();
    let counts: Vec<Vec<Count>> = counts.chunks(AREAS).map(<[_]>::concat).collect();
    let squares: f64 = map.shares().iter().map(|basin| basin.share.powi(2)).sum();
    let distances: Vec<f64> = distances.iter().map(|n| *n as f64).collect();
    Scaling::new(&distances, &counts, 1.0 - squares)
}

impl Count {
    /// Counts pairs of pixels.
    fn add(&mut self, a: &[u8], b: &[u8]) {
        self.all += a.len() as u64;
        // Sums of single bytes are computed for many pairs at a time.
        for (a, b) in a.chunks(255).zip(b.chunks(255)) {
            let pairs = a.iter().zip(b);
            self.mixed += u64::from(pairs.fold(0_u8, |sum, (a, b)| sum + u8::from(a != b)));
        }
    }
}

/// The share of boxes that have more than one class, for sides up to an eighth of the shorter side.
pub(crate) fn boundary(map: &OutcomeMap) -> Scaling {
    let [width, height] = map.size();
    let sides = scales(2, width.min(height) / 8);
    let counts = sides.iter().map(|side| {
        let size = tiles::number(map, *side);
        let mut counts = vec![Count::default(); AREAS * AREAS];
        for (i, mixed) in tiles::each(map, *side, |tile| tile.is_mixed())
            .into_iter()
            .enumerate()
        {
            let count = &mut counts[tiles::area(i, size)];
            count.all += 1;
            count.mixed += u64::from(mixed);
        }
        counts
    });
    let counts: Vec<Vec<Count>> = counts.collect();
    // A boundary between two boxes has no part in either: what a box covers is the distance of its outermost pixels.
    let covered: Vec<f64> = sides.iter().map(|n| *n as f64 - 1.0).collect();
    Scaling::new(&covered, &counts, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_any_distances_give_the_exponent_of_newtons_fractal() {
        let mut state = 7_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let scales: Vec<f64> = (4..=16).rev().map(|k| 0.5_f64.powi(k)).collect();
        let counts: Vec<Vec<Count>> = (scales.iter())
            .map(|distance| {
                let group = |_| {
                    let mut count = Count::default();
                    for _ in 0..500 {
                        let [x, y] = [(); 2].map(|()| 4.0 * uniform() - 2.0);
                        let root = crate::tests::newton(x, y);
                        count.all += 1;
                        count.mixed += u64::from(crate::tests::newton(x + distance, y) != root);
                    }
                    count
                };
                (0..40).map(group).collect()
            })
            .collect();
        let found = Scaling::new(&scales, &counts, 0.666);
        let fit = found.fit.unwrap();
        let error = fit.jackknife_error.unwrap();
        // 2e5 pairs at each distance give 0.571; here are 2e4.
        assert!(
            (fit.exponent - 0.571).abs() < 3.0 * error && error < 0.02,
            "{fit:?}"
        );
        assert!(
            fit.binomial_error > 0.2 * error && fit.binomial_error < 2.0 * error,
            "{fit:?}"
        );
    }

    #[test]
    fn a_power_is_fitted_exactly_and_saturated_scales_are_left_out() {
        let scales: Vec<f64> = (0..10).map(|k| 2.0_f64.powi(k)).collect();
        let count = |share: f64| {
            vec![
                Count {
                    all: 1 << 40,
                    mixed: (share * (1_u64 << 40) as f64) as u64,
                };
                2
            ]
        };
        let counts: Vec<Vec<Count>> = (scales.iter())
            .map(|scale| count((0.01 * scale.powf(0.6)).min(0.2)))
            .collect();
        let found = Scaling::new(&scales, &counts, 0.2);
        let used: Vec<bool> = found.points.iter().map(|point| point.used).collect();
        assert_eq!(used, [[true; 7].as_slice(), &[false; 3]].concat()[..]);
        let fit = found.fit.clone().unwrap();
        assert!((fit.exponent - 0.6).abs() < 1e-8, "{fit:?}");
        assert_eq!(found.warning("pairs"), None);
        let bent: Vec<Vec<Count>> = (0..10).map(|k| count(0.01 + 0.01 * f64::from(k))).collect();
        assert!(Scaling::new(&scales, &bent, 0.2).warning("pairs").is_some());
    }
}
