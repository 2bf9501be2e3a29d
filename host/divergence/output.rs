//! Writes a map to files, each in the format of its extension. The command line, Python and C use it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::colours::{clipped_share, range, spacing};
use crate::{
    Certificate, Checks, DivergenceMap, MapAxis, Points, Quantity, Specification, ValueSlice,
    ValueVec, dataset, store,
};
use trisolar_ensemble::Verdict;
use trisolar_io::IoError;
use trisolar_io::colour::{ColourMap, ColourRange, Spacing};
use trisolar_io::format::Format;
use trisolar_io::npy::Element as _;
use trisolar_io::npz::{NpzReader, NpzWriter, SPECIFICATION};
use trisolar_io::picture::{
    self, Axis, BarNumbers, Class, ClassMap, Labels, Map, PictureStyle, Theme, YDirection,
};

/// The appearance of pictures.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Write a PNG without axes and colour bar, with one pixel per pixel of the map.
    pub bare: bool,
    /// The colour map.
    pub colormap: ColourMap,
    /// The title above the picture.
    pub title: Option<String>,
    /// Number of pixels of the map, in each direction, that are averaged to a pixel of the picture; 0 and 1 average nothing.
    pub shrink: usize,
    /// The value that is coloured.
    pub shown: Shown,
    /// The spacing of the colours; `None` for that of the quantity.
    pub spacing: Option<Spacing>,
    /// The values at the ends of the colours; `None` for a range that suits the map.
    pub limits: Option<[f64; 2]>,
    /// The direction of y.
    pub y: YDirection,
    /// Background and lines of pictures with axes.
    pub theme: Theme,
    /// Pixels per inch, for PNG, SVG and PDF.
    pub dpi: Option<u32>,
}

/// The conventions of a picture, from which single options may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// Those of all pictures here: y grows upwards, and the colour bar counts what its label says.
    #[default]
    Standard,
    /// Those of Badger's study: y grows downwards, and the colour bar counts the steps that were left; in the colours of inferno.
    Study,
}

trisolar_io::names!(Look {
    Standard = "standard",
    Study = "study",
});

impl Look {
    /// The appearance of a picture of which nothing else is known.
    pub fn style(self) -> Style {
        match self {
            Self::Standard => Style::default(),
            Self::Study => Style {
                colormap: ColourMap::Inferno,
                shown: Shown::Left,
                y: YDirection::Down,
                ..Style::default()
            },
        }
    }
}

/// The value that is coloured, of a quantity that counts steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shown {
    /// The time until they parted, in the colours of [`Left`](Self::Left): the sooner, the brighter.
    #[default]
    Parting,
    /// The steps that were left when the twins parted, as in Badger's study; 0 where they never parted.
    Left,
    /// The steps until they parted.
    Steps,
    /// The time until they parted.
    Time,
}

trisolar_io::names!(Shown {
    Parting = "parting",
    Left = "left",
    Steps = "steps",
    Time = "time",
});

impl Shown {
    /// The number that is coloured; NaN where the twins never parted, unless steps left are counted.
    fn value(self, value: f64, s: &Specification) -> f64 {
        let parted = value < s.steps as f64;
        match self {
            _ if !s.quantity.counts_steps() => value,
            Self::Parting | Self::Left => s.quantity.shown(value, s.steps as u32),
            Self::Steps if parted => value,
            Self::Time if parted => value * s.dt,
            Self::Steps | Self::Time => f64::NAN,
        }
    }

    /// What the colour bar counts, if it is not the value.
    fn numbers(self, s: &Specification, spacing: Spacing) -> Option<BarNumbers> {
        // On a logarithmic scale, the steps left are counted.
        let counts =
            self == Self::Parting && s.quantity.counts_steps() && spacing == Spacing::Linear;
        counts.then(|| BarNumbers {
            at_zero: s.steps as f64 * s.dt,
            per_value: -s.dt,
            zero: "never parted",
        })
    }

    /// Name and unit of the values, instead of those of the quantity.
    pub fn label(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Parting | Self::Left => None,
            Self::Steps => Some(["steps until the twins part", "steps"]),
            Self::Time => Some(["time until the twins part", "time"]),
        }
    }
}

