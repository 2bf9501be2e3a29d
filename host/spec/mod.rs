//! What the specifications of all systems have in common: names, errors, and how they are read from text.

mod error;
mod integrator;
mod text;

pub use error::SpecError;
pub use integrator::Integrator;
pub use text::{ParseError, parse_as};
