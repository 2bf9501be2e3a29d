//! The options of `trisolar cluster`.

use std::path::PathBuf;

use trisolar::divergence::Backend;
use trisolar::hermite::{BlockStep, Given, Options, Order, Precision, Scheme, StartModel};

use super::outputs::OutputArgs;
use crate::explore::live::LiveArgs;
use crate::{Failure, values};

/// Integrate a star cluster with individual block time steps, G = 1.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "A run has the same bits for any number of threads and any instruction set.\n\
                  Files of particles: .npz (mass, position, velocity), or text with a particle on each line: id mass x y z vx vy vz;\n\
                  and all files that `trisolar nbody` reads. The time, softening, names and G of a file are used; masses\n\
                  are multiplied by G."
)]
pub(crate) struct Args {
    /// Read the start model from a file: .npz, .csv, .tipsy or .bin (TIPSY); any other name is text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["model", "w0", "n", "seed"])]
    pub(super) input: Option<PathBuf>,
    /// Start model: plummer or king (with --w0) in Henon units; burrau or figure-eight, without softening [default: plummer]
    #[arg(long, value_name = "NAME", help_heading = "Start", value_parser = model)]
    model: Option<StartModel>,
    /// Dimensionless central potential of the King model, 0.1 to 16 [default: 6]
    #[arg(long, value_name = "W0", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    w0: Option<f64>,
    /// Particles of the model, 2 to 16777216 [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = values::particles)]
    n: Option<usize>,
    /// Seed of the model [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    seed: Option<u64>,
    /// Resume the run of a checkpoint with all its options, outputs included; the files get the bytes of an uninterrupted run, and
    /// the checkpoint is renewed. Options of the run that are given again must have the same values; --end extends the run
    #[arg(long, value_name = "FILE.npz", help_heading = "Start")]
    pub(super) resume: Option<PathBuf>,

    /// Order of the scheme: 4, 6 or 8 [default: 6; 4 with --scheme ahmad-cohen]
    #[arg(long, value_name = "P", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::order)]
    order: Option<Order>,
    /// Softening length (length) [default: that of the file, or 4/n; 0 for burrau and figure-eight]
    #[arg(long, value_name = "LENGTH", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    softening: Option<f64>,
    /// Accuracy parameter of the time step; at order 4 the square root of Aarseth's (Makino & Aarseth 1992) [default: 0.1, 0.5,
    /// 0.75 at order 4, 6, 8]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta: Option<f64>,
    /// Accuracy parameter of the first step [default: 0.01, 0.1, 0.1 at order 4, 6, 8]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta_start: Option<f64>,
    /// Longest step, a power of two (time) [default: 0.0625]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    max_step: Option<f64>,
    /// Shortest step, a power of two (time); without it, a step that is too small to advance the time is an error
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    min_step: Option<f64>,
    /// Evaluations and corrections per step, n of P(EC)^n, 1 to 100 [default: 1]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Integration",
        allow_hyphen_values = true
    )]
    iterations: Option<u32>,
    /// Precision of pairs: f64, or split-f32 (f32 pairs, positions and accelerations as sums of two f32) [default: f64]
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    precision: Option<Precision>,
    /// How forces are evaluated: plain (all at the same steps), or ahmad-cohen (those of neighbours at shorter steps, order 4;
    /// Ahmad & Cohen 1973) [default: plain]
    #[arg(long, value_name = "NAME", help_heading = "Integration", value_parser = scheme)]
    scheme: Option<Scheme>,
    /// Number of neighbours that a particle should have in the Ahmad-Cohen scheme, 1 to 4096 [default: the square root of n, from
    /// 10 to 50]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Integration",
        allow_hyphen_values = true
    )]
    neighbours: Option<u32>,
    /// Accuracy parameter of the steps of regular forces in the Ahmad-Cohen scheme [default: 0.1]
    #[arg(long, value_name = "ETA", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    eta_regular: Option<f64>,
    /// Time at which the run ends, on the clock of the file if it has one [default: 1 after the start]
    #[arg(long, value_name = "TIME", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    pub(super) end: Option<f64>,

    /// Time between two lines of diagnostics [default: 0.25]
    #[arg(long, value_name = "TIME", help_heading = "Output", allow_hyphen_values = true, value_parser = values::number)]
    every: Option<f64>,
    #[command(flatten)]
    pub(super) output: OutputArgs,

    /// Where to compute: auto (a GPU, where there is one, for 512 particles or more, 8192 with --scheme ahmad-cohen), cpu or
    /// gpu; the bits are the same
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub(super) backend: Backend,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub(super) threads: Option<usize>,

    /// Where particles are corrected and steps chosen: host, device (one GPU performs whole block steps, many in a launch), or auto
    /// (the device, on one GPU with --scheme plain); the bits are the same
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = str::parse::<BlockStep>)]
    block_step: BlockStep,

    /// Number of GPUs that share the work, all of which must exist; more than 1 needs --backend gpu; the bits do not depend on it
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub(super) gpus: Option<u32>,

    /// Fail (exit code 1), after writing all files, if the relative energy error exceeds X at any line of diagnostics; without
    /// --max-error, an error above 0.01 is a warning
    #[arg(long, value_name = "X", help_heading = "Accuracy", allow_hyphen_values = true, value_parser = values::number)]
    pub(super) max_error: Option<f64>,

    #[command(flatten)]
    pub(super) live: LiveArgs,

    /// Print one JSON object at the end instead of lines
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print nothing
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

/// One of the values by its name.
fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Result<T, String> {
    let found = all.iter().copied().find(|value| name(*value) == text);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        let (last, others) = names.split_last().expect("there are names");
        format!("must be {} or {last}", others.join(", "))
    })
}

fn model(text: &str) -> Result<StartModel, String> {
    named(&StartModel::ALL, StartModel::name, text)
}

fn scheme(text: &str) -> Result<Scheme, String> {
    named(&Scheme::ALL, Scheme::name, text)
}

impl Args {
    /// Start and integration as they were given.
    pub(super) fn given(&self) -> Given {
        Given {
            input: self.input.clone(),
            model: self.model,
            w0: self.w0,
            n: self.n,
            seed: self.seed,
            order: self.order,
            softening: self.softening,
            eta: self.eta,
            eta_start: self.eta_start,
            max_step: self.max_step,
            min_step: self.min_step,
            iterations: self.iterations,
            precision: self.precision,
            scheme: self.scheme,
            neighbours: self.neighbours,
            eta_regular: self.eta_regular,
            end: self.end,
            every: self.every,
            max_error: self.max_error,
        }
    }

    /// How to compute a run of this scheme.
    pub(super) fn options(&self, scheme: Option<Scheme>) -> Result<Options, Failure> {
        let options = Options {
            backend: self.backend,
            threads: self.threads,
            gpus: self.gpus,
            block_step: self.block_step,
        };
        let checked = options.check(scheme);
        checked.map_err(|e| Failure::value(&e.given, e.option, &e.allowed))?;
        Ok(options)
    }
}
