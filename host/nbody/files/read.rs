//! Start models from files, the format by the name: `.csv`, `.npz`, `.tipsy` or `.bin`; any other is the textbook's text.

use std::path::Path;

use super::super::Bodies;
use super::{FileError, tipsy};
use crate::io::npz::NpzReader;
use crate::io::read::{self, Limit};

/// Reads bodies and the number of dimensions that the file gives them.
///
/// - text: a body a line, `mass x y vx vy` or `mass x y z vx vy vz`; `#` begins a comment
/// - CSV: a line of names (`mass`, `x`, `y`, `vx`, `vy`, and `z`, `vz` for three dimensions, in any order, others are ignored),
///   then a body a line
/// - npz: arrays `mass` (n), `position` and `velocity` (n × 3 or n × 2)
/// - TIPSY: binary of either byte order; gas, dark matter and stars alike
///
/// # Errors
/// [`FileError`], with file, line and column for texts.
pub fn read_bodies(path: &Path) -> Result<(Bodies, u8), FileError> {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "npz" => npz(path),
        "csv" => csv(path, &text(path)?),
        "tipsy" | "bin" => {
            let bytes = read::bytes(path, Limit::SNAPSHOT)?;
            let bodies = tipsy::read(&bytes).map_err(|reason| FileError::Contents {
                path: path.to_owned(),
                reason,
            })?;
            Ok((bodies, 3))
        }
        _ => textbook(path, &text(path)?),
    }
}

fn text(path: &Path) -> Result<String, FileError> {
    Ok(read::text(path, Limit::NUMBERS)?)
}

/// A place in a text.
struct Place<'a> {
    path: &'a Path,
    line: usize,
    /// The whole line, to count columns in.
    text: &'a str,
}

impl Place<'_> {
    /// An error at a part of the line.
    fn error(&self, part: &str, reason: String) -> FileError {
        let bytes = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..bytes).unwrap_or(self.text);
        FileError::Place {
            path: self.path.to_owned(),
            line: self.line,
            column: before.chars().count() + 1,
            reason,
        }
    }

    fn number(&self, word: &str, name: &str) -> Result<f64, FileError> {
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            Ok(_) => Err(self.error(
                word,
                format!("'{word}' for {name}: expected a finite number"),
            )),
            Err(_) => Err(self.error(word, format!("'{word}' for {name}: expected a number"))),
        }
    }
}

const SPACE: [&str; 7] = ["mass", "x", "y", "z", "vx", "vy", "vz"];
const PLANE: [&str; 5] = ["mass", "x", "y", "vx", "vy"];

/// Adds a body whose numbers have these names.
fn push(bodies: &mut Bodies, names: &[&str], numbers: &[f64]) {
    let of = |name: &str| {
        names
            .iter()
            .position(|n| *n == name)
            .map_or(0.0, |k| numbers[k])
    };
    bodies.push(
        of("mass"),
        [of("x"), of("y"), of("z")],
        [of("vx"), of("vy"), of("vz")],
    );
}

fn textbook(path: &Path, text: &str) -> Result<(Bodies, u8), FileError> {
    let mut bodies = Bodies::default();
    let mut names: Option<&[&str]> = None;
    for (number, line) in text.lines().enumerate() {
        let place = Place {
            path,
            line: number + 1,
            text: line,
        };
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let names = *names.get_or_insert(if words.len() == 7 { &SPACE } else { &PLANE });
        let expected = || match names.len() {
            7 => "expected 7 numbers, mass x y z vx vy vz, as in the lines before".to_owned(),
            _ if bodies.is_empty() => {
                "expected 5 numbers, mass x y vx vy, or 7, mass x y z vx vy vz".to_owned()
            }
            _ => "expected 5 numbers, mass x y vx vy, as in the lines before".to_owned(),
        };
        if words.len() < names.len() {
            let end = &content[content.trim_end().len()..];
            let reason = format!(
                "the line ends after {} numbers: {}",
                words.len(),
                expected()
            );
            return Err(place.error(end, reason));
        }
        if let Some(surplus) = words.get(names.len()) {
            return Err(place.error(surplus, format!("'{surplus}' is too much: {}", expected())));
        }
        let mut numbers = [0.0; 7];
        for ((number, word), name) in numbers.iter_mut().zip(&words).zip(names) {
            *number = place.number(word, name)?;
        }
        push(&mut bodies, names, &numbers);
    }
    let dimensions = if names.is_some_and(|n| n.len() == 5) {
        2
    } else {
        3
    };
    filled(path, bodies, dimensions)
}

