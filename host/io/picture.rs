//! Maps as PNG pictures: [`bare`], with one pixel per value, or [`plot`], with axes, a title and a colour bar; [`tiff()`], with one
//! pixel per value, for large ones; [`classes()`], for maps of classes.
//!
//! The value in row r and column c of a map of places belongs to the point (x, y) = (low + span·c/width, low + span·r/height),
//! and its pixel is drawn around that point ([`Axis::around`]). Row 0 is the top row of a picture unless its map is turned
//! ([`Map::upside_down`]), as the pictures of all systems do it, in which y grows upwards.
//!
//! A picture carries the notes (PNG text chunks) `Software` and `Specification`, the JSON that made it; it carries no
//! time, so the same map gives the same bytes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::IoError;
use super::atomic;
pub use super::canvas::{Theme, missing_glyphs};
use super::colour::{ColourMap, ColourRange, ColourScale, Spacing};
use super::npy::{Element, data_error};
use super::picture_file::write_canvas;
use super::png_file::{self, About, Pixels, encoding_error};
use super::size::PictureSize;
#[cfg(feature = "tiff")]
use super::tiff_file;

mod captioned;
mod classes;
mod layout;
mod resample;
mod sheet;

pub use captioned::{Entries, MIN_CAPTIONED_PIXELS, caption_height, captioned, recoloured};
pub use classes::{Class, ClassMap, bare_classes, classes};
pub use sheet::{TileLabels, Tiles, check_sheet, sheet};

/// Values to be drawn: `height` rows of `width`, row 0 on top, borrowed and never copied as a whole.
pub struct Map<'a> {
    width: usize,
    height: usize,
    given: usize,
    row: Box<FillRow<'a>>,
}

/// Puts the values of a row into a slice as long as the row.
type FillRow<'a> = dyn Fn(usize, &mut [f64]) + Sync + 'a;

impl<'a> Map<'a> {
    /// The values as they are. Their number is checked when the picture is written.
    pub fn new<T: Element>(values: &'a [T], width: usize, height: usize) -> Self {
        Self::mapped(values, width, height, T::to_f64)
    }

    /// The values through a function, such as `|together| f64::from(steps - together)`.
    pub fn mapped<T: Copy + Sync>(
        values: &'a [T],
        width: usize,
        height: usize,
        function: impl Fn(T) -> f64 + Sync + 'a,
    ) -> Self {
        let row = move |y: usize, row: &mut [f64]| {
            for (to, &from) in row.iter_mut().zip(&values[y * width..][..width]) {
                *to = function(from);
            }
        };
        Self {
            width,
            height,
            given: values.len(),
            row: Box::new(row),
        }
    }

    /// The map with its last row on top.
    #[must_use]
    pub fn upside_down(self) -> Self {
        let last = self.height.saturating_sub(1);
        let (width, height, given) = (self.width, self.height, self.given);
        let row = self.row;
        Self {
            width,
            height,
            given,
            row: Box::new(move |y, values| row(last - y, values)),
        }
    }

    /// The map with the mean of every `n` × `n` values in place of them (of the finite ones; of fewer at the right and lower
    /// edges): details smaller than a pixel of the picture are averaged, not left out.
    #[must_use]
    pub fn averaged(self, n: usize) -> Self {
        if n <= 1 {
            return self;
        }
        let (width, height) = (self.width.div_ceil(n), self.height.div_ceil(n));
        let given = if self.width.checked_mul(self.height) == Some(self.given) {
            width * height
        } else {
            // An invalid size remains invalid.
            usize::MAX
        };
        let row = move |y: usize, means: &mut [f64]| {
            let mut values = vec![0.0; self.width];
            let mut counts = vec![0_u32; means.len()];
            means.fill(0.0);
            for line in y * n..self.height.min((y + 1) * n) {
                (self.row)(line, &mut values);
                for (i, &value) in values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                    means[i / n] += value;
                    counts[i / n] += 1;
                }
            }
            for (mean, count) in means.iter_mut().zip(counts) {
                *mean /= f64::from(count);
            }
        };
        Self {
            width,
            height,
            given,
            row: Box::new(row),
        }
    }

    /// The lowest and highest value that counts (NaN if there is none), and whether all are finite.
    fn extremes(&self, spacing: Spacing) -> (f64, f64, bool) {
        let (mut low, mut high, mut all_finite) = (f64::INFINITY, f64::NEG_INFINITY, true);
        let mut row = vec![0.0; self.width];
        for y in 0..self.height {
            (self.row)(y, &mut row);
            for &v in &row {
                if spacing.counts(v) {
                    low = low.min(v);
                    high = high.max(v);
                }
                all_finite &= v.is_finite();
            }
        }
        if low > high {
            (low, high) = (f64::NAN, f64::NAN);
        }
        (low, high, all_finite)
    }

    /// The first value.
    fn first(&self) -> f64 {
        let mut row = vec![f64::NAN; self.width];
        (self.row)(0, &mut row);
        row[0]
    }

    /// Whether no value is finite.
    fn has_no_finite_value(&self) -> bool {
        let mut row = vec![0.0; self.width];
        (0..self.height).all(|y| {
            (self.row)(y, &mut row);
            !row.iter().any(|v| v.is_finite())
        })
    }

    /// Width and height, which [`scale`](Self::scale) has checked.
    fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// Fills rows of a picture with their values' places on a scale.
    fn entries(&self, scale: ColourScale) -> impl FnMut(usize, &mut [u8]) {
        let mut values = vec![0.0; self.width];
        move |y, row| {
            (self.row)(y, &mut values);
            for (pixel, &v) in row.iter_mut().zip(&values) {
                *pixel = scale.entry(v);
            }
        }
    }

    /// Checks the shape and the range, and finds the scale of the colours.
    fn scale(&self, style: &PictureStyle) -> Result<ColourScale, String> {
        let (w, h) = (self.width, self.height);
        if w == 0 || h == 0 || w > MAX_SIDE || h > MAX_SIDE {
            return Err(format!(
                "a picture of {w}×{h} pixels is not possible; width and height are 1 to {MAX_SIDE}"
            ));
        }
        if w.checked_mul(h) != Some(self.given) {
            return Err(format!(
                "a map of {w}×{h} needs as many values, {} were given",
                self.given
            ));
        }
        let spacing = style.spacing;
        let (low, high, all_finite) = self.extremes(spacing);
        match style.range {
            ColourRange::Whole => Ok(ColourScale::new(low, high, all_finite, spacing)),
            ColourRange::Fixed(low, high)
                if spacing.counts(low) && high.is_finite() && low < high =>
            {
                Ok(ColourScale::new(low, high, all_finite, spacing))
            }
            ColourRange::Fixed(low, high) => {
                let above = match spacing {
                    Spacing::Linear => "",
                    Spacing::Logarithmic => " above 0",
                };
                Err(format!(
                    "the range of the colours must be two finite numbers{above}, the lower first; it is {low} to {high}"
                ))
            }
        }
    }
}

