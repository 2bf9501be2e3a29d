//! The files of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trisolar::hermite::Times;
use trisolar::hermite::files::format;
use trisolar::io::PictureFormat;
use trisolar::io::plot::{Theme, View};
use trisolar::run::{self, Paths, Record};

use super::refused;
use crate::Failure;
use crate::films::{self, PictureArgs};
use crate::plots::{self, PLOTS};
use crate::snapshots::{self, SNAPSHOTS};

/// The options of the run's outputs, all of which a checkpoint holds.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub(crate) struct OutputArgs {
    /// Write the particles at the end to .csv, .npz or .txt; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Vec<PathBuf>,
    /// Write a snapshot with every line of diagnostics to this folder: 00000.npz, 00001.npz, ...
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) snapshots: Option<PathBuf>,
    /// Write the diagnostics to an npz file
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    pub(super) series: Option<PathBuf>,
    /// Write a checkpoint of the run to this file, with every line of diagnostics, about once a second, at the end and after Ctrl-C;
    /// --resume continues from it
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Draw energy error, radii, steps, the column density at the end, and orbits to energy.png, radii.png, steps.png, density.png and
    /// orbits.png in this folder. The models burrau and figure-eight do so without any option, in a folder with the name of the model
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
    /// Format of the pictures in the folder of --plots: png, svg or pdf
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value_t = PictureFormat::Png)]
    #[serde(default)]
    pub(super) plot_format: PictureFormat,
    /// Make a film of the moving particles (of the first 100 if there are more): .gif, .webp (lossless) or .mp4 (smaller; needs ffmpeg);
    /// can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[serde(default)]
    pub(super) film: Vec<PathBuf>,
    /// Viewpoint of the film: xy, xz, yz or space (it moves around the particles once) [default: space]
    #[arg(long, value_name = "VIEW", help_heading = "Output", value_parser = films::view)]
    #[serde(default)]
    pub(super) view: Option<View>,
    #[command(flatten)]
    #[serde(flatten, default)]
    pub(super) look: PictureArgs,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = str::parse::<Theme>)]
    #[serde(default)]
    pub(super) theme: Theme,
    /// Write start and integration to a TOML file, for --config
    #[arg(long, value_name = "FILE.toml", help_heading = "Output")]
    #[serde(default)]
    pub(super) save_config: Option<PathBuf>,
}

impl Paths for OutputArgs {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let others = [
            &mut self.snapshots,
            &mut self.series,
            &mut self.checkpoint,
            &mut self.plots,
            &mut self.save_config,
        ];
        self.out
            .iter_mut()
            .chain(&mut self.film)
            .chain(others.into_iter().flatten())
            .collect()
    }
}

/// The names of the plots.
pub(super) const PICTURES: [&str; 5] = ["energy", "radii", "steps", "density", "orbits"];

impl OutputArgs {
    /// Whether an output shows the paths of particles.
    pub(super) fn want_tracks(&self) -> bool {
        self.plots.is_some() || !self.film.is_empty()
    }

    /// The file of a snapshot.
    pub(super) fn snapshot(&self, number: usize) -> Option<PathBuf> {
        let folder = self.snapshots.as_ref()?;
        Some(snapshots::path(folder, number))
    }

    /// The snapshot of the last of `lines` lines of diagnostics and its time, if it does not exist and a run that is at `now` can write it
    /// again: the checkpoint that knows of it is written before it.
    pub(super) fn missing_snapshot(
        &self,
        lines: usize,
        now: f64,
        times: Times,
    ) -> Option<(PathBuf, f64)> {
        let last = lines.checked_sub(1)?;
        let time = (last as f64 * times.every).min(times.end);
        let path = self.snapshot(last)?;
        (!path.exists() && now <= time).then_some((path, time))
    }

    /// Whether an output shows the particles at the end.
    pub(super) fn wants_last_state(&self) -> bool {
        !self.out.is_empty() || self.want_tracks()
    }

    /// The final files, with the options that gave their names.
    pub(super) fn results(&self) -> Vec<(&'static str, PathBuf)> {
        let out = self.out.iter().map(|path| ("--out", path.clone()));
        let series = self.series.iter().map(|path| ("--series", path.clone()));
        let plots = self.plots.iter().flat_map(|prefix| {
            let path = |name| plots::path(prefix, name, self.plot_format);
            PICTURES.map(|name| ("--plots", path(name)))
        });
        let films = self.film.iter().map(|path| ("--film", path.clone()));
        out.chain(series).chain(plots).chain(films).collect()
    }

    /// All of them, to be checked and locked.
    pub(super) fn declared(&self) -> Result<run::Outputs, Failure> {
        for path in &self.out {
            format(path).map_err(|reason| refused(path, "--out", &reason))?;
        }
        if self.view.is_some() && self.film.is_empty() {
            return Err(Failure::BadInput("--view needs --film".into()));
        }
        (self.look).check(!self.film.is_empty(), self.plots.is_some())?;
        films::films(&self.film)?;
        let mut outputs = run::Outputs::new();
        let results = self.results();
        for (option, path) in results.iter().filter(|(option, _)| *option != "--plots") {
            outputs.file(option, path);
        }
        if let Some(folder) = &self.plots {
            outputs.folder("--plots", folder, PLOTS);
        }
        if let Some(path) = &self.save_config {
            if path.extension().is_none_or(|ending| ending != "toml") {
                return Err(refused(
                    path,
                    "--save-config",
                    &"the name must end in .toml",
                ));
            }
            outputs.file("--save-config", path);
        }
        if let Some(path) = &self.checkpoint {
            outputs.file("--checkpoint", path);
        }
        if let Some(folder) = &self.snapshots {
            outputs.folder("--snapshots", folder, SNAPSHOTS);
        }
        Ok(outputs)
    }

    /// Refuses a folder that has snapshots of another run.
    pub(super) fn refuse_other_snapshots(&self) -> Result<(), Failure> {
        let folder = self.snapshots.as_deref();
        folder.map_or(Ok(()), snapshots::refuse_others)
    }

    /// See [`snapshots::check`].
    pub(super) fn check_snapshots(
        &self,
        count: usize,
        last_again: bool,
        record: &Record,
    ) -> Result<Vec<String>, Failure> {
        match &self.snapshots {
            Some(folder) => snapshots::check(folder, count, last_again, record),
            None => Ok(Vec::new()),
        }
    }
}
