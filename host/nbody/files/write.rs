//! Writes bodies, diagnostics and positions of a run to files. Numbers in texts have enough digits to be read back with the same
//! bits.

use std::fmt::Write as _;
use std::path::Path;

use super::super::{Diagnostics, Energies, Snapshot, Specification};
use trisolar_bodies::files::{BodyFormat, text, write};
use trisolar_bodies::{DVec3, Tracks, numbers};
use trisolar_io::IoError;
use trisolar_io::npz::{NpzWriter, SPECIFICATION};

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
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Steps taken.
    pub step: u64,
    /// The time.
    pub time: f64,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
}

/// Names of the numbers of a [`Moment`] after its time.
const COLUMNS: [&str; Moment::NUMBERS - 1] = [
    "kinetic",
    "potential",
    "total",
    "momentum_x",
    "momentum_y",
    "momentum_z",
    "angular_momentum_x",
    "angular_momentum_y",
    "angular_momentum_z",
    "centre_x",
    "centre_y",
    "centre_z",
    "virial_ratio",
    "lagrange_10",
    "lagrange_25",
    "lagrange_50",
    "lagrange_75",
    "lagrange_90",
    "internal",
];

impl Moment {
    /// Time and diagnostics as numbers.
    pub(super) const NUMBERS: usize = 20;

    pub(super) fn numbers(&self) -> [f64; Self::NUMBERS] {
        let d = &self.diagnostics;
        let ([px, py, pz], [lx, ly, lz]) = (d.momentum, d.angular_momentum);
        let ([x, y, z], [r10, r25, r50, r75, r90]) = (d.centre_of_mass, d.lagrange);
        [
            self.time,
            d.kinetic,
            d.potential,
            d.total,
            px,
            py,
            pz,
            lx,
            ly,
            lz,
            x,
            y,
            z,
            d.virial_ratio,
            r10,
            r25,
            r50,
            r75,
            r90,
            d.internal,
        ]
    }

    /// The opposite of [`numbers`](Self::numbers).
    pub(super) fn from_numbers(step: u64, n: &[f64]) -> Self {
        let three = |at: usize| [n[at], n[at + 1], n[at + 2]];
        Self {
            step,
            time: n[0],
            diagnostics: Diagnostics {
                kinetic: n[1],
                potential: n[2],
                total: n[3],
                momentum: three(4),
                angular_momentum: three(7),
                centre_of_mass: three(10),
                virial_ratio: n[13],
                lagrange: [n[14], n[15], n[16], n[17], n[18]],
                internal: n[19],
            },
        }
    }
}

/// The records of a run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Diagnostics, if they are recorded.
    pub moments: Vec<Moment>,
    /// Times of [`positions`](Self::positions).
    pub times: Vec<f64>,
    /// Positions of all bodies, if they are recorded.
    pub positions: Vec<Vec<DVec3>>,
    /// States of the bodies whose paths are drawn.
    pub tracks: Tracks,
}

impl History {
    /// Removes the record at the end of a run that is extended beyond it.
    pub fn forget_last(&mut self) {
        self.moments.pop();
        self.times.pop();
        self.positions.pop();
    }

    /// Exact, because there are fewer than 2⁵³ steps.
    pub(super) fn steps(&self) -> Vec<f64> {
        self.moments.iter().map(|m| m.step as f64).collect()
    }

    pub(super) fn numbers(&self) -> Vec<f64> {
        self.moments.iter().flat_map(Moment::numbers).collect()
    }
}

/// The relative errors of the energy, where the first moment is the start of the run.
pub fn energy_errors(moments: &[Moment]) -> Vec<f64> {
    let internal = moments.iter().map(|m| m.diagnostics.internal);
    let start = moments.first().map(|m| Energies::from(&m.diagnostics));
    let error = |energy| start.map_or(f64::NAN, |start| start.relative_error(energy));
    internal.map(error).collect()
}

/// The columns of [`write_series`] that are not numbers at some record, such as the virial ratio of bodies without a potential.
pub fn undefined_columns(moments: &[Moment]) -> Vec<&'static str> {
    let undefined = |k: usize| moments.iter().any(|m| !m.numbers()[k + 1].is_finite());
    let columns = COLUMNS.iter().enumerate();
    columns
        .filter(|(k, _)| undefined(*k))
        .map(|(_, name)| *name)
        .collect()
}

/// Writes diagnostics over time, as `.npz` (an array a column) or CSV of any other name: step, time, energies, momenta, centre,
/// virial ratio, Lagrange radii, the energy without the motion of the centre of mass, and its error relative to the first moment.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_series(
    path: &Path,
    moments: &[Moment],
    specification: &Specification,
) -> Result<(), IoError> {
    let errors = energy_errors(moments);
    let column = |k: usize| -> Vec<f64> { moments.iter().map(|m| m.numbers()[k]).collect() };
    if path.extension().is_some_and(|e| e == "npz") {
        let mut file = NpzWriter::create(path)?;
        let rows = [moments.len()];
        let steps: Vec<f64> = moments.iter().map(|m| m.step as f64).collect();
        file.array("step", &rows, &steps)?;
        file.array("time", &rows, &column(0))?;
        for (k, name) in COLUMNS.iter().enumerate() {
            file.array(name, &rows, &column(k + 1))?;
        }
        file.array("energy_error", &rows, &errors)?;
        file.text(SPECIFICATION, &json(specification))?;
        return file.finish();
    }
    let mut csv = format!("step,time,{},energy_error\n", COLUMNS.join(","));
    for (m, error) in moments.iter().zip(&errors) {
        let _ = write!(csv, "{}", m.step);
        for number in m.numbers() {
            let _ = write!(csv, ",{number:?}");
        }
        let _ = writeln!(csv, ",{error:?}");
    }
    text(path, &csv)
}

/// Writes positions over time: `time` (k), `position` (k × n × 3), `mass` (n) and `specification.json`.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_trajectory(
    path: &Path,
    times: &[f64],
    positions: &[Vec<DVec3>],
    mass: &[f64],
    specification: &Specification,
) -> Result<(), IoError> {
    let mut file = NpzWriter::create(path)?;
    file.array("time", &[times.len()], times)?;
    file.array("mass", &[mass.len()], mass)?;
    let shape = [positions.len(), mass.len(), 3];
    file.array("position", &shape, numbers(&positions.concat()))?;
    file.text(SPECIFICATION, &json(specification))?;
    file.finish()
}