/// The longest side of a PNG picture.
const MAX_SIDE: usize = i32::MAX as usize;

/// Colours of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PictureStyle {
    /// From values to colours.
    pub colour_map: ColourMap,
    /// The values at the ends of the colour map.
    pub range: ColourRange,
    /// How the colours are spaced between them.
    pub spacing: Spacing,
    /// Background and lines; not used by [`bare`].
    pub theme: Theme,
    /// What values that are not finite mean; `None` for just that.
    pub missing: Option<&'static str>,
    /// Pixels per inch, which a picture tells programs that print it or put it on a page.
    pub dpi: Option<u32>,
    /// The numbers on the colour bar, where they are not the values; not used by logarithmic colours.
    pub numbers: Option<BarNumbers>,
    /// The size of a picture with axes; `None` for a map of its own size and what is around it.
    pub size: Option<PictureSize>,
}

/// Numbers that a colour bar counts instead of the values: `at_zero + per_value * value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarNumbers {
    /// The number for a value of 0.
    pub at_zero: f64,
    /// How much a value of 1 adds, not 0.
    pub per_value: f64,
    /// What a value of 0 means, the lowest; it is said where the bar begins with it.
    pub zero: &'static str,
}

/// One axis of a map: it spans `centre - span/2` to `centre + span/2`, in `unit`s.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The label.
    pub name: String,
    /// The unit, written in parentheses; may be empty.
    pub unit: String,
    /// The middle.
    pub centre: f64,
    /// The length, above zero.
    pub span: f64,
}

impl Axis {
    /// The axis of `count` values at the places low + (high - low)·i/count, each of which is drawn around its place: it begins half
    /// a pixel before `low`.
    pub fn around(name: String, unit: String, [low, high]: [f64; 2], count: usize) -> Self {
        let span = high - low;
        Self {
            name,
            unit,
            centre: low / 2.0 + high / 2.0 - span / (2.0 * count as f64),
            span,
        }
    }
}

/// The direction in which the vertical axis of a picture grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum YDirection {
    /// Row 0 of a map is on top.
    Down,
    /// Row 0 of a map is at the bottom.
    #[default]
    Up,
}

crate::names!(YDirection {
    Down = "down",
    Up = "up",
});

impl YDirection {
    /// Whether it is upwards.
    pub fn is_up(self) -> bool {
        self == Self::Up
    }
}

/// The texts around a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// Above the map, broken into lines where it is too long; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Whether the vertical axis grows upwards, and the map has its last row on top (see [`Map::upside_down`]).
    pub y_upwards: bool,
    /// The meaning of the colours.
    pub value: String,
    /// The unit of the values, written in parentheses; may be empty.
    pub unit: String,
}

