//! Writes a map to files, each in the format of its extension. The command line, Python and C use it.

use std::path::{Path, PathBuf};

use crate::{DivergenceMap, Points, Quantity, Scale, Specification, ValueSlice};
use trisolar_io::IoError;
use trisolar_io::colour::{ColourMap, ColourRange, Spacing};
use trisolar_io::format::Format;
use trisolar_io::npy::Element as _;
use trisolar_io::npz::{NpzWriter, SPECIFICATION};
use trisolar_io::picture::{self, Axis, Labels, Map, PictureStyle};

/// The appearance of pictures.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Write the picture without axes and colour bar, with one pixel per pixel of the map.
    pub bare: bool,
    /// The colour map.
    pub colormap: ColourMap,
    /// The title above the picture.
    pub title: Option<String>,
    /// Number of pixels of the map, in each direction, that are averaged to a pixel of the picture; 0 and 1 average nothing.
    pub shrink: usize,
}

/// Largest number of pixels of the map, in each direction, that are averaged to a pixel of the picture.
const MAX_SHRINK: usize = 65536;

/// Parses [`Style::shrink`].
///
/// # Errors
/// A description of the allowed values.
pub fn shrink(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_SHRINK) => Ok(n),
        _ => Err(format!("must be a whole number from 1 to {MAX_SHRINK}")),
    }
}

/// The values of a map with their specification.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// The specification of the map.
    pub specification: &'a Specification,
    /// The start states, if the map has no grid.
    pub points: Option<&'a Points>,
    /// The values of the specification's quantity, row-major or in the order of the points.
    pub values: ValueSlice<'a>,
}

impl Values<'_> {
    fn shape(&self) -> Vec<usize> {
        match self.points {
            Some(points) => points.shape().to_owned(),
            None => [1, 0].map(|k| self.specification.size[k] as usize).into(),
        }
    }
}

/// A file to be written.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// A file whose extension determines its format.
    ///
    /// # Errors
    /// [`IoError::UnknownFormat`].
    pub fn new(path: &Path) -> Result<Self, IoError> {
        let format = Format::of(path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    /// Whether it is an npy file.
    pub fn is_npy(&self) -> bool {
        self.format == Format::Npy
    }

    /// Its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that a file of this format can hold the map of these points.
    ///
    /// # Errors
    /// A description of what it can hold.
    pub fn check(&self, points: Option<&Points>) -> Result<(), &'static str> {
        match (self.format, points) {
            (Format::Png | Format::Tiff, Some(points)) if points.shape().len() != 2 => {
                Err(NO_PICTURE)
            }
            _ => Ok(()),
        }
    }

    /// Writes the map: a picture (for a divergence map, of the steps that were left), the array, or the array with its specification
    /// and points.
    ///
    /// # Errors
    /// The file cannot be written; no part of it remains.
    pub fn write(&self, map: &DivergenceMap, style: &Style) -> Result<(), IoError> {
        let of = Values {
            specification: &map.specification,
            points: map.points.as_deref(),
            values: map.values.as_slice(),
        };
        self.write_values(&of, style)
    }

    /// As [`write`](Self::write), for values that are stored anywhere.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_values(&self, of: &Values<'_>, style: &Style) -> Result<(), IoError> {
        let Values {
            specification,
            points,
            values,
        } = *of;
        let quantity = specification.quantity;
        let json = crate::specification_json(specification, points);
        let shape = of.shape();
        match self.format {
            Format::Npy => values.write_npy(&self.path, &shape),
            Format::Npz => {
                let mut file = NpzWriter::create(&self.path)?;
                values.write_npz(&mut file, quantity.array_name(), &shape)?;
                if let Some(points) = points {
                    let (shape, values) = points.array();
                    file.array("points", &shape, values)?;
                }
                file.text(SPECIFICATION, &json)?;
                file.finish()
            }
            Format::Png | Format::Tiff => {
                let [height, width] = shape[..] else {
                    let reason = NO_PICTURE.to_owned();
                    return Err(IoError::Data {
                        path: self.path.clone(),
                        reason,
                    });
                };
                let steps = specification.steps as u32;
                let shown = |value| quantity.shown(value, steps);
                let values_of = values;
                let values = picture_of(values, width, height, shown).averaged(style.shrink);
                let look = PictureStyle {
                    colour_map: style.colormap,
                    spacing: spacing(quantity),
                    range: range(quantity, values_of),
                    ..PictureStyle::default()
                };
                if self.format == Format::Tiff {
                    picture::tiff(&self.path, &values, &look, Some(&json))
                } else if style.bare {
                    picture::bare(&self.path, &values, &look, Some(&json))
                } else {
                    let title = style.title.as_deref().unwrap_or_default();
                    let labels = labels_of(of, title);
                    picture::plot(&self.path, &values, &look, &labels, Some(&json))
                }
            }
        }
    }
}

/// Values as a picture shows them.
pub fn picture_of<'a>(
    values: ValueSlice<'a>,
    width: usize,
    height: usize,
    shown: impl Fn(f64) -> f64 + Sync + 'a,
) -> Map<'a> {
    each_type!(values, v => Map::mapped(v, width, height, move |x| shown(x.to_f64())))
}

/// The share of pixels below and above the range of colours of a quantity with linear colours.
const CLIPPED_SHARE: f64 = 0.005;
/// Largest number of values, spread evenly over the map, from which the range is determined.
const MAX_RANGE_SAMPLE: usize = 1 << 20;

/// The values at the two ends of the colour scale. Linear scales of values that are not counts of steps leave out half a percent
/// of the pixels at either end, because a few close encounters would otherwise give all other pixels the same colour.
pub fn range(quantity: Quantity, values: ValueSlice<'_>) -> ColourRange {
    if quantity.counts_steps() || quantity.scale() != Scale::Linear {
        return ColourRange::Whole;
    }
    let step = values.len().div_ceil(MAX_RANGE_SAMPLE).max(1);
    let sample = (0..values.len()).step_by(step);
    let sample = sample.map(|place| values.get(place));
    let mut sample: Vec<f64> = sample.filter(|value| value.is_finite()).collect();
    sample.sort_by(f64::total_cmp);
    let beyond = (sample.len() as f64 * CLIPPED_SHARE) as usize;
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

/// Why points that are not arranged in rows and columns have no picture.
const NO_PICTURE: &str =
    "only points that are arranged in rows and columns make a picture; .npy and .npz hold any";

/// As [`labels`], for a map that may consist of points.
fn labels_of(map: &Values<'_>, title: &str) -> Labels {
    let labels = labels(map.specification, title);
    if map.points.is_none() {
        return labels;
    }
    // Points may be anywhere, so that the axes show their places in the array.
    let axis = |k: usize| Axis {
        name: ["column", "row"][k].into(),
        unit: String::new(),
        centre: map.specification.size[k] as f64 / 2.0,
        span: map.specification.size[k] as f64,
    };
    Labels {
        x: axis(0),
        y: axis(1),
        ..labels
    }
}

/// Title, axes and the meaning of the colours of a map's picture.
pub fn labels(specification: &Specification, title: &str) -> Labels {
    let names = specification.plane.labels();
    let axis = |k: usize| Axis {
        name: format!("start {} of body {}", names[k], specification.body),
        unit: "length".into(),
        centre: specification.center[k],
        span: specification.span[k],
    };
    Labels {
        title: title.to_owned(),
        x: axis(0),
        y: axis(1),
        value: specification.quantity.label().into(),
        unit: specification.quantity.unit().into(),
    }
}
