//! How a run is gone through, the same on all ranks, and what a checkpoint keeps of that.

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
    /// Steps between pauses for checkpoints. Not a matter of time: all ranks pause together.
    pub pause: u64,
    /// What the last bits depend on.
    pub bits: BitOptions,
}

/// How to compute, as far as the last bits depend on it: a checkpoint keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BitOptions {
    /// Always of importance.
    pub partials: Partials,
    /// Of partial sums by thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Of partial sums by thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Of these, and of all precisions but f64: `cpu` or `gpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
}

impl Paths for BitOptions {
    fn paths(&mut self) -> Vec<&mut PathBuf> {
        Vec::new()
    }
}

impl BitOptions {
    /// Of a run that begins, by the engine that was chosen for it.
    pub(super) fn new(
        options: &Options,
        spec: &Specification,
        bodies: usize,
        engine: &str,
    ) -> Self {
        let engine = match engine {
            "gpu" => Backend::Gpu,
            _ => Backend::Cpu,
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

    /// What was typed of it.
    pub(super) fn typed(args: &Args) -> Self {
        Self {
            partials: args.partials,
            threads: args.threads,
            schedule: Some(args.schedule),
            backend: Some(args.backend),
        }
    }

    /// These go before what is given beside `--resume`.
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
    /// Steps between looks, and between pauses for checkpoints and the pictures of a live run.
    pub(super) fn pauses(
        &self,
        live: LiveArgs,
        engine: &dyn Engine,
        problem: &Validated,
    ) -> [u64; 2] {
        let pulls = LIVE_PAIRS_PER_PAUSE[usize::from(engine.name() == "gpu")];
        let picture = steps_of(pulls, problem.specification(), problem.bodies().len());
        let pause = match live.is_on() {
            true => self.pause.min(picture),
            false => self.pause,
        };
        [self.every, pause]
    }
}

impl OutputArgs {
    /// Steps between looks that these outputs need; `None` for looks at the start and the end only.
    pub(super) fn spacing(&self, steps: u64) -> Option<u64> {
        let over_time = self.series.is_some()
            || self.trajectory.is_some()
            || self.plots.is_some()
            || self.animation.is_some();
        self.every
            .or_else(|| over_time.then(|| steps.div_ceil(DEFAULT_RECORDS)))
    }

    /// Steps between pauses for checkpoints.
    pub(super) fn pause(&self, spec: &Specification, n: usize) -> u64 {
        if self.checkpoint.is_none() {
            return u64::MAX;
        }
        steps_of(PAIRS_PER_PAUSE, spec, n)
    }
}

/// Steps that take as long as so many pulls, at least one.
fn steps_of(pulls: u64, spec: &Specification, n: usize) -> u64 {
    // Not even two bodies are integrated in less than some hundred cycles.
    let step = (n as u64 * n as u64).max(256) * u64::from(spec.integrator.evaluations());
    (pulls / step).max(1)
}
