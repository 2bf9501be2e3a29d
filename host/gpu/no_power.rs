//! Energy meters of a program without GPUs.

use super::{Device, Energy};

/// Reads the energy counters of some GPUs.
#[derive(Debug)]
pub struct EnergyMeter;

impl EnergyMeter {
    /// Of these devices.
    ///
    /// # Errors
    /// Always: there are none.
    pub fn new<'a>(_: impl IntoIterator<Item = &'a dyn Device>) -> Result<Self, String> {
        Err("this program was built without the feature `gpu`".into())
    }

    /// Begins to measure.
    pub fn start(&self) {}

    /// The energy since [`start`](Self::start).
    ///
    /// # Errors
    /// Always.
    pub fn stop(&self) -> Result<Energy, String> {
        Err("nothing is measured".into())
    }
}
