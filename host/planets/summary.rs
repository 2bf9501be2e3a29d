//! What is reported of many systems.

use std::collections::BTreeMap;

use kernels_gpu::planets::{Outcome, Record};
use serde::{Deserialize, Serialize};

use super::files::OUTCOMES;
use super::{StepCheck, Validated};
use trisolar_ensemble::statistics::median_and_largest;

/// Statistics of the records of systems.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Number of systems.
    pub systems: u64,
    /// The systems of each outcome.
    #[serde(serialize_with = "as_map", deserialize_with = "of_map")]
    pub outcomes: [(&'static str, u64); OUTCOMES.len()],
    /// Systems that were followed to the end with a mean MEGNO within 1 of 2, if there are tangent vectors.
    pub regular: Option<u64>,
    /// The median of the finite relative errors of the energy.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub energy_median: f64,
    /// The largest one.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub energy_largest: f64,
    /// A sample with half the step.
    pub step_check: Option<StepCheck>,
    /// What the user should know about the records.
    pub warnings: Vec<String>,
    /// Systems that were not solved.
    pub unsolved: u64,
    /// Systems that were solved but have no relative error of the energy, as those without massive planets.
    pub without_energy: u64,
}

/// The outcomes as an object of their names.
fn as_map<S: serde::Serializer>(
    outcomes: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(outcomes.iter().copied())
}

/// The outcomes of such an object.
fn of_map<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<[(&'static str, u64); OUTCOMES.len()], D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    Ok(OUTCOMES.map(|(_, name)| (name, counts.get(name).copied().unwrap_or_default())))
}

impl Summary {
    /// Summarises the records of these systems, or of a part of them.
    pub fn of(spec: &Validated, records: &[Record], step_check: Option<StepCheck>) -> Self {
        let count = |of: Outcome| records.iter().filter(|r| r.outcome == of.0).count() as u64;
        let unsolved = count(Outcome::UNSOLVED);
        let is_regular =
            |r: &&Record| r.outcome == Outcome::STABLE.0 && (r.mean_megno - 2.0).abs() <= 1.0;
        let regular = records.iter().filter(is_regular).count() as u64;
        let has_none = |r: &&Record| r.outcome != Outcome::UNSOLVED.0 && r.energy_error.is_nan();
        let without_energy = records.iter().filter(has_none).count() as u64;
        let errors = records.iter().map(|r| r.energy_error.abs());
        let [energy_median, energy_largest] =
            median_and_largest(errors.filter(|e| e.is_finite()).collect());
        let mut warnings = spec.warnings();
        if let Some(check) = step_check.filter(|check| check.changed > 0) {
            warnings.push(format!(
                "with half the step, {} of {} systems that were checked have another verdict",
                check.changed, check.compared
            ));
        }
        if unsolved > 0 {
            warnings.push(format!(
                "{unsolved} systems were not solved; their values are missing"
            ));
        }
        Self {
            systems: records.len() as u64,
            outcomes: OUTCOMES.map(|(outcome, name)| (name, count(outcome))),
            regular: spec.specification().has_tangent().then_some(regular),
            energy_median,
            energy_largest,
            step_check,
            warnings,
            unsolved,
            without_energy,
        }
    }

    /// Checks that all systems were solved, have an energy, and no relative energy error exceeds the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names the numbers and the limit.
    pub fn check(&self, most: Option<f64>) -> Result<(), String> {
        let (unsolved, largest) = (self.unsolved, self.energy_largest);
        match most {
            Some(most) if self.without_energy > 0 => Err(format!(
                "{} systems have no massive planet and hence no relative energy error, which --max-error {most:e} would limit",
                self.without_energy
            )),
            Some(most) if unsolved > 0 || largest > most => Err(format!(
                "{unsolved} systems were not solved, and the largest relative energy error is {largest:.1e}, above --max-error {most:e}"
            )),
            _ => Ok(()),
        }
    }
}
