//! Systems that have names.

use trisolar_bodies::solar_planets;

use super::number::as_text;
use super::spec::named;
use super::{Number, PlanetText};

named! {
    /// A known system.
    Preset {
        /// The sun and its eight planets (see [`solar_planets`]).
        SolarSystem = "solar-system",
        /// The sun and the planets from Jupiter to Neptune.
        Giants = "giants",
        /// TRAPPIST-1 on 2016-10-07 (BJD 2 457 257.931): the model with the greatest likelihood of Agol et al. (2021), as coplanar elements.
        Trappist1 = "trappist-1",
        /// Two planets with the masses and periods of Kepler-36 (Carter et al. 2012) on circular orbits, at mean anomalies of conjunctions with
        /// the star; close to the resonance 7:6.
        Kepler36 = "kepler-36",
    }
}

as_text!(Preset);

/// Masses (of the sun), semi-major axes (au), eccentricities, arguments of the pericentres, and mean anomalies.
type Row = [f64; 5];

const TRAPPIST_1: [Row; 7] = [
    [4.129_715e-6, 0.011_539_187, 0.006_806, 2.385_173, 0.778_618],
    [3.956_482e-6, 0.015_805_796, 0.001_841, 2.273_011, 3.881_313],
    [1.172_021e-6, 0.022_264_884, 0.007_371, 2.642_253, 0.280_722],
    [2.114_883e-6, 0.029_262_616, 0.005_084, 5.397_717, 2.556_356],
    [3.136_293e-6, 0.038_501_676, 0.009_583, 3.158_812, 5.299_486],
    [3.966_913e-6, 0.046_833_575, 0.003_321, 0.517_612, 1.157_316],
    [9.816_084e-7, 0.061_907_979, 0.004_448, 3.080_791, 1.285_360],
];

/// Masses of 4.45 and 8.08 of the earth's, and periods of 13.839 89 and 16.238 55 days.
const KEPLER_36: [Row; 2] = [
    [1.336_553e-5, 0.115_421_781, 0.0, 0.0, 2.871_294],
    [2.426_819e-5, 0.128_400_719, 0.0, 0.0, 5.565_986],
];

impl Preset {
    /// The star and its planets.
    pub fn system(self) -> (f64, Vec<PlanetText>) {
        let rows = |rows: &[Row]| rows.iter().map(|row| planet(*row, [0.0; 2])).collect();
        let solar = |from: usize| {
            let planets = solar_planets().take(8).skip(from).map(|p| {
                let ([m, a, e], [inc, node, argument, mean]) = (p.shape, p.angles);
                let [argument, mean] = [argument, mean].map(f64::to_radians);
                planet([m, a, e, argument, mean], [inc, node].map(f64::to_radians))
            });
            planets.collect()
        };
        match self {
            Self::SolarSystem => (1.0, solar(0)),
            Self::Giants => (1.0, solar(4)),
            Self::Trappist1 => (0.0898, rows(&TRAPPIST_1)),
            Self::Kepler36 => (1.071, rows(&KEPLER_36)),
        }
    }
}

/// A planet with this inclination and longitude of the node.
fn planet([m, a, e, argument, mean]: Row, [inc, node]: [f64; 2]) -> PlanetText {
    let elements = [m, a, e, inc, node, argument, mean];
    PlanetText(
        elements.map(Number::Fixed),
        Default::default(),
        Default::default(),
    )
}
