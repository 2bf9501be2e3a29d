//! Options of the devices that compute maps, which `divergence`, `zoom`, `sweep` and `explore` have in common.

use trisolar::run::{GpuChoice, MapBackend, RunOptions};

use super::cpu_args::CpuArgs;
use super::values;

/// The devices that compute maps.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct MapDevices {
    /// Where to compute: auto (GPUs if any can be used, otherwise the CPU), cpu, gpu, or gpu+cpu (both together)
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::map_backend)]
    backend: MapBackend,
    /// How many GPUs, from number 0 on, or all [default: all, in zooms and sweeps in turn, otherwise only as many as the pixels can
    /// keep busy]
    #[arg(long, value_name = "N|all", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpus)]
    gpus: Option<GpuChoice>,
    /// Which GPUs, by their numbers as `trisolar devices` shows them, such as 0,2
    #[arg(long, value_name = "N,...", help_heading = "Computation", allow_hyphen_values = true, conflicts_with = "gpus", value_parser = values::gpus_by_number)]
    device: Option<GpuChoice>,
    #[command(flatten)]
    cpu: CpuArgs,
}

impl MapDevices {
    /// The options of a computation on these devices.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            backend: self.backend.backend,
            with_cpu: self.backend.with_cpu,
            threads: self.cpu.threads,
            simd: self.cpu.simd(),
            gpus: self.gpus.or(self.device).unwrap_or_default(),
        }
    }
}
