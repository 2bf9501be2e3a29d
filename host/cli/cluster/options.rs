//! The options of `trisolar cluster`.

use std::path::PathBuf;

use trisolar::divergence::Backend;
use trisolar::hermite::{BlockStep, BlockSteps, Options, Overrides, Scheme};

use crate::cpu_args::CpuArgs;
use crate::explore::live::LiveArgs;
use crate::parameters::{Accuracy, ParameterArgs, PlacedArgs};
use crate::ranks::Communicator;
use crate::resume::Typed;
use crate::time_run::FileArgs;
use crate::{Failure, values};

/// Integrate a star cluster with individual block time steps, G = 1.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("plots", |plots| plots.help(
        "Draw energy error, radii, steps, the column density at the end, and orbits to energy.png, radii.png, steps.png, density.png and \
         orbits.png in this folder. The models burrau and figure-eight do so without any option, in a folder with the name of the model"
    )),
    mut_arg("snapshots", |snapshots| snapshots.help(
        "Write a snapshot with every line of diagnostics to this folder: 00000.npz, 00001.npz, ..."
    )),
    mut_arg("checkpoint", |checkpoint| checkpoint.help(
        "Write a checkpoint of the run to this file, with every line of diagnostics, about once a second, at the end and after Ctrl-C; \
         --resume continues from it"
    )),
    after_help = "A run has the same bits for any number of threads, GPUs and MPI ranks and any instruction set.\n\
                  Under mpirun (feature mpi) all ranks share the forces, on CPUs or GPUs, and the host performs block steps.\n\
                  Files of particles are those that `trisolar nbody` reads. The time, softening, names and G of a file are used;\n\
                  masses are multiplied by G."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) overrides: ParameterArgs<Overrides, Accuracy>,
    /// Resume the run of a checkpoint with all its options, outputs included; the files get the bytes of an uninterrupted run, and
    /// the checkpoint is renewed. Options of the run that are given again must have the same values; --end extends the run
    #[arg(
        long,
        value_name = "FILE.npz",
        help_heading = "Start",
        conflicts_with = "config"
    )]
    pub(super) resume: Option<PathBuf>,
    /// Read start and integration from a TOML file; options on the command line override it
    #[arg(long, value_name = "FILE.toml", help_heading = "Start")]
    pub(super) config: Option<PathBuf>,

    #[command(flatten)]
    pub(super) files: FileArgs,

    /// Where to compute: auto (a GPU, where there is one, for 512 particles or more, 8192 with --scheme ahmad-cohen), cpu or
    /// gpu; the bits are the same. Under mpirun, auto takes GPUs only if every rank can use one
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub(super) backend: Backend,
    #[command(flatten)]
    pub(super) cpu: CpuArgs,

    /// Where particles are corrected and steps chosen: host, device (the GPUs perform whole block steps, many in a launch; several GPUs
    /// must reach each other's memory), or auto (the device wherever it can); the bits are the same
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = str::parse::<BlockStep>)]
    block_step: BlockStep,

    /// How many GPUs share the work, all of which must exist; more than 1 needs --backend gpu; their number changes no bit. Under
    /// mpirun they are GPUs of each machine, which its ranks divide [default: 1]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub(super) gpus: Option<u32>,

    #[command(flatten)]
    accuracy: PlacedArgs<Overrides, Accuracy>,

    #[command(flatten)]
    pub(super) live: LiveArgs,

    /// Print one JSON object at the end instead of lines
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print nothing
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

impl Args {
    /// The folder in which a model that is known for something shows itself, if nothing but the model and devices are given.
    pub(super) fn shown_in(&self, typed: &Typed) -> Option<PathBuf> {
        let values = &self.overrides.values;
        let folder = PathBuf::from(values.model?.name());
        let alone = typed.let_models_show() && self.config.is_none() && !self.quiet;
        (alone && values.is_of_known_time()).then_some(folder)
    }

    /// How to compute a run of this scheme.
    pub(super) fn options(
        &self,
        scheme: Option<Scheme>,
        communicator: &Communicator,
    ) -> Result<Options, Failure> {
        let options = Options {
            backend: self.backend,
            threads: communicator.threads(self.cpu.threads),
            simd: self.cpu.simd(),
            gpus: self.gpus,
            block_step: self.block_step,
            duration: None,
        };
        let checked = options.check(scheme);
        checked.map_err(|e| Failure::value(&e.given, e.option, &e.allowed))?;
        if communicator.size() > 1 {
            self.check_on_ranks()?;
        }
        Ok(options)
    }

    /// Refuses what only works in one process.
    fn check_on_ranks(&self) -> Result<(), Failure> {
        if self.block_step == BlockStep::By(BlockSteps::Device) {
            let allowed = "MPI ranks exchange forces in each block step, which the host performs: auto or host";
            return Err(Failure::value("device", "--block-step", allowed));
        }
        if self.live.is_on() {
            return Err(Failure::BadInput(
                "--live shows clusters of one process; remove the option, or start the run without mpirun"
                    .into(),
            ));
        }
        Ok(())
    }
}