fn csv(path: &Path, text: &str) -> Result<(Bodies, u8), FileError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else {
        return filled(path, Bodies::default(), 3);
    };
    let place = Place {
        path,
        line: 1,
        text: header,
    };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let spatial = columns.contains(&"z") || columns.contains(&"vz");
    let names: &[&str] = if spatial { &SPACE } else { &PLANE };
    let mut places = Vec::new();
    for name in names {
        match columns.iter().position(|c| c == name) {
            Some(at) => places.push(at),
            None => {
                let reason = format!(
                    "there is no column {name}: expected the columns {}",
                    names.join(",")
                );
                return Err(place.error(header, reason));
            }
        }
    }
    let mut bodies = Bodies::default();
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let place = Place {
            path,
            line: number + 1,
            text: line,
        };
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        if words.len() != columns.len() {
            let at = words.get(columns.len()).map_or(&line[line.len()..], |w| *w);
            let reason = format!(
                "the line has {} values: expected {}, one for each name in line 1",
                words.len(),
                columns.len()
            );
            return Err(place.error(at, reason));
        }
        let mut numbers = [0.0; 7];
        for ((number, at), name) in numbers.iter_mut().zip(&places).zip(names) {
            *number = place.number(words[*at], name)?;
        }
        push(&mut bodies, names, &numbers);
    }
    filled(path, bodies, if spatial { 3 } else { 2 })
}

pub(super) fn npz(path: &Path) -> Result<(Bodies, u8), FileError> {
    let mut file = NpzReader::open(path)?;
    let mass = file.array::<f64>("mass")?;
    let n = mass.values.len();
    let fail = |reason: String| FileError::Contents {
        path: path.to_owned(),
        reason,
    };
    if mass.shape != [n] {
        return Err(fail(format!(
            "mass must have one dimension; its shape is {:?}",
            mass.shape
        )));
    }
    let mut vectors = |name: &str| -> Result<(Vec<[f64; 3]>, usize), FileError> {
        let array = file.array::<f64>(name)?;
        let width = match array.shape[..] {
            [rows, width @ (2 | 3)] if rows == n => width,
            _ => {
                return Err(fail(format!(
                    "{name} must be {n} x 3 or {n} x 2, as mass has {n} values; its shape is {:?}",
                    array.shape
                )));
            }
        };
        let vector = |v: &[f64]| [v[0], v[1], v.get(2).copied().unwrap_or(0.0)];
        Ok((
            array.values.chunks_exact(width).map(vector).collect(),
            width,
        ))
    };
    let (position, width) = vectors("position")?;
    let (velocity, other) = vectors("velocity")?;
    if width != other {
        return Err(fail(format!(
            "position has {width} columns and velocity {other}: expected the same number"
        )));
    }
    filled(
        path,
        Bodies {
            mass: mass.values,
            position,
            velocity,
        },
        width as u8,
    )
}

fn filled(path: &Path, bodies: Bodies, dimensions: u8) -> Result<(Bodies, u8), FileError> {
    if bodies.is_empty() {
        let reason = "there are no bodies in it".to_owned();
        return Err(FileError::Contents {
            path: path.to_owned(),
            reason,
        });
    }
    Ok((bodies, dimensions))
}
