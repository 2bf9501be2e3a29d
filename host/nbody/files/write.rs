//! Bodies, diagnostics and positions of a run to files. Numbers in texts have the digits that give the same bits back.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::super::{Bodies, Diagnostics, Snapshot, Specification};
use crate::io::IoError;
use crate::io::atomic::write_with;
use crate::io::npz::NpzWriter;

/// A format of bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// Text with a line of names.
    Csv,
    /// Arrays.
    Npz,
    /// The textbook's input: a body a line, `mass x y vx vy` or, in three dimensions, `mass x y z vx vy vz`.
    Text,
}

impl BodyFormat {
    /// The format that the name of a file asks for.
    ///
    /// # Errors
    /// What is allowed, in words.
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
/// `spec.json`; all can be read back by [`read_bodies`](super::read_bodies).
///
/// # Errors
/// [`IoError`]; nothing of the file is left.
pub fn write_bodies(
    path: &Path,
    format: BodyFormat,
    snapshot: &Snapshot,
    specification: &Specification,
) -> Result<(), IoError> {
    let bodies = &snapshot.bodies;
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
        BodyFormat::Csv => text(path, &table(bodies, specification.dimensions, ",", true)),
        BodyFormat::Text => text(path, &table(bodies, specification.dimensions, " ", false)),
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

fn table(bodies: &Bodies, dimensions: u8, separator: &str, names: bool) -> String {
    let mut text = String::new();
    let d = usize::from(dimensions);
    if names {
        let names: &[&str] = match dimensions {
            2 => &["mass", "x", "y", "vx", "vy"],
            _ => &["mass", "x", "y", "z", "vx", "vy", "vz"],
        };
        text.push_str(&names.join(separator));
        text.push('\n');
    }
    for i in 0..bodies.len() {
        let _ = write!(text, "{:?}", bodies.mass[i]);
        for number in bodies.position[i][..d]
            .iter()
            .chain(&bodies.velocity[i][..d])
        {
            let _ = write!(text, "{separator}{number:?}");
        }
        text.push('\n');
    }
    text
}

/// A column of the series: its name and how it is found.
type Column = (&'static str, fn(&Diagnostics) -> f64);

const COLUMNS: [Column; 19] = [
    ("kinetic", |d| d.kinetic),
    ("potential", |d| d.potential),
    ("total", |d| d.total),
    ("momentum_x", |d| d.momentum[0]),
    ("momentum_y", |d| d.momentum[1]),
    ("momentum_z", |d| d.momentum[2]),
    ("angular_momentum_x", |d| d.angular_momentum[0]),
    ("angular_momentum_y", |d| d.angular_momentum[1]),
    ("angular_momentum_z", |d| d.angular_momentum[2]),
    ("centre_x", |d| d.centre_of_mass[0]),
    ("centre_y", |d| d.centre_of_mass[1]),
    ("centre_z", |d| d.centre_of_mass[2]),
    ("virial_ratio", |d| d.virial_ratio),
    ("lagrange_10", |d| d.lagrange[0]),
    ("lagrange_25", |d| d.lagrange[1]),
    ("lagrange_50", |d| d.lagrange[2]),
    ("lagrange_75", |d| d.lagrange[3]),
    ("lagrange_90", |d| d.lagrange[4]),
    ("energy_error", |_| 0.0),
];

/// Writes the diagnostics of some snapshots, as `.npz` (an array a column) or CSV of any other name. The energy error is
/// relative to `start_energy`.
///
/// # Errors
/// [`IoError`]; nothing of the file is left.
pub fn write_series(
    path: &Path,
    series: &[(u64, f64, Diagnostics)],
    start_energy: f64,
    specification: &Specification,
) -> Result<(), IoError> {
    let columns: Vec<(&str, Vec<f64>)> = COLUMNS
        .iter()
        .map(|(name, value)| {
            let of = |d: &Diagnostics| match *name {
                "energy_error" => (d.total - start_energy) / start_energy.abs(),
                _ => value(d),
            };
            (*name, series.iter().map(|(.., d)| of(d)).collect())
        })
        .collect();
    if path.extension().is_some_and(|e| e == "npz") {
        let mut file = NpzWriter::create(path)?;
        let rows = [series.len()];
        let steps: Vec<f64> = series.iter().map(|(step, ..)| *step as f64).collect();
        let times: Vec<f64> = series.iter().map(|(_, time, _)| *time).collect();
        file.array("step", &rows, &steps)?;
        file.array("time", &rows, &times)?;
        for (name, values) in &columns {
            file.array(name, &rows, values)?;
        }
        file.text("spec.json", &json(specification))?;
        return file.finish();
    }
    let mut csv = String::from("step,time");
    for (name, _) in &columns {
        let _ = write!(csv, ",{name}");
    }
    csv.push('\n');
    for (row, (step, time, _)) in series.iter().enumerate() {
        let _ = write!(csv, "{step},{time:?}");
        for (_, values) in &columns {
            let _ = write!(csv, ",{:?}", values[row]);
        }
        csv.push('\n');
    }
    text(path, &csv)
}

/// Writes positions over time: `time` (k), `position` (k × n × 3), `mass` (n) and `spec.json`.
///
/// # Errors
/// [`IoError`]; nothing of the file is left.
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
