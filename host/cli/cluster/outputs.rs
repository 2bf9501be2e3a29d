//! The files of a run.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trisolar::hermite::files::format;
use trisolar::io::plot::Theme;
use trisolar::run::{self, Names, Paths, Record, Refused};

use super::refused;
use crate::Failure;
use crate::plots::{self, PLOTS};

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
    /// Draw energy error, radii and steps to energy.png, radii.png and steps.png in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
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
            .chain(others.into_iter().flatten())
            .collect()
    }
}

/// The names of the plots.
pub(super) const PICTURES: [&str; 3] = ["energy", "radii", "steps"];

const SNAPSHOTS: Names = Names {
    what: "snapshots",
    owns: |name| number(name).is_some(),
    parents: true,
};

/// A snapshot's number, from its file's name.
fn number(name: &OsStr) -> Option<usize> {
    let digits = name.to_str()?.strip_suffix(".npz")?;
    let all = digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

impl OutputArgs {
    /// The file of a snapshot.
    pub(super) fn snapshot(&self, number: usize) -> Option<PathBuf> {
        let folder = self.snapshots.as_ref()?;
        Some(folder.join(format!("{number:05}.npz")))
    }

    /// The final files, with the options that gave their names.
    pub(super) fn results(&self) -> Vec<(&'static str, PathBuf)> {
        let out = self.out.iter().map(|path| ("--out", path.clone()));
        let series = self.series.iter().map(|path| ("--series", path.clone()));
        let plots = self.plots.iter().flat_map(|prefix| {
            let path = |name| plots::path(prefix, name);
            PICTURES.map(|name| ("--plots", path(name)))
        });
        out.chain(series).chain(plots).collect()
    }

    /// All of them, to be checked and locked.
    pub(super) fn declared(&self) -> Result<run::Outputs, Failure> {
        for path in &self.out {
            format(path).map_err(|reason| refused(path, "--out", &reason))?;
        }
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

    /// Snapshots that are in the folder, with their numbers.
    fn snapshots_there(&self) -> Vec<(usize, PathBuf)> {
        let entries = self.snapshots.iter().filter_map(|f| f.read_dir().ok());
        let entries = entries.flatten().flatten();
        let mut there: Vec<_> = entries
            .filter_map(|entry| Some((number(&entry.file_name())?, entry.path())))
            .collect();
        there.sort();
        there
    }

    /// Refuses a folder that has snapshots of another run.
    pub(super) fn refuse_other_snapshots(&self) -> Result<(), Failure> {
        let there = self.snapshots_there();
        if let (Some(folder), Some((_, path))) = (&self.snapshots, there.first()) {
            let reason = format!(
                "the folder has snapshots of another run ({}); choose another folder, or remove them",
                path.file_name().unwrap_or_default().display()
            );
            return Err(Refused::new("--snapshots", folder, reason).into());
        }
        Ok(())
    }

    /// For a resumed run with this many snapshots: refuses files that it would overwrite and that are not its own, and returns notes about
    /// changes of those that it has written. The last one may be missing if the run can write it again.
    pub(super) fn check_snapshots(
        &self,
        count: usize,
        last_again: bool,
        record: &Record,
    ) -> Result<Vec<String>, Failure> {
        for (_, path) in self.snapshots_there().iter().filter(|(n, _)| *n >= count) {
            record.check("--snapshots", path)?;
        }
        let mut said = Vec::new();
        for (n, path) in (0..count).filter_map(|n| Some((n, self.snapshot(n)?))) {
            if last_again && n + 1 == count && !path.exists() {
                continue;
            }
            let Some(sum) = record.sums(&path).last() else {
                continue;
            };
            if let Some(what) = sum.difference(&path)? {
                said.push(format!(
                    "{}: {what}; the run is past this snapshot and does not write it again",
                    path.display()
                ));
            }
        }
        Ok(said)
    }
}
