//! Orbits as a film: the bodies move, each with a tail of its recent past.

use serde::{Deserialize, Serialize};

use super::space::{PathStyle, VIEW_DEGREES, bounds, paths, triad};
use super::{
    AxesStyle, Canvas, LEAST_FRAME, Orbits, PictureSize, PixelRect, TOO_SMALL, Ticks, Trajectory,
    below_frame, data_error, fitting, grid, heading, horizontal_axis, left_of_frame, legend,
    legend_width, project, vertical_axis, wrap,
};
use crate::film::{Film, FilmError, Pictures};

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

/// A film of orbits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movie {
    /// The viewpoint.
    pub view: View,
    /// Largest number of pictures.
    pub frames: usize,
    /// Pictures per second.
    pub rate: f64,
}

/// Length of a tail as a fraction of the pictures.
const TAIL: f64 = 0.12;
/// The side of the panel in pixels, and the size of text and lines, if the size of the film is not given.
const PANEL_PIXELS: f32 = 420.0;
const UNIT: f32 = 0.8;
/// Room around the farthest position, compared to its distance from the centre.
const ROOM: f64 = 1.06;
/// The size of such a film, approximately.
const SHEET: [f32; 2] = [540.0, 550.0];

/// Draws the bodies moving along their paths, which have as many points as `times`, evenly chosen if they are many. `go_on` is called with
/// the number of finished pictures and that of all, and says whether to go on.
///
/// # Errors
/// [`IoError::Data`](super::IoError::Data) if no position is finite or a path has another length, and those of [`Film::write`].
pub fn animation(
    film: &Film,
    times: &[f64],
    bodies: &[Trajectory<'_>],
    orbits: &Orbits,
    movie: &Movie,
    go_on: &dyn Fn(usize, usize) -> bool,
) -> Result<(), FilmError> {
    let failed = |reason: &str| data_error(film.path(), reason.to_owned());
    if bodies.iter().any(|b| b.points.len() != times.len()) {
        let reason = "a path has more or fewer points than there are times";
        return Err(failed(reason).into());
    }
    let scene = Scene::new(times, bodies, orbits, movie.view).map_err(failed)?;
    let count = times.len().min(movie.frames);
    let last = times.len() - 1;
    let draw = |k: usize| {
        let at = if count > 1 { k * last / (count - 1) } else { 0 };
        let tail = (TAIL * times.len() as f64).ceil() as usize;
        let turn = k as f64 / count as f64;
        scene
            .draw(times[at], at.saturating_sub(tail)..at + 1, turn)
            .map_err(failed)
    };
    let first = draw(0)?;
    film.write(Pictures {
        size: PictureSize {
            width: first.width(),
            height: first.height(),
        },
        count,
        rate: movie.rate,
        draw: &|k| Ok(rgb(&draw(k)?)),
        go_on: &mut |done| go_on(done, count),
    })
}

/// The pixels of a picture.
fn rgb(canvas: &Canvas) -> Vec<u8> {
    let (width, height) = (canvas.width() as usize, canvas.height() as usize);
    let mut rgb = vec![0; 3 * width * height];
    for (y, row) in rgb.chunks_exact_mut(3 * width).enumerate() {
        canvas.rgb_row(y, row);
    }
    rgb
}

/// The data that all pictures share.
struct Scene<'a> {
    bodies: &'a [Trajectory<'a>],
    orbits: &'a Orbits,
    /// The axes of the view, to the right and upwards; `None` from the side.
    axes: Option<[usize; 2]>,
    style: AxesStyle,
    /// How much larger lines and marks are than in a film whose size is not given.
    scale: f32,
    centre: [f64; 3],
    /// What the frame shows to the right and upwards, with the same scale.
    spans: [f64; 2],
    ticks: [Ticks; 2],
    frame: PixelRect,
    sheet: [u32; 2],
}

