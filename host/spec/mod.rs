//! The parts that the specifications of all systems share: declarations of parameters, names, errors, and reading from text.

mod axes;
mod choice;
pub mod decimal;
mod error;
pub mod formula;
#[cfg(feature = "gravity")]
mod integrator;
mod parameters;
pub mod read;
#[cfg(feature = "text")]
mod text;

pub use axes::{Center, OneOrThree, OneOrTwo};
pub use choice::{
    Choice, Options, Parameter, UNBOUNDED, each_once, one_or_more, optional_whole, refused,
};
pub use error::SpecError;
#[cfg(feature = "gravity")]
pub use integrator::Integrator;
pub use parameters::{AnyValue, Declaration, Field, Parameters, Read, Values};
#[doc(hidden)]
pub use serde;
#[cfg(feature = "text")]
pub use text::{ParseError, parse_as};
