//! Maps of classes: a colour for the class of each pixel, and a brightness for a value.

use std::path::Path;

use super::{Labels, Theme, resample};
use crate::axes::{
    AxesStyle, MINOR_LENGTH, below_frame, fitting, further_line, horizontal_axis, left_of_frame,
    tick, vertical_axis, widest,
};
use crate::canvas::{Align, Canvas, Image, PixelRect, TextStyle, text_width, wrap};
use crate::colour::Rgb;
use crate::npy::data_error;
use crate::picture_file::write_canvas;
use crate::png_file::{self, Pixels, encoding_error};
use crate::ticks::Ticks;
use crate::{IoError, atomic};

/// A class of pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name in the legend.
    pub name: String,
    /// Its colour, at its brightest.
    pub colour: Rgb,
    /// Whether the value of a pixel sets its brightness; otherwise all pixels have the colour of the legend.
    pub shaded: bool,
}

/// A map of classes.
#[derive(Debug, Clone, Copy)]
pub struct ClassMap<'a> {
    /// Width and height.
    pub size: [usize; 2],
    /// All classes; the legend shows those that occur.
    pub classes: &'a [Class],
    /// The class of each pixel, row-major, the top row first.
    pub of_pixels: &'a [u8],
    /// The value of each pixel: the lowest are the brightest, in equal ratios. Values that are not above zero are as bright as the lowest.
    /// Those of classes that are not shaded do not count.
    pub values: &'a [f64],
}

impl ClassMap<'_> {
    fn check(&self) -> Result<(), String> {
        let count = self.size[0] * self.size[1];
        if count == 0 || self.of_pixels.len() != count || self.values.len() != count {
            return Err("a map needs a class and a value for each pixel".into());
        }
        if (self.of_pixels.iter()).any(|class| usize::from(*class) >= self.classes.len()) {
            return Err("a pixel has a class that does not exist".into());
        }
        Ok(())
    }
}

/// The relative difference of values up to which they have one brightness.
const ROUNDING: f64 = 1e-9;

/// The brightness of the highest value.
const DARKEST: f64 = 0.18;

/// Values to brightness, in equal ratios.
struct Shade {
    low: f64,
    high: f64,
}

impl Shade {
    /// Without the lowest and highest hundredth, which may be far away.
    fn of(map: &ClassMap<'_>) -> Self {
        let shaded = |class: &u8| map.classes[usize::from(*class)].shaded;
        let values = map.of_pixels.iter().zip(map.values);
        let mut usable: Vec<f64> = values
            .filter(|(class, _)| shaded(class))
            .map(|(_, value)| *value)
            .filter(|v| v.is_finite() && *v > 0.0)
            .collect();
        usable.sort_by(f64::total_cmp);
        let at = |share: usize| usable.get(usable.len().saturating_sub(1) * share / 100);
        let (low, high) = match (at(1), at(99)) {
            // Values that differ only by rounding, such as the times of runs that a limit ended, are equal to the eye.
            (Some(low), Some(high)) if high / low < 1.0 + ROUNDING => (*low, *low),
            (Some(low), Some(high)) => (*low, *high),
            _ => (1.0, 1.0),
        };
        Self { low, high }
    }

    fn brightness(&self, class: &Class, value: f64) -> f64 {
        if !class.shaded {
            return 1.0;
        }
        if value.is_nan() {
            return DARKEST;
        }
        if value <= self.low || self.high <= self.low {
            return 1.0;
        }
        let place = (value / self.low).ln() / (self.high / self.low).ln();
        1.0 - (1.0 - DARKEST) * place.min(1.0)
    }
}

/// Levels of brightness of a class in a picture of 256 colours.
fn levels(classes: usize) -> usize {
    (256 / classes.max(1)).max(1)
}

