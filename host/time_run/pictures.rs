//! Pictures and films of the paths of bodies.

use trisolar_bodies::{Tracks, body_name};
use trisolar_io::film::FilmError;
use trisolar_io::plot::{self, Movie, Orbits, Trajectory, View};
use trisolar_run::{EngineError, Monitor};

use super::stops::points_per_state;
use super::{Error, Files};

/// The picture of the inner bodies of a system.
pub const INNER: &str = "inner";
/// The beginning of the titles of `energy`.
pub const ENERGY_ERROR: &str = "Relative error of the total energy";

/// Largest number of bodies whose paths are drawn.
pub const MAX_DRAWN: usize = 500;
/// Largest number of bodies whose names are written.
pub const MAX_NAMED: usize = 12;
/// How much farther out than the inner bodies the others must be at least, the next one and the last one, so that the inner ones have a picture
/// of their own, and the least number of inner bodies.
const OUTER: [f64; 2] = [2.5, 6.0];
const MIN_INNER: usize = 3;
/// Pictures per second of a film, and the largest number of pictures.
const DEFAULT_RATE: f64 = 20.0;
const DEFAULT_FRAMES: u32 = 200;

/// What the pictures of a run show.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The start and the number of bodies; without folders, so that a title does not depend on the working directory.
    pub title: String,
    /// The units of length and time.
    pub units: [String; 2],
    /// The number of bodies.
    pub bodies: usize,
    /// The middle and the side of a cube that shows most of many bodies, if some are so far away that they would leave no room for the
    /// others.
    pub window: Option<([f64; 3], f64)>,
    /// Whether all bodies move in the plane z = 0.
    pub is_flat: bool,
}

/// Points of the paths of bodies, `parts` from one recorded state to the next, and what a title says of paths that cannot be drawn
/// because the bodies turned around between two records. `still` leaves out such paths; a film shows their positions, and has nothing to say.
fn points_of(
    tracks: &Tracks,
    parts: usize,
    names: &[String],
    still: bool,
) -> (Vec<Vec<[f64; 3]>>, String) {
    let unknown: Vec<usize> = (0..tracks.bodies())
        .filter(|i| !tracks.is_drawable(*i))
        .collect();
    let mut points: Vec<Vec<[f64; 3]>> = (0..tracks.bodies())
        .map(|i| tracks.points(i, parts))
        .collect();
    for body in unknown.iter().filter(|_| still) {
        if let [all @ .., _] = &mut points[*body][..] {
            all.fill([f64::NAN; 3]);
        }
    }
    let remark = match &unknown[..] {
        [] => String::new(),
        _ if !still => String::new(),
        [body] if !names[*body].is_empty() => {
            format!(", {} moves faster than it was recorded", names[*body])
        }
        [_] => ", one moves faster than it was recorded".into(),
        all => format!(", {} move faster than they were recorded", all.len()),
    };
    (points, remark)
}

/// The names of the drawn ones of `n` bodies: numbers if they have none, and nothing if they are many.
fn body_names(names: Option<&[String]>, n: usize) -> Vec<String> {
    let name = |i: usize| match n > MAX_NAMED {
        true => String::new(),
        false => body_name(names, i),
    };
    (0..n.min(MAX_DRAWN)).map(name).collect()
}

/// The bodies of a system that a picture of all bodies would not tell apart, such as the inner planets, if there are some: those whose paths stay
/// near that of the body that moves least.
fn inner<'a>(bodies: &[Trajectory<'a>]) -> Vec<Trajectory<'a>> {
    let from = |origin: [f64; 3], body: &Trajectory<'_>| {
        let distance = |x: &[f64; 3]| {
            let square = |d: usize| (x[d] - origin[d]) * (x[d] - origin[d]);
            (square(0) + square(1) + square(2)).sqrt()
        };
        body.points.iter().map(distance).fold(0.0, f64::max)
    };
    let moves =
        |body: &&Trajectory<'_>| from(body.points.last().copied().unwrap_or_default(), body);
    let still = bodies.iter().min_by(|a, b| moves(a).total_cmp(&moves(b)));
    let Some(origin) = still.and_then(|body| body.points.last().copied()) else {
        return Vec::new();
    };
    let reach: Vec<f64> = bodies.iter().map(|body| from(origin, body)).collect();
    let mut sorted = reach.clone();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.last().copied().unwrap_or_default();
    let is_border = |pair: &&[f64]| pair[1] > OUTER[0] * pair[0] && last > OUTER[1] * pair[0];
    let mut pairs = sorted.windows(2).skip(MIN_INNER - 1);
    let Some([border, _]) = pairs.find(is_border) else {
        return Vec::new();
    };
    let near = bodies
        .iter()
        .zip(&reach)
        .filter(|(_, reach)| *reach <= border);
    near.map(|(body, _)| *body).collect()
}

