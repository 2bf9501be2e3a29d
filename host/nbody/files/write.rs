//! Writes bodies, diagnostics and positions of a run to files. Numbers in texts have enough digits to be read back with the same
//! bits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::super::{Bodies, Diagnostics, Snapshot, Specification, relative_error};
use super::Carried;
use trisolar_io::IoError;
use trisolar_io::atomic::write_with;
use trisolar_io::npz::NpzWriter;

/// A format of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// Text with a line of names.
    Csv,
    /// Arrays.
    Npz,
    /// The input format of Pacheco & Malensek (2021), with a body on each line: `mass x y vx vy` or, in three dimensions, `mass x y
    /// z vx vy vz`.
    Text,
}

impl BodyFormat {
    /// The format of a file with this name.
    ///
    /// # Errors
    /// A description of the allowed names.
    pub fn of(path: &Path) -> Result<Self, &'static str> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("npz") => Ok(Self::Npz),
            Some("txt") => Ok(Self::Text),
            _ => Err("the name must end in .csv, .npz or .txt"),
        }
    }
}

/// Writes bodies in the format of the name. An npz holds `mass` (n), `position` and `velocity` (n × 3), `time` (1) and
/// `spec.json`; texts have time, G, softening and time step in a comment, CSV files in columns. [`read`](super::read()) can read
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
    let bodies = &snapshot.bodies;
    let carried = carried(snapshot, specification);
    let dimensions = specification.dimensions;
    match format {
        BodyFormat::Npz => {
            let mut file = NpzWriter::create(path)?;
            file.array("mass", &[bodies.len()], &bodies.mass)?;
            let shape = [bodies.len(), 3];
            file.array("position", &shape, bodies.position.as_flattened())?;
            file.array("velocity", &shape, bodies.velocity.as_flattened())?;
            file.array("time", &[1], &[snapshot.time])?;
            file.text("spec.json", &json(specification))?;
            file.finish()
        }
        BodyFormat::Csv => text(path, &csv(bodies, dimensions, &carried)),
        BodyFormat::Text => {
            let mut all = carried.comment();
            all.push('\n');
            for i in 0..bodies.len() {
                body(&mut all, bodies, i, dimensions, " ");
                all.push('\n');
            }
            text(path, &all)
        }
    }
}

/// The other values of a run's bodies.
fn carried(snapshot: &Snapshot, specification: &Specification) -> Carried {
    Carried {
        g: Some(specification.g),
        softening: Some(specification.softening),
        time: Some(snapshot.time),
        dt: Some(specification.dt),
        names: specification.names.clone(),
        softenings: None,
    }
}

fn json(specification: &Specification) -> String {
    serde_json::to_string(specification).expect("a specification is plain numbers and names")
}

fn text(path: &Path, text: &str) -> Result<(), IoError> {
    write_with(path, |file| {
        file.write_all(text.as_bytes()).map_err(|e| file.error(e))
    })
}

/// A line of names, then a line for each body; values that all bodies share have columns of their own.
fn csv(bodies: &Bodies, dimensions: u8, carried: &Carried) -> String {
    let mut text = String::new();
    if carried.names.is_some() {
        text.push_str("name,");
    }
    text.push_str(match dimensions {
        2 => "mass,x,y,vx,vy",
        _ => "mass,x,y,z,vx,vy,vz",
    });
    let common = [
        ("g", carried.g),
        ("softening", carried.softening),
        ("time", carried.time),
        ("dt", carried.dt),
    ];
    let mut rest = String::new();
    for (name, number) in common {
        if let Some(number) = number {
            let _ = write!(text, ",{name}");
            let _ = write!(rest, ",{number:?}");
        }
    }
    text.push('\n');
    for i in 0..bodies.len() {
        if let Some(names) = &carried.names {
            // A comma would begin the next column.
            let _ = write!(text, "{},", names[i].replace([',', '\n', '\r'], " "));
        }
        body(&mut text, bodies, i, dimensions, ",");
        text.push_str(&rest);
        text.push('\n');
    }
    text
}

/// A body's numbers.
fn body(text: &mut String, bodies: &Bodies, i: usize, dimensions: u8, separator: &str) {
    let d = usize::from(dimensions);
    let _ = write!(text, "{:?}", bodies.mass[i]);
    let vectors = [&bodies.position[i], &bodies.velocity[i]];
    for number in vectors.into_iter().flat_map(|v| &v[..d]) {
        let _ = write!(text, "{separator}{number:?}");
    }
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
];

impl Moment {
    /// Time and diagnostics as numbers.
    pub(super) const NUMBERS: usize = 19;

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
    pub positions: Vec<Vec<[f64; 3]>>,
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

/// The sum of the magnitudes of kinetic and potential energy at the start of a run that had this energy, if its first moment is
/// recorded.
pub fn parts_at_start(moments: &[Moment], start_energy: f64) -> f64 {
    let first = moments.first().map(|m| &m.diagnostics);
    let first = first.filter(|d| d.total == start_energy);
    first.map_or(0.0, |d| d.kinetic.abs() + d.potential.abs())
}

/// Writes diagnostics over time, as `.npz` (an array a column) or CSV of any other name: step, time, energies, momenta, centre,
/// virial ratio, Lagrange radii, and the error of the energy relative to `start_energy`.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_series(
    path: &Path,
    moments: &[Moment],
    start_energy: f64,
    specification: &Specification,
) -> Result<(), IoError> {
    let parts = parts_at_start(moments, start_energy);
    let error = |m: &Moment| relative_error(m.diagnostics.total, start_energy, parts);
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
        let errors: Vec<f64> = moments.iter().map(error).collect();
        file.array("energy_error", &rows, &errors)?;
        file.text("spec.json", &json(specification))?;
        return file.finish();
    }
    let mut csv = format!("step,time,{},energy_error\n", COLUMNS.join(","));
    for m in moments {
        let _ = write!(csv, "{}", m.step);
        for number in m.numbers() {
            let _ = write!(csv, ",{number:?}");
        }
        let _ = writeln!(csv, ",{:?}", error(m));
    }
    text(path, &csv)
}

/// Writes positions over time: `time` (k), `position` (k × n × 3), `mass` (n) and `spec.json`.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write_trajectory(
    path: &Path,
    times: &[f64],
    positions: &[Vec<[f64; 3]>],
    mass: &[f64],
    specification: &Specification,
) -> Result<(), IoError> {
    let all: Vec<f64> = positions.iter().flatten().flatten().copied().collect();
    let mut file = NpzWriter::create(path)?;
    file.array("time", &[times.len()], times)?;
    file.array("mass", &[mass.len()], mass)?;
    file.array("position", &[positions.len(), mass.len(), 3], &all)?;
    file.text("spec.json", &json(specification))?;
    file.finish()
}
