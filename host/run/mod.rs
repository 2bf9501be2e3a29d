//! What every run has in common, whatever it computes: what computes it, who watches it, how it fails; its outputs, declared and
//! checked in one place, the locks that keep other runs from them, and the record by which a checkpoint goes on with all of it.
//!
//! - [`Backend`], [`GpuChoice`], [`RunOptions`]: what computes
//! - [`Monitor`]: who is told of the progress, and may end the run
//! - [`EngineError`]: why a run could not go on
//! - [`Workers`]: the CPU threads of a run
//! - [`queue`], [`team`]: how devices share the items of a run
//! - [`partial`]: the items of a run in a file, from which an interrupted run goes on
//! - [`Ranks`]: the processes of a run
//! - [`machine`]: what this machine is
//! - [`Outputs`]: the files and folders that a run writes and reads; no two may be the same
//! - [`Claim`]: these outputs, locked for this run
//! - [`Record`]: what was asked for and which files were written, as a checkpoint holds it
//! - [`lock`]: locks that vanish with the process that holds them

mod error;
pub mod lock;
pub mod machine;
mod monitor;
#[cfg(feature = "mpi")]
pub mod mpi;
mod options;
mod outputs;
pub mod partial;
mod place;
#[cfg(feature = "mpi")]
pub mod processes;
pub mod queue;
mod ranks;
mod record;
pub mod team;
mod times;
pub mod workers;

use trisolar_device as gpu;
use trisolar_io as io;
use trisolar_simd as simd;

pub use error::EngineError;
pub use monitor::{LONGEST_REACTION, Monitor, Unattended};
pub use options::{
    Backend, Driver, GpuChoice, MapBackend, RunOptions, gpu_count, max_error, missing_gpu, threads,
};

pub use outputs::{Claim, Names, Outputs, Refused};
pub use ranks::Ranks;
pub use record::{Paths, Record, RecordError, resolved};
pub use times::Renewal;
pub use workers::Workers;