impl Style {
    /// The spacing of the colours of a map of this quantity.
    fn spacing(&self, quantity: Quantity) -> Spacing {
        self.spacing.unwrap_or(spacing(quantity))
    }
}

/// The warning about characters of a title for which the pictures among these files have only a box.
pub fn glyph_warning(title: &str, outputs: &[Output]) -> Option<String> {
    if !outputs.iter().any(Output::has_boxes) {
        return None;
    }
    let missing = picture::missing_glyphs(title);
    let missing: Vec<String> = missing.iter().map(char::to_string).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the font of pictures has no {}; the title is drawn with a box instead",
            missing.join(", ")
        )
    })
}

/// The note on a picture of a map of which no pixel parted.
pub fn never_parted(specification: &Specification, values: ValueSlice<'_>) -> Option<String> {
    let steps = specification.steps;
    let never = specification.quantity.counts_steps()
        && values.numbers().all(|value| value >= steps as f64);
    never.then(|| nothing_parted(steps))
}

/// What is said of a map of so many steps of which no pixel parted.
pub fn nothing_parted(steps: u64) -> String {
    format!("no twins parted within {steps} steps")
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
    /// How many values of samples change, which pictures say.
    pub checks: Checks,
    /// The verdicts on the values, if there are any.
    pub certificate: Option<&'a Certificate>,
}

impl Values<'_> {
    fn shape(&self) -> Vec<usize> {
        match self.points {
            Some(points) => points.shape().to_owned(),
            None => [1, 0].map(|k| self.specification.size[k] as usize).into(),
        }
    }
}

/// The values of a map that were read from a file.
#[derive(Debug)]
pub struct Drawable {
    /// The specification of the map.
    pub specification: Specification,
    /// The start states, if the map has no grid.
    pub points: Option<Points>,
    /// The values.
    pub values: ValueVec,
    /// The shape of the array.
    pub shape: Vec<usize>,
}

impl Drawable {
    /// Reads what [`Output::write`] has written as `.npz`.
    ///
    /// # Errors
    /// The file cannot be read, or is none of a map.
    pub fn read_npz(path: &Path) -> Result<Self, IoError> {
        let malformed = |reason: String| IoError::Malformed {
            path: path.to_owned(),
            reason,
        };
        let mut file = NpzReader::open(path)?;
        let specification: Specification = serde_json::from_str(&file.text(SPECIFICATION)?)
            .map_err(|e| malformed(format!("its specification is none of a map: {e}")))?;
        let quantity = specification.quantity;
        let values = quantity.value_type();
        let (shape, values) = values.read_npz(&mut file, quantity.array_name())?;
        let is_made = specification.has_varied();
        let points = match file.has("points.npy") && !is_made {
            false => None,
            true => {
                let array = file.array::<f64>("points")?;
                let points = Points::new(&array.shape, array.values);
                Some(points.map_err(|e| malformed(e.to_string()))?)
            }
        };
        Self::new(specification, points, values, shape).map_err(malformed)
    }

    /// Reads the values of the map of this specification from an `.npy` file.
    ///
    /// # Errors
    /// The file cannot be read, or has another shape.
    pub fn read_npy(path: &Path, specification: Specification) -> Result<Self, IoError> {
        let (shape, values) = specification.quantity.value_type().read_npy(path)?;
        let made = Self::new(specification, None, values, shape);
        made.map_err(|reason| IoError::Malformed {
            path: path.to_owned(),
            reason,
        })
    }

    fn new(
        specification: Specification,
        points: Option<Points>,
        values: ValueVec,
        shape: Vec<usize>,
    ) -> Result<Self, String> {
        let valid = match points {
            None => specification.validate(),
            Some(points) => specification.validate_points(points),
        };
        let valid = valid.map_err(|e| e.to_string())?;
        let expected = store::shape(&valid);
        if shape != expected {
            return Err(format!(
                "its array has the shape {shape:?}, and its specification {expected:?}"
            ));
        }
        Ok(Self {
            specification: valid.specification().clone(),
            points: valid.points().map(|points| points.as_ref().clone()),
            values,
            shape,
        })
    }

