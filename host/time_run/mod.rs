//! Runs in time: one state that is advanced, with records on the way. What N-body runs and clusters have in common is here once.
//!
//! - [`TimeRun`]: a run, which a [`Recorder`] records; [`Observer`]: what the program does beside it
//! - [`Files`]: the files of a run, of which [`snapshots`] are a folder; [`pictures`] of paths
//! - [`Row`] and [`series`]: what a run records of its state, in columns with names and units; [`History`]: all records
//! - [`stops`]: when a run is recorded
//! - [`packed`]: messages between the processes of a run
//! - [`StepCheck`]: how far the errors of the steps displace bodies

mod error;
pub mod files;
mod history;
mod message;
pub mod pictures;
mod recorder;
pub mod series;
pub mod snapshots;
mod step_check;
pub mod stops;

pub use error::Error;
pub use files::Files;
pub use history::History;
pub use message::{packed, unpacked};
pub use recorder::{Observer, Recorder, TimeRun};
pub use series::{Column, Row};
pub use step_check::{Parts, StepCheck};
