//! The files of a run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use trisolar_bodies::files::BodyFormat;
use trisolar_io::PictureFormat;
use trisolar_io::atomic::directory_of;
use trisolar_io::film::Film;
use trisolar_io::plot::{PictureSize, Theme, View};
use trisolar_run::{Claim, Outputs, Paths, Record, plots};

use super::Error;
use super::snapshots::{self, SNAPSHOTS};

/// The files that a run writes and how its pictures look, under the names of the options; a checkpoint holds all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Files {
    /// The last state.
    pub out: Vec<PathBuf>,
    /// A folder for the state of each record.
    pub snapshots: Option<PathBuf>,
    /// Diagnostics over time.
    pub series: Option<PathBuf>,
    /// Positions over time.
    pub trajectory: Option<PathBuf>,
    /// Everything from which the run can be resumed.
    pub checkpoint: Option<PathBuf>,
    /// A folder for pictures.
    pub plots: Option<PathBuf>,
    /// Their format.
    pub plot_format: PictureFormat,
    /// Films of the moving bodies.
    #[serde(alias = "animation", deserialize_with = "one_or_many")]
    pub film: Vec<PathBuf>,
    /// Their viewpoint.
    pub view: Option<View>,
    /// Their pictures per second.
    pub fps: Option<f64>,
    /// The largest number of their pictures.
    pub frames: Option<u32>,
    /// The size of all pictures.
    pub size: Option<PictureSize>,
    /// Their colours.
    pub theme: Theme,
    /// Start and integration as TOML.
    pub save_config: Option<PathBuf>,
}

impl Paths for Files {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let others = [
            &mut self.snapshots,
            &mut self.series,
            &mut self.trajectory,
            &mut self.checkpoint,
            &mut self.plots,
            &mut self.save_config,
        ];
        let many = self.out.iter_mut().chain(&mut self.film);
        many.chain(others.into_iter().flatten()).collect()
    }
}

/// The paths in the record of a run, of which earlier versions had at most one.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
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

impl Files {
    /// Whether a file shows the paths of bodies.
    pub fn want_paths(&self) -> bool {
        self.plots.is_some() || !self.film.is_empty()
    }

    /// Whether a file shows the bodies at the end.
    pub fn want_last_state(&self) -> bool {
        !self.out.is_empty() || self.want_paths()
    }

    /// The folder of records that do not stay in memory until their files are written.
    pub fn records_folder(&self) -> PathBuf {
        let files = [&self.trajectory, &self.series, &self.checkpoint];
        let file = files.into_iter().flatten().next();
        file.map_or_else(std::env::temp_dir, |path| directory_of(path))
    }

    /// The file of a snapshot.
    pub fn snapshot(&self, number: usize) -> Option<PathBuf> {
        let folder = self.snapshots.as_ref()?;
        Some(snapshots::path(folder, number))
    }

    /// Whether the last of this number of snapshots is missing.
    pub fn is_missing(&self, count: usize) -> bool {
        let last = count.checked_sub(1).and_then(|last| self.snapshot(last));
        last.is_some_and(|path| !path.exists())
    }

    /// A picture in the folder for them.
    pub fn picture(&self, name: &str) -> Option<PathBuf> {
        let folder = self.plots.as_ref()?;
        Some(plots::path(folder, name, self.plot_format))
    }

    /// The films, which can be written.
    ///
    /// # Errors
    /// A name that is not allowed.
    pub fn films(&self) -> Result<Vec<Film>, Error> {
        let film = |path: &PathBuf| {
            Film::new(path).map_err(|reason| Error::value(&path.display(), "--film", reason))
        };
        self.film.iter().map(film).collect()
    }

    /// The files that are made from the records of a run with these pictures, with the options that gave their names.
    pub fn results(&self, pictures: &[&str]) -> Vec<(&'static str, PathBuf)> {
        let many = |option, paths: &[PathBuf]| {
            let named = |path: &PathBuf| (option, path.clone());
            paths.iter().map(named).collect::<Vec<_>>()
        };
        let drawn = pictures.iter().filter_map(|name| self.picture(name));
        [
            many("--out", &self.out),
            many("--series", self.series.as_slice()),
            many("--trajectory", self.trajectory.as_slice()),
            drawn.map(|path| ("--plots", path)).collect(),
            many("--film", &self.film),
        ]
        .concat()
    }

    /// Checks and locks all of them. `inputs` are files that the run reads, with their options.
    ///
    /// # Errors
    /// Names and combinations of options that are not allowed, or files that cannot be written or locked.
    pub fn claim(&self, inputs: &[(&str, Option<&Path>)]) -> Result<Claim, Error> {
        let mut declared = self.declared()?;
        for (option, path) in inputs {
            if let Some(path) = path {
                declared.input(option, path);
            }
        }
        Ok(declared.claim()?)
    }

