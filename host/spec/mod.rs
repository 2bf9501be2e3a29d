//! The parts that the specifications of all systems share: declarations of parameters, names, errors, and reading from text.

mod axes;
mod choice;
pub mod decimal;
mod error;
pub mod formula;
mod integrator;
mod parameters;
pub mod read;
mod text;

pub use axes::{Center, OneOrThree, OneOrTwo};
pub use choice::{
    Choice, Options, Parameter, UNBOUNDED, each_once, one_or_more, optional_whole, refused,
};
pub use error::SpecError;
pub use integrator::Integrator;
pub use parameters::{AnyValue, Declaration, Field, Parameters, Read, Values};
#[doc(hidden)]
pub use serde;
pub use text::{ParseError, parse_as};
