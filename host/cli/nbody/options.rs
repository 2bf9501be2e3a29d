//! The options of `trisolar nbody`, and the problem they describe.

use std::path::PathBuf;

use trisolar::divergence::Backend;
use trisolar::nbody::{Overrides, Partials, Schedule, steps};
use trisolar::time_run::Files;

use super::super::cpu_args::CpuArgs;
use super::super::explore::live::LiveArgs;
use super::super::parameters::ParameterArgs;
use super::super::resume::Typed;
use super::super::time_run::FileArgs;
use super::super::values;

/// Integrate bodies that all attract each other. Without options: 1024 bodies of a Plummer sphere, 1000 steps.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("threads", |threads| threads.help(
        "Threads of the CPU engine, 1 to 4096 [default: as many as the process may use, 1 for few bodies]"
    )),
    mut_arg("plots", |plots| plots.help(
        "Draw the energy error to energy.png and the orbits (in one panel if the motion is in a plane, otherwise in three planes and from the \
         side) to orbits.png in this folder. The models with a known time do so without any option, in a folder with the name of the model"
    )),
    after_help = "Lengths, times and masses are in any consistent units; --units or --g ties them together.\n\
                  In f64 a run has the same bits on every CPU and GPU, for any number of threads and MPI ranks.\n\
                  Start files: .npz (mass, position, velocity); .tipsy, .std or .bin (TIPSY); any other name is text, such as .csv, with\n\
                  the names of its columns in the first line (mass,x,y,z,vx,vy,vz), or without and with a body on each line:\n\
                  mass x y vx vy, mass x y z vx vy vz, or name mass x y z vx vy vz.\n\
                  The values of a file are used: G, softening, time, time step, names, dimensions. Options override them, with a note."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub overrides: ParameterArgs<Overrides>,
    /// Resume the run of a checkpoint with all its options, outputs included; the files get the bytes of an uninterrupted run, and
    /// the checkpoint is renewed. Options of the run that are given again must have the same values; --steps extends the run
    #[arg(
        long,
        value_name = "FILE.npz",
        help_heading = "Start",
        conflicts_with = "config"
    )]
    pub resume: Option<PathBuf>,
    /// Read start and integration from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Start")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub files: FileArgs,
    /// Write positions over time to an npz file
    #[arg(long, value_name = "FILE.npz", help_heading = "Output")]
    pub trajectory: Option<PathBuf>,
    /// Record the bodies every K steps [default: only at the end; for files over time, a thousand times]
    #[arg(long, value_name = "K", help_heading = "Output", allow_hyphen_values = true, value_parser = steps)]
    pub every: Option<u64>,
    /// Print only the last state, with --format textbook
    #[arg(long, help_heading = "Output")]
    pub final_only: bool,
    /// What to print: summary, or textbook (states in the format of Pacheco & Malensek 2021)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Output",
        default_value = "summary"
    )]
    pub format: OutputFormat,

    /// Where to compute: auto (a GPU for 2048 bodies and more, if one can be used; under mpirun, if every rank can use one), cpu or gpu
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub backend: Backend,
    /// Number of the GPU, or of the first of several; it must exist [default: 0]
    #[arg(long, value_name = "N", help_heading = "Computation")]
    pub device: Option<u32>,
    /// How many GPUs compute together, from --device on, all of which must exist; their number changes no bit. Under mpirun they
    /// are GPUs of each machine, which its ranks divide [default: all, for 131072 bodies and more]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub gpus: Option<u32>,
    #[command(flatten)]
    pub cpu: CpuArgs,
    /// How rows of bodies are distributed over threads: dynamic (a free thread takes the next row), block, cyclic, or cyclic-forces
    /// (cyclic for the forces, blocks for the sums)
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value_t = Schedule::Dynamic)]
    pub schedule: Schedule,
    /// Partial sums of the reduced solver on the CPU: rows (the same bits for any number of threads) or threads (an array per
    /// thread, as in Pacheco & Malensek 2021: less memory for many bodies, but the last bits depend on threads and schedule)
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value_t = Partials::Rows)]
    pub partials: Partials,

    #[command(flatten)]
    pub live: LiveArgs,

    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report", conflicts_with = "format")]
    pub json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub quiet: bool,
}

impl Args {
    /// The files of the run.
    pub(super) fn files(&self) -> Files {
        Files {
            trajectory: self.trajectory.clone(),
            ..self.files.files()
        }
    }

    /// The folder in which a model that is known for something shows itself, if nothing but the model and devices are given.
    pub(super) fn shown_in(&self, typed: &Typed) -> Option<PathBuf> {
        let values = &self.overrides.values;
        let model = values.model?;
        let alone = typed.let_models_show() && self.config.is_none() && !self.quiet;
        (alone && values.is_of_known_time()).then(|| model.name().into())
    }
}

/// The text that is printed to the standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// A summary with times, energies and files.
    Summary,
    /// States in the format of Pacheco & Malensek (2021).
    Textbook,
}

impl OutputFormat {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Textbook => "textbook",
        }
    }
}