/// The paths that a run has recorded, and what pictures of them need.
pub(super) struct Drawing<'a> {
    pub files: &'a Files,
    pub scene: &'a Scene,
    pub names: Option<&'a [String]>,
    pub tracks: &'a Tracks,
    /// The time as it is shown, from that of a state in the tracks.
    pub shown: &'a dyn Fn(f64) -> f64,
    /// Watches the drawing of a film.
    pub film: &'a dyn Fn() -> Box<dyn Monitor>,
}

impl Drawing<'_> {
    /// Draws the picture and the films.
    pub(super) fn draw(&self, specification: &str) -> Result<(), Error> {
        let (files, scene) = (self.files, self.scene);
        if let Some(path) = files.picture("orbits") {
            self.with_paths(true, |_, bodies, orbits| {
                plot::trajectories(path, bodies, orbits, Some(specification))
            })?;
        }
        if let Some(path) = files.picture(INNER).filter(|_| scene.bodies <= MAX_NAMED) {
            self.with_paths(true, |_, bodies, orbits| match &inner(bodies)[..] {
                [] => Ok(()),
                near => {
                    let title = format!("{}, the inner {}", orbits.title, near.len());
                    let orbits = Orbits {
                        title,
                        all: near.len(),
                        ..orbits.clone()
                    };
                    plot::trajectories(path, near, &orbits, Some(specification))
                }
            })?;
        }
        let usual = if scene.is_flat { View::Xy } else { View::Space };
        let movie = Movie {
            view: files.view.unwrap_or(usual),
            frames: files.frames.unwrap_or(DEFAULT_FRAMES) as usize,
            rate: files.fps.unwrap_or(DEFAULT_RATE),
        };
        for film in files.films()? {
            let monitor = (self.film)();
            // A film of what an interrupted run has computed is drawn to its end.
            let already = monitor.cancelled();
            let go_on = |done: usize, all: usize| {
                monitor.progress(done as u64, all as u64);
                already || !monitor.cancelled()
            };
            let drawn = self.with_paths(false, |times, bodies, orbits| {
                plot::animation(&film, times, bodies, orbits, &movie, &go_on)
            });
            drawn.map_err(|error| match error {
                FilmError::Io(error) => Error::Io(error),
                FilmError::Cancelled => EngineError::Cancelled.into(),
                error => Error::Failed(error.to_string()),
            })?;
        }
        Ok(())
    }

    /// Calls `work` with the times and paths that are drawn, as a picture that stands `still` or in a film.
    fn with_paths<R>(
        &self,
        still: bool,
        work: impl FnOnce(&[f64], &[Trajectory<'_>], &Orbits) -> R,
    ) -> R {
        let (tracks, scene) = (self.tracks, self.scene);
        let names = body_names(self.names, scene.bodies);
        let parts = points_per_state(scene.bodies);
        let times = tracks.finer_times(parts).into_iter();
        let times: Vec<f64> = times.map(self.shown).collect();
        let (points, remark) = points_of(tracks, parts, &names, still);
        let paths: Vec<Trajectory<'_>> = points
            .iter()
            .zip(&names)
            .map(|(points, name)| Trajectory { name, points })
            .collect();
        let [unit, time_unit] = scene.units.clone();
        let orbits = Orbits {
            title: scene.title.clone() + &remark,
            unit,
            time_unit,
            times: match &times[..] {
                [first, .., last] => Some([*first, *last]),
                _ => None,
            },
            all: scene.bodies,
            window: scene.window,
            theme: self.files.theme,
            size: self.files.size,
        };
        work(&times, &paths, &orbits)
    }
}
