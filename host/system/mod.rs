//! Ensembles of equations of a user's own: what each item is, engines, files and pictures, written once for equations in Rust
//! ([`Compiled`]) and for those that are interpreted.
//!
//! A [`Specification`] says what each parameter and each number of the start is: fixed, drawn or an axis of a map. Validated, an engine follows
//! every item and returns the [columns](trisolar_equations::Column) that are asked for. All engines give the same bits.
//!
//! A program of a user's own is `trisolar_system::main::<Lorenz>()`.

mod device;
mod ensemble;
mod equations;
pub mod files;
mod orbit;
mod overrides;
mod program;
mod spec;
mod step_check;
mod summary;
mod table;

pub use device::DeviceEngine;
pub use ensemble::SystemContents;
pub use equations::{About, Compiled, Equations};
pub use orbit::Orbit;
pub use overrides::Overrides;
pub use program::{main, run};
pub use spec::{Specification, Validated};
pub use summary::{CHANGE, Range, Summary, words};
pub use table::{Rows, Table};
pub use trisolar_device::include_kernels;
pub use trisolar_equations::Kind;
