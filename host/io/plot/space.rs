//! Orbits: those in a plane in one panel, others seen along the three axes and from the side.

use std::path::Path;

use super::{
    Align, AxesStyle, Canvas, IoError, LEAST_FRAME, PictureSize, PixelRect, TOO_SMALL, Theme,
    Ticks, below_frame, dashes, data_error, fitting, grid, heading, horizontal_axis, left_of_frame,
    legend, legend_width, vertical_axis, wrap, write_canvas,
};
use crate::colour::Rgb;

/// The path of one body.
#[derive(Debug, Clone, Copy)]
pub struct Trajectory<'a> {
    /// The name in the legend; may be empty.
    pub name: &'a str,
    /// Positions in the order of time; one that is not finite interrupts the line.
    pub points: &'a [[f64; 3]],
}

/// The texts around orbits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Orbits {
    /// The title; may be empty.
    pub title: String,
    /// The unit of length, written in parentheses; may be empty.
    pub unit: String,
    /// The unit of time; may be empty.
    pub time_unit: String,
    /// The times of the first and the last position.
    pub times: Option<[f64; 2]>,
    /// The number of bodies, of which the given ones may be the first.
    pub all: usize,
    /// Background and lines.
    pub theme: Theme,
    /// The middle and the side of the cube that is shown; `None` for one around all positions.
    pub window: Option<([f64; 3], f64)>,
    /// The size of the picture; `None` for panels of a fixed size and what is around them.
    pub size: Option<PictureSize>,
}

impl Orbits {
    /// The title of a picture of the first `drawn` bodies.
    fn heading(&self, drawn: usize) -> String {
        let time = self.times.map_or_else(String::new, |[start, end]| {
            let span = match drawn > MANY {
                true => format!("t = {}, and the way since {}", short(end), short(start)),
                false => format!("t = {} to {}", short(start), short(end)),
            };
            format!("{span} {}", self.time_unit).trim_end().to_owned()
        });
        [self.subject(drawn), time]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The title without the time.
    pub(super) fn subject(&self, drawn: usize) -> String {
        let title = &self.title;
        match drawn < self.all {
            true if title.is_empty() => format!("the first {drawn} of {} are drawn", self.all),
            true => format!("{title}, of which the first {drawn} are drawn"),
            false => title.clone(),
        }
    }
}

/// A number with six digits.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    let plain = format!("{rounded}");
    let text = if plain.len() <= 9 {
        plain
    } else {
        format!("{rounded:e}")
    };
    text.replace('-', "−")
}

/// The side of a panel in pixels.
const PANEL_PIXELS: f32 = 460.0;
/// The longer side of a single panel in pixels, and the least length of the other one.
const SINGLE_PANEL_PIXELS: (f32, f32) = (800.0, 400.0);
/// Sizes of pictures with a single panel and with four, approximately, if the size is not given: text and lines of others are larger or
/// smaller in proportion.
const SHEETS: [[f32; 2]; 2] = [[1040.0, 930.0], [1270.0, 1190.0]];
/// The extent across a plane, relative to that along it, up to which motion is planar.
const FLATNESS: f64 = 1e-9;
/// Azimuth and elevation of the fourth panel's viewpoint, in degrees.
pub(super) const VIEW_DEGREES: (f64, f64) = (-60.0, 25.0);

/// Projects a point orthographically: coordinates to the right and upwards, in the units of the point.
///
/// The eye is at `azimuth` degrees from the x axis towards y, `elevation` degrees above the x-y plane, and z is up.
pub fn project(point: [f64; 3], azimuth: f64, elevation: f64) -> [f64; 2] {
    let ((sa, ca), (se, ce)) = (
        azimuth.to_radians().sin_cos(),
        elevation.to_radians().sin_cos(),
    );
    let [x, y, z] = point;
    [ca * y - sa * x, ce * z - se * (ca * x + sa * y)]
}

/// Draws motion in a plane in one panel, and other motion in four: x-y, x-z, y-z and a view from the side. All axes have the same scale;
/// a ring marks the first position of a body, and a dot the last one.
///
/// # Errors
/// [`IoError::Data`] if no position is finite, and those of [`AtomicFile`](crate::atomic::AtomicFile).
pub fn trajectories(
    path: impl AsRef<Path>,
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    specification: Option<&str>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let canvas = draw(bodies, orbits).map_err(|reason| data_error(path, reason))?;
    write_canvas(path, &canvas, specification)
}

