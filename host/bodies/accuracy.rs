//! The energy error of runs, and the limit above which it is a warning.

use crate::near::nearest_pair;
use crate::{Bodies, Diagnostics, relative_change, relative_error};

/// The relative energy error above which there is a warning.
pub const ENERGY_LIMIT: f64 = 0.01;

/// Kinetic and potential energy (mass · length² / time²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energies {
    /// Σ m v² / 2.
    pub kinetic: f64,
    /// - Σ G mᵢ mⱼ / √(r² + softening²) over pairs.
    pub potential: f64,
}

impl Energies {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// The sum of the magnitudes.
    pub fn parts(&self) -> f64 {
        self.kinetic.abs() + self.potential.abs()
    }
}

impl From<&Diagnostics> for Energies {
    fn from(d: &Diagnostics) -> Self {
        Self {
            kinetic: d.kinetic,
            potential: d.potential,
        }
    }
}

/// The relative energy error of a run, see [`relative_error`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyError {
    start: f64,
    parts: f64,
    last: f64,
    largest: f64,
}

impl EnergyError {
    /// The error of a run that starts with the total energy `start`; `parts` is the sum of the magnitudes of its kinetic and potential
    /// energy.
    pub fn new(start: f64, parts: f64) -> Self {
        Self {
            start,
            parts,
            last: 0.0,
            largest: 0.0,
        }
    }

    /// A change of the total energy, relative to the same energy as the error.
    pub fn change(&self, from: f64, to: f64) -> f64 {
        relative_change(from, to, self.start, self.parts)
    }

    /// Records the total energy at a later time and returns its relative error.
    pub fn look(&mut self, total: f64) -> f64 {
        self.last = relative_error(total, self.start, self.parts);
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
            format!(" The closest bodies are {i} and {j}, at a distance of {distance:.3e}.")
        });
    format!(
        "{when}: the energy is {total}, not a finite number.{pair} Use --softening, or other bodies"
    )
}
