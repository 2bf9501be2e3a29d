//! Files of bodies and of runs.
//!
//! - start models: text in the format of Pacheco & Malensek (2021), CSV, npz and TIPSY ([`read`](fn@read)), with their other values
//!   ([`Carried`])
//! - the output format of Pacheco & Malensek (2021) ([`Textbook`])
//! - bodies as CSV, npz or text ([`write_bodies`]), records of a run ([`History`])
//! - checkpoints ([`Checkpoint`])

mod checkpoint;
mod textbook;
mod write;

pub use checkpoint::Checkpoint;
pub use textbook::Textbook;
pub use trisolar_bodies::files::{BodyFile, BodyFormat, Carried, FileError, read, read_bodies};
pub(crate) use write::columns;
pub use write::{History, Moment, write_bodies};
