//! The plan of a run, which is the same on all ranks: when it records and pauses, and the options that a checkpoint keeps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trisolar::divergence::Backend;
use trisolar::machine;
use trisolar::nbody::{Engine, Options, Partials, Precision, Schedule, Specification, Validated};
use trisolar::run::Paths;

use super::super::explore::live::LiveArgs;
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
    /// Number of steps between pauses for checkpoints. It does not depend on the clock, so that all ranks pause together.
    pub pause: u64,
    /// The options on which the last bits depend.
    pub bits: BitOptions,
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
    /// Number of steps between records, and between pauses for checkpoints and for the pictures of a live run.
    pub(super) fn pauses(
        &self,
        live: LiveArgs,
        engine: &dyn Engine,
        problem: &Validated,
    ) -> [u64; 2] {
        let pairs = LIVE_PAIRS_PER_PAUSE[usize::from(engine.name() == "gpu")];
        let picture = steps_of(pairs, problem.specification(), problem.bodies().len());
        let pause = match live.is_on() {
            true => self.pause.min(picture),
            false => self.pause,
        };
        [self.every, pause]
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

    /// Number of steps between pauses for checkpoints.
    pub(super) fn pause(&self, spec: &Specification, n: usize) -> u64 {
        if self.checkpoint.is_none() {
            return u64::MAX;
        }
        steps_of(PAIRS_PER_PAUSE, spec, n)
    }
}

/// The number of steps (at least 1) that take as long as this number of pairs.
fn steps_of(pairs: u64, spec: &Specification, n: usize) -> u64 {
    // A step takes at least some hundred cycles, even for two bodies.
    let step = (n as u64 * n as u64).max(256) * u64::from(spec.integrator.evaluations());
    (pairs / step).max(1)
}
