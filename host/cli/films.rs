//! `--film`, `--fps`, `--frames` and `--size` of the commands that draw bodies.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use trisolar::io::film::{Film, FilmError, RATES};
use trisolar::io::plot::{self, Movie, Orbits, PictureSize, Trajectory, View};
use trisolar::run::Monitor as _;

use super::progress::Progress;
use super::{Failure, interrupt};

/// Pictures per second of a film, and the largest number of pictures.
const DEFAULT_RATE: f64 = 20.0;
const DEFAULT_FRAMES: u32 = 200;

/// The size of plots and films, and the time that a film takes.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PictureArgs {
    /// Pictures per second of the film, 0.1 to 60 [default: 20]
    #[arg(long, value_name = "RATE", help_heading = "Output", value_parser = rate)]
    fps: Option<f64>,
    /// Largest number of pictures of the film, of which each shows a record [default: 200]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = frames)]
    frames: Option<u32>,
    /// Width and height of plots and films, in pixels, such as 1920x1080 [default: what their frames need]
    #[arg(long, value_name = "WIDTHxHEIGHT", help_heading = "Output", value_parser = str::parse::<PictureSize>)]
    pub(crate) size: Option<PictureSize>,
}

impl PictureArgs {
    /// Refuses options that need a film or a plot, if there is none.
    pub(crate) fn check(&self, film: bool, plots: bool) -> Result<(), Failure> {
        let needs =
            |option: &str, what: &str| Err(Failure::BadInput(format!("{option} needs {what}")));
        match self {
            Self { fps: Some(_), .. } if !film => needs("--fps", "--film"),
            Self {
                frames: Some(_), ..
            } if !film => needs("--frames", "--film"),
            Self { size: Some(_), .. } if !film && !plots => needs("--size", "--plots or --film"),
            _ => Ok(()),
        }
    }

    /// Makes a film of the positions of bodies at these times.
    pub(crate) fn draw(
        &self,
        film: &Film,
        (times, bodies): (&[f64], &[Trajectory<'_>]),
        orbits: &Orbits,
        view: View,
        quiet: bool,
    ) -> Result<(), Failure> {
        let movie = Movie {
            view,
            frames: self.frames.unwrap_or(DEFAULT_FRAMES) as usize,
            rate: self.fps.unwrap_or(DEFAULT_RATE),
        };
        let progress = Progress::new("film", quiet);
        // A film of what an interrupted run has computed is drawn to its end.
        let already = interrupt::interrupted();
        let drawn = plot::animation(film, times, bodies, orbits, &movie, &|done, all| {
            progress.progress(done as u64, all as u64);
            already || !progress.cancelled()
        });
        progress.finish();
        Ok(drawn?)
    }
}

/// Number of frames per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if RATES.contains(&rate) => Ok(rate),
        _ => Err("must be a number from 0.1 to 60".into()),
    }
}

/// A number of frames.
pub(crate) fn frames(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n @ 1..=99_999) => Ok(n),
        _ => Err("must be a whole number from 1 to 99999".into()),
    }
}

/// A viewpoint.
pub(crate) fn view(text: &str) -> Result<View, String> {
    Ok(match text {
        "xy" => View::Xy,
        "xz" => View::Xz,
        "yz" => View::Yz,
        "space" => View::Space,
        _ => return Err("must be xy, xz, yz or space".into()),
    })
}

/// A refused name of a film.
pub(crate) fn refused(path: &Path, error: &FilmError) -> Failure {
    Failure::value(&path.display().to_string(), "--film", &error.to_string())
}

/// The films at these paths, which can be written.
pub(crate) fn films(paths: &[PathBuf]) -> Result<Vec<Film>, Failure> {
    let film = |path: &PathBuf| Film::new(path).map_err(|e| refused(path, &e));
    paths.iter().map(film).collect()
}

/// The paths in the record of a run, of which earlier versions had at most one.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Paths {
        None,
        One(PathBuf),
        Many(Vec<PathBuf>),
    }
    Ok(match Paths::deserialize(from)? {
        Paths::None => Vec::new(),
        Paths::One(path) => vec![path],
        Paths::Many(paths) => paths,
    })
}

impl From<FilmError> for Failure {
    fn from(error: FilmError) -> Self {
        match error {
            FilmError::Io(error) => error.into(),
            FilmError::Cancelled => Self::Interrupted,
            error => Self::Failed(error.to_string()),
        }
    }
}
