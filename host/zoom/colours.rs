//! The meaning of the colours of a sequence's pictures, which is the same in every frame by default.

use serde::{Deserialize, Serialize};

use trisolar_io::colour::ColourRange;
use trisolar_io::picture::BarNumbers;
use trisolar_map::Quantity;
use trisolar_map::output::Shown;

/// The value that is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// The share of the frame's steps that was left when the twins parted, from 0 (never parted) to 1.
    #[default]
    Share,
    /// The steps that were left, on a scale up to the largest number of steps of any frame; 0 where they never parted. A pixel
    /// that parts keeps its colour in frames of more steps.
    Steps,
    /// The number of steps left, in each frame from its lowest to its highest value, as in Badger's study.
    Frame,
}

trisolar_io::names!(Colours {
    Share = "share",
    Steps = "steps",
    Frame = "frame",
});

impl Colours {
    /// The default for maps of a quantity.
    pub fn usual(quantity: Quantity) -> Self {
        if quantity.counts_steps() {
            Self::Share
        } else {
            Self::Frame
        }
    }

    /// Checks that maps of a quantity can be coloured in this way.
    ///
    /// # Errors
    /// A description of the allowed colours.
    pub fn check(self, quantity: Quantity) -> Result<(), String> {
        if quantity.counts_steps() || self == Self::Frame {
            return Ok(());
        }
        Err(format!(
            "with --quantity {quantity} it must be frame: its values are not counts of steps"
        ))
    }

    /// The value that is coloured, of a pixel with this value of the quantity in a map of `steps` steps, in a sequence whose frames
    /// have up to `most` steps.
    pub fn value(self, quantity: Quantity, value: f64, steps: u32, most: u32) -> f64 {
        let left = quantity.shown(value, steps);
        if !quantity.counts_steps() {
            return left;
        }
        match self {
            Self::Share => left / f64::from(steps),
            Self::Steps if left == 0.0 => 0.0,
            Self::Steps => f64::from(most) - value,
            Self::Frame => left,
        }
    }

    /// The values at the ends of the colour map.
    pub fn range(self, most: u32) -> ColourRange {
        match self {
            Self::Share => ColourRange::Fixed(0.0, 1.0),
            Self::Steps => ColourRange::Fixed(0.0, f64::from(most)),
            Self::Frame => ColourRange::Whole,
        }
    }

    /// The time until the twins part, which a colour bar counts as that of a single map does, of maps with so many steps of length `dt`.
    pub fn times(self, quantity: Quantity, steps: u64, dt: f64, most: u32) -> Option<BarNumbers> {
        let (at_zero, per_value) = match self {
            Self::Share => (steps as f64 * dt, -(steps as f64) * dt),
            Self::Steps => (f64::from(most) * dt, -dt),
            Self::Frame => (steps as f64 * dt, -dt),
        };
        quantity.counts_steps().then_some(BarNumbers {
            at_zero,
            per_value,
            zero: "never parted",
        })
    }

    /// As [`times`](Self::times), of the common colour bar of several maps, each with its steps and their length; `None` if a colour does
    /// not mean the same time in all of them.
    pub fn common_times(
        self,
        quantity: Quantity,
        mut maps: impl Iterator<Item = (u64, f64)>,
        most: u32,
    ) -> Option<BarNumbers> {
        let (steps, dt) = maps.next()?;
        let same = match self {
            Self::Share => maps.all(|map| map == (steps, dt)),
            Self::Steps => maps.all(|map| map.1 == dt),
            Self::Frame => false,
        };
        self.times(quantity, steps, dt, most).filter(|_| same)
    }

    /// Name and unit of what a colour bar counts: `times` if there are any, otherwise the value.
    pub fn labels(
        self,
        quantity: Quantity,
        most: u32,
        times: Option<BarNumbers>,
    ) -> (String, &'static str) {
        if let Some([name, unit]) = times.and(Shown::Time.label()) {
            return (name.into(), unit);
        }
        match self {
            Self::Share => ("share of the steps left when the twins part".into(), ""),
            Self::Steps => (format!("steps left of {most} when the twins part"), "steps"),
            Self::Frame => (quantity.label().into(), quantity.unit()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTITY: Quantity = Quantity::Divergence;

    #[test]
    fn a_colour_means_the_same_in_every_frame() {
        for colours in Colours::ALL {
            assert_eq!(colours.name().parse(), Ok(colours));
            for steps in [100_u32, 400] {
                assert_eq!(
                    colours.value(QUANTITY, f64::from(steps), steps, 400),
                    0.0,
                    "never parted"
                );
            }
        }
        assert_eq!(
            Colours::Share.value(QUANTITY, 50.0, 100, 400),
            Colours::Share.value(QUANTITY, 200.0, 400, 400)
        );
        assert_eq!(
            Colours::Steps.value(QUANTITY, 50.0, 100, 400),
            Colours::Steps.value(QUANTITY, 50.0, 400, 400)
        );
        assert_eq!(Colours::Frame.value(QUANTITY, 50.0, 100, 400), 50.0);
    }

    #[test]
    fn a_bar_counts_the_times_of_its_colours_where_all_maps_agree_on_them() {
        let (dt, most) = (0.5, 400);
        for colours in Colours::ALL {
            for (steps, value) in [(100_u32, 50.0), (400, 50.0), (400, 399.0)] {
                let numbers = colours.times(QUANTITY, steps.into(), dt, most);
                let numbers = numbers.expect("counts of steps");
                let coloured = colours.value(QUANTITY, value, steps, most);
                let time = numbers.at_zero + numbers.per_value * coloured;
                assert!((time - value * dt).abs() < 1e-9, "{colours}: {time}");
            }
            let common = |maps: &[(u64, f64)]| {
                let found = colours.common_times(QUANTITY, maps.iter().copied(), most);
                found.is_some()
            };
            assert_eq!(common(&[(400, dt), (400, dt)]), colours != Colours::Frame);
            assert_eq!(common(&[(100, dt), (400, dt)]), colours == Colours::Steps);
            assert!(!common(&[(400, dt), (400, 0.25)]));
            let other = colours.times(Quantity::Ftle, 400, dt, most);
            assert!(other.is_none());
        }
    }

    #[test]
    fn other_quantities_are_coloured_frame_by_frame() {
        for quantity in Quantity::ALL {
            assert_eq!(Colours::usual(*quantity).check(*quantity), Ok(()));
            assert_eq!(
                Colours::Share.check(*quantity).is_ok(),
                quantity.counts_steps()
            );
        }
        let value = Colours::Frame.value(Quantity::Ftle, -0.25, 100, 400);
        assert_eq!(value, -0.25);
    }
}
