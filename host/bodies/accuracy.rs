//! The energy error of runs, and the limit above which it is a warning.

use crate::near::nearest_pair;
use serde::{Deserialize, Serialize};

use crate::{Bodies, Diagnostics};

/// The relative energy error above which there is a warning.
pub const ENERGY_LIMIT: f64 = 0.01;

/// Kinetic and potential energy (mass · length² / time²).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energies {
    /// Σ m v² / 2.
    pub kinetic: f64,
    /// - Σ G mᵢ mⱼ / √(r² + softening²) over pairs.
    pub potential: f64,
    /// The energy without the motion of the centre of mass: the kinetic energy of the velocities relative to it, and the potential.
    pub internal: f64,
}

impl Energies {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// A change of the internal energy of a run that started with these energies, relative to the magnitude of the internal energy at
    /// the start. Where its kinetic and potential parts cancel to less than a hundredth of the sum of their magnitudes, as near a
    /// parabola, the change is relative to a hundredth of that sum.
    ///
    /// The motion of the centre of mass does not count: it cannot change, and its energy may be any multiple of the rest.
    pub fn relative_change(&self, from: f64, to: f64) -> f64 {
        if from == to {
            return 0.0;
        }
        let parts = (self.internal - self.potential).abs() + self.potential.abs();
        (to - from) / self.internal.abs().max(0.01 * parts)
    }

    /// The relative error of a later internal energy.
    pub fn relative_error(&self, internal: f64) -> f64 {
        self.relative_change(self.internal, internal)
    }
}

impl From<&Diagnostics> for Energies {
    fn from(d: &Diagnostics) -> Self {
        Self {
            kinetic: d.kinetic,
            potential: d.potential,
            internal: d.internal,
        }
    }
}

/// The relative energy error of a run, see [`Energies::relative_change`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyError {
    start: Energies,
    last: f64,
    largest: f64,
}

impl EnergyError {
    /// The error of a run that starts with these energies.
    pub fn new(start: Energies) -> Self {
        Self {
            start,
            last: 0.0,
            largest: 0.0,
        }
    }

    /// A change of the internal energy, relative to the same energy as the error.
    pub fn change(&self, from: f64, to: f64) -> f64 {
        self.start.relative_change(from, to)
    }

    /// Records the internal energy at a later time and returns its relative error.
    pub fn look(&mut self, internal: f64) -> f64 {
        self.last = self.start.relative_error(internal);
        if self.last.abs() > self.largest.abs() {
            self.largest = self.last;
        }
        self.last
    }

    /// The latest error.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// The error of the largest magnitude so far.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// A warning if the largest error exceeds [`ENERGY_LIMIT`]; `advice` tells the user what to do.
    pub fn warning(&self, advice: &str) -> Option<String> {
        (self.largest.abs() > ENERGY_LIMIT).then(|| {
            let before = if self.largest == self.last {
                String::new()
            } else {
                format!(" (largest {:+.2e} during the run)", self.largest)
            };
            format!(
                "the relative error of the energy is {:+.2e}{before}, above {ENERGY_LIMIT}: the trajectories are not reliable; {advice}",
                self.last
            )
        })
    }

    /// Checks that the largest error does not exceed the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names both.
    pub fn check(&self, most: Option<f64>) -> Result<(), String> {
        match most {
            Some(most) if self.largest.abs() > most => Err(format!(
                "the relative error of the energy is {:+.3e}, above --max-error {most}",
                self.largest
            )),
            _ => Ok(()),
        }
    }
}

/// The message about an energy that is not finite although all coordinates are; `when` is the step or time.
pub fn no_energy(when: &str, total: f64, bodies: &Bodies) -> String {
    let pair =
        nearest_pair(&bodies.position, |_| true).map_or(String::new(), |(i, j, distance)| {
            let [i, j] = [i + 1, j + 1];
            format!(" The closest bodies are {i} and {j}, at a distance of {distance:.3e}.")
        });
    format!(
        "{when}: the energy is {total}, not a finite number.{pair} Use --softening, or other bodies"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_start_unless_its_parts_cancel() {
        let error = |internal: f64, kinetic: f64, later: f64| {
            let potential = internal - kinetic;
            let start = Energies {
                kinetic,
                potential,
                internal,
            };
            start.relative_error(later)
        };
        assert_eq!(error(-0.25, 0.25, -0.1875), 0.25);
        assert_eq!(error(-0.25, 0.25, -0.3125), -0.25);
        // A parabola.
        assert!((error(0.0, 1.0, 1e-6) - 5e-5).abs() < 1e-18);
        // Bodies at rest without mass.
        assert_eq!(error(0.0, 0.0, 0.0), 0.0);
        assert!(error(-0.25, 0.25, f64::NAN).is_nan());
    }
}
