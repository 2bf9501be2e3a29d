//! Writes bodies with the other values of their run. Numbers in texts have enough digits to be read back with the same bits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::Carried;
use crate::io::IoError;
use crate::io::atomic::write_with;
use crate::io::npz::{NpzWriter, SPECIFICATION};
use crate::{Bodies, numbers};

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
    /// Text with a line for each particle of a cluster, `id mass x y z vx vy vz`.
    Particles,
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

/// Writes the bodies of a run with this specification (JSON) at a time. An npz holds `mass` (n), `position` and `velocity` (n × 3),
/// `time` (1) and `specification.json`; texts have time, G, softening and time step in a comment, CSV files in columns. [`read`](super::read())
/// can read all of them.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn write(
    path: &Path,
    format: BodyFormat,
    bodies: &Bodies,
    time: f64,
    specification: &str,
) -> Result<(), IoError> {
    let json = serde_json::from_str(specification).unwrap_or_default();
    let (mut carried, dimensions) = Carried::from_specification(&json);
    carried.time = Some(time);
    let dimensions = dimensions.unwrap_or(3);
    let n = bodies.len();
    match format {
        BodyFormat::Npz => {
            let mut file = NpzWriter::create(path)?;
            file.array("mass", &[n], &bodies.mass)?;
            file.array("position", &[n, 3], numbers(&bodies.position))?;
            file.array("velocity", &[n, 3], numbers(&bodies.velocity))?;
            file.array("time", &[1], &[time])?;
            file.text(SPECIFICATION, specification)?;
            file.finish()
        }
        BodyFormat::Csv => text(path, &csv(bodies, dimensions, &carried)),
        BodyFormat::Text => {
            let mut all = carried.comment();
            all.push('\n');
            for i in 0..n {
                body(&mut all, bodies, i, dimensions, " ");
                all.push('\n');
            }
            text(path, &all)
        }
        BodyFormat::Particles => {
            let comment = carried.comment();
            let mut all = format!("# time {time:?}\n{comment}\n# id mass x y z vx vy vz\n");
            for i in 0..n {
                let _ = write!(all, "{i} ");
                body(&mut all, bodies, i, 3, " ");
                all.push('\n');
            }
            text(path, &all)
        }
    }
}

/// Writes a text.
///
/// # Errors
/// [`IoError`]; no part of the file remains.
pub fn text(path: &Path, text: &str) -> Result<(), IoError> {
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
            let name = &names[i];
            let is_plain = name.starts_with(char::is_alphanumeric)
                && name.trim() == name
                && !name.contains([',', ';', '\t', '"', '\n', '\r']);
            let _ = match is_plain {
                true => write!(text, "{name},"),
                false => write!(text, "\"{}\",", name.replace('"', "\"\"")),
            };
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
    let vectors = [bodies.position[i], bodies.velocity[i]].map(|v| v.to_array());
    for number in vectors.iter().flat_map(|v| &v[..d]) {
        let _ = write!(text, "{separator}{number:?}");
    }
}
