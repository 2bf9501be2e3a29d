//! What every run has in common, whatever it computes: its outputs, declared and checked in one place, the locks that keep
//! other runs from them, and the record by which a checkpoint goes on with all of it.
//!
//! - [`Outputs`]: the files and folders that a run writes and reads; no two may be the same
//! - [`Claim`]: these outputs, locked for this run
//! - [`Record`]: what was asked for and which files were written, as a checkpoint holds it
//! - [`lock`]: locks that vanish with the process that holds them

pub mod lock;
mod outputs;
mod place;
mod record;
mod times;

pub use outputs::{Claim, Names, Outputs, Refused};
pub use record::{Paths, Record, RecordError, resolved};
pub use times::Renewal;
