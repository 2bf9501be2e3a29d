//! The parts of a particle's force in the Ahmad–Cohen scheme.

use kernels_gpu::hermite::ahmad_cohen::{Force, Regular};

/// The two parts of a particle's force.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Radius of the neighbours (length).
    pub radius: f64,
    /// Places of the neighbours, ascending.
    pub neighbours: Vec<u32>,
    /// Acceleration and jerk by the neighbours, at the particle's time.
    pub irregular: Force,
    /// Acceleration and jerk by all others, at `time`.
    pub regular: Force,
    /// The time at which the regular part was summed.
    pub time: f64,
    /// The step after which it is summed again, a power of two.
    pub step: f64,
}

impl Parts {
    /// The regular part, for the formulas of the scheme.
    pub(super) fn regular_force(&self) -> Regular {
        Regular {
            force: self.regular,
            time: self.time,
            step: self.step,
        }
    }
}
