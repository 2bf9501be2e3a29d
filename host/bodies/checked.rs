//! A specification and bodies that were checked together.

use super::Bodies;

/// A specification of a run in time and the bodies of its start, which the system of the run has checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<S> {
    specification: S,
    bodies: Bodies,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl<S: Clone> Checked<S> {
    /// Keeps what the caller has checked, with warnings that the user should see before the run.
    pub fn new(specification: S, bodies: Bodies, warnings: Vec<String>) -> Self {
        Self {
            specification,
            bodies,
            warnings,
            notes: Vec::new(),
        }
    }

    /// The specification of the run.
    pub fn specification(&self) -> &S {
        &self.specification
    }

    /// The bodies that it starts from.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Notes about values of the start that the user did not give, such as a gravitational constant that the file does not contain.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Warnings that the user should see before the run.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same with notes and further warnings about the start.
    #[must_use]
    pub fn with(mut self, notes: Vec<String>, warnings: Vec<String>) -> Self {
        self.notes = notes;
        self.warnings.extend(warnings);
        self
    }

    /// The same bodies with a changed specification.
    #[must_use]
    pub fn changed(&self, change: impl FnOnce(&mut S)) -> Self {
        let mut other = self.clone();
        change(&mut other.specification);
        other
    }
}
