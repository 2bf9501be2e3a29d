//! The plan of a run, which is the same on all ranks: when it records and pauses, and the options that a checkpoint keeps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trisolar::bodies::MAX_TIMES;
use trisolar::divergence::Backend;
use trisolar::io::atomic::directory_of;
use trisolar::io::system;
use trisolar::machine;
use trisolar::nbody::{
    EnergyLooks, Engine, Options, Partials, Precision, Schedule, Specification, Validated,
};
use trisolar::run::Paths;

use super::super::explore::live::LiveArgs;
use super::super::{Failure, plots};
use super::options::{Args, OutputArgs};

/// Default number of records of a run with files over time.
const DEFAULT_RECORDS: u64 = 1000;
/// Pairs between two pauses for a checkpoint: about a second of a core.
const PAIRS_PER_PAUSE: u64 = 1_000_000_000;
/// Pairs between two pauses for a picture of --live, on a CPU and on a GPU: some milliseconds.
const LIVE_PAIRS_PER_PAUSE: [u64; 2] = [4_000_000, 4_000_000_000];

/// When bodies are recorded and saved, and the options on which the last bits depend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordPlan {
    /// Steps between records.
    pub every: u64,
    /// Steps between states of which paths are drawn; `u64::MAX` without pictures of paths.
    pub track: u64,
    /// Number of steps between pauses for checkpoints. It does not depend on the clock, so that all ranks pause together.
    pub pause: u64,
    /// The options on which the last bits depend.
    pub bits: BitOptions,
    /// Whether parts of the run are repeated with longer steps, in which all ranks take part.
    pub check: bool,
}

/// The options of the computation on which the last bits depend, and which a checkpoint therefore keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BitOptions {
    /// The last bits of the reduced solver on a CPU always depend on it.
    pub partials: Partials,
    /// Kept for partial sums by thread only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Kept for partial sums by thread only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// `cpu` or `gpu`; kept for partial sums by thread, and for all precisions except f64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
}

impl Paths for BitOptions {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

impl BitOptions {
    /// The options of a new run, for the engine that was selected.
    pub(super) fn new(
        options: &Options,
        spec: &Specification,
        bodies: usize,
        engine: &str,
    ) -> Self {
        let engine = match engine {
            "cpu" => Backend::Cpu,
            _ => Backend::Gpu,
        };
        let by_threads = options.partials == Partials::Threads;
        let few = bodies < trisolar::nbody::MIN_BODIES_FOR_THREADS;
        let threads = || match options.threads {
            None if few => 1,
            given => given.unwrap_or_else(machine::threads),
        };
        Self {
            partials: options.partials,
            threads: by_threads.then(threads),
            schedule: by_threads.then_some(options.schedule),
            backend: (by_threads || spec.precision != Precision::F64).then_some(engine),
        }
    }

    /// The options among these that the user typed.
    pub(super) fn typed(args: &Args) -> Self {
        Self {
            partials: args.partials,
            threads: args.cpu.threads,
            schedule: Some(args.schedule),
            backend: Some(args.backend),
        }
    }

    /// `options` with these values, which override options that are given together with `--resume`.
    pub(super) fn over(&self, options: Options) -> Options {
        Options {
            partials: self.partials,
            threads: self.threads.or(options.threads),
            schedule: self.schedule.unwrap_or(options.schedule),
            backend: self.backend.unwrap_or(options.backend),
            ..options
        }
    }
}

impl RecordPlan {
    /// Number of steps between records, between states of paths, and between pauses for checkpoints and for the pictures of a live run.
    pub(super) fn pauses(
        &self,
        live: LiveArgs,
        engine: &dyn Engine,
        problem: &Validated,
    ) -> [u64; 3] {
        let pairs = LIVE_PAIRS_PER_PAUSE[usize::from(engine.name() == "gpu")];
        let picture = steps_of(pairs, problem.specification(), problem.bodies().len());
        let pause = match live.is_on() {
            true => self.pause.min(picture),
            false => self.pause,
        };
        [self.every, self.track, pause]
    }
}

impl OutputArgs {
    /// Number of steps between the records that these outputs need; `None` for records at the start and at the end only.
    pub(super) fn spacing(&self, steps: u64) -> Option<u64> {
        let over_time = self.series.is_some()
            || self.snapshots.is_some()
            || self.trajectory.is_some()
            || self.plots.is_some()
            || !self.film.is_empty();
        self.every
            .or_else(|| over_time.then(|| steps.div_ceil(DEFAULT_RECORDS)))
    }

    /// Number of steps between states of which the paths of `n` bodies are drawn: several from record to record if the bodies are few.
    pub(super) fn track(&self, n: usize) -> u64 {
        match self.spacing {
            Some(every) if self.want_tracks() => (every / tracks_per_record(n)).max(1),
            _ => u64::MAX,
        }
    }

