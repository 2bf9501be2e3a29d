//! What the commands of runs in time, `trisolar nbody` and `trisolar cluster`, have in common.

use std::any::Any;
use std::path::PathBuf;

use trisolar::io::PictureFormat;
use trisolar::io::plot::{PictureSize, Theme, View};
use trisolar::run::Monitor;
use trisolar::time_run::{Error, Files, Observer, Recorder, TimeRun};

use super::progress::Progress;
use super::{films, interrupt, report};

/// The files of a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FileArgs {
    /// Write the last state to .csv, .npz or .txt; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Vec<PathBuf>,
    /// Write the bodies of every record to this folder: 00000.npz, 00001.npz, ...
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    snapshots: Option<PathBuf>,
    /// Write the diagnostics of all records to .csv or .npz
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    series: Option<PathBuf>,
    /// Write a checkpoint of the run to this file, about once a second and at the end; --resume continues from it
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    checkpoint: Option<PathBuf>,
    /// Draw pictures in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(crate) plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value_t = PictureFormat::Png)]
    plot_format: PictureFormat,
    /// Make a film of the moving bodies (of the first 500 if there are more): .gif, .webp (lossless) or .mp4 (smaller; needs ffmpeg);
    /// can be repeated
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Output",
        visible_alias = "animation"
    )]
    film: Vec<PathBuf>,
    /// Viewpoint of the film: xy, xz, yz or space (it moves around the bodies once) [default: space; xy in two dimensions]
    #[arg(long, value_name = "VIEW", help_heading = "Output", value_parser = films::view)]
    view: Option<View>,
    /// Pictures per second of the film, 0.1 to 60 [default: 20]
    #[arg(long, value_name = "RATE", help_heading = "Output", value_parser = films::rate)]
    fps: Option<f64>,
    /// Largest number of pictures of the film, of which each shows a record [default: 200]
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = films::frames)]
    frames: Option<u32>,
    /// Width and height of plots and films, in pixels, such as 1920x1080 [default: what their frames need]
    #[arg(long, value_name = "WIDTHxHEIGHT", help_heading = "Output", value_parser = str::parse::<PictureSize>)]
    size: Option<PictureSize>,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    theme: Theme,
    /// Write start and integration to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    save_config: Option<PathBuf>,
}

impl FileArgs {
    /// The files.
    pub(crate) fn files(&self) -> Files {
        Files {
            out: self.out.clone(),
            snapshots: self.snapshots.clone(),
            series: self.series.clone(),
            trajectory: None,
            checkpoint: self.checkpoint.clone(),
            plots: self.plots.clone(),
            plot_format: self.plot_format,
            film: self.film.clone(),
            view: self.view,
            fps: self.fps,
            frames: self.frames,
            size: self.size,
            theme: self.theme,
            save_config: self.save_config.clone(),
        }
    }
}

/// The program is told to wait until files are written.
pub(crate) fn patience() -> Box<dyn Any> {
    Box::new(interrupt::patient())
}

/// The progress of a film.
pub(crate) fn film(quiet: bool) -> Box<dyn Monitor> {
    Box::new(Progress::new("film", quiet))
}

/// Runs to the end. After an interruption, saves what was computed and tells how the run can go on. `alone` is false for a run on several
/// ranks whose particles only all of them can evaluate.
pub(crate) fn run<T: TimeRun>(
    recorder: &mut Recorder<T>,
    observer: &mut dyn Observer<T>,
    alone: bool,
    quiet: bool,
) -> Result<(), Error> {
    let Err(error) = recorder.run(observer) else {
        return Ok(());
    };
    let Some(files) = recorder.end_early(&error, alone, observer)? else {
        return Err(error);
    };
    if quiet {
        return Err(error);
    }
    if !files.is_empty() {
        let names: Vec<String> = files.iter().map(|p| p.display().to_string()).collect();
        let names = names.join(", ");
        report::to_stderr(&format!("note: what was computed is in {names}"));
    }
    report::to_stderr(&match &recorder.files.checkpoint {
        Some(path) => {
            let ([place, _], path) = (recorder.run.place(), path.display());
            let command = T::COMMAND;
            format!(
                "note: {path} holds the run at {place}; resume it with: trisolar {command} --resume {path}"
            )
        }
        None => "note: the run cannot be resumed; --checkpoint FILE makes a run resumable".into(),
    });
    Err(error)
}