/// The number of bodies above which their whole paths would hide each other.
const MANY: usize = 30;
/// The share of its path that each of many bodies keeps.
const TAIL: f64 = 0.05;

/// The ends of the paths of many bodies, and the time of their first positions.
fn tails<'a>(bodies: &[Trajectory<'a>], orbits: &Orbits) -> (Vec<Trajectory<'a>>, Orbits) {
    let longest = bodies.iter().map(|b| b.points.len()).max().unwrap_or(0);
    let kept = ((TAIL * longest as f64).ceil() as usize).max(2);
    let ends = bodies.iter().map(|body| Trajectory {
        points: &body.points[body.points.len().saturating_sub(kept)..],
        ..*body
    });
    let share = (kept.min(longest).max(1) - 1) as f64 / (longest.max(2) - 1) as f64;
    let times = orbits
        .times
        .map(|[start, end]| [end - share * (end - start), end]);
    let orbits = Orbits {
        times,
        ..orbits.clone()
    };
    (ends.collect(), orbits)
}

fn draw(bodies: &[Trajectory<'_>], orbits: &Orbits) -> Result<Canvas, String> {
    if bodies.len() > MANY {
        let (bodies, orbits) = tails(bodies, orbits);
        return draw_whole(&bodies, &orbits);
    }
    draw_whole(bodies, orbits)
}

fn draw_whole(bodies: &[Trajectory<'_>], orbits: &Orbits) -> Result<Canvas, String> {
    let (low, high) = extent(bodies).ok_or("no position is finite")?;
    let (centre, span) = bounds(bodies, orbits).ok_or("the positions are too far apart")?;
    match plane(low, high).filter(|_| orbits.window.is_none()) {
        Some(axes) => draw_plane(bodies, orbits, axes, (low, high)),
        None => draw_space(bodies, orbits, centre, span),
    }
}

/// The axes of a plane to which the motion is confined, unless it is a single point.
fn plane(low: [f64; 3], high: [f64; 3]) -> Option<[usize; 2]> {
    let spans = [0, 1, 2].map(|k| high[k] - low[k]);
    let flat = |k: usize| spans[k] <= FLATNESS * spans.iter().copied().fold(0.0, f64::max);
    let planes = [(2, [0, 1]), (1, [0, 2]), (0, [1, 2])];
    let found = planes.into_iter().find(|(across, _)| flat(*across));
    found.map(|(_, axes)| axes)
}

fn draw_plane(
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    axes: [usize; 2],
    (low, high): ([f64; 3], [f64; 3]),
) -> Result<Canvas, String> {
    let s = &AxesStyle {
        unit: orbits.size.map_or(1.0, |size| size.legible_unit(SHEETS[0])),
        theme: orbits.theme,
    };
    let spans = axes.map(|k| high[k] - low[k]);
    let longer = spans[0].max(spans[1]);
    let longer = if longer > 0.0 { longer } else { 1.0 };
    let needed = spans.map(|span| span + 0.08 * longer);
    let centre = axes.map(|k| low[k] / 2.0 + high[k] / 2.0);
    let names: Vec<&str> = bodies.iter().map(|b| b.name).collect();
    let mut right = legend_width(&names, s).max(marks_width(bodies, s)) + s.margin();
    let heading_of = |width: f32| wrap(&orbits.heading(bodies.len()), s.title(), width);
    let top_of =
        |title: &[String]| s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let mut explained = bodies.len() <= MANY;

    // The same number of pixels for a unit of length along both axes.
    let (title, [wide, high], scale) = match orbits.size {
        None => {
            let (most, least) = SINGLE_PANEL_PIXELS;
            let scale = f64::from(most) / (1.08 * longer);
            let sides = needed.map(|span| (span * scale).round() as f32);
            let sides = sides.map(|side| side.clamp(least, most));
            (heading_of(sides[0] + right), sides, scale)
        }
        Some(size) => {
            let sheet = [size.width, size.height].map(|side| side as f32);
            let mut title = heading_of(sheet[0] - 2.0 * s.margin());
            let high_of =
                |title: &[String]| (sheet[1] - top_of(title) - below_frame(s) - s.margin()).floor();
            if size.is_too_low(high_of(&title)) {
                title.clear();
            }
            let high = high_of(&title);
            let numbers = |high: f32, scale: f64| {
                fitting(high, s, false, |n| {
                    Ticks::linear(centre[1], f64::from(high) / scale, n)
                })
            };
            // The numbers on the left depend on the scale, which depends on the room that they leave.
            let room_of = |right: f32| sheet[0] - right - s.margin() - 8.0 * s.number();
            if size.is_too_narrow(room_of(right)) {
                explained = false;
                right = s.margin() + s.number();
            }
            let room = room_of(right);
            let scale_of =
                |wide: f32| (f64::from(wide) / needed[0]).min(f64::from(high) / needed[1]);
            if room.min(high) < LEAST_FRAME {
                return Err(TOO_SMALL.into());
            }
            let ticks = numbers(high, scale_of(room));
            let wide = sheet[0] - right - (s.margin() + left_of_frame(&ticks, s)).round();
            let wide = wide.floor().min(room);
            if wide < LEAST_FRAME {
                return Err(TOO_SMALL.into());
            }
            (title, [wide, high], scale_of(wide))
        }
    };
    let spans = [wide, high].map(|side| f64::from(side) / scale);
    let x_ticks = fitting(wide, s, true, |n| Ticks::linear(centre[0], spans[0], n));
    let y_ticks = fitting(high, s, false, |n| Ticks::linear(centre[1], spans[1], n));
    let left = s.margin() + left_of_frame(&y_ticks, s);
    let top = top_of(&title);
    let legend_height = (names.len() + 3) as f32 * s.number() * 1.6;
    let height = top + (high + below_frame(s)).max(legend_height) + s.margin();
    let sheet = orbits
        .size
        .map_or([(left + wide + right) as u32, height as u32], |size| {
            [size.width, size.height]
        });
    let background = orbits.theme.background();
    let mut canvas =
        Canvas::new(sheet[0], sheet[1], background).ok_or("the picture is too large")?;
    heading(&mut canvas, &title, left + wide / 2.0, s);
    let frame = PixelRect {
        x: left.round(),
        y: top.round(),
        width: wide,
        height: high,
    };
    grid(&mut canvas, frame, &x_ticks, &y_ticks, s);
    let [a, b] = axes;
    let look = PathStyle::new(orbits.theme, s.unit, true);
    paths(&mut canvas, frame, bodies, look, |p| {
        [(p[a] - centre[0]) / spans[0], (p[b] - centre[1]) / spans[1]]
    });
    canvas.outline(frame, s.line(), orbits.theme.frame());
    let label = |ticks: &Ticks, axis: usize| ticks.axis_label(AXES[axis], &orbits.unit);
    horizontal_axis(&mut canvas, frame, &x_ticks, &[label(&x_ticks, a)], s);
    vertical_axis(&mut canvas, frame, &y_ticks, &label(&y_ticks, b), s, |at| {
        1.0 - at
    });
    if explained {
        legend(&mut canvas, [frame.x + wide, frame.y], &names, s, s.unit);
        marks(&mut canvas, [frame.x + wide, frame.y], &names, s);
    }
    Ok(canvas)
}

/// Names of the axes.
const AXES: [&str; 3] = ["x", "y", "z"];
/// The width of the explanation of marks in pixels.
const MARKS_WIDTH: f32 = 110.0;

/// The width of the explanation of marks, which the title of many bodies replaces.
fn marks_width(bodies: &[Trajectory<'_>], s: &AxesStyle) -> f32 {
    match bodies.len() > MANY {
        true => 0.0,
        false => MARKS_WIDTH * s.unit,
    }
}

/// Explains the marks of the first and the last position, below the names to the right of (x, y).
fn marks(canvas: &mut Canvas, [x, y]: [f32; 2], names: &[&str], s: &AxesStyle) {
    let named = names
        .iter()
        .rposition(|n| !n.is_empty())
        .map_or(0, |n| n + 1);
    let colour = s.theme.frame();
    for (i, text) in ["start", "end"].into_iter().enumerate() {
        let row = (named + i) as f32 + 1.0;
        let at = [x + 3.5 * s.gap(), y + row * s.number() * 1.6];
        if i == 0 {
            canvas.ring(at, s.unit * RING, s.unit * RING_LINE, colour);
        } else {
            canvas.dot(at, s.unit * DOT, colour);
        }
        canvas.text(
            text,
            [x + 6.0 * s.gap(), at[1]],
            s.text(s.number(), Align::Left),
        );
    }
}

/// Radius of the ring at the first position in pixels.
const RING: f32 = 7.0;
/// Thickness of the ring in pixels.
const RING_LINE: f32 = 1.5;
/// Radius of the dot at the last position in pixels.
const DOT: f32 = 4.5;

fn draw_space(
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    centre: [f64; 3],
    span: f64,
) -> Result<Canvas, String> {
    let s = &AxesStyle {
        unit: orbits.size.map_or(1.0, |size| size.legible_unit(SHEETS[1])),
        theme: orbits.theme,
    };
    let names: Vec<&str> = bodies.iter().map(|b| b.name).collect();
    let right = s.margin() + legend_width(&names, s).max(marks_width(bodies, s));
    let ticks_of =
        |side: f32| centre.map(|c| fitting(side, s, true, |n| Ticks::linear(c, span, n)));
    let left_of = |ticks: &[Ticks; 3]| {
        let widest = ticks.iter().map(|ticks| left_of_frame(ticks, s));
        s.margin() + widest.fold(0.0, f32::max)
    };
    let heading_of = |width: f32| wrap(&orbits.heading(bodies.len()), s.title(), width);
    let top_of =
        |title: &[String]| s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let between = below_frame(s) + 2.0 * s.gap();

    let (title, side) = match orbits.size {
        None => {
            let left = left_of(&ticks_of(PANEL_PIXELS));
            (heading_of(2.0 * PANEL_PIXELS + left), PANEL_PIXELS)
        }
        Some(size) => {
            let sheet = [size.width, size.height].map(|side| side as f32);
            let title = heading_of(sheet[0] - 2.0 * s.margin());
            let high = (sheet[1] - top_of(&title) - s.margin()) / 2.0 - between;
            // The numbers beside smaller panels are not wider.
            let left = left_of(&ticks_of(high.max(LEAST_FRAME)));
            let side = high.min((sheet[0] - right) / 2.0 - left).floor() - 1.0;
            if side < LEAST_PANEL {
                return draw_side(bodies, orbits, (centre, span), size, s);
            }
            (title, side)
        }
    };
    let ticks = ticks_of(side);
    let left = left_of(&ticks);
    let top = top_of(&title);
    let column = (left + side).round();
    let row = (side + between).round();
    let sheet = orbits.size.map_or(
        [
            (2.0 * column + right) as u32,
            (top + 2.0 * row + s.margin()) as u32,
        ],
        |size| [size.width, size.height],
    );
    let mut canvas = Canvas::new(sheet[0], sheet[1], orbits.theme.background())
        .ok_or("the picture is too large")?;
    // On a wide sheet, the panels are in the middle.
    let spare = ((sheet[0] as f32 - 2.0 * column - right) / 2.0)
        .max(0.0)
        .floor();
    heading(&mut canvas, &title, spare + left / 2.0 + column, s);

    let panel = |i: usize| PixelRect {
        x: spare + left.round() + (i % 2) as f32 * column,
        y: top.round() + (i / 2) as f32 * row,
        width: side,
        height: side,
    };
    let look = PathStyle::new(orbits.theme, s.unit, true);
    for (i, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let frame = panel(i);
        grid(&mut canvas, frame, &ticks[a], &ticks[b], s);
        paths(&mut canvas, frame, bodies, look, |p| {
            [(p[a] - centre[a]) / span, (p[b] - centre[b]) / span]
        });
        canvas.outline(frame, s.line(), orbits.theme.frame());
        let label = |axis: usize| ticks[axis].axis_label(AXES[axis], &orbits.unit);
        horizontal_axis(&mut canvas, frame, &ticks[a], &[label(a)], s);
        vertical_axis(&mut canvas, frame, &ticks[b], &label(b), s, |at| 1.0 - at);
    }
    let frame = panel(3);
    from_the_side(&mut canvas, frame, bodies, orbits, (centre, span), s);
    let beside = [frame.x + side, panel(1).y];
    if bodies.len() <= MANY {
        legend(&mut canvas, beside, &names, s, s.unit);
        marks(&mut canvas, beside, &names, s);
    }
    Ok(canvas)
}

/// The shortest side of one of four panels in pixels. In a picture that has no room for them, there is only the view from the side.
const LEAST_PANEL: f32 = 80.0;

/// The view from the side alone.
fn draw_side(
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    cube: ([f64; 3], f64),
    size: PictureSize,
    s: &AxesStyle,
) -> Result<Canvas, String> {
    let sheet = [size.width, size.height].map(|side| side as f32);
    let mut title = wrap(
        &orbits.heading(bodies.len()),
        s.title(),
        sheet[0] - 2.0 * s.margin(),
    );
    let top_of =
        |title: &[String]| s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let side_of = |title: &[String]| {
        let high = sheet[1] - top_of(title) - s.margin();
        high.min(sheet[0] - 2.0 * s.margin()).floor()
    };
    if size.is_too_low(side_of(&title)) {
        title.clear();
    }
    let side = side_of(&title);
    if side < LEAST_FRAME {
        return Err(TOO_SMALL.into());
    }
    let background = orbits.theme.background();
    let mut canvas =
        Canvas::new(size.width, size.height, background).ok_or("the picture is too large")?;
    heading(&mut canvas, &title, sheet[0] / 2.0, s);
    let frame = PixelRect {
        x: ((sheet[0] - side) / 2.0).round(),
        y: top_of(&title).round(),
        width: side,
        height: side,
    };
    from_the_side(&mut canvas, frame, bodies, orbits, cube, s);
    Ok(canvas)
}

/// Draws the panel of the view from the side.
fn from_the_side(
    canvas: &mut Canvas,
    frame: PixelRect,
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    (centre, span): ([f64; 3], f64),
    s: &AxesStyle,
) {
    let look = PathStyle::new(orbits.theme, s.unit, true);
    let seen = |p: [f64; 3]| {
        let relative = [0, 1, 2].map(|k| (p[k] - centre[k]) / span);
        project(relative, VIEW_DEGREES.0, VIEW_DEGREES.1)
    };
    let reach = bodies
        .iter()
        .flat_map(|b| b.points)
        .flat_map(|&p| seen(p))
        .filter(|v| v.is_finite())
        .fold(0.1, |reach: f64, v| reach.max(v.abs()));
    let reach = orbits.window.map_or(reach, |_| 0.5);
    let seen = |p: [f64; 3]| seen(p).map(|v| v * 0.45 / reach);
    paths(canvas, frame, bodies, look, seen);
    canvas.outline(frame, s.line(), orbits.theme.frame());
    triad(canvas, frame, s, s.unit, VIEW_DEGREES.0);
}

/// The middle and the side of the cube that is shown.
pub(super) fn bounds(bodies: &[Trajectory<'_>], orbits: &Orbits) -> Option<([f64; 3], f64)> {
    let usable = |(centre, side): &([f64; 3], f64)| {
        centre.iter().chain([side]).all(|x| x.is_finite()) && *side > 0.0
    };
    let (low, high) = extent(bodies)?;
    match orbits.window {
        Some(window) => Some(window).filter(usable),
        None => cube(low, high),
    }
}

/// The least and the greatest coordinates of all finite positions.
fn extent(bodies: &[Trajectory<'_>]) -> Option<([f64; 3], [f64; 3])> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let finite = |p: &&[f64; 3]| p.iter().all(|v| v.is_finite());
    for p in bodies.iter().flat_map(|b| b.points).filter(finite) {
        for k in 0..3 {
            low[k] = low[k].min(p[k]);
            high[k] = high[k].max(p[k]);
        }
    }
    (low[0] <= high[0]).then_some((low, high))
}

fn cube(low: [f64; 3], high: [f64; 3]) -> Option<([f64; 3], f64)> {
    let centre = [0, 1, 2].map(|k| low[k] / 2.0 + high[k] / 2.0);
    let span = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max) * 1.08;
    // One single point: some room around it.
    let span = if span > 0.0 { span } else { 1.0 };
    span.is_finite().then_some((centre, span))
}

/// How paths are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathStyle {
    theme: Theme,
    /// How much larger lines and marks are than in a picture whose size is not given.
    unit: f32,
    /// Whether a ring marks the first position.
    starts: bool,
}

impl PathStyle {
    pub(super) fn new(theme: Theme, unit: f32, starts: bool) -> Self {
        Self {
            theme,
            unit,
            starts,
        }
    }
}

/// `place` gives the offset from the middle of the frame, in units of its sides, upwards positive.
pub(super) fn paths(
    canvas: &mut Canvas,
    frame: PixelRect,
    bodies: &[Trajectory<'_>],
    style: PathStyle,
    place: impl Fn([f64; 3]) -> [f64; 2],
) {
    let PathStyle {
        theme,
        unit,
        starts,
    } = style;
    let many = bodies.len() > MANY;
    for (i, body) in bodies.iter().enumerate() {
        let colour = theme.colour_of_body(i);
        let points: Vec<[f32; 2]> = body
            .points
            .iter()
            .map(|&p| place(p))
            .map(|[u, v]| {
                [
                    frame.x + (0.5 + u as f32) * frame.width,
                    frame.y + (0.5 - v as f32) * frame.height,
                ]
            })
            .collect();
        let shown = |p: &&[f32; 2]| {
            (frame.x..=frame.x + frame.width).contains(&p[0])
                && (frame.y..=frame.y + frame.height).contains(&p[1])
        };
        // Of many bodies, thick lines, dashes and large marks would hide each other.
        let (thick, dashes, size) = match many {
            true => (0.7 * unit, Vec::new(), 0.45 * unit),
            false => (1.6 * unit, dashes(i, theme, unit), unit),
        };
        let of_line = if many {
            between(colour, theme.background())
        } else {
            colour
        };
        canvas.dashed(&points, thick, &dashes, of_line, frame);
        if let Some(&first) = points.first().filter(shown).filter(|_| starts && !many) {
            canvas.ring(first, size * RING, size * RING_LINE, colour);
        }
        if let Some(&last) = points.last().filter(shown) {
            canvas.dot(last, size * DOT, colour);
        }
    }
}

/// The colour in the middle of two.
fn between(a: Rgb, b: Rgb) -> Rgb {
    [0, 1, 2].map(|k| a[k].midpoint(b[k]))
}

/// The directions of x, y and z in the corner of the view; `scale` is how much larger they are than in a picture whose size is not given.
pub(super) fn triad(
    canvas: &mut Canvas,
    frame: PixelRect,
    s: &AxesStyle,
    scale: f32,
    azimuth: f64,
) {
    let (length, away) = (44.0 * scale, 62.0 * scale);
    let from = [frame.x + away, frame.y + frame.height - away];
    for (name, axis) in [
        ("x", [1.0, 0.0, 0.0]),
        ("y", [0.0, 1.0, 0.0]),
        ("z", [0.0, 0.0, 1.0]),
    ] {
        let [u, v] = project(axis, azimuth, VIEW_DEGREES.1).map(|d| d as f32);
        let at = |r: f32| [from[0] + r * u, from[1] - r * v];
        canvas.line(&[from, at(length)], 1.5 * scale, s.theme.frame(), frame);
        canvas.text(name, at(length * 1.3), s.text(s.number(), Align::Centre));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motion_in_a_plane_is_recognised() {
        let z = |z: f64| plane([0.0, 0.0, -z], [1.0, 2.0, z]);
        assert_eq!(z(0.0), Some([0, 1]));
        assert_eq!(z(1e-12), Some([0, 1]), "rounding errors");
        assert_eq!(z(1e-3), None);
        assert_eq!(plane([0.0, 5.0, 0.0], [1.0, 5.0, 1.0]), Some([0, 2]));
        assert_eq!(plane([7.0, 5.0, 0.0], [7.0, 6.0, 1.0]), Some([1, 2]));
        assert_eq!(plane([0.0; 3], [1.0, 0.0, 0.0]), Some([0, 1]), "a line");
    }

    #[test]
    fn the_title_says_what_is_drawn() {
        let orbits = Orbits {
            title: "plummer, 1024 bodies".into(),
            times: Some([0.0, 12.3456]),
            all: 1024,
            ..Orbits::default()
        };
        assert_eq!(
            orbits.heading(100),
            "plummer, 1024 bodies, of which the first 100 are drawn, t = 12.3456, and the way since 0"
        );
        let orbits = Orbits {
            time_unit: "days".into(),
            times: Some([-1e-9, 91312.5]),
            all: 2,
            ..Orbits::default()
        };
        assert_eq!(orbits.heading(2), "t = −1e−9 to 91312.5 days");
    }

    #[test]
    fn the_view_is_that_of_the_eye() {
        let close = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-12;
        let p = [1.0, 2.0, 3.0];
        // From the x axis: y to the right, z up. From above: x down, y to the right.
        assert!(close(project(p, 0.0, 0.0), [2.0, 3.0]));
        assert!(close(project(p, 0.0, 90.0), [2.0, -1.0]));
        assert!(close(project(p, -90.0, 90.0), [1.0, 2.0]));
        assert!(close(project(p, -90.0, 0.0), [1.0, 3.0]));
    }
}
