//! Analyses of maps of outcomes: the shares of the basins, and how intricate the boundaries between them are. The basin of an outcome is
//! the set of starts that lead to it.
//!
//! - [`files`]: the outcomes in files of encounters, planetary systems, maps and other programs
//! - [`entropy`]: basin entropy and boundary basin entropy (Daza et al. 2016)
//! - [`scaling`]: the uncertainty exponent (Grebogi et al. 1983) and the box dimension of the boundary
//! - [`wada`]: whether all basins have one boundary, by merging (Daza et al. 2018)
//! - [`pictures`]: a picture of each

use serde::Serialize;
use trisolar_ensemble::ClassShare;

pub mod entropy;
pub mod files;
pub mod outcomes;
pub mod pictures;
pub mod scaling;
mod tiles;
pub mod wada;

pub use entropy::BasinEntropy;
pub use outcomes::OutcomeMap;
pub use scaling::Scaling;
pub use wada::Wada;

/// The sides of the boxes whose entropies are computed unless others are chosen, in pixels (Daza et al. 2016).
pub const BOXES: [usize; 2] = [5, 20];

/// All analyses of a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Atlas {
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// The shares of the basins with their intervals, in which the pixels count as independent.
    pub basins: Vec<ClassShare>,
    /// The entropies for each side of boxes.
    pub entropies: Vec<BasinEntropy>,
    /// The share of pairs of pixels that differ, as a function of their distance.
    pub uncertainty: Scaling,
    /// The share of boxes that contain a part of the boundary, as a function of their side.
    pub boundary: Scaling,
    /// The test of Wada's property; `None` for two basins, which always have one boundary.
    pub wada: Option<Wada>,
    /// Reasons why the numbers may not be what the user intended.
    pub warnings: Vec<String>,
}