    /// The values with their specification.
    pub fn values(&self) -> Values<'_> {
        Values {
            specification: &self.specification,
            points: self.points.as_ref(),
            values: self.values.as_slice(),
            checks: Checks::default(),
            certificate: None,
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

    /// Whether its format states the size of a pixel.
    pub fn has_resolution(&self) -> bool {
        matches!(self.format, Format::Png | Format::Svg | Format::Pdf)
    }

    /// Whether its format has pictures with axes only.
    pub fn has_axes_only(&self) -> bool {
        matches!(self.format, Format::Svg | Format::Pdf)
    }

    /// Whether a character that the font of pictures lacks is drawn as a box.
    pub fn has_boxes(&self) -> bool {
        matches!(self.format, Format::Png | Format::Pdf)
    }

    /// Checks that a file of this format can hold the map of these points.
    ///
    /// # Errors
    /// A description of what it can hold.
    pub fn check(&self, points: Option<&Points>) -> Result<(), &'static str> {
        match (self.format, points) {
            (Format::Npy | Format::Npz | Format::Zarr, _) | (_, None) => Ok(()),
            (_, Some(points)) if points.shape().len() == 2 => Ok(()),
            (_, Some(_)) => Err(NO_PICTURE),
        }
    }

    /// Writes the map: a picture (for a divergence map, of the time until the twins part), the array, or the array with its specification
    /// and points.
    ///
    /// # Errors
    /// The file cannot be written; no part of it remains.
    pub fn write(&self, map: &DivergenceMap, style: &Style) -> Result<(), IoError> {
        let of = Values {
            specification: &map.specification,
            points: map.points.as_deref(),
            values: map.values.as_slice(),
            checks: map.checks,
            certificate: map.certificate.as_ref(),
        };
        self.write_values(&of, style)
    }

    /// The picture of the verdicts that stands beside the picture of a certified map; `None` for other files and pictures without axes.
    pub fn verdict_path(&self, style: &Style) -> Option<PathBuf> {
        let is_picture = matches!(self.format, Format::Png | Format::Svg | Format::Pdf);
        let path = Verdict::picture_beside(&self.path)?;
        (is_picture && !style.bare).then_some(path)
    }

