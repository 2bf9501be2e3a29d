//! Colour maps and the range of values they span.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An RGB colour.
pub type Rgb = [u8; 3];

/// The lightness of a colour with the weights of ITU-R BT.709, in whole numbers.
pub(super) fn lightness([red, green, blue]: Rgb) -> u32 {
    2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue)
}

/// A colour map, from the lowest value to the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColourMap {
    /// Black, violet, orange, pale yellow; even in lightness.
    #[default]
    Inferno,
    /// Violet, green, yellow; even in lightness.
    Viridis,
    /// Black, purple, pale rose; even in lightness.
    Magma,
    /// Blue, red, yellow; even in lightness.
    Plasma,
    /// Blue, grey, yellow; the same to colour-blind eyes.
    Cividis,
    /// Black to white.
    Grey,
    /// The whole rainbow, smoothed.
    Turbo,
}

impl ColourMap {
    /// Every colour map.
    pub const ALL: [Self; 7] = [
        Self::Inferno,
        Self::Viridis,
        Self::Magma,
        Self::Plasma,
        Self::Cividis,
        Self::Grey,
        Self::Turbo,
    ];

    /// The name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inferno => "inferno",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Plasma => "plasma",
            Self::Cividis => "cividis",
            Self::Grey => "grey",
            Self::Turbo => "turbo",
        }
    }

    /// `n` colours at even distances from the lowest to the highest; `n` is 1 to 256.
    pub fn palette(self, n: usize) -> Vec<Rgb> {
        let gradient = match self {
            Self::Inferno => colorous::INFERNO,
            Self::Viridis => colorous::VIRIDIS,
            Self::Magma => colorous::MAGMA,
            Self::Plasma => colorous::PLASMA,
            Self::Cividis => colorous::CIVIDIS,
            Self::Turbo => colorous::TURBO,
            Self::Grey => {
                let step = |i: usize| (i * 255 + (n - 1) / 2) / (n - 1).max(1);
                return (0..n).map(|i| [step(i) as u8; 3]).collect();
            }
        };
        (0..n)
            .map(|i| gradient.eval_rational(i, n).as_array())
            .collect()
    }

    /// The colour of a value that is not finite: none of the map's own.
    pub fn not_finite(self) -> Rgb {
        match self {
            Self::Grey => [200, 60, 60],
            _ => [128, 128, 128],
        }
    }
}

impl ColourMap {
    /// The 256 colours of a picture, the last of which is that of values that are not finite, unless all are.
    pub fn entries(self, all_finite: bool) -> Vec<Rgb> {
        let mut palette = self.palette(levels(all_finite).into());
        if !all_finite {
            palette.push(self.not_finite());
        }
        palette
    }

    /// The name of [`ColourMap::not_finite`].
    pub(super) fn not_finite_name(self) -> &'static str {
        match self {
            Self::Grey => "red",
            _ => "grey",
        }
    }
}

impl fmt::Display for ColourMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ColourMap {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == name)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("unknown colour map {name:?}; allowed are {names}")
            })
    }
}

/// The values at the ends of the colour map.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ColourRange {
    /// The lowest and the highest finite value of the map.
    #[default]
    Whole,
    /// From the first to the second; values beyond have the colour of that end.
    Fixed(f64, f64),
}

/// How the colours are spaced between the ends of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Equal steps of the value.
    #[default]
    Linear,
    /// Equal steps of its logarithm. Values of 0 and below have the lowest colour, and do not count for the range.
    Logarithmic,
}

impl Spacing {
    /// Whether a value counts for the range.
    pub fn counts(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }

    /// The number that is spaced evenly. The logarithm has the same bits on every machine.
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => libm::log10(value),
        }
    }
}

/// Values to palette entries: `levels` equal steps from `low` to `high`, and one more entry for what is not finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ColourScale {
    pub low: f64,
    pub high: f64,
    pub levels: u16,
    pub spacing: Spacing,
}

