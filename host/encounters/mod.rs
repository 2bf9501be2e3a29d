//! Complete three-body encounters: which body escapes, when and how fast, which binary stays behind, and how close the bodies come.
//!
//! A [`Specification`] says how the starts of all runs come about: a [`Setup`] with parameters that are fixed, drawn or an axis of a
//! map, or bodies from a file. Validated, an [`Engine`] integrates every run to its end and brings back a [`Record`] for each, which
//! [`Summary`] counts, [`files`] writes and [`pictures`] draws. A [`store::Store`] keeps them in a file on the way, from which an interrupted
//! computation goes on. Run i depends on the seed and i alone; all engines give the same bits.

pub mod certificate;
mod course;
mod cpu;
mod device;
mod ensemble;
pub mod files;
mod outcome;
mod overrides;
pub mod parameter;
pub mod pictures;
mod spec;
pub mod store;
pub mod summary;

pub use certificate::Certificate;
pub use course::{Course, Place};
pub use cpu::kicks_limit;
pub use device::{DeviceEngine, device_kicks_limit};
pub use ensemble::{Encounters, Records, run, run_on, step_check, with_twice_the_steps};
pub use files::same_bits;
pub use kernels_gpu::encounters::{BodiesStart, Outcome, Record};
pub use overrides::Overrides;
pub use parameter::Setup;
pub use spec::{Jump, Limits, Order, Precision, Specification, Validated};
pub use summary::{ENERGY_LIMIT, Summary};
pub use trisolar_ensemble::{Engine, Executor, Sink, StepCheck};
pub use trisolar_spec::read::whole_number;
pub use trisolar_spec::{Choice, Parameter};

/// Integrates encounters on the CPU.
pub type CpuEngine = trisolar_ensemble::CpuEngine<Validated>;
/// Devices that stay open from one ensemble to the next.
pub type Devices = trisolar_ensemble::Devices<Validated>;
/// Integrates encounters on several GPUs, with or without the CPU.
pub type MultiDeviceEngine = trisolar_ensemble::MultiDeviceEngine<Validated>;
/// Runs to integrate.
pub type Task<'a> = trisolar_ensemble::Task<'a, Validated>;
