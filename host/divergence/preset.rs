//! Maps by name: those of Badger's study, and the accurate one.

use super::spec::{OneOrTwo, Overrides};
use trisolar_spec::Integrator;

/// A named map; see [`overrides`](Self::overrides).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The region of the headline map, by a method that passes the check of steps.
    Accurate,
    /// The map of Badger's study: start positions from -20 to 20, 300 × 300 pixels, explicit Euler.
    Headline,
    /// The study's repetitions of the structure to the right: x from -40 to 470, y from -40 to 40, 20 pixels per unit of length, 200000
    /// steps.
    Panorama,
}

trisolar_io::names!(Preset {
    Accurate = "accurate",
    Headline = "headline",
    Panorama = "panorama",
});

impl Preset {
    /// What it shows, in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::Accurate => {
                "The region of the headline map, by an integrator and a step that pass the check of steps."
            }
            Self::Headline => {
                "The map of Badger's study, by explicit Euler with a step of 0.001, which decides most times of parting."
            }
            Self::Panorama => {
                "The study's repetitions of the structure to the right, by explicit Euler, 200000 steps."
            }
        }
    }

    /// The values in which it differs from the headline map.
    pub fn overrides(self) -> Overrides {
        match self {
            // The method of the accurate map is here alone: the explorer, Python, pictures and tests take it from here.
            Self::Accurate => Overrides {
                integrator: Some(Integrator::Regularised6),
                ..Overrides::default()
            },
            Self::Headline => Overrides::default(),
            Self::Panorama => Overrides {
                size: Some(OneOrTwo::Two([10_200, 1_600])),
                center: Some([215.0, 0.0].into()),
                span: Some(OneOrTwo::Two([510.0, 80.0])),
                steps: Some(200_000),
                ..Overrides::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Specification;

    #[test]
    fn the_panorama_has_the_documents_range_and_square_pixels() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        let valid = Specification::from(Preset::Panorama.overrides());
        let valid = valid.validate().expect("valid");
        let grid = valid.job(0, 1).grid;
        let corner = grid.start(0);
        assert_eq!([corner[0], corner[1]], [-40.0, -40.0]);
        let last = grid.start(valid.pixels() - 1);
        assert!((last[0] - 469.95).abs() < 1e-9 && (last[1] - 39.95).abs() < 1e-9);
        assert_eq!(valid.warnings(), [""; 0]);
    }
}
