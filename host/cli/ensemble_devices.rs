//! Options of the devices that compute encounters or planetary systems, for single ensembles and sequences.

use trisolar::run::{Backend, GpuChoice, MapBackend, RunOptions};

use crate::cpu_args::CpuArgs;
use crate::values;

/// The devices that compute an ensemble.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct EnsembleDevices {
    /// Where to compute: auto (GPUs for 20000 encounters, or 4000 planetary systems or trajectories, and more, if any can be used), cpu, gpu, or gpu+cpu (both together)
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::map_backend)]
    backend: MapBackend,
    #[command(flatten)]
    cpu: CpuArgs,
    /// How many GPUs share the work, which chooses --backend gpu; their number changes no bit [default: all, but only as many as the
    /// work can keep busy]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    gpus: Option<u32>,
}

impl EnsembleDevices {
    /// The options of a computation on these devices.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            backend: match (self.gpus, self.backend.backend) {
                (Some(_), Backend::Auto) => Backend::Gpu,
                (_, backend) => backend,
            },
            with_cpu: self.backend.with_cpu,
            threads: self.cpu.threads,
            simd: self.cpu.simd(),
            gpus: self.gpus.map_or(GpuChoice::Auto, GpuChoice::First),
        }
    }
}
