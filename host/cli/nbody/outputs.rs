//! The files of a run.

use std::path::{Path, PathBuf};

use trisolar::io::film::Film;
use trisolar::nbody::files::BodyFormat;
use trisolar::run;

use super::super::Failure;
use super::super::films;
use super::super::plots::{self, PLOTS};
use super::super::snapshots::{self, SNAPSHOTS};
use super::options::OutputArgs;

/// The files to be written, with checked names.
pub(super) struct Outputs {
    pub states: Vec<(PathBuf, BodyFormat)>,
    pub series: Option<PathBuf>,
    /// The folder of the states of all records.
    pub snapshots: Option<PathBuf>,
    pub trajectory: Option<PathBuf>,
    /// The folder of the two plots.
    plots: Option<PathBuf>,
    pub energy_plot: Option<PathBuf>,
    pub orbit_plot: Option<PathBuf>,
    pub films: Vec<Film>,
    pub checkpoint: Option<PathBuf>,
    pub config: Option<PathBuf>,
}

impl Outputs {
    pub(super) fn new(args: &OutputArgs) -> Result<Self, Failure> {
        let bad = |path: &Path, option: &str, reason: &str| {
            Failure::value(&path.display().to_string(), option, reason)
        };
        let mut states = Vec::new();
        for path in &args.out {
            let format = BodyFormat::of(path).map_err(|reason| bad(path, "--out", reason))?;
            states.push((path.clone(), format));
        }
        let ends = |path: &Path, allowed: &[&str]| {
            path.extension()
                .and_then(|e| e.to_str())
                .is_some_and(|e| allowed.contains(&e))
        };
        if let Some(path) = args.series.as_ref().filter(|p| !ends(p, &["csv", "npz"])) {
            return Err(bad(path, "--series", "the name must end in .csv or .npz"));
        }
        for (option, path, ending) in [
            ("--trajectory", &args.trajectory, "npz"),
            ("--checkpoint", &args.checkpoint, "npz"),
            ("--save-config", &args.save_config, "toml"),
        ] {
            if let Some(path) = path.as_ref().filter(|p| !ends(p, &[ending])) {
                let reason = format!("the name must end in .{ending}");
                return Err(bad(path, option, &reason));
            }
        }
        if args.view.is_some() && args.film.is_empty() {
            return Err(Failure::BadInput("--view needs --film".into()));
        }
        args.look
            .check(!args.film.is_empty(), args.plots.is_some())?;
        let plot = |what: &str| {
            let folder = args.plots.as_ref();
            folder.map(|folder| plots::path(folder, what, args.plot_format))
        };
        Ok(Self {
            states,
            series: args.series.clone(),
            snapshots: args.snapshots.clone(),
            trajectory: args.trajectory.clone(),
            films: films::films(&args.film)?,
            checkpoint: args.checkpoint.clone(),
            config: args.save_config.clone(),
            plots: args.plots.clone(),
            energy_plot: plot("energy"),
            orbit_plot: plot("orbits"),
        })
    }

    /// All files, with the options that gave their names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let states = self.states.iter().map(|(path, _)| ("--out", path));
        let others = [
            ("--series", &self.series),
            ("--trajectory", &self.trajectory),
            ("--plots", &self.energy_plot),
            ("--plots", &self.orbit_plot),
            ("--checkpoint", &self.checkpoint),
            ("--save-config", &self.config),
        ];
        let others = others
            .into_iter()
            .filter_map(|(option, path)| Some((option, path.as_ref()?)));
        let films = self.films.iter().map(|film| ("--film", film.path()));
        states
            .chain(others)
            .map(|(option, path)| (option, path.as_path()))
            .chain(films)
    }

    /// All files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.named().map(|(_, path)| path)
    }

    /// The files that are made from the records of the run.
    pub(super) fn results(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let of_the_start = ["--checkpoint", "--save-config"];
        self.named()
            .filter(move |(option, _)| !of_the_start.contains(option))
    }

    /// All files, to be checked and locked.
    pub(super) fn declared(&self) -> run::Outputs {
        let mut outputs = run::Outputs::new();
        for (option, path) in self.named().filter(|(option, _)| *option != "--plots") {
            outputs.file(option, path);
        }
        if let Some(folder) = &self.plots {
            outputs.folder("--plots", folder, PLOTS);
        }
        if let Some(folder) = &self.snapshots {
            outputs.folder("--snapshots", folder, SNAPSHOTS);
        }
        outputs
    }

    /// The file of the record at this step, and the number of records before it, if there are records every `every` steps and at the end.
    pub(super) fn snapshot(&self, step: u64, every: u64) -> Option<PathBuf> {
        let folder = self.snapshots.as_ref()?;
        Some(snapshots::path(folder, records_before(step, every)))
    }

    /// The files of all records up to this step.
    pub(super) fn snapshots_to(&self, step: u64, every: u64) -> Vec<PathBuf> {
        let folders = self.snapshots.iter();
        folders
            .flat_map(|folder| {
                (0..=records_before(step, every)).map(|n| snapshots::path(folder, n))
            })
            .collect()
    }

    /// Refuses a folder that has snapshots of another run.
    pub(super) fn refuse_other_snapshots(&self) -> Result<(), Failure> {
        let folder = self.snapshots.as_deref();
        folder.map_or(Ok(()), snapshots::refuse_others)
    }

    /// For a run that is resumed after `step`; see [`snapshots::check`]. `kept` is whether the record of that step remains.
    pub(super) fn check_snapshots(
        &self,
        step: u64,
        every: u64,
        kept: bool,
        record: &run::Record,
    ) -> Result<Vec<String>, Failure> {
        let Some(folder) = &self.snapshots else {
            return Ok(Vec::new());
        };
        // An irregular step has a record only where the run ends. The first record may be written again.
        let has = step > 0 && (step.is_multiple_of(every) || kept);
        let count = records_before(step, every) + usize::from(has);
        snapshots::check(folder, count, false, record)
    }

    /// Whether an output needs the positions of all records.
    pub(super) fn want_positions(&self) -> bool {
        self.trajectory.is_some()
    }

    /// Whether an output needs the energies of all records.
    pub(super) fn want_energy(&self) -> bool {
        self.series.is_some() || self.energy_plot.is_some()
    }
}

/// The number of records before the one at this step.
fn records_before(step: u64, every: u64) -> usize {
    step.div_ceil(every.max(1)) as usize
}
