//! Writes bodies, diagnostics and positions of a run to files. Numbers in texts have enough digits to be read back with the same
//! bits.

use std::path::Path;

use super::super::{Diagnostics, Energies, Snapshot, Specification};
use trisolar_bodies::files::{BodyFormat, write};
use trisolar_io::IoError;
use trisolar_time_run::series::{self, COUNT, Column, Content, ENERGY, Row};

/// Writes bodies in the format of the name. An npz holds `mass` (n), `position` and `velocity` (n × 3), `time` (1) and
/// `specification.json`; texts have time, G, softening and time step in a comment, CSV files in columns. [`read`](super::read()) can read
/// all of them.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_bodies(
    path: &Path,
    format: BodyFormat,
    snapshot: &Snapshot,
    specification: &Specification,
) -> Result<(), IoError> {
    write(
        path,
        format,
        &snapshot.bodies,
        snapshot.time,
        &json(specification),
    )
}

fn json(specification: &Specification) -> String {
    serde_json::to_string(specification).expect("a specification is plain numbers and names")
}

/// The diagnostics at a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// Steps taken.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
}

impl Row for Moment {
    fn columns(&mut self, see: &mut dyn FnMut(&'static str, &'static str, &mut [f64])) {
        // Exact, because there are fewer than 2⁵³ steps.
        let mut step = self.step as f64;
        let d = &mut self.diagnostics;
        let mut one = |name, unit, x: &mut f64| see(name, unit, std::slice::from_mut(x));
        one("step", COUNT, &mut step);
        one("time", "time", &mut self.time);
        one("kinetic", ENERGY, &mut d.kinetic);
        one("potential", ENERGY, &mut d.potential);
        one("total", ENERGY, &mut d.total);
        let momentum = ["momentum_x", "momentum_y", "momentum_z"];
        let spin = [
            "angular_momentum_x",
            "angular_momentum_y",
            "angular_momentum_z",
        ];
        let centre = ["centre_x", "centre_y", "centre_z"];
        for (names, unit, vector) in [
            (momentum, "mass length / time", &mut d.momentum),
            (spin, "mass length^2 / time", &mut d.angular_momentum),
            (centre, "length", &mut d.centre_of_mass),
        ] {
            for (name, x) in names.into_iter().zip(vector) {
                one(name, unit, x);
            }
        }
        one("virial_ratio", "", &mut d.virial_ratio);
        let radii = [
            "lagrange_10",
            "lagrange_25",
            "lagrange_50",
            "lagrange_75",
            "lagrange_90",
        ];
        for (name, x) in radii.into_iter().zip(&mut d.lagrange) {
            one(name, "length", x);
        }
        one("internal", ENERGY, &mut d.internal);
        self.step = step as u64;
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn energies(&self) -> Energies {
        (&self.diagnostics).into()
    }
}

/// The records of a run so far.
pub type History = trisolar_time_run::History<Moment>;

/// The columns of a series: those of the moments, and the error of the energy relative to the first one.
///
/// # Errors
/// [`IoError`] if the moments cannot be read again.
pub(crate) fn columns(history: &History) -> Result<Vec<Column<'static>>, IoError> {
    let mut columns = series::columns(history.row());
    columns.push(Column {
        name: "energy_error",
        unit: "",
        content: Content::From(Box::new(history.error_of()?)),
    });
    Ok(columns)
}
