//! Options of the CPU's part in a computation, which all commands that compute have in common.

use trisolar::divergence::cpu_warning;
use trisolar::run::Backend;
use trisolar::simd::Simd;

use super::{report, values};

/// The CPU's part in a computation.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub(crate) struct CpuArgs {
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) set: SimdArgs,
}

impl CpuArgs {
    /// The instruction set; `None` for the fastest.
    pub(crate) fn simd(&self) -> Option<Simd> {
        self.set.simd
    }
}

/// The instruction set of the CPU engine.
#[derive(Debug, Default, Clone, Copy, clap::Args)]
pub(crate) struct SimdArgs {
    /// Instruction set of the CPU engine: scalar, avx2, avx512 or neon; the bits are the same [default: the fastest of this machine]
    #[arg(long, value_name = "NAME", help_heading = "Computation", allow_hyphen_values = true, value_parser = str::parse::<Simd>)]
    pub(crate) simd: Option<Simd>,
}

/// Warns before a computation that may take place on the CPU if this machine can compute only one number at a time.
pub(crate) fn warn_of_one_lane(backend: Backend) {
    if let Some(warning) = cpu_warning(backend) {
        report::to_stderr(&format!("warning: {warning}"));
    }
}