    /// Whether paths are drawn.
    pub(super) fn want_tracks(&self) -> bool {
        self.plots.is_some() || !self.film.is_empty()
    }

    /// The folder of records that do not stay in memory until their files are written.
    pub(super) fn records_folder(&self) -> PathBuf {
        let files = [&self.trajectory, &self.series, &self.checkpoint];
        let file = files.into_iter().flatten().next();
        file.map_or_else(std::env::temp_dir, |path| directory_of(path))
    }

    /// Refuses records that do not fit on the disk, and paths that do not fit into memory.
    pub(super) fn check_sizes(
        &self,
        spec: &Specification,
        n: usize,
        energy: Option<EnergyLooks>,
    ) -> Result<(), Failure> {
        let Some(every) = self.spacing else {
            return Ok(());
        };
        let records = (spec.steps / every + 2) as f64;
        let refused = |needed: f64, there: f64, what: &str| {
            let reason = format!(
                "{} records would need {:.1} GB of {what}, of which {:.1} GB can be used; record every {:.0} steps or less often",
                spec.steps / every + 1,
                needed / 1e9,
                there / 1e9,
                (every as f64 * needed / there.max(1.0)).ceil()
            );
            Err(Failure::value(&every.to_string(), "--every", &reason))
        };
        let with_energy = self.series.is_some() || self.plots.is_some();
        let few = n <= super::MAX_BODIES_FOR_DIAGNOSTICS && energy != Some(EnergyLooks::Never);
        let diagnostics = match with_energy || few {
            true => BYTES_OF_DIAGNOSTICS,
            false => [0.0; 2],
        };
        let positions = match self.trajectory {
            Some(_) => 24.0 * n as f64 + 8.0,
            None => 0.0,
        };
        let kept = diagnostics[0] + positions;
        let file = |path: &Option<PathBuf>, bytes: f64| {
            let path = path.as_ref();
            path.map(|path| (directory_of(path), records * bytes))
        };
        let files = [
            file(&self.series, diagnostics[1]),
            file(&self.trajectory, positions),
            // The older one stays until the new one is complete.
            file(&self.checkpoint, 2.0 * kept),
            (self.snapshots.clone()).map(|folder| (folder, records * 56.0 * n as f64)),
            Some((self.records_folder(), records * kept)),
        ];
        let files: Vec<(PathBuf, f64)> = files.into_iter().flatten().collect();
        if let Some((folder, needed, there)) = system::lacking_space(&files) {
            let what = format!("space in {}", folder.display());
            return refused(needed, SHARE_TO_USE * there, &what);
        }
        let states = match self.track(n) {
            u64::MAX => 0.0,
            track => {
                let times = (spec.steps / track + 2).min(2 * MAX_TIMES as u64) as f64;
                times * n.min(plots::MAX_DRAWN_ORBITS) as f64 * BYTES_OF_STATE
            }
        };
        let available = SHARE_TO_USE * machine::available_memory() as f64;
        if available == 0.0 || states <= available {
            return Ok(());
        }
        refused(states, available, "memory for the paths of the bodies")
    }

    /// Number of steps between pauses for checkpoints.
    pub(super) fn pause(&self, spec: &Specification, n: usize) -> u64 {
        if self.checkpoint.is_none() {
            return u64::MAX;
        }
        steps_of(PAIRS_PER_PAUSE, spec, n)
    }
}

/// Bytes of the diagnostics of a record, as numbers and as the text of a CSV file.
const BYTES_OF_DIAGNOSTICS: [f64; 2] = [168.0, 460.0];
/// The share of free memory or space that records may use.
const SHARE_TO_USE: f64 = 0.9;
/// Bytes of a state of a path: the state, that in a checkpoint, and the points that are drawn.
const BYTES_OF_STATE: f64 = 200.0;
/// States of bodies that are recorded from one record to the next.
const STATES_PER_RECORD: usize = 256;
/// Largest number of times at which they are recorded, and of points that are drawn from one record to the next.
pub(super) const MAX_TRACKS_PER_RECORD: u64 = 64;

/// How often the paths of `n` bodies are recorded from one record to the next.
pub(super) fn tracks_per_record(n: usize) -> u64 {
    ((STATES_PER_RECORD / n.max(1)) as u64).clamp(1, MAX_TRACKS_PER_RECORD)
}

/// The number of steps (at least 1) that take as long as this number of pairs.
fn steps_of(pairs: u64, spec: &Specification, n: usize) -> u64 {
    // A step takes at least some hundred cycles, even for two bodies.
    let step = (n as u64 * n as u64).max(256) * u64::from(spec.integrator.evaluations());
    (pairs / step).max(1)
}
