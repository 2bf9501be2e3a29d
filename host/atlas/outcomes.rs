//! The class of every pixel of a map.

use trisolar_ensemble::ClassShare;
use trisolar_io::colour::{ColourMap, Rgb};
use trisolar_io::picture::{Class, Theme};

/// The largest number of classes.
const MAX_CLASSES: usize = 256;

/// The name and the colour of a class.
pub type Named = (String, Rgb);

/// A map of outcomes, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeMap {
    size: [usize; 2],
    pixels: Vec<u8>,
    classes: Vec<Class>,
}

impl OutcomeMap {
    /// The map of this width and height in which equal whole numbers are one class. `named` gives the classes of numbers that have names.
    ///
    /// # Errors
    /// A number that is not whole, more than 256 different ones, or not as many as there are pixels.
    pub fn of_whole_numbers(
        size: [usize; 2],
        values: &[f64],
        named: impl Fn(f64) -> Option<Named>,
    ) -> Result<Self, String> {
        check(size, values)?;
        let mut found: Vec<f64> = Vec::new();
        // Neighbours are mostly of one class.
        let mut last = (f64::NAN, 0);
        let mut pixels = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            if *value != last.0 {
                if value.fract() != 0.0 {
                    return Err(format!(
                        "classes must be whole numbers, and {} has {value}: --limits makes classes of real numbers",
                        place(i, size)
                    ));
                }
                let known = found.iter().position(|other| other == value);
                let class = known.unwrap_or_else(|| {
                    found.push(*value);
                    found.len() - 1
                });
                if found.len() > MAX_CLASSES {
                    return Err(format!(
                        "it has more than {MAX_CLASSES} different numbers: --limits makes classes of them"
                    ));
                }
                last = (*value, class as u8);
            }
            pixels.push(last.1);
        }
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by(|a, b| found[*a].total_cmp(&found[*b]));
        let mut renumbered = vec![0_u8; found.len()];
        for (to, from) in order.iter().enumerate() {
            renumbered[*from] = to as u8;
        }
        pixels
            .iter_mut()
            .for_each(|class| *class = renumbered[usize::from(*class)]);
        let named = order.iter().map(|from| {
            let value = found[*from];
            named(value).ok_or_else(|| value.to_string())
        });
        Ok(Self::new(size, pixels, named.collect()))
    }

    /// The map of this width and height in which a class consists of the numbers between two neighbouring limits, with the lower one.
    ///
    /// # Errors
    /// A number that is NaN, limits that do not ascend or are more than 255, or not as many numbers as there are pixels.
    pub fn between(size: [usize; 2], values: &[f64], limits: &[f64]) -> Result<Self, String> {
        check(size, values)?;
        if limits.iter().any(|x| x.is_nan()) || !limits.is_sorted_by(|a, b| a < b) {
            return Err("limits must be numbers in ascending order".into());
        }
        if limits.len() >= MAX_CLASSES {
            return Err(format!("at most {} limits are possible", MAX_CLASSES - 1));
        }
        let class = |value: &f64| limits.partition_point(|limit| limit <= value);
        let mut counts = vec![0_u64; limits.len() + 1];
        values.iter().for_each(|value| counts[class(value)] += 1);
        let used: Vec<usize> = (0..counts.len()).filter(|k| counts[*k] > 0).collect();
        let pixels = (values.iter())
            .map(|value| used.partition_point(|k| *k < class(value)) as u8)
            .collect();
        let name = |k: &usize| {
            Err(
                match (k.checked_sub(1).map(|below| limits[below]), limits.get(*k)) {
                    (None, Some(high)) => format!("below {high}"),
                    (Some(low), Some(high)) => format!("{low} to {high}"),
                    (Some(low), None) => format!("from {low}"),
                    (None, None) => "all".into(),
                },
            )
        };
        Ok(Self::new(size, pixels, used.iter().map(name).collect()))
    }

    fn new(size: [usize; 2], pixels: Vec<u8>, names: Vec<Result<Named, String>>) -> Self {
        let many = ColourMap::Turbo.palette(names.len().clamp(1, MAX_CLASSES));
        let colour = |k: usize| match many.len() {
            0..=10 => Theme::Dark.colour_of_body(k),
            _ => many[k],
        };
        let class = |(k, named): (usize, Result<Named, String>)| {
            let (name, colour) = named.unwrap_or_else(|name| (name, colour(k)));
            Class {
                name,
                colour,
                shaded: false,
            }
        };
        Self {
            size,
            pixels,
            classes: names.into_iter().enumerate().map(class).collect(),
        }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// The classes that occur, in the order of their numbers.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The class of each pixel, an index of [`classes`](Self::classes), row by row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// A row of pixels.
    pub(crate) fn row(&self, y: usize) -> &[u8] {
        &self.pixels[y * self.size[0]..][..self.size[0]]
    }

    /// The shares of the classes.
    pub fn shares(&self) -> Vec<ClassShare> {
        let mut counts = vec![0_u64; self.classes.len()];
        self.pixels
            .iter()
            .for_each(|class| counts[usize::from(*class)] += 1);
        let all = self.pixels.len() as u64;
        (self.classes.iter().zip(counts))
            .map(|(class, count)| ClassShare::new(&*class.name, count, all))
            .collect()
    }
}

