//! Line plots ([`lines`]) and orbits in three planes ([`trajectories`]) as PNG.

use std::path::Path;

use super::IoError;
use super::axes::{AxesStyle, below_frame, fitting, horizontal_axis, left_of_frame, vertical_axis};
pub use super::canvas::Theme;
use super::canvas::{Align, Canvas, PixelRect, clip, text_width, wrap};
use super::npy::data_error;
use super::picture_file::write_canvas;
use super::ticks::Ticks;

#[cfg(feature = "films")]
mod animation;

#[cfg(test)]
mod small_tests;
mod space;

pub use super::size::PictureSize;
#[cfg(feature = "films")]
pub use animation::{Movie, View, animation};
pub use space::{Orbits, Trajectory, project, trajectories};

/// One line of a plot: as many `y` as `x`.
#[derive(Debug, Clone, Copy)]
pub struct Series<'a> {
    /// The name in the legend; may be empty.
    pub name: &'a str,
    /// Places along the x axis.
    pub x: &'a [f64],
    /// Places along the y axis. Values that are not finite, or not above zero on a logarithmic axis, are left out.
    pub y: &'a [f64],
    /// The lower and the upper end of an error bar for every point.
    pub error: Option<&'a [[f64; 2]]>,
    /// How the points are drawn.
    pub marks: Marks,
}

/// How the points of a [`Series`] are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marks {
    /// As a line.
    #[default]
    Line,
    /// As dots.
    Points,
    /// As dots joined by a line.
    Both,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Division {
    /// In equal steps.
    #[default]
    Linear,
    /// In equal ratios.
    Logarithmic,
}

/// An axis of a line plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlotAxis {
    /// The label.
    pub name: String,
    /// The unit, written in parentheses; may be empty.
    pub unit: String,
    /// How it is divided.
    pub division: Division,
    /// The range; `None` for the range of the data.
    pub range: Option<(f64, f64)>,
}

/// The axes and texts around the lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinePlot {
    /// The title; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis.
    pub y: PlotAxis,
    /// Background and lines.
    pub theme: Theme,
    /// The size of the picture; `None` for a frame of 960 × 600 pixels and what is around it.
    pub size: Option<PictureSize>,
}

/// The frame of a plot whose size is not given, in pixels.
const FRAME: [f32; 2] = [960.0, 600.0];
/// The size of such a plot, approximately: text and lines of others are larger or smaller in proportion.
const SHEET: [f32; 2] = [1100.0, 720.0];

/// The pattern of a line: after as many lines as there are colours, the colours come again with other dashes.
fn line_dashes(i: usize, theme: Theme) -> &'static [f32] {
    const PATTERNS: [&[f32]; 4] = [&[], &[9.0, 6.0], &[2.0, 5.0], &[9.0, 5.0, 2.0, 5.0]];
    PATTERNS[i / theme.palette().len() % PATTERNS.len()]
}

/// The dashes of [`line_dashes`] in a picture whose lines are `unit` times as thick.
fn dashes(i: usize, theme: Theme, unit: f32) -> Vec<f32> {
    line_dashes(i, theme).iter().map(|d| d * unit).collect()
}

/// The scale of an axis.
struct Along {
    low: f64,
    high: f64,
    division: Division,
}

impl Along {
    fn new(axis: &PlotAxis, values: impl Iterator<Item = f64>) -> Result<Self, String> {
        let division = axis.division;
        let log = division == Division::Logarithmic;
        if let Some((low, high)) = axis.range {
            let usable = low.is_finite() && high.is_finite() && low < high && (!log || low > 0.0);
            return if usable {
                let (low, high, division) = (low, high, division);
                Ok(Self {
                    low,
                    high,
                    division,
                })
            } else {
                Err(format!(
                    "the range of the axis {} is {low} to {high}; it must be finite, the lower first{}",
                    axis.name,
                    if log { ", and above zero" } else { "" }
                ))
            };
        }
        let (low, high) = values
            .filter(|v| v.is_finite() && (!log || *v > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(v), h.max(v))
            });
        if low > high {
            return Err(format!(
                "there is nothing to draw along the axis {}",
                axis.name
            ));
        }
        let (low, high) = if log {
            let room = (high / low).powf(0.03).max(1.05);
            (low / room, high * room)
        } else {
            // A constant gets a range that shows its digits; the last term, one above zero.
            let room = ((high - low) * 0.03).max(high.abs().max(low.abs()) * 1e-9);
            let room = if room > 0.0 { room } else { 1.0 };
            (low - room, high + room)
        };
        Ok(Self {
            low,
            high,
            division,
        })
    }

    fn ticks(&self, wanted: usize) -> Ticks {
        match self.division {
            Division::Linear => Ticks::linear(
                self.low / 2.0 + self.high / 2.0,
                self.high - self.low,
                wanted,
            ),
            Division::Logarithmic => Ticks::logarithmic(self.low, self.high, wanted),
        }
    }

    /// 0 at the start, 1 at the end; NaN where a logarithm has no value.
    fn fraction(&self, v: f64) -> f32 {
        let f = match self.division {
            Division::Linear => (v - self.low) / (self.high - self.low),
            Division::Logarithmic if v > 0.0 => (v / self.low).ln() / (self.high / self.low).ln(),
            Division::Logarithmic => f64::NAN,
        };
        // Positions far outside of the frame are clamped, so that f32 keeps its digits.
        f.clamp(-1e4, 1e4) as f32
    }
}

