//! Sequences of maps: zooms towards a point, and sweeps over a parameter.
//!
//! [`zoom`] or [`sweep`] make a list of [`Frame`]s, plain data that is checked before anything is computed. [`run`]
//! computes and writes them to a [`Folder`] by [`compute`] and [`write`](fn@write), which can also be called for single frames, on
//! any machine. [`animation`] makes a film of existing frames.

pub mod animation;
mod cache;
mod colours;
mod dataset;
mod encounters;
mod finished;
mod folder;
mod formula;
mod frame;
mod kind;
mod partial;
mod parts;
mod runner;
mod schedule;
mod sequence;
mod short;
mod table;
mod vary;

pub use cache::{Cache, CacheReport, RoundedCache, run_rounded};
pub use colours::Colours;
pub use dataset::{write_sweep, write_zoom};
pub use encounters::{
    ENCOUNTER_ZOOM, ENCOUNTER_ZOOM_FRAMES, EncounterBase, EncounterFrame, EncounterSettings,
    EncounterSummary, draw_shares, encounter_csv, run_encounters,
};
pub use finished::FrameState;
pub use folder::{DATASET, Folder, FolderError, NAMES};
pub use frame::{
    Effort, Error, Style, Summary, compute, compute_on, finished, maps_without_parting, state,
    title, write,
};
pub use kind::{Base, SequenceParameter};
pub use partial::Partial;
pub use parts::PartFolders;
pub use runner::{Outcome, Settings, most_steps, run, run_on};
pub use schedule::{Expression, Preset, Rule, variables_in_words};
pub use sequence::{Frame, FrameError, Setting, sweep, warnings, zoom};
pub use short::short;
pub use table::{ContactSheet, csv};
pub use vary::{MAX_MAPS, Vary};