    fn declared(&self) -> Result<Outputs, Error> {
        for path in &self.out {
            BodyFormat::of(path).map_err(|e| Error::value(&path.display(), "--out", e))?;
        }
        ends_in("--series", self.series.as_deref(), &["csv", "npz"])?;
        ends_in("--trajectory", self.trajectory.as_deref(), &["npz"])?;
        ends_in("--save-config", self.save_config.as_deref(), &["toml"])?;
        let film = !self.film.is_empty();
        for (option, given, needs, has) in [
            ("--view", self.view.is_some(), "--film", film),
            ("--fps", self.fps.is_some(), "--film", film),
            ("--frames", self.frames.is_some(), "--film", film),
            (
                "--size",
                self.size.is_some(),
                "--plots or --film",
                self.want_paths(),
            ),
        ] {
            if given && !has {
                return Err(Error::Input(format!("{option} needs {needs}")));
            }
        }
        self.films()?;
        let mut outputs = Outputs::new();
        for (option, path) in self.results(&[]) {
            outputs.file(option, &path);
        }
        for (option, path) in [
            ("--save-config", &self.save_config),
            ("--checkpoint", &self.checkpoint),
        ] {
            path.iter().for_each(|path| {
                outputs.file(option, path);
            });
        }
        for (option, folder, names) in [
            ("--plots", &self.plots, plots::PLOTS),
            ("--snapshots", &self.snapshots, SNAPSHOTS),
        ] {
            folder.iter().for_each(|folder| {
                outputs.folder(option, folder, names);
            });
        }
        Ok(outputs)
    }

    /// Prepares the record of a new run with a checkpoint, in which all options of its group `output` are kept.
    ///
    /// # Errors
    /// A checkpoint of an unfinished run, snapshots of another run, or files that cannot be read.
    pub fn record(&self, command: &str, pictures: &[&str]) -> Result<Option<Record>, Error> {
        ends_in("--checkpoint", self.checkpoint.as_deref(), &["npz"])?;
        if let Some(folder) = &self.snapshots {
            snapshots::refuse_others(folder)?;
        }
        let Some(path) = &self.checkpoint else {
            return Ok(None);
        };
        Record::refuse_unfinished("--checkpoint", path)?;
        let mut record = Record::new(command, path);
        // A checkpoint is renewed in place.
        let kept = Self {
            checkpoint: None,
            ..self.clone()
        };
        record.set(OUTPUT, &kept)?;
        self.allow(&mut record, pictures)?;
        Ok(Some(record))
    }

    /// Lets a run replace the files that are at the places of its results now.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn allow(&self, record: &mut Record, pictures: &[&str]) -> Result<(), Error> {
        let results = self.results(pictures);
        let paths = results.iter().map(|(_, path)| path.as_path());
        Ok(record.allow_what_is_there(paths)?)
    }

    /// The files of the run of a checkpoint, and its record.
    ///
    /// # Errors
    /// [`Error::Refused`].
    pub fn of_checkpoint(path: &Path, command: &str) -> Result<(Self, Record), Error> {
        let read = Record::read(path, command);
        let record = read.map_err(|e| Error::value(&path.display(), "--resume", e))?;
        let files = Self {
            checkpoint: Some(path.to_owned()),
            ..record.get(OUTPUT)?
        };
        Ok((files, record))
    }

    /// Prepares to go on with a run that has `count` records, the last of which can be written `again`. Returns notes about its files.
    ///
    /// # Errors
    /// Files that the run would replace and that are not its own.
    pub fn go_on(
        &self,
        record: &mut Record,
        pictures: &[&str],
        (count, again): (usize, bool),
    ) -> Result<Vec<String>, Error> {
        for (option, path) in self.results(pictures) {
            record.check(option, &path)?;
        }
        let folder = self.snapshots.as_ref();
        let notes = folder.map(|folder| snapshots::check(folder, count, again, record));
        self.allow(record, pictures)?;
        notes.unwrap_or_else(|| Ok(Vec::new()))
    }
}

/// Refuses a file whose name ends otherwise.
fn ends_in(option: &str, path: Option<&Path>, allowed: &[&str]) -> Result<(), Error> {
    let Some(path) = path else {
        return Ok(());
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) if allowed.contains(&ending) => Ok(()),
        _ => {
            let reason = format!("the name must end in .{}", allowed.join(" or ."));
            Err(Error::value(&path.display(), option, reason))
        }
    }
}

/// The group of a record with the files of the run.
pub const OUTPUT: &str = "output";