/// Writes the picture without axes, with one pixel per pixel of the map: a palette of 256 colours has each class in several levels of
/// brightness.
///
/// # Errors
/// As [`classes`], and [`IoError::Data`] for more than 256 classes.
pub fn bare_classes(
    path: impl AsRef<Path>,
    map: &ClassMap<'_>,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    map.check().map_err(|reason| data_error(path, reason))?;
    if map.classes.len() > 256 {
        return Err(data_error(path, "a palette has at most 256 classes".into()));
    }
    let [width, height] = map.size;
    let size = u32::try_from(width).ok().zip(u32::try_from(height).ok());
    let size = size.ok_or_else(|| data_error(path, "the picture is too large".into()))?;
    let levels = levels(map.classes.len());
    let darkest = levels.saturating_sub(1).max(1) as f64;
    let palette: Vec<Rgb> = (map.classes.iter())
        .flat_map(|class| (0..levels).map(move |level| (class.colour, level)))
        .map(|(colour, level)| {
            let brightness = 1.0 - (1.0 - DARKEST) * level as f64 / darkest;
            shaded(colour, brightness).map(|c| c.round() as u8)
        })
        .collect();
    let shade = Shade::of(map);
    let entry = |at: usize| {
        let class = &map.classes[usize::from(map.of_pixels[at])];
        let dark = (1.0 - shade.brightness(class, map.values[at])) / (1.0 - DARKEST);
        let level = ((dark * darkest).round() as usize).min(levels - 1);
        (usize::from(map.of_pixels[at]) * levels + level) as u8
    };
    atomic::write_with(path, |file| {
        let fill = |y: usize, row: &mut [u8]| {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = entry(y * width + x);
            }
        };
        let pixels = Pixels::Indexed(&palette);
        png_file::encode(&mut *file, size, pixels, specification, fill)
            .map_err(|e| encoding_error(file, e))
    })
}

fn shaded(colour: Rgb, brightness: f64) -> [f64; 3] {
    colour.map(|c| f64::from(c) * brightness)
}

/// Writes the picture with axes, title, legend and a bar of brightness. Small maps are enlarged by a whole factor, the colours of large ones
/// averaged. Of the labels, value and unit are those of the brightness.
///
/// # Errors
/// [`IoError::Data`] for a wrong number of pixels or values, an unknown class, or spans that are not above zero; and those of writing.
pub fn classes(
    path: impl AsRef<Path>,
    map: &ClassMap<'_>,
    labels: &Labels,
    theme: Theme,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let refuse = |reason: &str| data_error(path, reason.to_owned());
    map.check().map_err(|reason| data_error(path, reason))?;
    for axis in [&labels.x, &labels.y] {
        if !(axis.centre.is_finite() && axis.span.is_finite() && axis.span > 0.0) {
            return Err(refuse("the spans of a map must be finite and above zero"));
        }
    }
    let canvas = draw(map, labels, theme).ok_or_else(|| refuse("the picture is too large"))?;
    write_canvas(path, &canvas, specification)
}