/// The shortest side of a frame in pixels.
pub(super) const LEAST_FRAME: f32 = 40.0;
/// The refusal of a picture whose frame would be smaller.
pub(super) const TOO_SMALL: &str =
    "the picture is too small for axes, title and names; choose a larger --size";

/// Draws series over one frame, with a legend where they have names: inside the frame, if a corner is free, otherwise on the right.
///
/// # Errors
/// [`IoError::Data`] if a series has not as many y (or errors) as x, if there is nothing to draw, or a range is not
/// finite and ascending (above zero on a logarithmic axis); and those of [`AtomicFile`](super::atomic::AtomicFile).
pub fn lines(
    path: impl AsRef<Path>,
    series: &[Series<'_>],
    plot: &LinePlot,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let canvas = draw(series, plot).map_err(|reason| data_error(path, reason))?;
    write_canvas(path, &canvas, specification)
}

fn draw(series: &[Series<'_>], plot: &LinePlot) -> Result<Canvas, String> {
    for s in series {
        let errors = s.error.map_or(s.x.len(), <[_]>::len);
        if s.y.len() != s.x.len() || errors != s.x.len() {
            return Err(format!(
                "the series {:?} has {} x, {} y and {errors} errors; they must be as many",
                s.name,
                s.x.len(),
                s.y.len()
            ));
        }
    }
    let x = Along::new(&plot.x, series.iter().flat_map(|s| s.x).copied())?;
    let reach = series.iter().flat_map(|s| {
        let ends = s.error.unwrap_or_default().iter().flatten();
        s.y.iter().chain(ends).copied()
    });
    let y = Along::new(&plot.y, reach)?;

    let style = AxesStyle {
        unit: plot.size.map_or(1.0, |size| size.legible_unit(SHEET)),
        theme: plot.theme,
    };
    let s = &style;
    let mut names: Vec<&str> = series.iter().map(|s| s.name).collect();
    let title_width = plot
        .size
        .map_or(FRAME[0], |size| size.width as f32 - 2.0 * s.margin());
    let mut title = wrap(&plot.title, s.title(), title_width);
    let top_of =
        |title: &[String]| s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let mut below = below_frame(s) + s.margin();
    let high_of = |top: f32, below: f32| {
        plot.size
            .map_or(FRAME[1], |size| (size.height as f32 - top - below).floor())
    };
    let too_low = |high: f32| plot.size.is_some_and(|size| size.is_too_low(high));
    if too_low(high_of(top_of(&title), below)) {
        title.clear();
    }
    let top = top_of(&title);
    let wide_of = |high: f32, names: &[&str]| {
        let left = s.margin() + left_of_frame(&fitting(high, s, false, |n| y.ticks(n)), s);
        let beside = s.margin() + legend_width(names, s).max(s.number());
        plot.size.map_or(FRAME[0], |size| {
            (size.width as f32 - left.round() - beside).floor()
        })
    };
    // In a narrow picture the names are below the axis, if there is room for them.
    let all_names = std::mem::take(&mut names);
    let frame_of = |wide: f32, high: f32| PixelRect {
        x: 0.0,
        y: 0.0,
        width: wide,
        height: high,
    };
    let place = |frame: PixelRect, px: f64, py: f64| {
        [
            frame.x + x.fraction(px) * frame.width,
            frame.y + (1.0 - y.fraction(py)) * frame.height,
        ]
    };
    let without = frame_of(wide_of(high_of(top, below), &names), high_of(top, below));
    let inside = free_corner(series, without, &all_names, s, |px, py| {
        place(without, px, py)
    });
    if inside.is_none() {
        names = all_names.clone();
    }
    let wide = wide_of(high_of(top, below), &names);
    let mut names_below = Vec::new();
    if plot.size.is_some_and(|size| size.is_too_narrow(wide)) {
        names_below = std::mem::take(&mut names);
        let more = legend_height(&names_below, s);
        match too_low(high_of(top, below + more)) {
            true => names_below.clear(),
            false => below += more,
        }
    }
    let high = high_of(top, below);
    if high < LEAST_FRAME {
        return Err(TOO_SMALL.into());
    }
    let beside = s.margin() + legend_width(&names, s).max(s.number());
    let y_ticks = fitting(high, s, false, |n| y.ticks(n));
    let left = s.margin() + left_of_frame(&y_ticks, s);
    let wide = wide_of(high, &names);
    if wide < LEAST_FRAME {
        return Err(TOO_SMALL.into());
    }
    let x_ticks = fitting(wide, s, true, |n| x.ticks(n));
    let sheet = plot.size.map_or(
        [(left + wide + beside) as u32, (top + high + below) as u32],
        |size| [size.width, size.height],
    );
    let mut canvas = Canvas::new(sheet[0], sheet[1], plot.theme.background())
        .ok_or("the picture is too large")?;
    let frame = PixelRect {
        x: left.round(),
        y: top.round(),
        width: wide,
        height: high,
    };
    grid(&mut canvas, frame, &x_ticks, &y_ticks, s);
    for (i, one) in series.iter().enumerate() {
        let colour = plot.theme.colour_of_body(i);
        let at = |px: f64, py: f64| place(frame, px, py);
        let points: Vec<[f32; 2]> = one.x.iter().zip(one.y).map(|(&a, &b)| at(a, b)).collect();
        for (&x, y) in one.x.iter().zip(one.error.unwrap_or_default()) {
            let mut ends = y.map(|y| at(x, y));
            // On a logarithmic axis, an error bar down to 0 or below ends at the edge of the frame.
            if ends[0][1].is_nan() {
                ends[0][1] = frame.y + high;
            }
            let (line, half) = (1.5 * s.unit, 5.0 * s.unit);
            canvas.line(&ends, line, colour, frame);
            for [ex, ey] in ends {
                canvas.line(&[[ex - half, ey], [ex + half, ey]], line, colour, frame);
            }
        }
        if one.marks != Marks::Points {
            let dashes = dashes(i, plot.theme, s.unit);
            canvas.dashed(&points, 2.0 * s.unit, &dashes, colour, frame);
        }
        if one.marks != Marks::Line {
            let inside = |p: &&[f32; 2]| {
                (frame.x..=frame.x + wide).contains(&p[0])
                    && (frame.y..=frame.y + high).contains(&p[1])
            };
            for &p in points.iter().filter(inside) {
                canvas.dot(p, 4.0 * s.unit, colour);
            }
        }
    }
    if let Some(corner) = inside {
        let shown = PixelRect {
            x: frame.x + corner.x,
            y: frame.y + corner.y,
            ..corner
        };
        // The lines of the grid do not run through the names.
        canvas.fill(shown, plot.theme.background());
        legend(&mut canvas, [shown.x, shown.y], &all_names, s, s.unit);
    }
    canvas.outline(frame, s.line(), plot.theme.frame());
    heading(&mut canvas, &title, frame.x + wide / 2.0, s);
    let x_label = x_ticks.axis_label(&plot.x.name, &plot.x.unit);
    horizontal_axis(&mut canvas, frame, &x_ticks, &[x_label], s);
    let y_label = y_ticks.axis_label(&plot.y.name, &plot.y.unit);
    vertical_axis(&mut canvas, frame, &y_ticks, &y_label, s, |at| 1.0 - at);
    legend(&mut canvas, [frame.x + wide, frame.y], &names, s, s.unit);
    let under_the_axis = frame.y + high + below_frame(s);
    let beside_the_margin = s.margin() - 2.0 * s.gap();
    legend(
        &mut canvas,
        [beside_the_margin, under_the_axis],
        &names_below,
        s,
        s.unit,
    );
    Ok(canvas)
}

fn grid(canvas: &mut Canvas, frame: PixelRect, x: &Ticks, y: &Ticks, s: &AxesStyle) {
    let colour = s.theme.grid();
    for (at, _) in &x.marks {
        let x = (frame.x + *at as f32 * frame.width)
            .round()
            .min(frame.x + frame.width - 1.0);
        canvas.fill(
            PixelRect {
                x,
                width: 1.0,
                ..frame
            },
            colour,
        );
    }
    for (at, _) in &y.marks {
        let y = (frame.y + (1.0 - *at as f32) * frame.height)
            .round()
            .min(frame.y + frame.height - 1.0);
        canvas.fill(
            PixelRect {
                y,
                height: 1.0,
                ..frame
            },
            colour,
        );
    }
}

/// Writes a title around `middle`, moved as far as it needs to stay on the sheet.
fn heading(canvas: &mut Canvas, title: &[String], middle: f32, s: &AxesStyle) {
    let half = title
        .iter()
        .map(|line| text_width(line, s.title()) / 2.0)
        .fold(0.0, f32::max);
    let middle = middle
        .min(canvas.width() as f32 - s.margin() - half)
        .max(half + s.margin());
    for (i, line) in title.iter().enumerate() {
        let y = s.margin() + (i as f32 + 0.5) * s.title() * 1.3;
        canvas.text(line, [middle, y], s.text(s.title(), Align::Centre));
    }
}

/// The place of a legend in a corner of a frame that nothing runs through, if there is one; `place` gives the pixel of a point.
fn free_corner(
    series: &[Series<'_>],
    frame: PixelRect,
    names: &[&str],
    s: &AxesStyle,
    place: impl Fn(f64, f64) -> [f32; 2],
) -> Option<PixelRect> {
    let [width, height] = [legend_width(names, s), legend_height(names, s)];
    let room = s.gap();
    let [right, low] = [frame.width - width - room, frame.height - height - room];
    // A legend that fills the frame belongs beside it.
    if width == 0.0 || width > 0.45 * frame.width || height > 0.45 * frame.height {
        return None;
    }
    let corners = [[right, room], [room, room], [right, low], [room, low]];
    let boxes = corners.map(|[x, y]| PixelRect {
        x: frame.x + x,
        y: frame.y + y,
        width,
        height,
    });
    let mut free = [true; 4];
    for one in series {
        let pixel = |i: usize| place(one.x[i], one.y[i]);
        let lines = (1..one.x.len()).filter(|_| one.marks != Marks::Points);
        let lines = lines.map(|i| [pixel(i - 1), pixel(i)]);
        let dots = (0..one.x.len()).map(|i| [pixel(i); 2]);
        let bars = one.error.unwrap_or_default().iter().zip(one.x);
        let bars = bars.map(|(ends, x)| ends.map(|end| place(*x, end)));
        for [a, b] in lines.chain(dots).chain(bars) {
            for (free, corner) in free.iter_mut().zip(&boxes) {
                *free = *free && clip(a, b, corner.around(room)).is_none();
            }
        }
    }
    boxes
        .into_iter()
        .zip(free)
        .find(|(_, free)| *free)
        .map(|(corner, _)| corner)
}

/// The width of a legend; 0 if no series has a name.
fn legend_width(names: &[&str], s: &AxesStyle) -> f32 {
    let widest = names
        .iter()
        .map(|n| text_width(n, s.number()))
        .fold(0.0, f32::max);
    if widest > 0.0 {
        widest + 6.5 * s.gap()
    } else {
        0.0
    }
}

/// The height of a legend; 0 if no series has a name.
fn legend_height(names: &[&str], s: &AxesStyle) -> f32 {
    let last = names.iter().rposition(|name| !name.is_empty());
    last.map_or(0.0, |last| (last + 1) as f32 * s.number() * 1.6)
}

/// Names beside samples of their lines, to the right of (x, y). `thick` is the thickness of the samples, compared to a plot without a
/// given size.
fn legend(canvas: &mut Canvas, [x, y]: [f32; 2], names: &[&str], s: &AxesStyle, thick: f32) {
    for (i, name) in names.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
        let sample = PixelRect {
            x: x + 2.0 * s.gap(),
            y: (y + (i as f32 + 0.5) * s.number() * 1.6 - 1.5 * thick).round(),
            width: 3.0 * s.gap(),
            height: 3.0 * thick,
        };
        let (colour, dashes) = (s.theme.colour_of_body(i), dashes(i, s.theme, thick));
        if dashes.is_empty() {
            canvas.fill(sample, colour);
        } else {
            let y = sample.y + sample.height / 2.0;
            let ends = [[sample.x, y], [sample.x + sample.width, y]];
            canvas.dashed(&ends, sample.height, &dashes, colour, sample.around(2.0));
        }
        let at = [
            sample.x + sample.width + s.gap(),
            sample.y + sample.height / 2.0,
        ];
        canvas.text(name, at, s.text(s.number(), Align::Left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_lines_can_be_told_apart() {
        for theme in [Theme::Dark, Theme::Light] {
            for i in 0..40 {
                for k in 0..i {
                    let style = |i| (theme.colour_of_body(i), line_dashes(i, theme));
                    assert_ne!(style(i), style(k), "{theme:?} {i} {k}");
                }
            }
        }
    }
}
