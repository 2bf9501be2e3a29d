//! Orbits in space: seen along the three axes, and from the side.

use std::path::Path;

use super::{
    Align, AxesStyle, Canvas, IoError, PixelRect, Theme, Ticks, below_frame, data_error, fitting,
    grid, heading, horizontal_axis, left_of_frame, legend, legend_width, line_colour, png_file,
    vertical_axis, widest, wrap,
};

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
    /// Above; may be empty.
    pub title: String,
    /// The unit of length, written in parentheses; may be empty.
    pub unit: String,
    /// Background and lines.
    pub theme: Theme,
}

/// The side of a panel in pixels.
const PANEL_PIXELS: f32 = 460.0;
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

/// Draws four panels, x-y, x-z, y-z and a view from the side, all with the same scale; a dot marks the last position.
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
    png_file::write_canvas(path, &canvas, specification)
}

fn draw(bodies: &[Trajectory<'_>], orbits: &Orbits) -> Result<Canvas, String> {
    let (centre, span) = bounds(bodies).ok_or("no position is finite")?;
    let s = &AxesStyle {
        unit: 1.0,
        theme: orbits.theme,
    };
    let ticks = centre.map(|c| fitting(PANEL_PIXELS, s, true, |n| Ticks::linear(c, span, n)));
    let numbers = ticks
        .iter()
        .max_by(|a, b| widest(a, 1.0).total_cmp(&widest(b, 1.0)))
        .ok_or("no axis")?;
    let left = s.margin() + left_of_frame(numbers, s);
    let names: Vec<&str> = bodies.iter().map(|b| b.name).collect();
    let title = wrap(&orbits.title, s.title(), 2.0 * PANEL_PIXELS + left);
    let top = s.margin() + title.len() as f32 * s.title() * 1.3 + 1.5 * s.gap();
    let column = (left + PANEL_PIXELS).round();
    let row = (PANEL_PIXELS + below_frame(s) + 2.0 * s.gap()).round();
    let width = 2.0 * column + s.margin() + legend_width(&names, s).max(s.number());
    let mut canvas = Canvas::new(
        width as u32,
        (top + 2.0 * row + s.margin()) as u32,
        orbits.theme.background(),
    )
    .ok_or("the picture is too large")?;
    heading(&mut canvas, &title, left / 2.0 + column, s);

    let panel = |i: usize| PixelRect {
        x: left.round() + (i % 2) as f32 * column,
        y: top.round() + (i / 2) as f32 * row,
        width: PANEL_PIXELS,
        height: PANEL_PIXELS,
    };
    for (i, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let frame = panel(i);
        grid(&mut canvas, frame, &ticks[a], &ticks[b], s);
        paths(&mut canvas, frame, bodies, orbits.theme, |p| {
            [(p[a] - centre[a]) / span, (p[b] - centre[b]) / span]
        });
        canvas.outline(frame, s.line(), orbits.theme.frame());
        let label = |axis: usize| ticks[axis].axis_label(["x", "y", "z"][axis], &orbits.unit);
        horizontal_axis(&mut canvas, frame, &ticks[a], &[label(a)], s);
        vertical_axis(&mut canvas, frame, &ticks[b], &label(b), s, |at| 1.0 - at);
    }
    let frame = panel(3);
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
    let seen = |p: [f64; 3]| seen(p).map(|v| v * 0.45 / reach);
    paths(&mut canvas, frame, bodies, orbits.theme, seen);
    canvas.outline(frame, s.line(), orbits.theme.frame());
    triad(&mut canvas, frame, s, VIEW_DEGREES.0);
    legend(&mut canvas, [frame.x + PANEL_PIXELS, panel(1).y], &names, s);
    Ok(canvas)
}

/// The middle of all positions and the side of a cube around them.
pub(super) fn bounds(bodies: &[Trajectory<'_>]) -> Option<([f64; 3], f64)> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let finite = |p: &&[f64; 3]| p.iter().all(|v| v.is_finite());
    for p in bodies.iter().flat_map(|b| b.points).filter(finite) {
        for k in 0..3 {
            low[k] = low[k].min(p[k]);
            high[k] = high[k].max(p[k]);
        }
    }
    let centre = [0, 1, 2].map(|k| low[k] / 2.0 + high[k] / 2.0);
    let span = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max) * 1.08;
    // One single point: some room around it.
    let span = if span > 0.0 { span } else { 1.0 };
    (low[0] <= high[0] && span.is_finite()).then_some((centre, span))
}

/// `place` gives the offset from the middle of the frame, in units of its side, upwards positive.
pub(super) fn paths(
    canvas: &mut Canvas,
    frame: PixelRect,
    bodies: &[Trajectory<'_>],
    theme: Theme,
    place: impl Fn([f64; 3]) -> [f64; 2],
) {
    for (i, body) in bodies.iter().enumerate() {
        let colour = line_colour(i, theme);
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
        canvas.line(&points, 1.6, colour, frame);
        if let Some(&last) = points.last().filter(|p| p.iter().all(|v| v.is_finite())) {
            canvas.dot(last, 4.5, colour);
        }
    }
}

/// The directions of x, y and z in the corner of the view.
pub(super) fn triad(canvas: &mut Canvas, frame: PixelRect, s: &AxesStyle, azimuth: f64) {
    let (length, from) = (44.0, [frame.x + 62.0, frame.y + frame.height - 62.0]);
    for (name, axis) in [
        ("x", [1.0, 0.0, 0.0]),
        ("y", [0.0, 1.0, 0.0]),
        ("z", [0.0, 0.0, 1.0]),
    ] {
        let [u, v] = project(axis, azimuth, VIEW_DEGREES.1).map(|d| d as f32);
        let at = |r: f32| [from[0] + r * u, from[1] - r * v];
        canvas.line(&[from, at(length)], 1.5, s.theme.frame(), frame);
        canvas.text(name, at(length * 1.3), s.text(s.number(), Align::Centre));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
