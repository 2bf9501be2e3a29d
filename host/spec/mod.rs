//! What the specifications of all systems have in common: names, errors, and how they are read from text.

mod axes;
mod error;
mod integrator;
mod text;

pub use axes::OneOrTwo;
pub use error::SpecError;
pub use integrator::Integrator;
pub use text::{ParseError, parse_as};
