//! The range and the spacing of the colours of a map's values.

use super::{Quantity, Scale, ValueSlice};
use trisolar_io::colour::{ColourRange, Spacing};

/// The share of pixels below and above the range of colours of a quantity with linear colours.
const CLIPPED_SHARE: f64 = 0.005;
/// Largest number of values, spread evenly over the map, from which the range is determined.
const MAX_RANGE_SAMPLE: usize = 1 << 20;

/// The share of the values of a quantity that the range of its colours leaves out at either end.
pub fn clipped_share(quantity: Quantity) -> f64 {
    let whole = quantity.counts_steps() || quantity.scale() != Scale::Linear;
    if whole { 0.0 } else { CLIPPED_SHARE }
}

/// The values at the two ends of the colour scale. Linear scales of values that are not counts of steps leave out half a percent
/// of the pixels at either end, because a few close encounters would otherwise give all other pixels the same colour.
pub fn range(quantity: Quantity, values: ValueSlice<'_>) -> ColourRange {
    let clipped = clipped_share(quantity);
    if clipped == 0.0 {
        return ColourRange::Whole;
    }
    let step = values.len().div_ceil(MAX_RANGE_SAMPLE).max(1);
    let sample = (0..values.len()).step_by(step);
    let sample = sample.map(|place| values.get(place));
    let mut sample: Vec<f64> = sample.filter(|value| value.is_finite()).collect();
    sample.sort_by(f64::total_cmp);
    let beyond = (sample.len() as f64 * clipped) as usize;
    match (sample.get(beyond), sample.iter().nth_back(beyond)) {
        (Some(low), Some(high)) if low < high => ColourRange::Fixed(*low, *high),
        _ => ColourRange::Whole,
    }
}

/// The spacing of a quantity's colours.
pub fn spacing(quantity: Quantity) -> Spacing {
    match quantity.scale() {
        Scale::Linear => Spacing::Linear,
        Scale::Logarithmic => Spacing::Logarithmic,
    }
}