/// Writes the picture without axes, with one pixel per value.
///
/// The colours are 256 steps from the lowest to the highest value (255 where some are not finite: those are grey).
/// Memory: one row.
///
/// # Errors
/// [`IoError::Data`] if the number of values is not width × height or the range is not finite and ascending, and
/// those of [`AtomicFile`](super::atomic::AtomicFile).
pub fn bare(
    path: impl AsRef<Path>,
    map: &Map<'_>,
    style: &PictureStyle,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let scale = map.scale(style).map_err(|e| data_error(path, e))?;
    let palette = scale.palette(style.colour_map);
    let (size, pixels) = (map.size(), Pixels::Indexed(&palette));
    let about = About {
        specification,
        dpi: style.dpi,
    };
    atomic::write_with(path, |file| {
        let fill = map.entries(scale);
        png_file::encode(&mut *file, size, pixels, about, fill).map_err(|e| encoding_error(file, e))
    })
}

/// Writes the picture without axes as TIFF, with one pixel per value; as BigTIFF from 2³¹ pixels on.
///
/// Colours and memory are as for [`bare`], but for about 1 MiB. The specification goes to the tag ImageDescription.
///
/// # Errors
/// As [`bare`].
#[cfg(feature = "tiff")]
pub fn tiff(
    path: impl AsRef<Path>,
    map: &Map<'_>,
    style: &PictureStyle,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let scale = map.scale(style).map_err(|e| data_error(path, e))?;
    let palette = scale.palette(style.colour_map);
    let size = map.size();
    atomic::write_with(path, |file| {
        let fill = map.entries(scale);
        tiff_file::encode(&mut *file, size, &palette, specification, fill).map_err(|e| match e {
            ::tiff::TiffError::IoError(e) => file.error(e),
            e => data_error(file.path(), e.to_string()),
        })
    })
}

/// Writes the picture with axes, title and colour bar.
///
/// Both axes have the same scale (square pixels where width and height go with the spans), unless their units differ, where pixels are square, or
/// the map would be more than eight times as long as wide, which is stretched. Small maps are enlarged by a whole factor, large ones
/// averaged down, so that the longer side has about 700 to 3200 pixels.
///
/// # Errors
/// As [`bare`]; also [`IoError::Data`] for a centre that is not finite or a span that is not above zero.
pub fn plot(
    path: impl AsRef<Path>,
    map: &Map<'_>,
    style: &PictureStyle,
    labels: &Labels,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let scale = map.scale(style).map_err(|e| data_error(path, e))?;
    for axis in [&labels.x, &labels.y] {
        let usable = axis.centre.is_finite() && axis.span.is_finite() && axis.span > 0.0;
        if !usable {
            let reason = format!(
                "the axis {} has centre {} and span {}; they must be finite, the span above zero",
                axis.name, axis.centre, axis.span
            );
            return Err(data_error(path, reason));
        }
    }
    let canvas =
        layout::draw(map, scale, style, labels).map_err(|reason| data_error(path, reason))?;
    let about = About {
        specification,
        dpi: style.dpi,
    };
    write_canvas(path, &canvas, about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_if_values_lie_beyond_its_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let axis = || Axis {
            name: "x".into(),
            unit: "length".into(),
            centre: 0.0,
            span: 2.0,
        };
        let labels = Labels {
            title: String::new(),
            x: axis(),
            y: axis(),
            y_upwards: true,
            value: "distance".into(),
            unit: "length".into(),
        };
        let values = [0.5, 1.0, 2.0, 4.0];
        for (range, beyond) in [
            (ColourRange::Whole, false),
            (ColourRange::Fixed(0.5, 4.0), false),
            (ColourRange::Fixed(0.1, 3.0), true),
            (ColourRange::Fixed(1.0, 9.0), true),
        ] {
            for spacing in [Spacing::Linear, Spacing::Logarithmic] {
                let path = folder.path().join("map.svg");
                let style = PictureStyle {
                    range,
                    spacing,
                    ..PictureStyle::default()
                };
                plot(&path, &Map::new(&values, 2, 2), &style, &labels, None).expect("drawn");
                let text = std::fs::read_to_string(&path).expect("text");
                assert_eq!(text.contains("also values beyond"), beyond, "{range:?}");
            }
        }
    }

    #[test]
    fn averaging_takes_every_value_into_account_once() {
        // 5 × 3 values, by 2: three columns and two rows of means, of fewer values at the edges.
        let values: Vec<f64> = (0..15).map(f64::from).collect();
        let map = Map::new(&values, 5, 3).averaged(2);
        assert_eq!((map.width, map.height, map.given), (3, 2, 6));
        let mut row = [0.0; 3];
        (map.row)(0, &mut row);
        assert_eq!(row, [3.0, 5.0, 6.5]);
        (map.row)(1, &mut row);
        assert_eq!(row, [10.5, 12.5, 14.0]);
        // A value that is not finite is left out. A map with a wrong number of values remains invalid.
        let holed = [1.0, f64::NAN, 2.0, 3.0];
        let map = Map::new(&holed, 2, 2).averaged(2);
        (map.row)(0, &mut row[..1]);
        assert_eq!(row[0], 2.0);
        let short = Map::new(&values, 4, 4).averaged(2);
        assert!(short.scale(&PictureStyle::default()).is_err());
    }
}
