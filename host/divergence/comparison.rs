//! Differences of two maps of the same start positions, computed in different precisions or by different integrators.

use serde::{Serialize, Serializer};

use super::value::{Value, ValueSlice, ValueType};

/// Differences of a map from a reference, pixel by pixel, in the unit of the quantity (steps for divergence).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Share of pixels with the same value, bit for bit.
    pub equal: f64,
    /// Mean absolute difference of the pixels that are finite in both maps.
    pub mean: f64,
    /// Largest absolute difference of these pixels.
    #[serde(serialize_with = "whole_if_it_is")]
    pub largest: f64,
    /// [`grain`] of the map itself.
    pub grain: f64,
}

/// Serialises whole numbers without a fraction.
fn whole_if_it_is<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if *x == x.trunc() && *x < u64::MAX as f64 {
        serializer.serialize_u64(*x as u64)
    } else {
        serializer.serialize_f64(*x)
    }
}

impl Comparison {
    /// Compares a map that is `width` pixels wide and has `steps` steps with a reference.
    ///
    /// # Panics
    /// If the maps differ in size or type, or are empty.
    pub fn new(reference: ValueSlice<'_>, map: ValueSlice<'_>, width: usize, steps: u32) -> Self {
        assert!(
            reference.len() == map.len() && !map.is_empty(),
            "maps of one size"
        );
        let size = map.value_type().size();
        assert_eq!(reference.value_type(), map.value_type(), "maps of one type");
        let bits = (reference.bytes().chunks(size)).zip(map.bytes().chunks(size));
        let differences = reference.numbers().zip(map.numbers());
        let differences = differences.map(|(a, b)| (a - b).abs());
        let (mut count, mut sum, mut largest) = (0_u64, 0.0, 0.0_f64);
        for difference in differences.filter(|d| d.is_finite()) {
            count += 1;
            sum += difference;
            largest = largest.max(difference);
        }
        Self {
            equal: bits.filter(|(a, b)| a == b).count() as f64 / map.len() as f64,
            mean: sum / count.max(1) as f64,
            largest,
            grain: grain(map, width, steps),
        }
    }
}

/// How grainy a map looks: the share of its inner pixels that exceed, or fall below, all eight neighbours by more than a margin: a hundredth of
/// `steps`, or of the range of finite values if these are not counts of steps. 0 for a map without inner pixels.
pub fn grain(map: ValueSlice<'_>, width: usize, steps: u32) -> f64 {
    let margin = match map.value_type() {
        ValueType::U32 => f64::from(steps / 100),
        ValueType::F64 => {
            let finite = || map.numbers().filter(|x| x.is_finite());
            let low = finite().fold(f64::INFINITY, f64::min);
            (finite().fold(low, f64::max) - low) / 100.0
        }
    };
    each_type!(map, v => grain_of(v, width, margin))
}

fn grain_of<T: Value>(map: &[T], width: usize, margin: f64) -> f64 {
    let height = map.len() / width;
    if width < 3 || height < 3 {
        return 0.0;
    }
    let stands_out = |row: usize, column: usize| {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for r in row - 1..=row + 1 {
            for c in column - 1..=column + 1 {
                if (r, c) != (row, column) {
                    let x = map[r * width + c].to_f64();
                    (low, high) = (low.min(x), high.max(x));
                }
            }
        }
        let x = map[row * width + column].to_f64();
        x > high + margin || x < low - margin
    };
    let inner = (1..height - 1).flat_map(|r| (1..width - 1).map(move |c| (r, c)));
    let count = inner.filter(|(r, c)| stands_out(*r, *c)).count();
    count as f64 / ((width - 2) * (height - 2)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_in_pixels_and_steps() {
        let c = Comparison::new(
            ValueSlice::U32(&[1, 2, 3, 4]),
            ValueSlice::U32(&[1, 2, 13, 0]),
            2,
            100,
        );
        assert_eq!((c.equal, c.mean, c.largest), (0.5, 3.5, 10.0));
        let json = serde_json::to_value(c).expect("plain data");
        assert_eq!(json["largest"].to_string(), "10");
        let (a, b) = (
            [1.0, f64::NAN, 0.5, 0.0],
            [1.0, f64::NAN, 0.75, f64::INFINITY],
        );
        let c = Comparison::new(ValueSlice::F64(&a), ValueSlice::F64(&b), 2, 100);
        assert_eq!((c.equal, c.mean, c.largest), (0.5, 0.125, 0.25));
    }

    #[test]
    fn a_pixel_beyond_all_its_neighbours_is_grain() {
        let mut map = vec![50; 25];
        assert_eq!(grain(ValueSlice::U32(&map), 5, 1000), 0.0);
        map[12] = 60;
        assert_eq!(
            grain(ValueSlice::U32(&map), 5, 1000),
            0.0,
            "within a hundredth"
        );
        map[12] = 61;
        assert_eq!(grain(ValueSlice::U32(&map), 5, 1000), 1.0 / 9.0);
        map[12] = 39;
        assert_eq!(grain(ValueSlice::U32(&map), 5, 1000), 1.0 / 9.0);
        map[13] = 39;
        assert_eq!(
            grain(ValueSlice::U32(&map), 5, 1000),
            0.0,
            "two together are a structure"
        );
    }
}