impl Atlas {
    /// Analyses a map, with entropies for boxes of these sides in pixels.
    ///
    /// # Errors
    /// The map has a single class, or is smaller than a box; there is no box, or one of less than 2 pixels.
    pub fn of(map: &OutcomeMap, boxes: &[usize]) -> Result<Self, String> {
        let [width, height] = map.size();
        if let [only] = map.classes() {
            return Err(format!(
                "all pixels have the class {}: there is no boundary to analyse",
                only.name
            ));
        }
        if boxes.is_empty() {
            return Err("at least one side of boxes is needed".into());
        }
        for side in boxes {
            if !(2..=width.min(height)).contains(side) {
                return Err(format!(
                    "a box of {side} pixels does not fit the map of {width} x {height} pixels: 2 to {} are possible",
                    width.min(height)
                ));
            }
        }
        let basins = map.shares();
        let uncertainty = scaling::uncertainty(map);
        let boundary = scaling::boundary(map);
        let laws = [("uncertainty", &uncertainty), ("boundary", &boundary)];
        let warnings = laws.into_iter().filter_map(|(name, law)| law.warning(name));
        Ok(Self {
            size: map.size(),
            basins,
            entropies: boxes.iter().map(|side| entropy::of(map, *side)).collect(),
            warnings: warnings.collect(),
            uncertainty,
            boundary,
            wada: wada::of(map),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of z³ = 1 that Newton's iteration reaches from a point.
    pub(crate) fn newton(mut x: f64, mut y: f64) -> f64 {
        const HALF_ROOT_3: f64 = 0.866_025_403_784_438_6;
        for _ in 0..200 {
            let (a, b) = (x * x - y * y, 2.0 * x * y);
            let d = 3.0 * (a * a + b * b);
            // z - (z³ - 1) / (3 z²) = (2 z + 1/z²) / 3
            let next = (2.0 * x / 3.0 + a / d, 2.0 * y / 3.0 - b / d);
            if next == (x, y) {
                break;
            }
            (x, y) = next;
        }
        let near = |u: f64, v: f64| (x - u).abs() + (y - v).abs() < 1e-3;
        match () {
            () if near(1.0, 0.0) => 0.0,
            () if near(-0.5, HALF_ROOT_3) => 1.0,
            () if near(-0.5, -HALF_ROOT_3) => 2.0,
            () => 3.0,
        }
    }

    fn newton_map(n: usize) -> OutcomeMap {
        let at = |i: usize| -2.0 + 4.0 * (i as f64 + 0.5) / n as f64;
        let values: Vec<f64> = (0..n * n).map(|i| newton(at(i % n), -at(i / n))).collect();
        OutcomeMap::of_whole_numbers([n, n], &values, |_| None).unwrap()
    }

    #[test]
    fn newtons_fractal_has_the_published_counts_entropies_and_property_of_wada() {
        let atlas = Atlas::of(&newton_map(1000), &BOXES).unwrap();
        let counts: Vec<u64> = atlas.basins.iter().map(|basin| basin.count).collect();
        assert_eq!(counts, [352_806, 323_597, 323_597]);
        for (found, (side, boxes, boundary, entropy, on_boundary, fractal)) in
            atlas.entropies.iter().zip([
                (5, 40_000, 2596, 0.046_937_956_563, 0.723_235_078_018, true),
                (20, 2500, 410, 0.103_624_871_584, 0.631_858_973_075, false),
            ])
        {
            assert_eq!((found.side, found.boxes), (side, boxes));
            assert_eq!(found.boundary_boxes, boundary);
            assert!((found.entropy - entropy).abs() < 1e-12, "{found:?}");
            let boundary_entropy = found.boundary_entropy.unwrap();
            assert!((boundary_entropy - on_boundary).abs() < 1e-12, "{found:?}");
            assert_eq!(found.above_ln_2, fractal, "{found:?}");
        }
        let wada = atlas.wada.unwrap();
        assert!(wada.passed, "{wada:?}");
    }

    #[test]
    fn a_straight_boundary_has_dimension_1_and_no_other_property_of_fractals() {
        let n = 512;
        let half = |i: usize| f64::from(u8::from(3 * (i % n) + (i / n) > 900));
        let values: Vec<f64> = (0..n * n).map(half).collect();
        let map = OutcomeMap::of_whole_numbers([n, n], &values, |_| None).unwrap();
        let atlas = Atlas::of(&map, &BOXES).unwrap();
        for law in [&atlas.uncertainty, &atlas.boundary] {
            let fit = law.fit.as_ref().unwrap();
            let error = fit.jackknife_error.unwrap();
            assert!(
                (fit.dimension - 1.0).abs() < 3.0 * error && error < 0.15,
                "{fit:?}"
            );
        }
        assert!(atlas.entropies.iter().all(|found| !found.above_ln_2));
        assert_eq!(atlas.wada, None);
    }

    #[test]
    fn three_sectors_are_not_wada_and_noise_has_no_exponent() {
        let n = 300;
        let sector = |i: usize| {
            let (x, y) = ((i % n) as f64 - 150.3, (i / n) as f64 - 150.7);
            (y.atan2(x) / 2.1).floor()
        };
        let values: Vec<f64> = (0..n * n).map(sector).collect();
        let map = OutcomeMap::of_whole_numbers([n, n], &values, |_| None).unwrap();
        let wada = Atlas::of(&map, &[5]).unwrap().wada.unwrap();
        assert!(!wada.passed && wada.distance > 100, "{wada:?}");
        let mut state = 1_u64;
        let noise: Vec<f64> = (0..n * n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 40) % 3) as f64
            })
            .collect();
        let map = OutcomeMap::of_whole_numbers([n, n], &noise, |_| None).unwrap();
        let atlas = Atlas::of(&map, &[5]).unwrap();
        assert_eq!(atlas.uncertainty.fit, None);
        let refused = atlas.uncertainty.refused.unwrap();
        assert!(
            refused.contains("0 of") && refused.contains("at least 7"),
            "{refused}"
        );
        assert!(atlas.entropies[0].above_ln_2);
    }
}