/// Steps of the colours, one less than 256 where an entry is needed for values that are not finite.
fn levels(all_finite: bool) -> u16 {
    if all_finite { 256 } else { 255 }
}

impl ColourScale {
    /// The range of the colours, and how finely it is divided: 256 steps, or 255 where one entry is needed for values
    /// that are not finite.
    pub fn new(low: f64, high: f64, all_finite: bool, spacing: Spacing) -> Self {
        Self {
            low,
            high,
            levels: levels(all_finite),
            spacing,
        }
    }

    /// The entry for a value; a map of equal values is all of the lowest colour.
    pub fn entry(self, value: f64) -> u8 {
        if !value.is_finite() {
            return self.levels.min(255) as u8;
        }
        if !self.spacing.counts(value) {
            return 0;
        }
        let [low, high, value] = [self.low, self.high, value].map(|x| self.spacing.of(x));
        // Halves first: the width of the range itself may be beyond f64.
        let (half_width, above) = (high / 2.0 - low / 2.0, value / 2.0 - low / 2.0);
        if half_width <= 0.0 {
            return 0;
        }
        // Casts saturate.
        let level = (above / half_width * f64::from(self.levels)) as u16;
        level.min(self.levels - 1) as u8
    }

    /// The colours of all entries.
    pub fn palette(self, map: ColourMap) -> Vec<Rgb> {
        map.entries(self.levels == 256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inferno_is_the_published_table() {
        let p = ColourMap::Inferno.palette(256);
        assert_eq!((p[0], p[255]), ([0, 0, 4], [0xfc, 0xff, 0xa4]));
        let mut seen = p.clone();
        seen.dedup();
        assert_eq!(seen.len(), 256, "all 256 entries are used");
    }

    #[test]
    fn names_are_understood_and_unknown_ones_listed() {
        for map in ColourMap::ALL {
            assert_eq!(map.name().parse(), Ok(map));
            assert!(!map.palette(256).contains(&map.not_finite()) || map == ColourMap::Cividis);
        }
        let message = "jet".parse::<ColourMap>().unwrap_err();
        assert!(
            message.contains("jet") && message.contains("inferno"),
            "{message}"
        );
    }

    #[test]
    fn the_ends_of_the_range_are_the_ends_of_the_palette() {
        let s = ColourScale::new(10.0, 20.0, true, Spacing::Linear);
        let entries = [9.0, 10.0, 15.0, 20.0, 21.0, f64::MAX].map(|v| s.entry(v));
        assert_eq!(entries, [0, 0, 128, 255, 255, 255]);
        let s = ColourScale::new(10.0, 20.0, false, Spacing::Linear);
        assert_eq!(
            [20.0, f64::NAN, f64::INFINITY].map(|v| s.entry(v)),
            [254, 255, 255]
        );
        assert_eq!(s.palette(ColourMap::Inferno).len(), 256);
        let s = ColourScale::new(-f64::MAX, f64::MAX, true, Spacing::Linear);
        assert_eq!(
            [-f64::MAX, 0.0, f64::MAX].map(|v| s.entry(v)),
            [0, 128, 255]
        );
        let s = ColourScale::new(5.0, 5.0, true, Spacing::Linear);
        assert_eq!([5.0, 6.0].map(|v| s.entry(v)), [0, 0]);
    }

    #[test]
    fn logarithmic_colours_have_equal_ratios() {
        let s = ColourScale::new(1e-3, 1e5, true, Spacing::Logarithmic);
        let entries = [0.0, -1.0, 1e-4, 1e-3, 10.0, 1e5, 1e9].map(|v| s.entry(v));
        assert_eq!(entries, [0, 0, 0, 0, 128, 255, 255]);
        assert_eq!(ColourScale { levels: 255, ..s }.entry(f64::NAN), 255);
        let s = ColourScale::new(2.0, 2.0, true, Spacing::Logarithmic);
        assert_eq!(s.entry(2.0), 0);
    }
}
