//! The parts that the specifications of all systems share: names, errors, and reading from text.

mod axes;
mod error;
mod integrator;
mod text;

pub use axes::OneOrTwo;
pub use error::SpecError;
pub use integrator::Integrator;
pub use text::{ParseError, parse_as};
