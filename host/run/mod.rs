//! The parts that all runs have in common: selection of devices, progress and cancellation, errors, outputs that are declared and
//! checked in one place, locks that keep other runs from them, and the record from which a checkpoint is resumed with all of them.
//!
//! - [`Backend`], [`GpuChoice`], [`RunOptions`]: the devices of a run
//! - [`Monitor`]: receives the progress and can cancel the run
//! - [`EngineError`]: the errors of engines
//! - [`Workers`]: the CPU threads of a run
//! - [`queue`], [`scheduler`]: how devices share the items of a run
//! - [`partial`]: the items of a run in a file, from which an interrupted run continues
//! - [`part`], [`parts`]: parts of a run that independent processes compute, and how they become one result
//! - [`Ranks`], [`Messages`], [`processes`]: the processes of a run, and how they share its items
//! - [`machine`]: a description of this machine
//! - [`Outputs`]: the files and folders that a run writes and reads; no two may be the same
//! - [`Claim`]: these outputs, locked for this run
//! - [`Record`]: the options of a run and the files that it has written, as part of a checkpoint
//! - [`lock`]: locks that are released when their process ends

mod backend;
mod error;
mod gpus;
pub mod lock;
pub mod machine;
mod monitor;
mod new_folders;
mod options;
mod outputs;
pub mod part;
pub mod partial;
pub mod parts;
mod place;
pub mod plots;
pub mod processes;
pub mod queue;
mod ranks;
mod record;
pub mod scheduler;
mod shared_gpus;
mod short_tasks;
mod times;
pub mod workers;

use trisolar_device as gpu;
use trisolar_io as io;
use trisolar_simd as simd;

pub use backend::Backend;
pub use error::EngineError;
pub use gpus::{device_names, open_all};
pub use monitor::{LONGEST_REACTION, Monitor, Quiet, Unattended};
pub use options::{GpuChoice, MapBackend, RunOptions, gpu_count, max_error, missing_gpu, threads};

pub use part::Part;

pub use outputs::{Claim, Names, Outputs, Refused};
pub use ranks::{Messages, Ranks};
pub use record::{Paths, Record, RecordError, resolved};
pub use shared_gpus::{agree, gpus_of_rank};
pub use times::Renewal;
pub use workers::Workers;