    /// Draws the verdicts: a colour for each, and, of times of parting, the brighter the sooner the twins part.
    fn draw_verdicts(
        &self,
        path: &Path,
        of: &Values<'_>,
        certificate: &Certificate,
        [height, width]: [usize; 2],
        style: &Style,
    ) -> Result<(), IoError> {
        let shaded = of.specification.quantity.counts_steps();
        let classes: Vec<Class> = (Verdict::legend(&certificate.verdicts).into_iter())
            .map(|(name, colour)| Class {
                name,
                colour,
                shaded,
            })
            .collect();
        // The time of parting; other values have no part in the picture.
        let mut values: Vec<f64> = of
            .values
            .numbers()
            .map(|n| n * of.specification.dt)
            .collect();
        let mut of_pixels = certificate.of_pixels.clone();
        let mut labels = labels_of(of, style.title.as_deref().unwrap_or_default());
        labels.y_upwards = style.y.is_up();
        if labels.y_upwards {
            values = values.chunks(width).rev().flatten().copied().collect();
            of_pixels = of_pixels.chunks(width).rev().flatten().copied().collect();
        }
        // Short, because the bar is.
        (labels.value, labels.unit) = ("time of parting".into(), "time".into());
        let map = ClassMap {
            size: [width, height],
            classes: &classes,
            of_pixels: &of_pixels,
            values: &values,
        };
        let json = crate::specification_json(of.specification, of.points);
        picture::classes(path, &map, &labels, style.theme, Some(&json))
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
            ..
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
                    file.array("points", &shape, &values)?;
                }
                if let Some(certificate) = of.certificate {
                    file.array("verdict", &of.shape(), &certificate.of_pixels)?;
                    let predicted = certificate.predicted.as_ref();
                    if let Some(bounds) = predicted.and_then(|p| p.of_pixels.as_ref()) {
                        file.array("predicted_error", &of.shape(), bounds)?;
                    }
                }
                file.text(SPECIFICATION, &json)?;
                file.finish()
            }
            Format::Zarr => dataset::write(&self.path, specification, points, values, &shape),
            Format::Png | Format::Svg | Format::Pdf | Format::Tiff => {
                let [height, width] = shape[..] else {
                    let reason = NO_PICTURE.to_owned();
                    return Err(IoError::Data {
                        path: self.path.clone(),
                        reason,
                    });
                };
                if style.bare && self.has_axes_only() {
                    return Err(IoError::Data {
                        path: self.path.clone(),
                        reason: BARE_FORMATS.into(),
                    });
                }
                let shown = |value| style.shown.value(value, specification);
                let values_of = values;
                let mut values = picture_of(values, width, height, shown).averaged(style.shrink);
                let y_upwards = style.y.is_up();
                if y_upwards {
                    values = values.upside_down();
                }
                let spacing = style.spacing(quantity);
                let numbers = style.shown.numbers(specification, spacing);
                let look = PictureStyle {
                    colour_map: style.colormap,
                    spacing,
                    range: match (style.limits, numbers) {
                        // The limits are what the bar counts.
                        (Some([low, high]), Some(n)) => {
                            let [a, b] = [low, high].map(|x| (x - n.at_zero) / n.per_value);
                            ColourRange::Fixed(a.min(b), a.max(b))
                        }
                        (Some([low, high]), None) => ColourRange::Fixed(low, high),
                        (None, _) => range(quantity, values_of),
                    },
                    theme: style.theme,
                    missing: style.shown.label().map(|_| "never parted"),
                    dpi: style.dpi,
                    numbers,
                    size: None,
                };
                if self.format == Format::Tiff {
                    picture::tiff(&self.path, &values, &look, Some(&json))
                } else if style.bare && self.format == Format::Png {
                    picture::bare(&self.path, &values, &look, Some(&json))
                } else {
                    let lines = [style.title.clone(), never_parted(specification, values_of)];
                    let lines: Vec<String> = lines.into_iter().flatten().collect();
                    let mut labels = labels_of(of, &lines.join("\n"));
                    labels.y_upwards = y_upwards;
                    let label = match numbers {
                        Some(_) => Shown::Time.label(),
                        None => style.shown.label(),
                    };
                    if let Some([value, unit]) = label {
                        (labels.value, labels.unit) = (value.into(), unit.into());
                    }
                    if let Some((path, found)) = self.verdict_path(style).zip(of.certificate) {
                        self.draw_verdicts(&path, of, found, [height, width], style)?;
                    }
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

/// Why points that are not arranged in rows and columns have no picture.
const NO_PICTURE: &str = "only points that are arranged in rows and columns make a picture; .npy, .npz and .zarr.zip hold any";

/// Why there is no SVG or PDF without axes.
pub const BARE_FORMATS: &str = "only .png and .tif can have no axes (--bare)";

/// As [`labels`], for a map that may consist of points.
fn labels_of(map: &Values<'_>, title: &str) -> Labels {
    let mut labels = labels(map.specification, title);
    if let Some(caption) = map.checks.caption() {
        labels.title = format!("{}\n{caption}", labels.title);
    }
    if map.points.is_some_and(|points| !points.are_made()) {
        [labels.x, labels.y] = [0, 1].map(|k| axis(map.specification, None, k));
    }
    labels
}

/// The axis of a picture. Without a coordinate, as of points, which may be anywhere, it shows places in the array.
fn axis(specification: &Specification, coordinate: Option<MapAxis>, k: usize) -> Axis {
    let count = specification.size[k] as usize;
    match coordinate {
        Some(axis) => {
            let MapAxis {
                mut meaning,
                low,
                span,
                ..
            } = axis;
            let mut range = [low, low + span];
            if (range[1] - range[0] - span).abs() > 1e-3 * span {
                // The numbers of the axis would be equal.
                meaning = format!("{meaning}, less {}", specification.center.texts()[k]);
                range = [-span / 2.0, span / 2.0];
            }
            Axis::around(meaning, axis.unit.into(), range, count)
        }
        None => {
            let range = [0.0, count as f64];
            Axis::around(["column", "row"][k].into(), String::new(), range, count)
        }
    }
}

/// Title, axes and the meaning of the colours of a map's picture. The title ends with the method.
pub fn labels(specification: &Specification, title: &str) -> Labels {
    let [columns, rows] = specification.axes();
    let lines = [title, &specification.method()];
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    Labels {
        title: lines.collect::<Vec<_>>().join("\n"),
        x: axis(specification, columns, 0),
        y: axis(specification, rows, 1),
        y_upwards: false,
        value: specification.quantity.label().into(),
        unit: specification.quantity.unit().into(),
    }
}