fn place(i: usize, [width, _]: [usize; 2]) -> String {
    format!("the pixel of row {}, column {}", i / width, i % width)
}

/// Checks that there is a number for each pixel.
fn check(size: [usize; 2], values: &[f64]) -> Result<(), String> {
    let [width, height] = size;
    if values.is_empty() || width.checked_mul(height) != Some(values.len()) {
        return Err(format!(
            "a map of {width} x {height} pixels cannot have {} values",
            values.len()
        ));
    }
    match values.iter().position(|value| value.is_nan()) {
        Some(i) => Err(format!("{} has no number (NaN)", place(i, size))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_order_of_their_numbers_and_limits_belong_to_the_class_above() {
        let map = OutcomeMap::of_whole_numbers([3, 2], &[7.0, -1.0, 7.0, 7.0, 2.0, -1.0], |x| {
            (x == 2.0).then(|| ("two".into(), [1, 2, 3]))
        });
        let map = map.unwrap();
        assert_eq!(map.pixels(), [2, 0, 2, 2, 1, 0]);
        let names: Vec<&str> = map.classes().iter().map(|class| &*class.name).collect();
        assert_eq!(names, ["-1", "two", "7"]);
        let map = OutcomeMap::between([4, 1], &[0.5, 2.0, 9.0, -3.0], &[0.0, 2.0, 3.0, 9.0]);
        let map = map.unwrap();
        assert_eq!(map.pixels(), [1, 2, 3, 0]);
        let names: Vec<&str> = map.classes().iter().map(|class| &*class.name).collect();
        assert_eq!(names, ["below 0", "0 to 2", "2 to 3", "from 9"]);
    }

    #[test]
    fn values_that_are_no_classes_are_refused_with_their_place() {
        let whole = |values: &[f64]| OutcomeMap::of_whole_numbers([2, 2], values, |_| None);
        let said = whole(&[1.0, 2.0, 1.5, 2.0]).unwrap_err();
        assert!(said.contains("row 1, column 0 has 1.5"), "{said}");
        let said = whole(&[1.0, f64::NAN, 1.0, 2.0]).unwrap_err();
        assert!(said.contains("row 0, column 1 has no number"), "{said}");
        assert!(whole(&[1.0]).unwrap_err().contains("2 x 2"));
        let many: Vec<f64> = (0..300).map(f64::from).collect();
        let said = OutcomeMap::of_whole_numbers([300, 1], &many, |_| None).unwrap_err();
        assert!(said.contains("more than 256"), "{said}");
        let said = OutcomeMap::between([2, 1], &[1.0, 2.0], &[2.0, 1.0]).unwrap_err();
        assert!(said.contains("ascending"), "{said}");
    }
}
