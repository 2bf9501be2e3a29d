//! What the specifications of all systems have in common: how parameters are declared, names, errors, and how they are read from text.

mod axes;
mod error;
mod integrator;
mod parameters;
pub mod read;
mod text;

pub use axes::{OneOrThree, OneOrTwo};
pub use error::SpecError;
pub use integrator::Integrator;
pub use parameters::{AnyValue, Declaration, Field, Parameters, Read, Values};
#[doc(hidden)]
pub use serde;
pub use text::{ParseError, parse_as};
