//! How two maps of the same start positions differ: in precision, or by integrator.

use serde::Serialize;

/// Differences of a map from a reference, pixel by pixel, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Share of pixels with the same number of steps.
    pub equal: f64,
    /// Mean of the differences' absolute values.
    pub mean: f64,
    /// The largest of them.
    pub largest: u32,
    /// [`grain`] of the map itself.
    pub grain: f64,
}

impl Comparison {
    /// Of a map `width` pixels wide, of which `steps` steps were computed.
    ///
    /// # Panics
    /// If the maps are not of one size, or empty.
    pub fn new(reference: &[u32], map: &[u32], width: usize, steps: u32) -> Self {
        assert!(
            reference.len() == map.len() && !map.is_empty(),
            "maps of one size"
        );
        let differences = || reference.iter().zip(map).map(|(a, b)| a.abs_diff(*b));
        let pixels = map.len() as f64;
        Self {
            equal: differences().filter(|d| *d == 0).count() as f64 / pixels,
            mean: differences().map(f64::from).sum::<f64>() / pixels,
            largest: differences().max().unwrap_or(0),
            grain: grain(map, width, steps),
        }
    }
}

/// How grainy a map looks: the share of its inner pixels that lie beyond all eight neighbours by more than a hundredth of
/// `steps`. 0 for a map without inner pixels.
pub fn grain(map: &[u32], width: usize, steps: u32) -> f64 {
    let height = map.len() / width;
    if width < 3 || height < 3 {
        return 0.0;
    }
    let margin = steps / 100;
    let stands_out = |row: usize, column: usize| {
        let (mut low, mut high) = (u32::MAX, 0);
        for r in row - 1..=row + 1 {
            for c in column - 1..=column + 1 {
                if (r, c) != (row, column) {
                    let x = map[r * width + c];
                    (low, high) = (low.min(x), high.max(x));
                }
            }
        }
        let x = map[row * width + column];
        x > high.saturating_add(margin) || x < low.saturating_sub(margin)
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
        let c = Comparison::new(&[1, 2, 3, 4], &[1, 2, 13, 0], 2, 100);
        assert_eq!((c.equal, c.mean, c.largest), (0.5, 3.5, 10));
    }

    #[test]
    fn a_pixel_beyond_all_its_neighbours_is_grain() {
        let mut map = vec![50; 25];
        assert_eq!(grain(&map, 5, 1000), 0.0);
        map[12] = 60;
        assert_eq!(grain(&map, 5, 1000), 0.0, "within a hundredth");
        map[12] = 61;
        assert_eq!(grain(&map, 5, 1000), 1.0 / 9.0);
        map[12] = 39;
        assert_eq!(grain(&map, 5, 1000), 1.0 / 9.0);
        map[13] = 39;
        assert_eq!(grain(&map, 5, 1000), 0.0, "two together are a structure");
    }
}
