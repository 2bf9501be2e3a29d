//! Sequences of maps and of other ensembles: zooms towards a point, and sweeps over a parameter.
//!
//! [`zoom`] or [`sweep`] make a list of [`Frame`]s, plain data that is checked before anything is computed. [`run_on`]
//! computes and writes them to a [`Folder`]. [`animation`] makes a film of existing frames. An ensemble that is [`Framed`], with a specification
//! that is a [`Base`], has sequences; one of records is [`Recorded`], with a specification that is [`Named`].

pub mod animation;
mod cache;
mod colours;
mod dataset;
mod encounters;
mod equations;
mod finished;
mod folder;
mod formula;
mod frame;
mod framed;
mod kind;
mod named;
mod parts;
mod planets;
mod recorded;
mod runner;
mod schedule;
mod sequence;
mod short;
mod table;
mod vary;

pub use cache::{Cache, RoundedCache, run_rounded};
pub use colours::Colours;
pub use dataset::{write_sweep, write_zoom};
pub use equations::TextSpecification;
pub use finished::FrameState;
pub use folder::{DATASET, Folder, FolderError, NAMES};
pub use frame::{Summary, maps_without_parting, most_steps, title};
pub use framed::{CacheReport, Effort, Error, FrameFiles, FrameValues, Framed, Style};
pub use kind::{Base, SequenceParameter};
pub use named::{NAMED_ZOOM, NAMED_ZOOM_FRAMES, Named, NamedAxis, NamedBase, Number};
pub use parts::PartFolders;
pub use recorded::{
    Curves, Figures, FrameSummary, Observed, Recorded, Spread, draw_curves, records_csv,
    share_names,
};
pub use runner::{Outcome, Settings, run_on};
pub use schedule::{Expression, Preset, Rule, variables_in_words};
pub use sequence::{Frame, FrameError, Setting, sweep, warnings, zoom};
pub use short::short;
pub use table::{ContactSheet, RecordSheet, csv};
pub use vary::{MAX_MAPS, Vary};
