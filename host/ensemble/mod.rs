//! Ensembles: items, such as the pixels of a map or encounters, each of which has a value that follows from the specification and the number
//! of the item alone.
//!
//! A system implements [`Ensemble`] for its validated specification and [`GpuEngine`] for its kernel. In return it has engines for CPUs and
//! GPUs, which share the items of a [`Task`] ([`CpuEngine`], [`MultiDeviceEngine`]), [`Devices`] that stay open between computations,
//! computations by several processes ([`Leader`], [`serve`]), and files in which unfinished computations are kept ([`store`]).

mod contract;
mod devices;
mod engine;
mod executor;
mod lanes;
mod lease;
pub mod plain;
mod ranks;
mod repeat;
mod shares;
pub mod statistics;
pub mod store;
mod verdict;

pub use contract::{
    Ensemble, GpuEngine, Portion, Report, Sink, Slice, Task, differences, in_portions,
};
pub use devices::Devices;
pub use engine::{Computed, CpuEngine, Engine, GpuLease, MultiDeviceEngine, in_memory, together};
pub use executor::{Executor, compute};
pub use lanes::{LaneItems, on_lanes};
pub use lease::Lease;
pub use plain::Records;
pub use ranks::{Leader, Local, ReadPoints, lead, serve};
pub use repeat::{Repeat, Repeated, StepCheck, beside, changes, evenly_spaced};
pub use shares::ClassShare;
pub use verdict::Verdict;