impl<'a> Scene<'a> {
    fn new(
        times: &[f64],
        bodies: &'a [Trajectory<'a>],
        orbits: &'a Orbits,
        view: View,
    ) -> Result<Self, &'static str> {
        let (centre, span) = bounds(bodies, orbits).ok_or("no position is finite")?;
        let scale = orbits.size.map_or(1.0, |size| size.unit(SHEET));
        let style = AxesStyle {
            unit: UNIT * scale,
            theme: orbits.theme,
        };
        let s = &style;
        let axes = match view {
            View::Xy => Some([0, 1]),
            View::Xz => Some([0, 2]),
            View::Yz => Some([1, 2]),
            View::Space => None,
        };
        let [across, up] = axes.unwrap_or([0, 1]);
        let ticks = |axis: usize, pixels: f32, span: f64| {
            fitting(pixels, s, true, |n| Ticks::linear(centre[axis], span, n))
        };
        let names: Vec<&str> = bodies.iter().map(|b| b.name).collect();
        let right = legend_width(&names, s).max(s.margin()) + s.margin();
        let usual = PANEL_PIXELS * scale;
        let left_of = |ticks: &Ticks| match axes {
            Some(_) => s.margin() + left_of_frame(ticks, s),
            None => s.margin(),
        };
        let room = left_of(&ticks(up, usual, span)) + usual + right;
        let title_width = orbits.size.map_or(room, |size| size.width as f32) - 2.0 * s.margin();
        // The frame has the same place in all pictures.
        let lines = [times.first(), times.last()]
            .into_iter()
            .flatten()
            .map(|time| title(orbits, bodies.len(), *time, s, title_width).len())
            .max()
            .unwrap_or(0);
        let top = s.margin() + lines as f32 * s.title() * 1.3 + s.gap();
        let below = s.margin() + if axes.is_some() { below_frame(s) } else { 0.0 };
        let high = orbits
            .size
            .map_or(usual, |size| (size.height as f32 - top - below).floor());
        // Numbers on a longer axis are not wider.
        let left = left_of(&ticks(up, high.max(LEAST_FRAME).min(usual), span)).round();
        let wide = orbits
            .size
            .map_or(usual, |size| (size.width as f32 - left - right).floor());
        let shorter = wide.min(high);
        if shorter < LEAST_FRAME {
            return Err(TOO_SMALL);
        }
        let length = match (axes, orbits.window) {
            // The shorter side has the whole span, the longer one more of it.
            (Some(_), _) | (None, Some(_)) => span / f64::from(shorter),
            // As large as fits from every side.
            (None, None) => turned(bodies, centre)
                .into_iter()
                .zip([wide, high])
                .map(|(far, side)| 2.0 * ROOM * far / f64::from(side))
                .fold(f64::MIN_POSITIVE, f64::max),
        };
        let spans = [wide, high].map(|side| length * f64::from(side));
        let ticks = [
            ticks(across, wide, spans[0]),
            fitting(high, s, orbits.size.is_none(), |n| {
                Ticks::linear(centre[up], spans[1], n)
            }),
        ];
        let sheet = orbits.size.map_or(
            [(left + wide + right) as u32, (top + high + below) as u32],
            |size| [size.width, size.height],
        );
        let frame = PixelRect {
            x: left,
            y: top.round(),
            width: wide,
            height: high,
        };
        Ok(Self {
            bodies,
            orbits,
            axes,
            scale,
            centre,
            spans,
            ticks,
            frame,
            sheet,
            style,
        })
    }

    /// The bodies at the end of a range of points, `turn` of the way around.
    fn draw(
        &self,
        time: f64,
        points: std::ops::Range<usize>,
        turn: f64,
    ) -> Result<Canvas, &'static str> {
        let (frame, s) = (self.frame, &self.style);
        let theme = self.orbits.theme;
        let mut canvas = Canvas::new(self.sheet[0], self.sheet[1], theme.background())
            .ok_or("the picture is too large")?;
        let width = self.sheet[0] as f32 - 2.0 * s.margin();
        let title = title(self.orbits, self.bodies.len(), time, s, width);
        heading(&mut canvas, &title, frame.x + frame.width / 2.0, s);
        let names: Vec<&str> = self.bodies.iter().map(|b| b.name).collect();
        let beside = [frame.x + frame.width, frame.y];
        legend(&mut canvas, beside, &names, s, self.scale);
        let tails: Vec<Trajectory<'_>> = self
            .bodies
            .iter()
            .map(|b| Trajectory {
                name: "",
                points: &b.points[points.clone()],
            })
            .collect();
        let look = PathStyle::new(theme, self.scale, false);
        let shown = |[u, v]: [f64; 2]| [u / self.spans[0], v / self.spans[1]];
        let from_centre = |p: [f64; 3]| [0, 1, 2].map(|k| p[k] - self.centre[k]);
        match self.axes {
            Some([a, b]) => {
                let [x, y] = &self.ticks;
                grid(&mut canvas, frame, x, y, s);
                paths(&mut canvas, frame, &tails, look, |p| {
                    let p = from_centre(p);
                    shown([p[a], p[b]])
                });
                let label = |ticks: &Ticks, axis: usize| {
                    ticks.axis_label(["x", "y", "z"][axis], &self.orbits.unit)
                };
                horizontal_axis(&mut canvas, frame, x, &[label(x, a)], s);
                vertical_axis(&mut canvas, frame, y, &label(y, b), s, |at| 1.0 - at);
            }
            None => {
                let azimuth = VIEW_DEGREES.0 + 360.0 * turn;
                paths(&mut canvas, frame, &tails, look, |p| {
                    // The diagonal of the cube around all positions fits from every side.
                    shown(project(from_centre(p), azimuth, VIEW_DEGREES.1))
                });
                triad(&mut canvas, frame, s, self.scale, azimuth);
            }
        }
        canvas.outline(frame, s.line(), theme.frame());
        Ok(canvas)
    }
}

/// How far to the side and upwards positions are seen from the centre at most, while the eye goes around.
fn turned(bodies: &[Trajectory<'_>], centre: [f64; 3]) -> [f64; 2] {
    let (sin, cos) = VIEW_DEGREES.1.to_radians().sin_cos();
    let points = bodies.iter().flat_map(|b| b.points);
    points
        .map(|p| [0, 1, 2].map(|k| p[k] - centre[k]))
        .filter(|p| p.iter().all(|x| x.is_finite()))
        .map(|[x, y, z]| [x.hypot(y), cos * z.abs() + sin * x.hypot(y)])
        .fold([0.0; 2], |far, p| [0, 1].map(|k| p[k].max(far[k])))
}

/// The lines of the title at a time.
fn title(orbits: &Orbits, drawn: usize, time: f64, s: &AxesStyle, width: f32) -> Vec<String> {
    let time = format!("t = {time:.2} {}", orbits.time_unit);
    let text = match orbits.subject(drawn) {
        subject if subject.is_empty() => time,
        subject => format!("{subject}, {time}"),
    };
    wrap(text.trim(), s.title(), width)
}
