//! Orbits as an animated GIF: the bodies move, each with a tail of its recent past.

use std::path::Path;

use gif::{DisposalMethod, Encoder, Repeat};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::space::{VIEW_DEGREES, bounds, paths, triad};
use super::{
    AxesStyle, Canvas, IoError, Orbits, PixelRect, Ticks, Trajectory, below_frame, data_error,
    fitting, grid, heading, horizontal_axis, left_of_frame, project, vertical_axis,
};
use crate::atomic::write_with;

/// The viewpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// x to the right, y upwards.
    #[default]
    Xy,
    /// x to the right, z upwards.
    Xz,
    /// y to the right, z upwards.
    Yz,
    /// From the side; the eye goes around once.
    Space,
}

/// Largest number of pictures.
const MAX_FRAMES: usize = 200;
/// Length of a tail as a fraction of the pictures.
const TAIL: f64 = 0.12;
/// Duration of each picture in hundredths of a second.
const DELAY: u16 = 5;
/// The side of the panel in pixels.
const PANEL_PIXELS: f32 = 420.0;

/// Draws the bodies moving along their paths, which have as many points as `times`, evenly chosen if they are many.
///
/// # Errors
/// [`IoError::Data`] if no position is finite or a path has another length, and those of
/// [`AtomicFile`](crate::atomic::AtomicFile).
pub fn animation(
    path: impl AsRef<Path>,
    times: &[f64],
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    view: View,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let failed = |reason: &str| data_error(path, reason.to_owned());
    if bodies.iter().any(|b| b.points.len() != times.len()) {
        return Err(failed(
            "a path has more or fewer points than there are times",
        ));
    }
    let scene = Scene::new(bodies, orbits, view).ok_or_else(|| failed("no position is finite"))?;
    let count = times.len().min(MAX_FRAMES);
    let last = times.len() - 1;
    let pictures: Option<Vec<gif::Frame<'_>>> = (0..count)
        .into_par_iter()
        .map(|k| {
            let at = if count > 1 { k * last / (count - 1) } else { 0 };
            let tail = (TAIL * times.len() as f64).ceil() as usize;
            let turn = k as f64 / count as f64;
            scene.draw(times[at], at.saturating_sub(tail)..at + 1, turn)
        })
        .collect();
    let pictures = pictures.ok_or_else(|| failed("the picture is too large"))?;
    write_with(path, |file| {
        let size = (pictures[0].width, pictures[0].height);
        let failed = |e: gif::EncodingError| match e {
            gif::EncodingError::Io(e) => e,
            e => std::io::Error::other(e.to_string()),
        };
        let mut write = || -> Result<(), std::io::Error> {
            let mut encoder = Encoder::new(&mut *file, size.0, size.1, &[]).map_err(failed)?;
            encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
            for picture in &pictures {
                encoder
                    .write_lzw_pre_encoded_frame(picture)
                    .map_err(failed)?;
            }
            Ok(())
        };
        let written = write();
        written.map_err(|e| file.error(e))
    })
}

/// The data that all pictures share.
struct Scene<'a> {
    bodies: &'a [Trajectory<'a>],
    orbits: &'a Orbits,
    view: View,
    centre: [f64; 3],
    span: f64,
}

impl<'a> Scene<'a> {
    fn new(bodies: &'a [Trajectory<'a>], orbits: &'a Orbits, view: View) -> Option<Self> {
        let (centre, span) = bounds(bodies)?;
        Some(Self {
            bodies,
            orbits,
            view,
            centre,
            span,
        })
    }

    /// The bodies at the end of a range of points, `turn` of the way around.
    fn draw(
        &self,
        time: f64,
        points: std::ops::Range<usize>,
        turn: f64,
    ) -> Option<gif::Frame<'static>> {
        let theme = self.orbits.theme;
        let s = &AxesStyle { unit: 0.8, theme };
        let axes = match self.view {
            View::Xy => Some([0, 1]),
            View::Xz => Some([0, 2]),
            View::Yz => Some([1, 2]),
            View::Space => None,
        };
        let ticks = self
            .centre
            .map(|c| fitting(PANEL_PIXELS, s, true, |n| Ticks::linear(c, self.span, n)));
        let left = match axes {
            Some([_, b]) => s.margin() + left_of_frame(&ticks[b], s),
            None => s.margin(),
        };
        let top = s.margin() + s.title() * 1.3 + s.gap();
        let below = if axes.is_some() { below_frame(s) } else { 0.0 };
        let mut canvas = Canvas::new(
            (left + PANEL_PIXELS + 2.0 * s.margin()) as u32,
            (top + PANEL_PIXELS + below + s.margin()) as u32,
            theme.background(),
        )?;
        let frame = PixelRect {
            x: left.round(),
            y: top.round(),
            width: PANEL_PIXELS,
            height: PANEL_PIXELS,
        };
        let title = [format!("{} t = {time:.2}", self.orbits.title)
            .trim()
            .to_owned()];
        heading(&mut canvas, &title, frame.x + PANEL_PIXELS / 2.0, s);
        let tails: Vec<Trajectory<'_>> = self
            .bodies
            .iter()
            .map(|b| Trajectory {
                name: "",
                points: &b.points[points.clone()],
            })
            .collect();
        let relative = |p: [f64; 3]| [0, 1, 2].map(|k| (p[k] - self.centre[k]) / self.span);
        match axes {
            Some([a, b]) => {
                grid(&mut canvas, frame, &ticks[a], &ticks[b], s);
                paths(&mut canvas, frame, &tails, theme, false, |p| {
                    let r = relative(p);
                    [r[a], r[b]]
                });
                let label =
                    |axis: usize| ticks[axis].axis_label(["x", "y", "z"][axis], &self.orbits.unit);
                horizontal_axis(&mut canvas, frame, &ticks[a], &[label(a)], s);
                vertical_axis(&mut canvas, frame, &ticks[b], &label(b), s, |at| 1.0 - at);
            }
            None => {
                let azimuth = VIEW_DEGREES.0 + 360.0 * turn;
                paths(&mut canvas, frame, &tails, theme, false, |p| {
                    // The diagonal of the cube around all positions fits from every side.
                    project(relative(p), azimuth, VIEW_DEGREES.1).map(|v| v / 3.0_f64.sqrt())
                });
                triad(&mut canvas, frame, s, azimuth);
            }
        }
        canvas.outline(frame, s.line(), theme.frame());
        Some(picture(&canvas))
    }
}

fn picture(canvas: &Canvas) -> gif::Frame<'static> {
    let (width, height) = (canvas.width() as usize, canvas.height() as usize);
    let mut rgb = vec![0; 3 * width * height];
    for (y, row) in rgb.chunks_exact_mut(3 * width).enumerate() {
        canvas.rgb_row(y, row);
    }
    let mut frame = gif::Frame::from_rgb_speed(width as u16, height as u16, &rgb, 10);
    frame.delay = DELAY;
    frame.dispose = DisposalMethod::Keep;
    frame.make_lzw_pre_encoded();
    frame
}