fn draw(map: &ClassMap<'_>, labels: &Labels, theme: Theme) -> Option<Canvas> {
    // Square pixels: the axes of such a map have different units.
    let aspect = map.size[0] as f64 / map.size[1] as f64;
    let (w, h) = resample::size(map.size[0], map.size[1], aspect);
    let unit = (w.max(h) as f32 / 900.0).max(1.0);
    let s = &AxesStyle { unit, theme };
    let (wide, high) = (w as f32, h as f32);
    let ticks =
        |centre, span, long, along| fitting(long, s, along, |n| Ticks::linear(centre, span, n));
    let x_ticks = ticks(labels.x.centre, labels.x.span, wide, true);
    let y_ticks = ticks(labels.y.centre, labels.y.span, high, false);
    let y_label = y_ticks.axis_label(&labels.y.name, &labels.y.unit);
    let y_lines = wrap(&y_label, s.label(), high.max(150.0 * unit));
    let more_lines = y_lines.len().saturating_sub(1) as f32;
    let left = s.margin() + left_of_frame(&y_ticks, s) + more_lines * further_line(s);

    let shown: Vec<(usize, &Class)> = (map.classes.iter().enumerate())
        .filter(|(i, _)| map.of_pixels.contains(&(*i as u8)))
        .collect();
    let line = 1.8 * s.number();
    let sample = 2.0 * s.gap();
    let names = shown
        .iter()
        .map(|(_, class)| text_width(&class.name, s.number()));
    let legend = sample + s.gap() + names.fold(0.0, f32::max);
    let shade = Shade::of(map);
    let bar_high = 200.0 * unit;
    let bar_ticks = if shade.high > shade.low {
        fitting(bar_high, s, false, |n| {
            Ticks::logarithmic(shade.low, shade.high, n)
        })
    } else {
        Ticks::logarithmic(1.0, 1.0, 0)
    };
    let bar_label = bar_ticks.axis_label(&labels.value, &labels.unit);
    let bar = s.bar() + s.tick() + 3.5 * s.gap() + widest(&bar_ticks, s.number()) + s.label();
    let right = 2.5 * s.gap() + legend.max(bar) + s.margin();
    let width = (left + wide + right).ceil();
    let title = wrap(&labels.title, s.title(), width - 2.0 * s.margin());
    let top = s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let beside = shown.len() as f32 * line + 3.0 * s.gap() + bar_high;
    let below = below_frame(s);
    let height = (top + high.max(beside - below) + below + s.margin()).ceil();
    let mut canvas = Canvas::new(width as u32, height as u32, theme.background())?;
    let frame = PixelRect {
        x: left.round(),
        y: top.round(),
        width: wide,
        height: high,
    };
    pixels(&mut canvas, frame, map, &shade);
    canvas.outline(frame, s.line(), theme.frame());
    for (i, text) in title.iter().enumerate() {
        let y = s.margin() + (i as f32 + 0.5) * s.title() * 1.3;
        canvas.text(text, [width / 2.0, y], s.text(s.title(), Align::Centre));
    }
    let x_label = x_ticks.axis_label(&labels.x.name, &labels.x.unit);
    horizontal_axis(&mut canvas, frame, &x_ticks, &[x_label], s);
    vertical_axis(&mut canvas, frame, &y_ticks, &y_lines.join("\n"), s, |at| {
        if labels.y_upwards { 1.0 - at } else { at }
    });

    let x = frame.x + wide + 2.5 * s.gap();
    let mut y = frame.y;
    for (_, class) in &shown {
        let place = PixelRect {
            x: x.round(),
            y: (y + 0.15 * line).round(),
            width: sample.round(),
            height: (0.7 * line).round(),
        };
        canvas.fill(place, class.colour);
        let at = [place.x + place.width + s.gap(), y + 0.5 * line];
        canvas.text(&class.name, at, s.text(s.number(), Align::Left));
        y += line;
    }
    if shade.high > shade.low {
        let bar = PixelRect {
            x: x.round(),
            y: (y + 3.0 * s.gap()).round(),
            width: s.bar(),
            height: bar_high.round(),
        };
        let [wide, high] = [bar.width, bar.height].map(|side| side as usize);
        let greys = Image::from_rows(1, high, |row, pixel| {
            // The highest value on top.
            let place = 1.0 - row as f64 / f64::from(bar.height);
            pixel.fill((255.0 * (1.0 - (1.0 - DARKEST) * place)) as u8);
        });
        canvas.image([bar.x as usize, bar.y as usize], [wide, high], greys);
        canvas.outline(bar, s.line(), theme.frame());
        let edge = bar.x + bar.width + s.line();
        for (at, text) in &bar_ticks.marks {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(&mut canvas, [edge, y], true, 1.0, s);
            let x = edge + s.tick() + s.gap();
            canvas.text(text, [x, y], s.text(s.number(), Align::Left));
        }
        for at in &bar_ticks.minor {
            let y = bar.y + (1.0 - *at as f32) * bar.height;
            tick(&mut canvas, [edge, y], true, MINOR_LENGTH, s);
        }
        let upwards = TextStyle {
            upwards: true,
            ..s.text(s.label(), Align::Centre)
        };
        let far = edge + s.tick() + 2.5 * s.gap() + widest(&bar_ticks, s.number());
        let at = [far + 0.5 * s.label(), bar.y + bar.height / 2.0];
        canvas.text(&bar_label, at, upwards);
    }
    Some(canvas)
}

/// Draws the pixels of the map into a frame: repeated, or the mean of their colours.
fn pixels(canvas: &mut Canvas, frame: PixelRect, map: &ClassMap<'_>, shade: &Shade) {
    let [width, height] = map.size;
    let size = [frame.width, frame.height].map(|side| side as usize);
    let colour = |row: usize, column: usize| {
        let at = row * width + column;
        let class = &map.classes[usize::from(map.of_pixels[at])];
        shaded(class.colour, shade.brightness(class, map.values[at]))
    };
    // What is enlarged keeps its own pixels.
    let (w, h) = (size[0].min(width), size[1].min(height));
    let image = Image::from_rows(w, h, |y, line| {
        let rows = resample::sources(y, h, height);
        for (x, pixel) in line.chunks_exact_mut(3).enumerate() {
            let columns = resample::sources(x, w, width);
            let mut sum = [0.0; 3];
            for row in rows.0..rows.1 {
                for column in columns.0..columns.1 {
                    let of_one = colour(row, column);
                    sum = std::array::from_fn(|k| sum[k] + of_one[k]);
                }
            }
            let count = ((rows.1 - rows.0) * (columns.1 - columns.0)) as f64;
            for (to, from) in pixel.iter_mut().zip(sum) {
                *to = (from / count).round() as u8;
            }
        }
    });
    canvas.image([frame.x as usize, frame.y as usize], size, image);
}
